from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.errors import SinkError
from replicator.model.position import Position, Prepared
from replicator.sink.kafka.position import dump, load

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
    record = load(dump(uid, epoch, position), "t")
    assert (record.position, record.epoch, record.uid, record.v) == (position, epoch, uid, 1)


def test_form() -> None:
    data = json.loads(dump("u1", 7, Position("binlog.000003", 4711, "uuid:1-5", 3)))
    assert data.pop("time_ms") > 1_700_000_000_000
    wanted = {"file": "binlog.000003", "offset": 4711, "gtid": "uuid:1-5", "rows": 3}
    assert data == {"v": 1, "uid": "u1", "epoch": 7, "position": wanted}


@pytest.mark.parametrize(
    "data", [b"", b"x", b"[]", b"{}", b'{"v":2,"uid":"u"}', b'{"v":1,"uid":1}', b"\xff", b'{"v":"1"}']
)
def test_what_can_not_be_read_is_never_guessed(data: bytes) -> None:
    with pytest.raises(SinkError) as raised:
        load(data, "replicator.position.t")
    assert raised.value.code == "E3108"
