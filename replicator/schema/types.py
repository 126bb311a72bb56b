"""Maps declared column types to the type codes and metadata of the binlog (`model/types.py`)."""

from __future__ import annotations

from typing import Final

import msgspec

from replicator.model import types
from replicator.model.table import Column, Declared
from replicator.schema.charsets import collation_id, widest
from replicator.schema.definitions import ColumnDefinition

_INTEGERS: Final = {
    **dict.fromkeys(("TINYINT", "INT1", "BOOL", "BOOLEAN"), types.TINY),
    **dict.fromkeys(("SMALLINT", "INT2"), types.SHORT),
    **dict.fromkeys(("MEDIUMINT", "INT3", "MIDDLEINT"), types.INT24),
    **dict.fromkeys(("INT", "INTEGER", "INT4"), types.LONG),
    **dict.fromkeys(("BIGINT", "INT8", "SERIAL"), types.LONGLONG),
}
_CHARS: Final = frozenset(("CHAR", "CHARACTER", "NCHAR", "NATIONAL CHAR", "NATIONAL CHARACTER"))
_VARCHARS: Final = frozenset(
    """VARCHAR,CHAR VARYING,CHARACTER VARYING,VARCHARACTER,NVARCHAR,NCHAR VARCHAR,NCHAR VARYING,NATIONAL VARCHAR,
    NATIONAL CHAR VARYING,NATIONAL CHARACTER VARYING,VARCHAR2""".replace("\n    ", "").split(",")
)
_TEXTS: Final = {"TINYTEXT": 1, "TEXT": 2, "MEDIUMTEXT": 3, "LONGTEXT": 4, "LONG": 3, "LONG VARCHAR": 3}
_BLOBS: Final = {"TINYBLOB": 1, "BLOB": 2, "MEDIUMBLOB": 3, "LONGBLOB": 4, "LONG VARBINARY": 3}
_CHOICES: Final = {"ENUM": types.ENUM, "SET": types.SET}
_DECIMALS: Final = frozenset(("DECIMAL", "DEC", "NUMERIC", "FIXED", "NUMBER"))
_DOUBLES: Final = frozenset(("DOUBLE", "DOUBLE PRECISION", "FLOAT8", "REAL"))
_FRACTIONS: Final = {"TIME": types.TIME2, "DATETIME": types.DATETIME2, "TIMESTAMP": types.TIMESTAMP2}
_GEOMETRIES: Final = {
    "GEOMETRY": 0,
    "POINT": 1,
    "LINESTRING": 2,
    "POLYGON": 3,
    "MULTIPOINT": 4,
    "MULTILINESTRING": 5,
    "MULTIPOLYGON": 6,
    "GEOMETRYCOLLECTION": 7,
    "GEOMCOLLECTION": 7,
}
_ADDRESSES: Final = {"INET4": 4, "INET6": 16, "UUID": 16}
_OLD: Final = {types.TIME2: types.TIME, types.DATETIME2: types.DATETIME, types.TIMESTAMP2: types.TIMESTAMP}
"""MariaDB may still write the types of before 5.6 (mysql56_temporal_format)."""


class Layout(msgspec.Struct, frozen=True):
    """Type byte and metadata; meta None: not given by the declaration."""

    type: int
    meta: int | None = 0
    geometry: int | None = None
    dimensions: int | None = None


def is_text(declared: Declared, *, mariadb: bool) -> bool:
    """Whether the type has a character set."""
    kind = declared.type.removesuffix(" COMPRESSED")
    return kind in _CHARS | _VARCHARS or kind in _TEXTS or kind in _CHOICES or (mariadb and kind == "JSON")


def is_lob(declared: Declared) -> bool:
    return declared.type.removesuffix(" COMPRESSED") in _TEXTS


def layout(declared: Declared, *, mariadb: bool) -> Layout | None:
    """None for a type that we do not know."""
    kind = declared.type.removesuffix(" COMPRESSED")
    compressed = kind != declared.type
    if kind in _INTEGERS:
        return Layout(_INTEGERS[kind])
    if kind in _DECIMALS:
        return Layout(types.NEWDECIMAL, (_number(declared, 0) or 10) << 8 | (_number(declared, 1) or 0))
    if kind in ("FLOAT", "FLOAT4") or kind in _DOUBLES:
        return _floating(kind, declared)
    if kind == "BIT":
        bits = _number(declared, 0) or 1
        return Layout(types.BIT, bits // 8 << 8 | bits % 8)
    if kind in _FRACTIONS:
        return Layout(_FRACTIONS[kind], _number(declared, 0) or 0)
    if kind in ("DATE", "YEAR"):
        return Layout(types.DATE if kind == "DATE" else types.YEAR)
    if kind in _CHOICES:
        return Layout(_CHOICES[kind], _choice_size(kind, len(declared.arguments)))
    if kind in _GEOMETRIES:
        return Layout(types.GEOMETRY, 4, _GEOMETRIES[kind])
    return _text(kind, declared, compressed) or _rare(kind, declared, mariadb)


def _number(declared: Declared, at: int) -> int | None:
    if at >= len(declared.arguments) or not declared.arguments[at].isdigit():
        return None
    return int(declared.arguments[at])


def _floating(kind: str, declared: Declared) -> Layout:
    """FLOAT(p) with one argument chooses the size; REAL is a FLOAT under REAL_AS_FLOAT."""
    bits = _number(declared, 0) if len(declared.arguments) == 1 else None
    if kind in _DOUBLES or (bits is not None and bits > 24):
        return Layout(types.DOUBLE, 8)
    return Layout(types.FLOAT, 4)


def _choice_size(kind: str, members: int) -> int:
    if kind == "ENUM":
        return 1 if members < 256 else 2
    size = (members + 7) // 8
    return 8 if size > 4 else size


def _text(kind: str, declared: Declared, compressed: bool) -> Layout | None:
    width, size = widest(declared.charset), _number(declared, 0)
    if kind in _CHARS or kind == "BINARY":
        return Layout(types.STRING, (1 if size is None else size) * width)
    if kind in _VARCHARS or kind == "VARBINARY":
        if compressed:
            return Layout(types.MARIADB_VARCHAR_COMPRESSED, None)
        return Layout(types.VARCHAR, (size or 0) * width)
    prefix = _TEXTS.get(kind) or _BLOBS.get(kind)
    if prefix is None:
        return None
    if size is not None and kind in ("TEXT", "BLOB"):
        prefix = lob_prefix(size * width)
    return Layout(types.MARIADB_BLOB_COMPRESSED if compressed else types.BLOB, prefix)


def lob_prefix(size: int) -> int:
    """Bytes of the length prefix of a BLOB that holds `size` bytes."""
    return 1 if size < 1 << 8 else 2 if size < 1 << 16 else 3 if size < 1 << 24 else 4


def _rare(kind: str, declared: Declared, mariadb: bool) -> Layout | None:
    if kind == "JSON":
        return Layout(types.BLOB if mariadb else types.JSON, 4)
    if kind == "VECTOR" and not mariadb:
        return Layout(types.VECTOR, 4, dimensions=_number(declared, 0) or 2048)
    if kind == "VECTOR":
        return Layout(types.VARCHAR, 4 * (_number(declared, 0) or 0))
    return Layout(types.STRING, _ADDRESSES[kind]) if kind in _ADDRESSES and mariadb else None


def fits(definition: ColumnDefinition, column: Column, *, mariadb: bool) -> bool:
    """Whether a column of the binlog can be the one that is declared so."""
    expected = layout(definition.declared, mariadb=mariadb)
    if expected is None:
        return False
    if expected.type == column.type:
        return expected.meta is None or expected.meta == column.meta
    if definition.declared.type == "REAL" and column.type == types.FLOAT:
        return True
    return expected.type in _OLD and column.type == _OLD[expected.type] and not expected.meta


def column(index: int, definition: ColumnDefinition, *, mariadb: bool) -> Column | None:
    """The column as a TABLE_MAP would describe it; None for a type that we do not know."""
    declared = definition.declared
    expected = layout(declared, mariadb=mariadb)
    if expected is None:
        return None
    return Column(
        index,
        definition.name,
        expected.type,
        expected.meta or 0,
        definition.nullable,
        declared.unsigned or declared.type == "SERIAL" or expected.type == types.YEAR,
        collation(definition, expected.type, mariadb=mariadb),
        members(declared),
        expected.geometry,
        definition.visible,
        expected.dimensions,
        declared,
    )


def members(declared: Declared) -> tuple[str, ...]:
    return declared.arguments if declared.type in _CHOICES else ()


def collation(definition: ColumnDefinition, kind: int, *, mariadb: bool) -> int | None:
    if definition.declared.charset is not None:
        return collation_id(definition.declared.charset, mariadb=mariadb)
    characters = types.CHARACTERS | types.BLOBS | types.COMPRESSED
    return types.BINARY_COLLATION if kind in characters else None
