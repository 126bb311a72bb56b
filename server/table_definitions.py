"""The table definitions of a task: shown, and supplied by operators while the task does not run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from replicator.config.load import parse_task
from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout
from replicator.coordination.overview import Overview, TaskOverview
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import HistoryRecord
from replicator.coordination.tasks.commits import Commits
from replicator.coordination.tasks.history import History
from replicator.coordination.tasks.schema_nodes import SchemaNodes
from replicator.errors import ProcessError
from replicator.model.position import Position
from replicator.model.table import Table
from server.positions import is_mariadb, require_stopped
from server.responses import View

_SHOWN = 100


class TableDefinitions(Protocol):
    """The schema history of one task; `replicator.assembly.table_definitions` implements it."""

    def tables(self) -> Mapping[tuple[str, str], Table | None]: ...

    def has(self, database: str, name: str) -> bool | None: ...

    def define(self, statement: str, position: Position, stopped: Mapping[str, Position] | None = None) -> None: ...


class OpenDefinitions(Protocol):
    """Opens a task's schema history. The command line passes it in: the Server imports no part of the data path."""

    def __call__(self, store: SchemaNodes, *, mariadb: bool) -> TableDefinitions: ...


class KnownTable(msgspec.Struct, kw_only=True):
    """A table definition of a task. `columns` null: the table exists, but its DDL could not be parsed."""

    database: str
    name: str
    columns: list[str] | None
    primary_key: list[str] = []


class Schema(View, kw_only=True):
    kind: str = "Schema"
    name: str
    items: list[KnownTable]


class DefinitionOperations:
    """Thread-safe, as TaskOperations is; raises NotConnected and NodeMissing E5003 likewise."""

    def __init__(self, coordinator: Coordinator, layout: Layout, open_definitions: OpenDefinitions) -> None:
        self._open = open_definitions
        self._coordinator = coordinator
        self._layout = layout
        self._overview = Overview(coordinator, layout)
        self._commits = Commits(coordinator, layout)
        self._history = History(coordinator, layout)

    def read(self, name: str) -> Schema:
        """By database and name, as of the last statement. Raises ProcessError E5014 when the history can't be read."""
        tables = self._definitions(self._overview.task(name)).tables()
        return Schema(name=name, items=[_known(key, table) for key, table in tables.items()])

    def has(self, view: TaskOverview, database: str, name: str) -> bool | None:
        """Whether the table is there as of the last statement; None: no definitions were read yet. Raises ProcessError
        E5014."""
        return self._definitions(view).has(database, name)

    def define(self, name: str, statement: str, by: str, reason: str) -> None:
        """Takes a CREATE TABLE in the place of what is known of its table, as of where the task stands, or a table
        in quarantine has stopped.

        Raises:
            ProcessError: E5007 while the task runs or before its first position, E5014 for another statement.
            ConfigError: E2340, the source is topics.
        """
        view = self._overview.task(name)
        if view.config is not None:
            parse_task(view.config).database  # noqa: B018 (raises)
        require_stopped(view, "schema")
        checkpoint = self._commits.read(name).checkpoint
        if checkpoint is None:
            raise ProcessError("E5007", f"task '{name}' has no position yet", fix="Start the task once.")
        stopped = {mark.table: mark.since for mark in checkpoint.quarantined if mark.until is None}
        self._definitions(view).define(statement, checkpoint.position, stopped)
        shown = " ".join(statement.split())[:_SHOWN]
        record = HistoryRecord(
            kind="schema",
            time_ms=now_ms(),
            by=by,
            reason=f"{reason}: {shown}" if reason else shown,
            position=str(checkpoint.position),
        )
        self._history.append(name, record)

    def _definitions(self, view: TaskOverview) -> TableDefinitions:
        store = SchemaNodes(self._coordinator, self._layout, view.name, "")
        return self._open(store, mariadb=is_mariadb(view))


def _known(key: tuple[str, str], table: Table | None) -> KnownTable:
    if table is None:
        return KnownTable(database=key[0], name=key[1], columns=None)
    columns = [column.name for column in table.columns]
    return KnownTable(
        database=key[0], name=key[1], columns=columns, primary_key=[columns[at] for at in table.primary_key]
    )
