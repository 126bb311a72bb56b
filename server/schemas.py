"""The table definitions of a task: shown, and supplied by operators while the task does not run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout
from replicator.coordination.overview import Overview, TaskOverview
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import HistoryRecord
from replicator.coordination.tasks.commits import Commits
from replicator.coordination.tasks.history import History
from replicator.coordination.tasks.schema_nodes import SchemaNodes
from replicator.errors import ProcessError
from replicator.model.table import Table
from server.positions import is_mariadb, must_stand_still
from server.views import View

if TYPE_CHECKING:
    from replicator.assembly.table_definitions import TableDefinitions

_SHOWN = 100


class KnownTable(msgspec.Struct, kw_only=True):
    """A table as the task knows it. `columns` None: it is there, and what made it so was not understood."""

    database: str
    name: str
    columns: list[str] | None
    primary_key: list[str] = []


class Schema(View, kw_only=True):
    kind: str = "Schema"
    name: str
    items: list[KnownTable]


class Schemas:
    """Thread-safe, as Control is; raises NotConnected and NodeMissing E5003 likewise.

    The module that reads definitions is imported with the first question: it would double the start of the Server.
    """

    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
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

    def tell(self, name: str, statement: str, by: str, reason: str) -> None:
        """Takes a CREATE TABLE in the place of what is known of its table, as of where the task stands, or a table
        in quarantine has stopped.

        Raises:
            ProcessError: E5007 while the task runs or before its first position, E5014 for another statement.
        """
        view = self._overview.task(name)
        must_stand_still(view, "schema")
        checkpoint = self._commits.read(name).checkpoint
        if checkpoint is None:
            raise ProcessError("E5007", f"task '{name}' has no position yet", fix="Start it once.")
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
        from replicator.assembly.table_definitions import TableDefinitions

        store = SchemaNodes(self._coordinator, self._layout, view.name, "")
        return TableDefinitions(store, mariadb=is_mariadb(view))


def _known(key: tuple[str, str], table: Table | None) -> KnownTable:
    if table is None:
        return KnownTable(database=key[0], name=key[1], columns=None)
    columns = [column.name for column in table.columns]
    return KnownTable(
        database=key[0], name=key[1], columns=columns, primary_key=[columns[at] for at in table.primary_key]
    )
