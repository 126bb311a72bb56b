"""Decides which tables a task leaves out: those that operators chose and, where configured so, those that fail."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from replicator.errors import ConfigError, DecodeError, ReplicatorError
from replicator.model.position import CatchUp, Position
from replicator.model.quarantine import Problem, Quarantined, TaskOrders, left_out, marked

MOST: Final = 50
"""Tables in quarantine by an error: more are no matter of single tables, and the marks have to fit into a znode."""
_SHOWN: Final = 500
_SCHEMA: Final = "E3302"
"""A schema registry refuses the schema of one table."""


class Quarantine:
    """
    Args:
        orders: of operators.
        by_error: a table with an error that concerns it alone is also left out, instead of stopping the task.

    Attributes:
        tables: left out at the moment.
        only: the one table that is read at the moment, to deliver what was left out of it; "" otherwise.
    """

    def __init__(self, orders: TaskOrders | None = None, *, by_error: bool = False) -> None:
        self._orders = orders or TaskOrders()
        self.tables = self._chosen = frozenset(self._orders.tables)
        self.only = ""
        self._by_error = by_error
        self._errors: dict[str, Problem] = {}
        self._begun: CatchUp | None = None  # of this process; nothing of it may have been committed yet

    def take(self, error: ReplicatorError) -> bool:
        """Whether the task goes on without the table that `error` is of, from the next session on."""
        table = error.table
        if not (self._by_error and _is_plain(table) and _of_one_table(error)):
            return False
        if (table in self.tables and table != self.only) or table in self._errors:
            return False
        if len(self.tables - self._chosen) + len(self._errors) >= MOST:
            return False
        self._errors[table] = {key: text[:_SHOWN] for key, text in error.to_dict().items() if text}
        return True

    def marks(
        self, present: tuple[Quarantined, ...], position: Position, now_ms: int
    ) -> tuple[tuple[Quarantined, ...], Position]:
        """Those of a stream that begins at `position`, and that position: without a catch-up that is over."""
        behind = position.catch_up
        if behind is None and self._begun is not None and self._begun.table in self._errors:
            behind = self._begun  # stopped before its first commit: else it would begin again, for ever
        if behind is not None:
            present, position = self._caught_up(present, position, behind, now_ms)
        marks = marked(present, self._orders, position, now_ms, self._errors)
        if position.rows and (marks != present or any(map(self._orders.is_due, marks))):
            # Its rows are counted differently with a table more or less: the transaction is begun again.
            position = msgspec.structs.replace(position.transaction_start, reset=position.reset + 1)
            return self.marks(present, position, now_ms)
        return marks, position

    def _caught_up(
        self, present: tuple[Quarantined, ...], position: Position, behind: CatchUp, now_ms: int
    ) -> tuple[tuple[Quarantined, ...], Position]:
        replace, table = msgspec.structs.replace, behind.table
        released = behind.time_ms <= self._orders.mended.get(table, 0)
        stopped = table in self._chosen or table in self._errors
        if not (behind.done or stopped or released):
            return present, position
        here = replace(position, catch_up=None, reset=position.reset + int(not behind.done))
        if behind.done:
            new: dict[str, Any] = {"until": here, "replayed": True}
        elif stopped:  # the rest of it stays in quarantine
            time_ms = max(self._orders.tables.get(table, now_ms), behind.time_ms + 1)
            since = behind.at.transaction_start
            new = {"since": since, "time_ms": time_ms, "error": self._errors.get(table, {})}
        else:  # the rest of it stays out
            new = {"since": behind.at.transaction_start}
        marks = [
            replace(mark, **new) if (mark.table, mark.time_ms, mark.until) == (table, behind.time_ms, None) else mark
            for mark in present
        ]
        return tuple(sorted(marks, key=lambda mark: mark.until is None)), here

    def begin(self, marks: tuple[Quarantined, ...], position: Position) -> Position:
        """The stream begins, and `marks` are durable. Returns from where: with what has to be delivered first."""
        self.tables = left_out(marks)
        self._errors.clear()
        if position.catch_up is None:
            due = [mark for mark in marks if self._orders.is_due(mark)]
            if due:
                catch_up = CatchUp(due[0].table, due[0].time_ms, due[0].since)
                position = msgspec.structs.replace(position, catch_up=catch_up)
        self._begun = position.catch_up
        self.only = position.catch_up.table if position.catch_up is not None else ""
        return position


def _is_plain(table: str) -> bool:
    """Whether the name as a pattern means this one table."""
    return table.count(".") == 1 and not any(char in table for char in "*?\0")


def _of_one_table(error: ReplicatorError) -> bool:
    """Never what is of the stream, of the source or of the sink as a whole."""
    return not error.transient and (isinstance(error, DecodeError | ConfigError) or error.code == _SCHEMA)
