"""Conditions on rows: row filters after type checking against a table version. Part of a plan.

Logic is SQL's, of three values: what is compared with NULL is unknown, NOT unknown is unknown, and only what is true
passes. Both sides of a comparison are of one kind; constants stand as

    numbers                   int or Decimal
    characters, ENUM, SET     str, compared code point by code point, whatever the collation
    bytes                     bytes
    DATE, DATETIME            int, the digits of YYYYMMDDhhmmssffffff
    TIMESTAMP                 int, microseconds since the epoch
    TIME                      int, microseconds
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final, Literal, TypeAlias

import msgspec

from replicator.model import types
from replicator.model.table import Column

Kind: TypeAlias = Literal["number", "text", "bytes", "datetime", "timestamp", "time"]
Comparison: TypeAlias = Literal["=", "<>", "<", "<=", ">", ">="]
Operation: TypeAlias = Literal["insert", "update", "delete"]
Constant: TypeAlias = int | Decimal | str | bytes


_NUMBERS: Final = types.INTEGERS | {types.NEWDECIMAL, types.FLOAT, types.DOUBLE, types.YEAR, types.BIT}
_KINDS: Final[dict[int, Kind]] = {
    **dict.fromkeys(_NUMBERS, "number"),
    **dict.fromkeys((types.ENUM, types.SET), "text"),
    **dict.fromkeys((types.DATE, types.NEWDATE, types.DATETIME, types.DATETIME2), "datetime"),
    **dict.fromkeys((types.TIMESTAMP, types.TIMESTAMP2), "timestamp"),
    **dict.fromkeys((types.TIME, types.TIME2), "time"),
}


def kind_of(column: Column) -> Kind | None:
    """What a column's values are compared as; None: with nothing (JSON, geometry, vectors)."""
    if column.type in types.CHARACTERS | types.BLOBS | types.COMPRESSED:
        return "bytes" if column.collation == types.BINARY_COLLATION else "text"
    return _KINDS.get(column.type)


class Of(msgspec.Struct, frozen=True):
    """A column's value. image "row": of the image at hand, see `Filter.rows`; the others are NULL where they are not
    (before an insert, after a delete)."""

    column: int
    image: Literal["row", "before", "after"] = "row"


class Compare(msgspec.Struct, frozen=True, tag="compare"):
    left: Of
    comparison: Comparison
    right: Of | Constant


class OneOf(msgspec.Struct, frozen=True, tag="one_of"):
    """`constants` are not NULL."""

    value: Of
    constants: tuple[Constant, ...]


class Like(msgspec.Struct, frozen=True, tag="like"):
    """`pattern`: SQL's, % and _ as wildcards, a backslash takes their meaning from them."""

    value: Of
    pattern: str


class IsNull(msgspec.Struct, frozen=True, tag="is_null"):
    value: Of


class During(msgspec.Struct, frozen=True, tag="during"):
    """True for changes by one of these operations."""

    operations: tuple[Operation, ...]


class Not(msgspec.Struct, frozen=True, tag="not"):
    part: Condition


class And(msgspec.Struct, frozen=True, tag="and"):
    parts: tuple[Condition, ...]


class Or(msgspec.Struct, frozen=True, tag="or"):
    parts: tuple[Condition, ...]


Condition: TypeAlias = Compare | OneOf | Like | IsNull | During | Not | And | Or


class Filter(msgspec.Struct, frozen=True):
    """Which rows, or which changes, a table's records are made of.

    Attributes:
        rows: True: the condition chooses rows. An update that moves a row in is an insert, one that moves it out a
            delete, so that consumers hold exactly the rows for which it is true. False: it chooses changes, each as it
            is; "row" is the image after, of deletes the one before.
    """

    condition: Condition
    rows: bool = True
