"""SQL of the tests that a source makes before it sends a row.

A literal outside of the column's type is not tested: servers have compared those in different ways.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from replicator.model import types
from replicator.model.row_tests import IntegerTest
from replicator.mysql.identifiers import quote_identifier
from replicator.mysql.table_shape import ColumnShape, TableShape

_BITS: Final = {types.TINY: 8, types.SHORT: 16, types.INT24: 24, types.LONG: 32, types.LONGLONG: 64}


def condition(shape: TableShape, tests: Iterable[IntegerTest], where: str) -> str:
    """For a WHERE clause, "" for all rows. `where`: of the operator, "" for none; it comes first."""
    parts = [f"({where})"] if where else []
    for test in tests:
        column = _column(shape, test)
        if column is not None:
            parts.append(_sql(quote_identifier(column.name), test))
    return " AND ".join(parts)


def _column(shape: TableShape, test: IntegerTest) -> ColumnShape | None:
    """None: the test can't be made."""
    found = [column for column in shape.columns if column.name.lower() == test.column.lower()]
    if len(found) != 1 or found[0].type not in _BITS:
        return None
    bits, unsigned = _BITS[found[0].type], found[0].unsigned
    low, high = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return found[0] if all(low <= value <= high for value in test.values) else None


def _sql(name: str, test: IntegerTest) -> str:
    if test.sign == "in":
        return f"{name} IN ({', '.join(map(str, test.values))})"
    return f"{name} {test.sign} {test.values[0]}"
