"""Checksums of a chunk that the server computes: one row instead of all of them."""

from __future__ import annotations

from typing import Final

import msgspec

from replicator.model import types
from replicator.mysql import table_key
from replicator.mysql.identifiers import quote_identifier
from replicator.mysql.table_key import Bound
from replicator.mysql.table_shape import ColumnShape
from replicator.verify.side import Side
from replicator.verify.table_pair import ReadTable, TablePair

_FLOATS: Final = frozenset({types.FLOAT, types.DOUBLE})
_MOMENTS: Final = frozenset({types.DATETIME2, types.TIMESTAMP2, types.DATE})


_XOR: Final = "BIT_XOR(CAST(CONV(LEFT(h, 16), 16, 10) AS UNSIGNED))"


class Checksum(msgspec.Struct, frozen=True):
    """`unhashed`: rows that were too long for the server."""

    rows: int
    value: int
    unhashed: int

    def proves(self, other: Checksum) -> bool:
        """Whether both sides have the same rows."""
        return self == other and not self.unhashed


def possible(pair: TablePair) -> bool:
    """JSON documents of two servers are not compared by their text."""
    return pair.ordered and not pair.documents


def checksum(
    side: Side, pair: TablePair, table: ReadTable, done: Bound | None, end: Bound | None, where: str = ""
) -> Checksum:
    """Of the rows behind `done` up to `end` for which `where` is true. Raises errors of the side."""
    if table.key is None:
        raise ValueError("the table has no key")
    condition = table_key.condition(table.shape, table.key, done, end)
    if where:
        condition += f" AND ({where})" if condition else f" WHERE ({where})"
    values = ", ".join(_value(column) for column in table.shape.columns)
    name = f"{quote_identifier(table.shape.database)}.{quote_identifier(table.shape.name)}"
    sql = (
        f"SELECT COUNT(*), COALESCE({_XOR}, 0), COALESCE(SUM(h IS NULL), 0) "  # noqa: S608 (all names are quoted)
        f"FROM (SELECT SHA2(CONCAT({values}), 256) AS h FROM {name}{condition}) AS hashed"
    )
    rows, value, unhashed = side.control.rows(sql)[0]
    return Checksum(int(rows), int(value), int(unhashed))


def _value(column: ColumnShape) -> str:
    """With its length, so that no two rows make one text. A FLOAT prints all of its digits only as a DOUBLE."""
    expression = column.expression
    if column.type in _FLOATS:
        expression = f"({expression} * 1e0)"
    elif column.type in _MOMENTS:
        expression = f"CAST({expression} AS DATETIME(6))"
    elif column.type == types.TIME2:
        expression = f"CAST({expression} AS TIME(6))"
    return f"COALESCE(CONCAT(LENGTH({expression}), ':', CAST({expression} AS BINARY)), 'N')"
