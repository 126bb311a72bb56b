"""Compiles a plan and a table version to a Python function that decodes the rows of an event.

    rows(b, s, p, end, row, append, context) -> (row after the last one, bytes of keys and values)

    b, s     the stream's bytes, and the same as latin-1 text
    p, end   where the event's column count is, and where its rows end
    row      index in the transaction of the event's first row
    append   of a list of `model.batch.Record`
    context  `Context`: what a plan's variables print

The function raises struct.error, IndexError and the like for damaged rows, after having appended some: the caller
undoes that and gives the position.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from replicator.decode.binlog import column_presence
from replicator.decode.binlog.column_presence import Operation
from replicator.decode.plan.column_usage import Renderer
from replicator.decode.plan.row_function import Function, Rows
from replicator.decode.plan.variable_values import Context
from replicator.model import column_sizes
from replicator.model.batch import Record
from replicator.model.plan import TablePlan
from replicator.model.table import Table

__all__ = ["Context", "Operation", "Renderer", "Rows", "compile_rows"]


@lru_cache(maxsize=500)
def compile_rows(
    plan: TablePlan, table: Table, operation: Operation, rendering: Renderer, accept_partial: bool = False
) -> Rows:
    """Kept over decoders: a stream that is opened again needs the same functions.

    Args:
        accept_partial: also decode rows that come without some of their columns; else they raise E2304.

    Raises:
        DecodeError: E2301, E2302, E2306, E2307: a column that can't be read or written as planned.
    """
    column_sizes.check(table)
    variants = _Variants(plan, table, operation, rendering, accept_partial)
    every = column_presence.every_column(table, operation)
    usual = column_presence.usual_header(table, operation)
    return Function(plan, table, operation, rendering, every).compile(usual, variants)


class _Variants:
    """Decodes the events whose headers are not the usual one: images without some columns, or with other bits left over
    in the bitmaps. One function for each header that comes."""

    def __init__(
        self, plan: TablePlan, table: Table, operation: Operation, rendering: Renderer, accept_partial: bool
    ) -> None:
        self._made_of = plan, table, operation, rendering
        self._table = table
        self._operation: Operation = operation
        self._accept_partial = accept_partial
        self._size = len(column_presence.usual_header(table, operation))

    def __call__(
        self, b: bytes, s: str, p: int, end: int, row: int, append: Callable[[Record], None], context: Context
    ) -> tuple[int, int]:
        return _variant(self, b[p : p + self._size])(b, s, p, end, row, append, context)

    def compile(self, header: bytes) -> Rows:
        found = column_presence.parse(self._table, self._operation, header, accept_partial=self._accept_partial)
        return Function(*self._made_of, found).compile(header, None)


@lru_cache(maxsize=1000)
def _variant(variants: _Variants, header: bytes) -> Rows:
    """Bounded over all tables: applications update a few sets of columns, but could update any."""
    return variants.compile(header)
