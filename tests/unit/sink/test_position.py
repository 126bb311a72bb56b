from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.errors import SinkError, UnknownTerm
from replicator.model.position import Position, Prepared
from replicator.model.term import Term
from replicator.sink.kafka.position import VERSION, dump, dump_moved, load, refuse_unknown


def term(uid: str, epoch: int, previous: int | None = None) -> Term:
    return Term("t", uid, epoch, lambda: float("inf"), previous=previous, installation="0123456789ab", host="host-a")


prepared = st.builds(Prepared, xid=st.text(), file=st.text(), offset=st.integers(0, 2**63 - 1), gtid=st.text())
positions = st.builds(
    Position,
    file=st.text(min_size=1, max_size=20),
    offset=st.integers(0, 2**63 - 1),
    gtid=st.text(),
    rows=st.integers(0),
    prepared=st.lists(prepared, max_size=3).map(tuple),
)


@given(positions, st.integers(0, 2**62), st.text())
def test_round_trip(position: Position, epoch: int, uid: str) -> None:
    record = load(dump(term(uid, epoch), position), "t")
    assert record is not None
    assert (record.position, record.epoch, record.uid, record.v) == (position, epoch, uid, 1)


def test_form() -> None:
    data = json.loads(dump(term("u1", 7), Position("binlog.000003", 4711, "uuid:1-5", 3)))
    assert data.pop("time_ms") > 1_700_000_000_000
    wanted = {"file": "binlog.000003", "offset": 4711, "gtid": "uuid:1-5", "rows": 3}
    names = {"installation": "0123456789ab", "host": "host-a"}
    assert data == {"v": 1, "uid": "u1", "epoch": 7, "position": wanted, **names}


def test_a_record_of_an_earlier_version_is_read() -> None:
    record = load(b'{"v":1,"uid":"u1","epoch":7,"position":{"file":"b.1","offset":4},"time_ms":1}', "t")
    assert record is not None and (record.epoch, record.installation, record.host) == (7, "", "")


def test_one_that_has_moved_is_none_and_stops_earlier_versions() -> None:
    data = dump_moved(term("u1", 7))
    assert load(data, "t") is None
    assert json.loads(data)["v"] > VERSION


@pytest.mark.parametrize(
    ("epoch", "previous", "known"),
    [
        (7, None, True),
        (6, None, True),
        (8, None, False),
        (7, 5, True),
        (5, 5, True),
        (3, 5, True),
        (6, 5, False),
        (8, 5, False),
    ],
)
def test_which_epochs_are_of_the_tasks_own_history(epoch: int, previous: int | None, known: bool) -> None:
    """Between the last term and this one ZooKeeper knows of nobody."""
    record = load(dump(term("u1", epoch), Position("b.1", 4)), "t")
    ours = term("u1", 7, previous)
    assert record is not None and ours.knows(epoch) is known
    if known:
        refuse_unknown(record, ours)
        return
    with pytest.raises(UnknownTerm, match=f"epoch {epoch}, by host-a.*b.1:4") as raised:
        refuse_unknown(record, ours)
    assert (raised.value.code, raised.value.epoch) == ("E3111", epoch)


def test_another_incarnation_is_not_of_an_unknown_term() -> None:
    record = load(dump(term("u1", 9), Position("b.1", 4)), "t")
    assert record is not None
    refuse_unknown(record, term("u2", 7))


@pytest.mark.parametrize(
    "data", [b"", b"x", b"[]", b"{}", b'{"v":2,"uid":"u"}', b'{"v":1,"uid":1}', b"\xff", b'{"v":"1"}']
)
def test_what_can_not_be_read_is_never_guessed(data: bytes) -> None:
    with pytest.raises(SinkError) as raised:
        load(data, "replicator.position.t")
    assert raised.value.code == "E3108"
