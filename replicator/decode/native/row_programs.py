"""Row decoders from compiled programs, with the generated Python function as the fallback."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from replicator import compiled
from replicator.decode.binlog import column_presence
from replicator.decode.binlog.column_presence import Operation, Presence
from replicator.decode.native.programs import Assembler
from replicator.decode.plan.compiler import Renderer, Rows, compile_rows
from replicator.decode.plan.variable_values import Context
from replicator.model.batch import Record
from replicator.model.plan import TablePlan
from replicator.model.table import Table


@lru_cache(maxsize=500)
def native_rows(
    plan: TablePlan, table: Table, operation: Operation, rendering: Renderer, accept_partial: bool = False
) -> Rows:
    """As `compile_rows`. The function gives its records to a `compiled.arena.Arena`.

    Raises:
        DecodeError: as `compile_rows`.
    """
    made = _Programs(plan, table, operation, rendering, accept_partial)
    every = column_presence.every_column(table, operation)
    return made.program(column_presence.usual_header(table, operation), every, made) or made.twin()


class _Programs:
    """Of one plan and operation. Itself for the events whose headers are not the usual one."""

    def __init__(
        self, plan: TablePlan, table: Table, operation: Operation, rendering: Renderer, accept_partial: bool
    ) -> None:
        self._of = plan, table, operation, rendering
        self._table = table
        self._operation: Operation = operation
        self._accept_partial = accept_partial
        self._size = len(column_presence.usual_header(table, operation))

    def twin(self) -> Rows:
        return compile_rows(*self._of, self._accept_partial)

    def __call__(
        self, b: bytes, s: str, p: int, end: int, row: int, append: Callable[[Record], None], context: Context
    ) -> tuple[int, int]:
        return _variant(self, b[p : p + self._size])(b, s, p, end, row, append, context)

    def variant(self, header: bytes) -> Rows:
        if not self._accept_partial:
            return self.twin()  # which refuses
        found = column_presence.parse(self._table, self._operation, header, accept_partial=True)
        return self.twin() if found.none else self.program(header, found, None) or self.twin()

    def program(self, header: bytes, found: Presence, others: Rows | None) -> Rows | None:
        """None: the twin runs, or says what is wrong."""
        try:
            assembler = Assembler(*self._of, found)
            spec = assembler.spec(header)
            program: Rows = compiled.module("program").Program(spec, self.twin, assembler.prepare(), others)
        except Exception:
            return None
        return program


@lru_cache(maxsize=1000)
def _variant(programs: _Programs, header: bytes) -> Rows:
    return programs.variant(header)
