"""The columns of a table as the server's binlog describes them, read from information_schema.

Chunks of a snapshot become binlog events, so their table map has to say what the server's own says with
binlog_row_metadata = FULL. A sink compares its target's columns with those of the row images that it writes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from replicator.errors import SourceError, TableMissing
from replicator.model import types
from replicator.mysql.identifiers import quote_identifier
from replicator.mysql.server import Server
from replicator.mysql.session import Session

_QUERY: Final = (
    "SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, IS_NULLABLE, CHARACTER_OCTET_LENGTH, NUMERIC_PRECISION, "
    "NUMERIC_SCALE, DATETIME_PRECISION, COLLATION_NAME, EXTRA, CHARACTER_SET_NAME FROM information_schema.COLUMNS "
    "WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s ORDER BY ORDINAL_POSITION"
)
_KEY: Final = (
    "SELECT COLUMN_NAME, SUB_PART FROM information_schema.STATISTICS "
    "WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND INDEX_NAME = 'PRIMARY' ORDER BY SEQ_IN_INDEX"
)
_SIMPLE: Final = {
    "tinyint": types.TINY,
    "smallint": types.SHORT,
    "mediumint": types.INT24,
    "int": types.LONG,
    "bigint": types.LONGLONG,
    "year": types.YEAR,
    "date": types.DATE,
}
_BLOBS: Final = {"tiny": 1, "": 2, "medium": 3, "long": 4}
_GEOMETRIES: Final = (
    "geometry",
    "point",
    "linestring",
    "polygon",
    "multipoint",
    "multilinestring",
    "multipolygon",
    "geometrycollection",
)
_SIXTEEN: Final = {"inet6": 16, "uuid": 16, "inet4": 4}
"""MariaDB's types that are fixed bytes in the log and text in an answer."""
_MEMBER: Final = re.compile(r"'((?:[^']|'')*)'")
BINARY: Final = 63
WIDE: Final = frozenset({"ucs2", "utf16", "utf16le", "utf32"})
"""Character sets in which a space has several bytes: a byte 0x20 at the end may be half of a character. The server
sends CHAR without the spaces behind it."""


class ColumnShape(msgspec.Struct, frozen=True):
    """One column. `type` and `meta` as in `model.types`; `expression`: SQL of it, so that the answer of a prepared
    statement can become the value of a row image; `members`: of ENUM and SET, in the column's character set; `texts`:
    the same as text."""

    name: str
    type: int
    meta: int
    nullable: bool
    expression: str
    unsigned: bool = False
    collation: int | None = None
    members: tuple[bytes, ...] = ()
    texts: tuple[str, ...] = ()
    geometry: int | None = None
    visible: bool = True
    dimensions: int | None = None
    charset: str = ""
    collation_name: str = ""


class TableShape(msgspec.Struct, frozen=True):
    """`primary_key`: (index of a column, bytes of it that are indexed; 0: all)."""

    database: str
    name: str
    columns: tuple[ColumnShape, ...]
    primary_key: tuple[tuple[int, int], ...] = ()

    @property
    def select(self) -> str:
        """SELECT without a WHERE clause."""
        table = f"{quote_identifier(self.database)}.{quote_identifier(self.name)}"
        return f"SELECT {', '.join(column.expression for column in self.columns)} FROM {table}"  # noqa: S608 (both are quoted)


class _Row(msgspec.Struct, frozen=True):
    """A row of information_schema.COLUMNS."""

    name: str
    data: str
    full: str
    nullable: bool
    octets: int
    precision: int
    scale: int
    fraction: int
    collation: int | None
    extra: str
    charset: str
    collation_name: str
    declared: str
    """`full` with its letters as they are."""
    mariadb: bool

    @property
    def unsigned(self) -> bool:
        return "unsigned" in self.full or "zerofill" in self.full or self.data == "year"

    @property
    def size(self) -> int:
        """The number in the parentheses of the type."""
        found = re.search(r"\((\d+)", self.full)
        return int(found[1]) if found else 0


def read(session: Session, server: Server, database: str, name: str) -> TableShape:
    """
    Raises:
        TableMissing: E2306, there is no such table.
        SourceError: E2306, it has a type that is not known.
        SourceUnavailable: not reachable.
    """
    collations = _collations(session, server)
    older = not server.mariadb and server.version < (5, 6)  # without fractions of a second
    query = _QUERY.replace("DATETIME_PRECISION", "NULL") if older else _QUERY
    found = session.rows(query, (database, name))
    if not found:
        raise TableMissing(
            "E2306",
            f"table {database}.{name} has no definition",
            found="no such table",
            fix="Create the table, or correct the names in `source.tables` and `transforms.rename`.",
        )
    columns = []
    for row in found:
        octets, precision, scale, fraction = (int(value or 0) for value in row[4:8])
        known = _Row(
            str(row[0]),
            str(row[1]).lower(),
            str(row[2]).lower(),
            row[3] == "YES",
            octets,
            precision,
            scale,
            fraction,
            collations.get(str(row[8])) if row[8] else None,
            str(row[9]).upper(),
            str(row[10] or ""),
            str(row[8] or ""),
            str(row[2]),
            server.mariadb,
        )
        columns.append(_column(session, known, database, name))
    index = {column.name: number for number, column in enumerate(columns)}
    key = session.rows(_KEY, (database, name))
    return TableShape(database, name, tuple(columns), tuple((index[str(part)], int(cut or 0)) for part, cut in key))


def _collations(session: Session, server: Server) -> Mapping[str, int]:
    if server.mariadb and server.version >= (10, 10):
        rows = session.rows(
            "SELECT FULL_COLLATION_NAME, ID FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY"
        )
    else:
        rows = session.rows("SELECT COLLATION_NAME, ID FROM information_schema.COLLATIONS")
    return {str(name): int(number) for name, number in rows if number is not None}


def _column(session: Session, row: _Row, database: str, table: str) -> ColumnShape:
    made = _by_kind(row)
    if made is None:
        raise SourceError(
            "E2306",
            f"column {database}.{table}.{row.name} has an unknown type",
            found=row.full,
            table=table,
            fix="Exclude the table with `source.tables`, or ALTER the column to another type.",
        )
    if made.type in (types.ENUM, types.SET):
        texts = _texts(row)
        members = _members(session, row, texts)
        size = (1 if len(members) < 256 else 2) if made.type == types.ENUM else _set_size(len(members))
        return msgspec.structs.replace(made, members=members, texts=texts, meta=size)
    return made


def _by_kind(row: _Row) -> ColumnShape | None:
    data = row.data
    name = quote_identifier(row.name)

    def shape(kind: int, meta: int = 0, expression: str = name, **more: Any) -> ColumnShape:
        visible = "INVISIBLE" not in row.extra
        return ColumnShape(
            row.name,
            kind,
            meta,
            row.nullable,
            expression,
            visible=visible,
            charset=row.charset,
            collation_name=row.collation_name,
            **more,
        )

    if data in _SIMPLE:
        return shape(_SIMPLE[data], unsigned=row.unsigned)
    if data == "json":
        return shape(types.JSON, 4)
    if data == "vector" and not row.mariadb:
        return shape(types.VECTOR, 4, dimensions=row.size)
    kinds: dict[str, Callable[[], ColumnShape]] = {
        "float": lambda: shape(types.FLOAT, 4, unsigned=row.unsigned),
        "double": lambda: shape(types.DOUBLE, 8, unsigned=row.unsigned),
        "decimal": lambda: shape(types.NEWDECIMAL, row.precision << 8 | row.scale, unsigned=row.unsigned),
        "bit": lambda: shape(types.BIT, (row.size >> 3) << 8 | row.size & 7),
        "time": lambda: shape(types.TIME2, row.fraction),
        "datetime": lambda: shape(types.DATETIME2, row.fraction),
        "timestamp": lambda: shape(types.TIMESTAMP2, row.fraction),
        "char": lambda: shape(types.STRING, row.octets, collation=row.collation),
        "binary": lambda: shape(types.STRING, row.octets, collation=BINARY),
        "varchar": lambda: shape(types.VARCHAR, row.octets, collation=row.collation),
        "varbinary": lambda: shape(types.VARCHAR, row.octets, collation=BINARY),
        "enum": lambda: shape(types.ENUM, 0, f"CAST({name} AS UNSIGNED)", collation=row.collation),
        "set": lambda: shape(types.SET, 0, f"CAST({name} AS UNSIGNED)", collation=row.collation),
        "vector": lambda: shape(types.VARCHAR, row.octets or 4 * row.size, collation=BINARY),
    }
    if data in kinds:
        return kinds[data]()
    if data in _SIXTEEN:
        size = _SIXTEEN[data]
        return shape(types.STRING, size, f"CAST({name} AS BINARY({size}))", collation=BINARY)
    if data in _GEOMETRIES or data == "geomcollection":
        number = _GEOMETRIES.index("geometrycollection" if data == "geomcollection" else data)
        return shape(types.GEOMETRY, 4, geometry=number, collation=BINARY if row.mariadb else None)
    for suffix, collation in (("blob", BINARY), ("text", row.collation)):
        if data.endswith(suffix) and data.removesuffix(suffix) in _BLOBS:
            return shape(types.BLOB, _BLOBS[data.removesuffix(suffix)], collation=collation)
    return None


def _texts(row: _Row) -> tuple[str, ...]:
    text = row.declared[row.declared.index("(") :]
    return tuple(member.replace("''", "'") for member in _MEMBER.findall(text))


def _members(session: Session, row: _Row, members: Sequence[str]) -> tuple[bytes, ...]:
    """In the column's character set, as the table map has them."""
    if row.charset.startswith("utf8"):
        return tuple(member.encode() for member in members)
    converted = ", ".join(f"HEX(CONVERT(%s USING {row.charset}))" for _ in members)
    return tuple(bytes.fromhex(str(value)) for value in session.rows("SELECT " + converted, members)[0])


def _set_size(members: int) -> int:
    size = (members + 7) // 8
    return 8 if size > 4 else size
