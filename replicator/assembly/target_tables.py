"""Definitions of the source's tables as statements that create them at the target."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from replicator.assembly.target_ddl import statement_rewriter
from replicator.config.secrets import resolve
from replicator.config.task import TaskConfig
from replicator.model.metadata_event import Statement, StatementSettings, TableChange
from replicator.model.snapshot_steps import SnapshotDefinitions
from replicator.model.target_statement import TargetStatement
from replicator.mysql.identifiers import quote_identifier
from replicator.schema.rewrite.dialect import translated
from replicator.schema.snapshot_definitions import snapshot_definitions
from replicator.transform.chain import Chain

_SETTINGS = StatementSettings(foreign_key_checks=False)
"""SHOW CREATE TABLE was read with an empty sql_mode. Tables that foreign keys refer to may be created later."""


class SourceTables:
    """Asks the source with each call."""

    def __init__(self, config: TaskConfig) -> None:
        self._config = config
        self._mariadb = config.source.type == "mariadb"
        self._rewrite = statement_rewriter(config, Chain(config.transforms))

    def __call__(self, names: Collection[str] | None = None) -> list[TargetStatement]:
        """Databases first. `names`: `database.table` of tables at the source; None: all that are replicated.

        Raises SourceUnavailable, SourceError.
        """
        from replicator.source.mysql.definition_reader import read

        matches = self._config.source.selection().matches
        reading = read(self._config.database, resolve(self._config.database.password))
        definitions = snapshot_definitions(
            reading,
            lambda database, table: matches(database, table) and (names is None or f"{database}.{table}" in names),
            mariadb=self._mariadb,
        )
        tables = list(self._tables(definitions))
        return [*self._databases(definitions, tables), *tables]

    def _tables(self, definitions: SnapshotDefinitions) -> Iterator[TargetStatement]:
        for text in definitions.tables:
            change = TableChange("CREATE", text.database, text.name, definitions.table(text))
            made = self._rewrite(Statement(text.database, text.text or "", "CREATE TABLE", (change,)))
            yield TargetStatement(
                "CREATE TABLE",
                "stop" if made.refusal else "apply",
                made.sql,
                text.text or "",
                made.tables,
                refusal=made.refusal,
                fix=made.fix,
                settings=_SETTINGS,
                mariadb=self._mariadb,
            )

    def _databases(
        self, definitions: SnapshotDefinitions, tables: Collection[TargetStatement]
    ) -> Iterator[TargetStatement]:
        """Those that the tables go to, with the defaults of the first one of the source that goes there."""
        defaults = {one.name: one for one in definitions.databases}
        targets: dict[str, str] = {}
        for text, table in zip(definitions.tables, tables, strict=True):
            if table.tables:
                targets.setdefault(table.tables[0][0], text.database)
        for name, source in targets.items():
            known = defaults[source]
            sql = f"CREATE DATABASE {quote_identifier(name)} DEFAULT CHARACTER SET {known.charset}"
            sql += f" COLLATE {known.collation}" if known.collation else ""
            if self._mariadb != (self._config.sink.type == "mariadb"):
                sql = translated(sql, mariadb=self._mariadb)
            yield TargetStatement("CREATE DATABASE", "apply", sql, sql, databases=(name,), mariadb=self._mariadb)
