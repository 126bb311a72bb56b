"""Bytes put together by hand against those of the protobuf library."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from replicator.encode import canal_messages as proto
from replicator.encode.canal_rows import Row, columns_of, delimited, row_writer
from replicator.encode.canal_types import jdbc_of, mysql_type
from replicator.model import types
from replicator.model.table import Column, Table

TABLE = Table(
    "zoo",
    "t",
    (
        Column(0, "id", types.LONGLONG, unsigned=True),
        Column(1, "größe", types.VARCHAR, collation=45),
        Column(2, "s", types.SET, meta=1, members=("a", "b")),
        Column(3, "j", types.JSON, meta=4),
    ),
    primary_key=(0,),
)
values = st.tuples(
    st.one_of(st.integers(0, 2**64 - 1).map(str), st.none()),
    st.one_of(st.text(), st.text("é", min_size=60, max_size=70), st.none(), st.just(False), st.integers()),
    st.one_of(st.just("3"), st.none()),
    st.one_of(st.text(max_size=3), st.none(), st.just("x" * 20_000)),
).map(list)


@given(st.one_of(values, st.none()), st.one_of(values, st.none()))
def test_rows_are_what_the_library_makes_of_them(before: Row | None, after: Row | None) -> None:
    change = proto.RowChange()
    row = change.rowDatas.add()
    for images, image, other in ((row.beforeColumns, before, None), (row.afterColumns, after, before)):
        for place, value in enumerate(image or ()):
            if value is not False:
                old = other[place] if other else False
                updated = image is after and (old is False or old != value)  # 0 is no absent column
                _add(images, TABLE.columns[place], value, updated)
    assert row_writer(columns_of(TABLE))(before, after) == change.SerializeToString()


def _add(images: Any, column: Column, value: Any, updated: bool) -> None:
    text = None if value is None else str(value)
    added = images.add(
        index=column.index,
        sqlType=jdbc_of(column, text),
        name=column.name,
        isKey=column.index == 0,
        updated=updated,
        isNull=text is None,
        mysqlType=mysql_type(column),
    )
    if text is not None:
        added.value = text


@given(st.one_of(st.integers(0, 300), st.integers(16_300, 16_400), st.just(1 << 21)))
def test_lengths(size: int) -> None:
    data = delimited(b"\x42", b"x" * size)
    column = proto.Column.FromString(data)
    assert len(column.value) == size
    assert column.SerializeToString() == data
