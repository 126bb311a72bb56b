"""Finds the tables of the source that have a key, among those that are merged into one table of the target."""

from __future__ import annotations

from collections.abc import Sequence

from replicator.assembly.target_checks import source_table
from replicator.config.secrets import resolve
from replicator.config.task import TaskConfig
from replicator.errors import ReplicatorError
from replicator.model.table import Table
from replicator.model.target_table import TargetTable
from replicator.mysql import table_facts
from replicator.mysql.hosts import Hosts
from replicator.mysql.identifiers import quote_identifier
from replicator.mysql.server import read_server
from replicator.mysql.session import Session
from replicator.sink.mysql.shards import KeyValues
from replicator.transform.chain import Chain


class ShardOwners:
    """Asks the source with each call, which is before a task stops. Never raises: it explains another error."""

    def __init__(self, config: TaskConfig) -> None:
        self._config = config
        self._chain = Chain(config.transforms)

    def __call__(self, table: TargetTable, keys: Sequence[KeyValues]) -> Sequence[str]:
        """See `shards.Owners`."""
        try:
            password = resolve(self._config.database.password)
            session = Hosts(self._config.database).first(lambda member: Session(member, password))
            with session:
                return self._found(session, table, keys)
        except ReplicatorError:
            return ()

    def _found(self, session: Session, table: TargetTable, keys: Sequence[KeyValues]) -> list[str]:
        matches, server = self._config.source.selection().matches, read_server(session)
        session.rows("SET SESSION time_zone = '+00:00'")
        names = [
            (str(database), str(name))
            for database, name in session.rows(
                "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE'"
            )
            if matches(str(database), str(name)) and f"{database}.{name}" != table.source
        ]
        merged = [name for name in names if self._chain.name(Table(*name, ())) == (table.database, table.name)]
        found = []
        for facts in table_facts.read(session, merged).values():
            view = self._chain.view(source_table(session, server, facts))
            sources = {
                column.name.lower(): facts.columns[origin.column].name
                for column, origin in zip(view.table.columns, view.origins, strict=True)
                if origin.constant is None and origin.mask is None and not origin.nothing
            }
            conditions = [
                " AND ".join(f"{quote_identifier(sources[column.lower()])} = {_bare(value)}" for column, value in key)
                for key in keys
                if all(column.lower() in sources for column, _ in key)
            ]
            if not conditions:
                continue
            name = f"{quote_identifier(facts.database)}.{quote_identifier(facts.name)}"
            if session.rows(f"SELECT 1 FROM {name} WHERE ({') OR ('.join(conditions)}) LIMIT 1"):  # noqa: S608
                found.append(facts.qualified)
        return sorted(found)


def _bare(literal: str) -> str:
    """Without the collation of the target, which the source may not know."""
    return literal.partition(" COLLATE ")[0]
