"""The table definitions of a task's schema history, as operators read and supply them.

Server and CLI come through here: they never import the schema package, which takes longer to load than the Server does.
"""

from __future__ import annotations

from collections.abc import Mapping

from replicator.model.position import Position
from replicator.model.table import Table
from replicator.pipeline.ports import HistoryStore
from replicator.schema.history import History
from replicator.schema.manual_definitions import manual_definition


class TableDefinitions:
    """Every call reads the history. Raises ProcessError E5014 where it can't be read."""

    def __init__(self, store: HistoryStore, *, mariadb: bool) -> None:
        self._history = History(store, mariadb=mariadb)

    def tables(self) -> dict[tuple[str, str], Table | None]:
        """(database, name) -> its definition as of the last statement, sorted; None: the table exists, and its DDL was
        not understood."""
        schema = self._history.latest()
        return {key: schema.table(key) for key in sorted(schema.names())} if schema is not None else {}

    def has(self, database: str, name: str) -> bool | None:
        """Whether the table exists as of the last statement; None: no definitions have been read yet."""
        schema = self._history.latest()
        return schema.key((database, name)) in schema.names() if schema is not None else None

    def define(self, statement: str, position: Position, stopped: Mapping[str, Position] | None = None) -> None:
        """Appends the CREATE TABLE as of `position`, or as of where the table (`database.table`) has stopped.

        Raises ProcessError E5014: another statement, no database in the name, or not understood either.
        """
        self._history.append(manual_definition(self._history, statement, position, stopped))
