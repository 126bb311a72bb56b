from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from replicator.model.position import Position, Prepared

prepared = st.builds(Prepared, xid=st.text(), file=st.text(), offset=st.integers(0, 2**63 - 1), gtid=st.text())
positions = st.builds(
    Position,
    file=st.from_regex(r"[a-z.-]{1,20}\.[0-9]{6,9}", fullmatch=True),
    offset=st.integers(4, 1 << 48),
    gtid=st.text(max_size=40),
    rows=st.integers(0, 1 << 40),
    prepared=st.lists(prepared, max_size=3).map(tuple),
)


@given(positions)
def test_it_survives_its_json_form(position: Position) -> None:
    assert msgspec.json.decode(msgspec.json.encode(position), type=Position) == position


def test_files_are_ordered_by_number_not_by_name() -> None:
    assert Position("binlog.999999", 5).order < Position("binlog.1000000", 4).order
    assert Position("binlog.000001", 5).order < Position("binlog.000001", 6).order
    assert Position("binlog.000001", 5).order < Position("binlog.000001", 5, "", 1).order


def test_only_the_start_of_a_transaction_is_a_boundary() -> None:
    assert Position("b.1", 4).boundary
    assert not Position("b.1", 4, "", 2).boundary
    assert str(Position("b.1", 4, "", 2)) == "b.1:4+2"
