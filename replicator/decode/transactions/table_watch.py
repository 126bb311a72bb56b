"""Tells a snapshot's watcher which rows and which definitions of the tables that it reads have changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

from replicator.decode.binlog import statement_tables
from replicator.decode.binlog.column_presence import Operation
from replicator.decode.binlog.statements import QUOTED, pattern
from replicator.decode.plan.compiler import Context, Rows
from replicator.decode.plan.row_functions import RowFunctions
from replicator.decode.plan.table_versions import OPERATIONS, Version, Wrap
from replicator.decode.transactions.row_keys import RowKeys
from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.batch import Record
from replicator.model.metadata_event import TableChange
from replicator.pipeline.ports import Watcher

_KEEPS: Final = re.compile(
    r"(?:ANALYZE|OPTIMIZE|CHECK|CHECKSUM) TABLE"
    r"|(?:CREATE|ALTER|DROP|RENAME) (?:VIEW|TRIGGER|PROCEDURE|FUNCTION|PACKAGE|EVENT|USER|ROLE|SERVER|SEQUENCE"
    r"|TABLESPACE|INSTANCE|RESOURCE|SPATIAL REFERENCE)"
    r"|CREATE DATABASE|GRANT|REVOKE|SET|FLUSH|INSTALL|UNINSTALL"
)
"""Kinds of statements that leave rows and definitions of tables as they are."""
_OTHER_TABLE: Final = pattern(r"\b(?:EXCHANGE\s+PARTITION|CONVERT\s+(?:PARTITION|TABLE))\b")
"""Clauses of ALTER TABLE that move rows between two tables."""


_OLD: Final = frozenset({types.TIMESTAMP, types.TIME, types.DATETIME})
"""In tables of servers before fractions of a second. Selected values have the new form, so keys would never be equal:
each change of such a table makes what was read stale."""


class TableWatch:
    """What a decoder's watcher is told.

    Args:
        functions: of the decoder's rows.
        accept_partial: rows may come without some of their columns.
    """

    def __init__(self, functions: RowFunctions, *, accept_partial: bool) -> None:
        self._functions = functions
        self._accept_partial = accept_partial
        self._watcher: Watcher | None = None

    def begin(self, watcher: Watcher | None) -> None:
        self._watcher = watcher

    def wrap(self, version: Version) -> Wrap | None:
        """What the version's row functions become; None: they stay as they are."""
        watcher, table = self._watcher, version.table
        columns = watcher.tables.get(table.qualified) if watcher is not None else None
        if watcher is None or columns is None or version.plan is None:
            return None
        try:
            keys = RowKeys(table, columns, self._functions, accept_partial=self._accept_partial)
        except LookupError:  # a version of before the table had the key's columns
            keys = None
        if any(column.type in _OLD for column in table.columns if not columns or column.name in columns):
            keys = None
        return _wrap(watcher, table.qualified, keys)

    def noted(self, table: str, keys: Sequence[bytes]) -> None:
        """Rows with these keys have changed that did not come to the row functions."""
        if self._watcher is not None:
            self._watcher.changed(table, keys)

    def late(self, *, begins: bool) -> None:
        """The rows of an XA transaction that was prepared before come next, or have come."""
        if self._watcher is not None:
            self._watcher.late(begins=begins)

    def statement(self, text: str, database: str) -> None:
        """DDL and the like comes next. `database`: the session's default."""
        watcher = self._watcher
        if watcher is None:
            return
        subject = statement_tables.subject(text, database)
        moves = subject.kind == "ALTER TABLE" and _moves_rows(text)
        if moves:  # tables that are read are concerned, too
            watcher.moved([".".join(name) for name in (*subject.tables, *statement_tables.others(text, database))])
        if not watcher.tables:
            return
        if _KEEPS.fullmatch(subject.kind):
            return
        if subject.kind == "DROP DATABASE":
            chosen = _of_databases(watcher.tables, subject.database)
        elif subject.kind == "ALTER DATABASE":  # its name may be left out, what follows is not told from it
            chosen = _of_databases(watcher.tables, subject.database, database)
        elif subject.tables and not moves:
            chosen = _named(watcher.tables, subject.tables)
        else:
            watcher.altered(None)
            return
        for table in chosen:
            watcher.altered(table)

    def changes(self, changes: Collection[TableChange]) -> None:
        """What the schema history has found in the statement."""
        if self._watcher is None:
            return
        names = {name for change in changes for name in ((change.database, change.name), change.new_name) if name}
        for table in _named(self._watcher.tables, names):
            self._watcher.altered(table)
        for change in changes:
            if change.new_name is not None:
                self._watcher.renamed(f"{change.database}.{change.name}", ".".join(change.new_name))


def _moves_rows(text: str) -> bool:
    return _OTHER_TABLE.search(QUOTED.sub("''", text)) is not None


def _named(tables: Iterable[str], names: Iterable[tuple[str, str]]) -> list[str]:
    """Letters of another case are taken for the same: on some servers they are."""
    wanted = {f"{database}.{name}".lower() for database, name in names}
    return [table for table in tables if table.lower() in wanted]


def _of_databases(tables: Iterable[str], *databases: str) -> list[str]:
    begins = tuple(f"{database}.".lower() for database in databases)
    return [table for table in tables if table.lower().startswith(begins)]


def _wrap(watcher: Watcher, table: str, keys: RowKeys | None) -> Callable[[int, Rows], Rows]:
    def wrap(operation: int, rows: Rows) -> Rows:
        return _NotedRows(watcher, table, keys, OPERATIONS[operation], rows)

    return wrap


class _NotedRows:
    """A row function that tells the watcher first."""

    __slots__ = ("_keys", "_operation", "_rows", "_table", "_watcher")

    def __init__(self, watcher: Watcher, table: str, keys: RowKeys | None, operation: Operation, rows: Rows) -> None:
        self._watcher, self._table, self._keys = watcher, table, keys
        self._operation: Operation = operation
        self._rows = rows

    def __call__(
        self, b: bytes, s: str, p: int, end: int, row: int, append: Callable[[Record], None], context: Context
    ) -> tuple[int, int]:
        self._note(b, p, end)
        return self._rows(b, s, p, end, row, append, context)

    def compiled_parts(self) -> tuple[Rows, Rows, str] | None:
        """For the compiled loop, which runs programs without Python: the row function, the one that gives keys, the
        table."""
        return None if self._keys is None else (self._rows, self._keys.function(self._operation), self._table)

    def _note(self, b: bytes, p: int, end: int) -> None:
        if self._keys is None:
            self._watcher.altered(self._table)
            return
        try:
            keys = self._keys.of(self._operation, b, p, end)
        except DecodeError as error:
            if error.code != "E2304":
                raise
            self._watcher.altered(self._table)  # rows without their keys: nobody knows which
        else:
            self._watcher.changed(self._table, keys)
