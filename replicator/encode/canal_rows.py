"""Builds `RowData` messages from bytes: parts that do not depend on a value are serialized once per column.

The protobuf library would make an object of every value; this is several times as fast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from replicator.encode import canal_messages as proto
from replicator.encode.canal_types import jdbc_of, limit_of, mysql_type
from replicator.model.encoding import CanalColumn
from replicator.model.table import Column, Table

Row = list[str | int | float | bool | None]
"""A value per column as its renderer wrote it; None for NULL, False where the row image does not have the column."""

BEFORE, AFTER, _VALUE, ROW = b"\x0a", b"\x12", b"\x42", b"\x62"
"""Tags: RowData.beforeColumns, RowData.afterColumns, Column.value, RowChange.rowDatas."""

_SHORT: Final = tuple(bytes([size]) for size in range(128))


def delimited(tag: bytes, data: bytes) -> bytes:
    """A field with its length in front, in groups of seven bits, the lowest first."""
    size = len(data)
    if size < 128:
        return tag + _SHORT[size] + data
    groups = bytearray()
    while size >= 128:
        groups.append(size & 127 | 128)
        size >>= 7
    groups.append(size)
    return tag + bytes(groups) + data


def columns_of(table: Table) -> tuple[CanalColumn, ...]:
    return tuple(_Column(column, key=column.index in table.primary_key).described() for column in table.columns)


def row_writer(columns: Sequence[CanalColumn]) -> Callable[[Row | None, Row | None], bytes]:
    """(values before, values after) -> the field `rowDatas` of a RowChange."""

    def write(before: Row | None, after: Row | None) -> bytes:
        parts: list[bytes] = []
        if before is not None:
            for column, value in zip(columns, before, strict=True):
                if value is not False:
                    parts.append(delimited(BEFORE, column.write(value, False)))
        if after is not None:
            for column, value, old in zip(columns, after, before or [False] * len(after), strict=True):
                if value is not False:
                    parts.append(delimited(AFTER, column.write(value, old is False or value != old)))
        return delimited(ROW, b"".join(parts))

    return write


class _Column:
    """Writes the `Column` messages of one column."""

    def __init__(self, column: Column, *, key: bool) -> None:
        self._column = column
        self._key = key
        self._varies = limit_of(column) is not None
        self._type = jdbc_of(column, "0")
        self._tail = bytes(proto.Column(mysqlType=mysql_type(column)).SerializeToString())
        self._heads = {updated: self._head(self._type, updated, null=False) for updated in (False, True)}
        self._nulls = {
            updated: self._head(jdbc_of(column, None), updated, null=True) + self._tail for updated in (False, True)
        }

    def described(self) -> CanalColumn:
        limit = limit_of(self._column) if self._varies else None
        wide = b"", b""
        if limit is not None:
            number = jdbc_of(self._column, str(limit + 1))
            wide = self._head(number, False, null=False), self._head(number, True, null=False)
        return CanalColumn(_pair(self._heads), _pair(self._nulls), _VALUE, self._tail, limit, wide, self.write)

    def write(self, value: str | int | float | None, updated: bool) -> bytes:
        if value is None:
            return self._nulls[updated]
        text = str(value)
        head = self._heads[updated]
        if self._varies and (type_ := jdbc_of(self._column, text)) != self._type:
            head = self._head(type_, updated, null=False)
        return head + delimited(_VALUE, text.encode()) + self._tail

    def _head(self, type_: int, updated: bool, *, null: bool) -> bytes:
        column = self._column
        head = proto.Column(
            index=column.index, sqlType=type_, name=column.name, isKey=self._key, updated=updated, isNull=null
        )
        return bytes(head.SerializeToString())


def _pair(by_change: dict[bool, bytes]) -> tuple[bytes, bytes]:
    return by_change[False], by_change[True]
