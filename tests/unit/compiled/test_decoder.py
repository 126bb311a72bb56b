"""What the compiled decoder gives is what the Python one gives: records, positions, counts, errors."""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import Any

import pytest

from replicator import compiled
from replicator.config.canal import CanalOptions
from replicator.config.task import StdoutSink
from replicator.decode.binlog import table_map
from replicator.decode.decoder import BinlogDecoder
from replicator.decode.native.compiled_decoder import CompiledDecoder
from replicator.model.packed_records import PackedRecords
from replicator.model.position import Position
from tests.unit.compiled import both as pair

RECORDINGS = pair.recordings()
_TABLE_MAP, _ROWS_QUERY, _GTID = 19, 29, 33
NAMES = [path.name.partition(".")[0] for path in RECORDINGS]


@pytest.mark.parametrize("form", [*pair.FORMATS, pair.IMAGES])
@pytest.mark.parametrize("path", RECORDINGS, ids=NAMES)
def test_recorded_binlogs(path: Path, form: str) -> None:
    raw = pair.read(path)
    given: tuple[tuple[pair.Framing, bytes], ...] = (("file", raw), ("packet", pair.as_packets(raw)))
    for framing, stream in given:
        twin, ours = pair.both(form, pair.flavor(path), framing, [stream])
        assert ours == twin


@pytest.mark.parametrize("path", RECORDINGS, ids=NAMES)
def test_in_pieces(path: Path) -> None:
    raw = pair.as_packets(pair.read(path)[:60_000])
    for size in (97, 1021, 8192):
        twin, ours = pair.both("debezium", pair.flavor(path), "packet", pair.cut(raw, size))
        assert ours == twin


@pytest.mark.parametrize("form", [*pair.FORMATS, pair.IMAGES])
@pytest.mark.parametrize("name", ["mysql_orders", "mariadb_orders", "mysql_zoo", "mysql_transactions"])
def test_damaged_bytes(name: str, form: str) -> None:
    """Same errors, same codes, same positions, and the same records before them."""
    path = RECORDINGS[NAMES.index(name)]
    whole = pair.events(pair.read(path))
    raw = b"".join(pair.without_checksums(whole[:400]))
    assert pair.both(form, pair.flavor(path), "file", [raw])[1][0][3] > 10
    dice = random.Random(f"{name} {form}")
    for _ in range(60):
        damaged = bytearray(raw)
        for _ in range(dice.choice((1, 1, 3))):
            at = dice.randrange(len(damaged))
            damaged[at] = dice.choice((0, 0xFF, damaged[at] ^ 1 << dice.randrange(8), dice.randrange(256)))
        twin, ours = pair.both(form, pair.flavor(path), "file", pair.cut(bytes(damaged), 40_000))
        assert ours == twin


@pytest.mark.parametrize("rows", [1, 3, 40])
def test_resumed_inside_a_transaction(rows: int) -> None:
    path = RECORDINGS[NAMES.index("mysql_transactions")]
    position = Position("binlog.000001", 4, rows=rows)
    twin, ours = pair.both("debezium", "mysql", "file", [pair.read(path)], position)
    assert ours == twin


def told_of_statements(raw: bytes) -> list[bytes]:
    """The events, with a ROWS_QUERY in front of each table map (binlog_rows_query_log_events)."""
    found: list[bytes] = []
    at = 4
    for number, event in enumerate(pair.without_checksums(pair.events(raw))):
        if event[4] == _TABLE_MAP:
            text = f"UPDATE orders /* {number} \u00e9 */ SET note = ''".encode() * (1 + number % 3)
            body = bytes([len(text) & 0xFF]) + text
            found.append(event[:4] + bytes([_ROWS_QUERY]) + event[5:9] + bytes(10) + body)
        found.append(event)
    for index, event in enumerate(found):
        at += len(event)
        found[index] = event[:9] + struct.pack("<II", len(event), at) + event[17:]
    return found


@pytest.mark.parametrize("gtidon", [False, True])
@pytest.mark.parametrize("size", [1 << 20, 311])
def test_canal_is_told_of_statements(size: int, gtidon: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    canal = CanalOptions(gtidon=gtidon)
    monkeypatch.setattr(pair, "sink", lambda form: StdoutSink(type="stdout", format="canal", canal=canal))
    raw = b"".join(told_of_statements(pair.read(RECORDINGS[NAMES.index("mysql_orders")])))
    twin, ours = pair.both("canal", "mysql", "file", pair.cut(raw, size))
    assert ours == twin
    assert sum(b'"type":"QUERY"' in record[2] for batch in ours[:-2] for record in batch[0]) == 100


@pytest.mark.parametrize("form", [*pair.FORMATS, pair.IMAGES])
@pytest.mark.parametrize("name", ["mysql_orders", "mariadb_orders"])
def test_the_records_of_ordinary_transactions_are_packed_and_python_sees_few_events(name: str, form: str) -> None:
    """What the whole is for: nothing per row, and next to nothing per transaction. MariaDB's has statements' texts."""
    raw = pair.read(path := RECORDINGS[NAMES.index(name)])
    decoder = pair.decoder(CompiledDecoder, form, pair.flavor(path), "file", Position("binlog.000001", 4))
    handled = []
    python = decoder._handlers

    class Counting(dict[int, Any]):
        def get(self, kind: int, default: Any = None) -> Any:
            handled.append(kind)
            return python.get(kind, default)

    decoder._handlers = Counting()
    batches = decoder.feed(raw)
    assert all(isinstance(batch.records, PackedRecords) for batch in batches)
    assert sum(batch.rows for batch in batches) == 100
    assert len(handled) < 10


def test_a_table_map_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[bytes] = []
    parse = table_map.parse

    def noted(raw: bytes, **options: Any) -> Any:
        parsed.append(raw)
        return parse(raw, **options)

    monkeypatch.setattr(table_map, "parse", noted)
    raw = pair.read(RECORDINGS[NAMES.index("mysql_orders")])
    decoder = pair.decoder(CompiledDecoder, "maxwell", "mysql", "packet", Position("binlog.000001", 4))
    pair.told(decoder, pair.cut(pair.as_packets(raw), 1000))
    maps = [event for event in pair.events(raw) if event[4] == _TABLE_MAP]
    assert len(maps) == 100
    assert len(parsed) == len(set(parsed)) == len({event[25:-4] for event in maps})


def test_a_rows_program_is_compiled_for_every_plan_of_the_formats() -> None:
    program = compiled.module("program").Program
    for name in ("mysql_orders", "mysql_zoo"):
        raw = pair.read(RECORDINGS[NAMES.index(name)])
        for form in pair.FORMATS:
            decoder = pair.decoder(CompiledDecoder, form, "mysql", "file", Position("binlog.000001", 4))
            decoder.feed(raw)
            versions = [version for version in decoder._versions._known.values() if version.plan is not None]
            assert versions
            for version in versions:
                assert all(rows is None or isinstance(rows, program) for rows in version.functions), version.table


@pytest.mark.parametrize("kind", [BinlogDecoder, CompiledDecoder])
def test_what_is_inside_a_transaction_says_how_long_that_is(kind: type[BinlogDecoder]) -> None:
    raw = pair.read(RECORDINGS[NAMES.index("mysql_orders")])
    sizes: dict[int, int] = {}  # first byte of a transaction -> its size, GTID event included
    at, start = 4, 4
    for event in pair.events(raw):
        start = at if event[4] == _GTID else start
        at += len(event)
        sizes[start] = at - start
    decoder = pair.decoder(kind, "debezium", "mysql", "file", Position("binlog.000001", 4))
    inside = [batch for piece in pair.cut(raw, 150) for batch in decoder.feed(piece) if not batch.boundary]
    assert inside
    assert [batch.length for batch in inside] == [sizes[batch.position.offset] for batch in inside]
