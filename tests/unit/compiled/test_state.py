"""One state for both decoders: the compiled class has the attributes of the Python one, and both advance it alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from replicator import compiled
from replicator.decode.decoder import BinlogDecoder
from replicator.decode.native import writers
from replicator.decode.native.compiled_decoder import CompiledDecoder
from replicator.decode.transactions.transaction_state import Phase, TransactionState, attributes
from replicator.model.position import Position
from tests.unit.compiled import both as pair

UUID = "5f0a2b3c-0000-11ee-8000-0242ac110002"
RECORDINGS = pair.recordings()


def loop() -> Any:
    return compiled.module("loop").Loop()


def test_both_begin_alike() -> None:
    made = TransactionState()
    assert attributes(loop()) == attributes(made)
    assert not hasattr(made, "__dict__")


def test_every_writer_is_known_by_its_name() -> None:
    known = compiled.module("codes").WRITERS
    named = {value for name, value in vars(writers).items() if name.isupper() and value == name.lower()}
    assert named == set(known) - {"decimal_number"}  # no format prints it


@pytest.mark.parametrize(
    "gtid", [None, (UUID, 7), (UUID, (1 << 63) - 1), (f"{UUID}:tag", 3), (UUID, -1), (0, 1, 2), (4, 5, (1 << 64) - 1)]
)
def test_gtids_come_back_as_they_were_set(gtid: Any) -> None:
    state = loop()
    state.gtid = gtid
    assert state.gtid == gtid
    assert state.ordinary == (gtid is None or ((len(gtid) == 3 or len(gtid[0]) == len(UUID)) and gtid[-1] >= 0))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("thread", 17),
        ("thread", "null"),
        ("gtid_json", f'"{UUID}:9"'),
        ("file_json", '"binlog.\\u00e9"'),
        ("executed_json", '"a:1-2"'),
        ("tsid_json", '"a"'),
        ("query_json", '"INSERT"'),
        ("position", b"a:1"),
        ("query", b"INSERT"),
        ("query", None),
        ("phase", Phase.OPEN),
        ("offset", 1 << 60),
        ("moved", True),
    ],
)
def test_attributes_come_back_as_they_were_set(name: str, value: object) -> None:
    state = loop()
    setattr(state, name, value)
    assert getattr(state, name) == value


def test_a_state_that_only_python_knows_keeps_the_loop_out() -> None:
    state = loop()
    state.connect({}, lambda deferred: None, None, False)
    assert state.ordinary
    state.phase = Phase.XA
    assert not state.ordinary
    state.phase = Phase.OPEN
    state.deferred = thing = object()  # it has no program
    assert not state.ordinary
    assert state.deferred is thing
    state.deferred = None
    state.commit_us = 1 << 52
    assert not state.ordinary


def shown(state: Any) -> dict[str, Any]:
    """Each decoder makes deferred fields of its own from the same plan. `table_rows` is set at each row event, by the
    handlers; the loop stays out where a plan prints it."""
    deferred = None if state.deferred is None else state.deferred.field
    return {**attributes(state), "deferred": deferred, "table_rows": None}


@pytest.mark.parametrize("form", pair.FORMATS)
@pytest.mark.parametrize("path", RECORDINGS, ids=[path.name for path in RECORDINGS])
def test_both_are_the_same_after_every_read(path: Path, form: str) -> None:
    raw = pair.read(path)
    server = pair.flavor(path)
    start = Position("binlog.000001", 4)
    one, other = (pair.decoder(kind, form, server, "file", start) for kind in (BinlogDecoder, CompiledDecoder))
    for piece in pair.cut(raw, max(len(raw) // 20, 700)):
        outcomes = []
        for decoder in (one, other):
            try:
                decoder.feed(piece)
                while decoder.more:
                    decoder.feed(b"")
                outcomes.append("")
            except Exception as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]
        assert shown(one._state) == shown(other._state)
        if outcomes[0]:
            return
