"""Canal's `sqlType` and `mysqlType` of a column."""

from __future__ import annotations

from typing import Final

from replicator.model import types
from replicator.model.plan import Image, Text, Value
from replicator.model.table import Column, Declared

_JDBC: Final[dict[int, int]] = {
    types.TINY: -6,
    types.SHORT: 5,
    types.INT24: 4,
    types.LONG: 4,
    types.LONGLONG: -5,
    types.FLOAT: 7,
    types.DOUBLE: 8,
    types.NEWDECIMAL: 3,
    types.BIT: -7,
    types.YEAR: 12,
    types.DATE: 91,
    types.NEWDATE: 91,
    types.TIME: 92,
    types.TIME2: 92,
    types.DATETIME: 93,
    types.DATETIME2: 93,
    types.TIMESTAMP: 93,
    types.TIMESTAMP2: 93,
    types.STRING: 1,
    types.VARCHAR: 12,
    types.VAR_STRING: 12,
    types.MARIADB_VARCHAR_COMPRESSED: 12,
    types.ENUM: 4,
    types.SET: -7,
    types.JSON: 12,
    types.VECTOR: 12,
    types.GEOMETRY: 2004,
}
_BLOB, _CLOB = 2004, 2005
_NULL: Final = {types.SET: _BLOB, types.JSON: 1111}
_WIDER: Final = {types.TINY: 5, types.SHORT: 4, types.LONG: -5, types.LONGLONG: 3}


def jdbc(column: Column) -> int:
    """The number of `java.sql.Types` for a value that is not NULL and, of UNSIGNED integers, fits a signed one."""
    characters = column.type in types.CHARACTERS or column.type in types.COMPRESSED
    if column.type in types.BLOBS or characters:
        binary = column.collation == types.BINARY_COLLATION
        spelled = column.declared.type if column.declared else ""
        if binary and not (characters and spelled in ("CHAR", "VARCHAR")):
            return _BLOB
        if column.type in types.BLOBS or column.type == types.MARIADB_BLOB_COMPRESSED:
            return _CLOB
    return _JDBC[column.type]


def jdbc_of(column: Column, value: str | None) -> int:
    """The number for one value, as `sql_type` prints it: NULLs of SET and JSON, and UNSIGNED integers that are greater
    than a signed one of their size can be, have another."""
    if value is None:
        return _NULL.get(column.type, jdbc(column))
    limit = limit_of(column)
    if limit is not None and int(value) > limit:
        return _WIDER[column.type]
    return jdbc(column)


def limit_of(column: Column) -> int | None:
    """Greater numbers have another type; None: there is none for them."""
    if not column.unsigned or column.type not in _WIDER:
        return None
    return {types.TINY: 0x7F, types.SHORT: 0x7FFF, types.LONG: 0x7FFFFFFF}.get(column.type, 0x7FFFFFFFFFFFFFFF)


def sql_type(column: Column, image: Image) -> Text | Value:
    """The step of a plan that prints it."""
    text = str(jdbc(column))
    if (column.unsigned and column.type in _WIDER) or column.type in _NULL:
        return Value(column.index, image, "canal_sql_type", null=str(_NULL.get(column.type, text)), absent=text)
    return Text(text)


_NAMES: Final[dict[int, str]] = {
    types.TINY: "tinyint",
    types.SHORT: "smallint",
    types.INT24: "mediumint",
    types.LONG: "int",
    types.LONGLONG: "bigint",
    types.FLOAT: "float",
    types.DOUBLE: "double",
    types.YEAR: "year",
    types.DATE: "date",
    types.NEWDATE: "date",
    types.TIME: "time",
    types.TIME2: "time",
    types.DATETIME: "datetime",
    types.DATETIME2: "datetime",
    types.TIMESTAMP: "timestamp",
    types.TIMESTAMP2: "timestamp",
    types.JSON: "json",
}
_SIZES: Final = {1: "tiny", 2: "", 3: "medium", 4: "long"}
_SHAPES: Final = (
    "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection"
)  # fmt: skip


def mysql_type(column: Column) -> str:
    """As the column's declaration spells it; where that is not known, as SHOW CREATE TABLE would spell what the binlog
    tells, without the length of CHAR and VARCHAR, which it counts in bytes."""
    if column.declared is not None:
        return _spelled(column.declared)
    text = _NAMES.get(column.type) or _derived(column)
    if column.type in (types.TIME2, types.DATETIME2, types.TIMESTAMP2) and column.meta:
        text += f"({column.meta})"
    return text + " unsigned" * (column.unsigned and column.type != types.YEAR)


def _spelled(declared: Declared) -> str:
    arguments: tuple[str, ...] = declared.arguments
    if declared.type in ("ENUM", "SET"):
        arguments = tuple(_literal(member) for member in arguments)
    text = (declared.spelled or declared.type) + (f"({','.join(arguments)})" if arguments else "")
    return text + " unsigned" * (declared.unsigned or declared.zerofill) + " zerofill" * declared.zerofill


def _literal(member: str) -> str:
    return "'" + member.replace("'", "''") + "'"


def _derived(column: Column) -> str:
    meta = column.meta
    if column.type == types.NEWDECIMAL:
        return f"decimal({meta >> 8},{meta & 0xFF})"
    if column.type == types.BIT:
        return f"bit({(meta >> 8) * 8 + (meta & 0xFF)})"
    if column.type in (types.ENUM, types.SET):
        name = "enum" if column.type == types.ENUM else "set"
        return f"{name}({','.join(_literal(member) for member in column.members)})"
    if column.type == types.GEOMETRY:
        return _SHAPES[column.geometry] if column.geometry and column.geometry < len(_SHAPES) else "geometry"
    if column.type == types.VECTOR:
        return f"vector({column.dimensions})" if column.dimensions else "vector"
    binary = column.collation == types.BINARY_COLLATION
    if column.type in types.BLOBS:
        return _SIZES.get(meta, "") + ("blob" if binary else "text")
    if column.type == types.MARIADB_BLOB_COMPRESSED:
        return "blob" if binary else "text"
    name = ("binary" if binary else "char") if column.type == types.STRING else "varbinary" if binary else "varchar"
    return f"{name}({meta})" if binary and column.type in types.CHARACTERS else name
