"""Which tables a task leaves out: those that operators chose and, where it is told so, those that it stumbles over."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from replicator.errors import ConfigError, DecodeError, ReplicatorError
from replicator.model.position import Position
from replicator.model.quarantine import Problem, Quarantined, left_out, marked

MOST: Final = 50
"""Tables in quarantine by an error: more are no matter of single tables, and the marks have to fit into a znode."""
_SHOWN: Final = 500
_OF_TABLES: Final = ("E3102", "E3302")
"""Codes of the sink that are about one record or the schema of one table."""


class Quarantine:
    """
    Args:
        tables: `database.table` that operators chose.
        by_error: a table with an error of its own is left out, too, instead of stopping the task.
        mended: see `marked`.

    Attributes:
        tables: left out at the moment.
    """

    def __init__(
        self, tables: Collection[str] = (), *, by_error: bool = False, mended: Mapping[str, int] | None = None
    ) -> None:
        self.tables = self._chosen = frozenset(tables)
        self._by_error = by_error
        self._mended = mended or {}
        self._errors: dict[str, Problem] = {}

    def take(self, error: ReplicatorError) -> bool:
        """Whether the task goes on without the table that `error` is of, from the next session on."""
        table = error.table
        if not (self._by_error and _is_plain(table) and _of_one_table(error)):
            return False
        if table in self.tables or table in self._errors:
            return False
        if len(self.tables - self._chosen) + len(self._errors) >= MOST:
            return False
        self._errors[table] = {key: text[:_SHOWN] for key, text in error.to_dict().items() if text}
        return True

    def marks(self, present: tuple[Quarantined, ...], position: Position, now_ms: int) -> tuple[Quarantined, ...]:
        """Those of a stream that begins at `position`."""
        return marked(present, self._chosen, position, now_ms, errors=self._errors, mended=self._mended)

    def begin(self, marks: tuple[Quarantined, ...]) -> None:
        """The stream begins, and `marks` are durable."""
        self.tables = left_out(marks)
        self._errors.clear()


def _is_plain(table: str) -> bool:
    """Whether the name as a pattern means this one table."""
    return table.count(".") == 1 and not any(char in table for char in "*?\0")


def _of_one_table(error: ReplicatorError) -> bool:
    """Never what is of the stream, of the source or of the sink as a whole."""
    return not error.transient and (isinstance(error, DecodeError | ConfigError) or error.code in _OF_TABLES)
