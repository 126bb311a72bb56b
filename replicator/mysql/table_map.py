"""The body of a TABLE_MAP event. Layout: `Table_map_event` in MySQL's rows_event.h."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from replicator.model import types
from replicator.mysql.table_shape import TableShape

_NUMERIC: Final = types.INTEGERS | {types.FLOAT, types.DOUBLE, types.NEWDECIMAL, types.YEAR}
_LITTLE: Final = frozenset({types.VARCHAR, types.VAR_STRING, types.BIT, types.MARIADB_VARCHAR_COMPRESSED})
_CHARACTER: Final = types.CHARACTERS | types.BLOBS


class MappedColumn(Protocol):
    """`type` and `meta` as in `model.types`."""

    @property
    def type(self) -> int: ...

    @property
    def meta(self) -> int: ...

    @property
    def nullable(self) -> bool: ...

    @property
    def dimensions(self) -> int | None: ...


def body(shape: TableShape, table_id: int, *, mariadb: bool) -> bytes:
    """From the table id to the end of the metadata; without header and checksum."""
    return bare(shape.database, shape.name, shape.columns, table_id) + b"".join(_metadata(shape, mariadb=mariadb))


def bare(database: str, name: str, columns: Sequence[MappedColumn], table_id: int) -> bytes:
    """Without the optional metadata, as with binlog_row_metadata = MINIMAL and no numeric column."""
    block = b"".join(_meta(column) for column in columns)
    out = [
        table_id.to_bytes(6, "little"),
        struct.pack("<H", 1),
        _name(database),
        _name(name),
        packed(len(columns)),
        bytes(_type(column) for column in columns),
        packed(len(block)),
        block,
        bits(column.nullable for column in columns),
    ]
    return b"".join(out)


def packed(number: int) -> bytes:
    """A length-encoded integer."""
    if number < 251:
        return bytes((number,))
    if number < 1 << 16:
        return b"\xfc" + struct.pack("<H", number)
    if number < 1 << 24:
        return b"\xfd" + number.to_bytes(3, "little")
    return b"\xfe" + struct.pack("<Q", number)


def _name(name: str) -> bytes:
    raw = name.encode()
    return bytes((len(raw),)) + raw + b"\0"


def _type(column: MappedColumn) -> int:
    return types.STRING if column.type in (types.ENUM, types.SET) else column.type


def _meta(column: MappedColumn) -> bytes:
    kind, meta = column.type, column.meta
    if kind in (types.ENUM, types.SET):
        return bytes((kind, meta))
    if kind == types.STRING:  # two bits of a length over 255 are in the type byte, inverted
        return bytes((types.STRING ^ (meta >> 8 & 3) << 4, meta & 0xFF))
    if kind in _LITTLE:
        return struct.pack("<H", meta)
    if kind == types.NEWDECIMAL:
        return struct.pack(">H", meta)
    return bytes((meta,)) if kind in types.ONE_BYTE_META else b""


def bits(flags: Iterable[bool], *, high_first: bool = False) -> bytes:
    """A bitmap, one bit for each flag."""
    values = list(flags)
    out = bytearray((len(values) + 7) // 8)
    for index, value in enumerate(values):
        if value:
            out[index >> 3] |= 0x80 >> (index & 7) if high_first else 1 << (index & 7)
    return bytes(out)


def _metadata(shape: TableShape, *, mariadb: bool) -> list[bytes]:
    columns = shape.columns
    characters = _CHARACTER | {types.GEOMETRY} if mariadb else _CHARACTER
    numeric = [column for column in columns if column.type in _NUMERIC]
    out = [_field(1, bits((column.unsigned for column in numeric), high_first=True))] if numeric else []
    out += _numbers(3, [column.collation for column in columns if column.type in characters])
    out.append(_field(4, b"".join(_sized(column.name.encode()) for column in columns)))
    for kind, number in ((types.SET, 5), (types.ENUM, 6)):
        lists = [column.members for column in columns if column.type == kind]
        if lists:
            out.append(_field(number, b"".join(packed(len(m)) + b"".join(map(_sized, m)) for m in lists)))
    out += _numbers(7, [column.geometry for column in columns if column.type == types.GEOMETRY])
    if shape.primary_key and all(not cut for _, cut in shape.primary_key):
        out.append(_field(8, b"".join(packed(index) for index, _ in shape.primary_key)))
    elif shape.primary_key:
        out.append(_field(9, b"".join(packed(index) + packed(cut) for index, cut in shape.primary_key)))
    out += _numbers(11, [column.collation for column in columns if column.type in (types.ENUM, types.SET)])
    out.append(_field(12, bits((column.visible for column in columns), high_first=True)))
    out += dimensions(columns)
    return out


def dimensions(columns: Sequence[MappedColumn]) -> list[bytes]:
    """The metadata of VECTOR columns, without which no row can be written to them."""
    return _numbers(13, [column.dimensions for column in columns if column.type == types.VECTOR])


def _numbers(kind: int, values: Sequence[int | None]) -> list[bytes]:
    return [_field(kind, b"".join(packed(value or 0) for value in values))] if values else []


def _field(kind: int, value: bytes) -> bytes:
    return bytes((kind,)) + packed(len(value)) + value


def _sized(raw: bytes) -> bytes:
    return packed(len(raw)) + raw
