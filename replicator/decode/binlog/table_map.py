"""Parser of TABLE_MAP events. Layout: `Table_map_event` in MySQL's rows_event.h and MariaDB's log_event.h."""

from __future__ import annotations

from typing import Final

import msgspec

from replicator.decode.binlog.table_metadata import ColumnMetadata, OptionalMetadata
from replicator.decode.values.byte_reader import ByteReader
from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.table import Table

_LITTLE: Final = frozenset({types.VARCHAR, types.VAR_STRING, types.BIT, types.MARIADB_VARCHAR_COMPRESSED})
_BIG: Final = frozenset({types.STRING, types.ENUM, types.SET, types.NEWDECIMAL})

_MAX_COLUMNS: Final = 4096


class TableMap(msgspec.Struct, frozen=True):
    """named: the event has the columns' real names; else they are `@1`, `@2`, ... (binlog_row_metadata = MINIMAL)."""

    table: Table
    named: bool


def parse(raw: bytes, *, mariadb: bool) -> TableMap:
    """`raw`: the event's body without header, table id and checksum: it starts at the flags.

    Raises:
        DecodeError: E2302 for a damaged one, E2307 for members in a character set that is not known.
    """
    reader = ByteReader(raw, 2, len(raw))
    database, name = _identifier(reader), _identifier(reader)
    count = reader.packed()
    if not 0 < count <= _MAX_COLUMNS:
        raise DecodeError("E2302", "a table map has an invalid number of columns", found=f"{count} columns")
    kinds = reader.take(count)
    block = reader.part(reader.packed())
    columns = [_column(index, kind, block) for index, kind in enumerate(kinds)]
    if block:
        raise DecodeError(
            "E2302", "the column metadata of a table map has an invalid length", found=f"{database}.{name}"
        )
    bits = int.from_bytes(reader.take((count + 7) // 8), "little")
    for column in columns:
        column.nullable = bool(bits >> column.index & 1)
    optional = OptionalMetadata(columns, mariadb=mariadb)
    while reader:
        kind = reader.byte()
        optional.read(kind, reader.part(reader.packed()))
    table = Table(database, name, tuple(column.column() for column in columns), optional.primary_key, mariadb)
    return TableMap(table, optional.named)


def _identifier(reader: ByteReader) -> str:
    text = reader.name(reader.byte())
    if reader.byte():
        raise DecodeError("E2302", "a name in a table map is not terminated", found=repr(text))
    return text


def _column(index: int, kind: int, block: ByteReader) -> ColumnMetadata:
    """Type and meta of a column; what hides in a STRING's metadata is brought out."""
    meta = 0
    if kind in types.ONE_BYTE_META:
        meta = block.byte()
    elif kind in _LITTLE:
        meta = int.from_bytes(block.take(2), "little")
    elif kind in _BIG:
        first, second = block.take(2)
        meta = first << 8 | second
    if kind in (types.STRING, types.ENUM, types.SET):
        first, second = meta >> 8, meta & 0xFF
        if first in (types.ENUM, types.SET):
            kind, meta = first, second
        elif first & 0x30 != 0x30:  # lengths over 255: two bits of them are kept, inverted, in the type byte
            kind, meta = first | 0x30, second | ((first & 0x30) ^ 0x30) << 4
        else:
            kind, meta = first, second
    return ColumnMetadata(index, f"@{index + 1}", kind, meta)
