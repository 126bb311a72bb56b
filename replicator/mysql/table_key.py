"""The key by which a table is cut into chunks, and the conditions of the chunks.

Order and equality are the server's alone: a bound is a row's key, given back byte for byte as literals, never compared
here. `(a, b) > (x, y)` is written out (`a > x OR (a = x AND b > y)`), because older servers do not use an index for
the comparison of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from replicator.model import types
from replicator.mysql.binary_values import extent, moment, span
from replicator.mysql.identifiers import quote_identifier
from replicator.mysql.session import Session
from replicator.mysql.table_shape import BINARY, ColumnShape, TableShape

Bound: TypeAlias = tuple[str, ...]
"""SQL literals of the columns of a key."""

_QUERY: Final = (
    "SELECT INDEX_NAME, COLUMN_NAME, SUB_PART, NULLABLE FROM information_schema.STATISTICS "
    "WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND NON_UNIQUE = 0 AND INDEX_TYPE = 'BTREE' "
    "ORDER BY INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX"
)
_INTEGERS: Final = {types.TINY: "b", types.SHORT: "<h", types.INT24: "<i", types.LONG: "<i", types.LONGLONG: "<q"}
_ORDERED: Final = frozenset(
    {
        *types.INTEGERS,
        *types.CHARACTERS,
        types.YEAR,
        types.NEWDECIMAL,
        types.DATE,
        types.TIME2,
        types.DATETIME2,
        types.TIMESTAMP2,
        types.ENUM,
        types.SET,
        types.BIT,
    }
)
"""Types whose values can be given back as a literal that the server orders as the column. FLOAT and DOUBLE are not: no
literal of theirs is surely equal. Nor are prefixes of a TEXT: two rows may have the same."""


class Key(msgspec.Struct, frozen=True):
    """`columns`: indexes into `TableShape.columns`, in the order of the index."""

    name: str
    columns: tuple[int, ...]


def choose(session: Session, shape: TableShape) -> Key | None:
    """The primary key, else the first unique key whose columns are all NOT NULL; None: it has none that orders it.

    Raises:
        SourceUnavailable, SourceError: as `Session.rows`.
    """
    return next(iter(usable(session, shape)), None)


def usable(session: Session, shape: TableShape) -> list[Key]:
    """The keys that order the table, the primary key first. Raises as `choose`."""
    places = {column.name: index for index, column in enumerate(shape.columns)}
    found: dict[str, list[int] | None] = {}
    for name, column, part, nullable in session.rows(_QUERY, (shape.database, shape.name)):
        known = found.setdefault(str(name), [])
        place = places.get(str(column)) if column is not None else None  # None: an expression
        if place is None or part is not None or nullable == "YES" or shape.columns[place].type not in _ORDERED:
            found[str(name)] = None
        elif known is not None:
            known.append(place)
    return [Key(name, tuple(columns)) for name, columns in found.items() if columns]


def condition(shape: TableShape, key: Key, low: Bound | None, high: Bound | None) -> str:
    """Rows behind `low` up to and including `high`, as a WHERE clause; "" without bounds."""
    names = [quote_identifier(shape.columns[index].name) for index in key.columns]
    parts = [_beyond(names, low, ">")] if low is not None else []
    parts += [_beyond(names, high, "<=")] if high is not None else []
    return " WHERE " + " AND ".join(parts) if parts else ""


def order(shape: TableShape, key: Key, *, backwards: bool = False) -> str:
    names = (quote_identifier(shape.columns[index].name) for index in key.columns)
    return " ORDER BY " + ", ".join(f"{name} DESC" if backwards else name for name in names)


def _beyond(names: Sequence[str], bound: Bound, sign: str) -> str:
    strict = sign[0]
    terms = []
    for index, name in enumerate(names):
        last = index == len(names) - 1
        equal = [f"{other} = {value}" for other, value in zip(names[:index], bound, strict=False)]
        terms.append(" AND ".join([*equal, f"{name} {sign if last else strict} {bound[index]}"]))
    if len(terms) == 1:
        return terms[0]
    # What all of the terms imply: the server finds the range of the index by it.
    return f"{names[0]} {strict}= {bound[0]} AND (" + " OR ".join(f"({term})" for term in terms) + ")"


def literals(columns: Sequence[ColumnShape], key: Key, values: Sequence[bytes]) -> Bound:
    """`values`: see `Bounds.values`."""
    return tuple(_literal(columns[index], value) for index, value in zip(key.columns, values, strict=True))


class Bounds:
    """Makes literals of the key of a row. One per answer: `sent` are the types of its columns."""

    def __init__(self, shape: TableShape, key: Key, sent: Sequence[int]) -> None:
        self._columns, self._sent, self._key = shape.columns, sent, key
        self._first = 1 + (len(shape.columns) + 9) // 8

    def of(self, packet: bytes) -> Bound:
        """`packet`: a row as the binary protocol sends it."""
        return literals(self._columns, self._key, self.values(packet))

    def values(self, packet: bytes) -> list[bytes]:
        """Of the key's columns, as they are sent, without their lengths."""
        nulls, at = int.from_bytes(packet[1 : self._first], "little") >> 2, self._first
        wanted, values = set(self._key.columns), dict[int, bytes]()
        for index in range(max(wanted) + 1):
            if nulls >> index & 1:
                continue
            width = WIDTHS.get(self._sent[index])
            start, at = (at, at + width) if width is not None else extent(packet, at)
            if index in wanted:
                values[index] = packet[start:at]
        return [values[index] for index in self._key.columns]


WIDTHS: Final = {
    types.TINY: 1,
    types.SHORT: 2,
    types.YEAR: 2,
    types.INT24: 4,
    types.LONG: 4,
    types.FLOAT: 4,
    types.LONGLONG: 8,
    types.DOUBLE: 8,
}
"""Bytes of values without a length in the binary protocol, by the type that is sent."""


def _literal(column: ColumnShape, raw: bytes) -> str:
    kind = column.type
    if kind in _INTEGERS or kind in (types.YEAR, types.ENUM, types.SET):
        signed = kind in _INTEGERS and not column.unsigned
        return str(
            int.from_bytes(raw[: 3 if kind == types.INT24 and not signed else len(raw)], "little", signed=signed)
        )
    if kind == types.NEWDECIMAL:
        return raw.decode("ascii")
    if kind == types.BIT:
        return str(int.from_bytes(raw, "big"))
    if kind in (types.DATE, types.DATETIME2, types.TIMESTAMP2):
        year, month, day, hour, minute, second, micro = moment(raw)
        clock = f" {hour:02}:{minute:02}:{second:02}.{micro:06}" if kind != types.DATE else ""
        return f"'{year:04}-{month:02}-{day:02}{clock}'"
    if kind == types.TIME2:
        negative, days, hour, minute, second, micro = span(raw)
        return f"'{'-' * negative}{days * 24 + hour:02}:{minute:02}:{second:02}.{micro:06}'"
    if column.collation == BINARY:
        return f"X'{raw.hex()}'"
    return f"_{column.charset} X'{raw.hex()}' COLLATE {column.collation_name}"
