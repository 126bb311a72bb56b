"""`compiler.compile_rows`, compiled: programs where there is one, and their twins for what they leave."""

from __future__ import annotations

from functools import lru_cache

from replicator import compiled
from replicator.decode import presence
from replicator.decode.compiler import Renderer, Rows, compile_rows
from replicator.decode.native.programs import Assembler
from replicator.decode.presence import Operation
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

    def twin() -> Rows:
        return compile_rows(plan, table, operation, rendering, accept_partial)

    try:
        every = presence.every_column(table, operation)
        assembler = Assembler(plan, table, operation, rendering, every)
        spec = assembler.spec(presence.usual_header(table, operation))
        rows: Rows = compiled.module("program").Program(spec, twin, assembler.prepare())
    except Exception:  # the twin runs, or says what is wrong
        return twin()
    return rows
