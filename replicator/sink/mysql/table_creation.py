"""Creates tables and databases that the target lacks, from the source's definitions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final, TypeAlias

from replicator.config.mysql_sink import MySQLSink as MySQLSinkConfig
from replicator.errors import ReplicatorError, SinkError, SinkUnavailable
from replicator.model.target_statement import TargetStatement
from replicator.mysql import multi_statements, server_errors
from replicator.mysql.server import Server
from replicator.mysql.session import Session
from replicator.sink.mysql import errors, statement_settings
from replicator.sink.mysql.definitions import read_definitions

SourceTables: TypeAlias = Callable[[Collection[str] | None], Sequence[TargetStatement]]
"""Names of tables at the source, None for all -> statements that create them at the target."""
_EXISTS: Final = frozenset({1007, 1050})
_SHOWN: Final = 500


class TableCreation:
    """Args:
    open_session: a connection for statements alone.
    """

    def __init__(
        self,
        tables: SourceTables,
        open_session: Callable[[], Session],
        server: Server,
        config: MySQLSinkConfig,
        task: str,
    ) -> None:
        self._tables = tables
        self._open_session = open_session
        self._server = server
        self._config = config
        self._task = task

    def create(self, names: Collection[str] | None = None) -> None:
        """Those that are missing.

        Raises:
            SinkError: E3421, a table can't be created; E3432, the server refuses its definition.
            SourceError, SourceUnavailable, SinkUnavailable.
        """
        statements = self._tables(names)
        with self._open_session() as session:
            for statement in statements:
                found = read_definitions(session, statement.tables[:1], statement.databases)
                if not any((*found.tables, *found.databases)):
                    self._execute(session, statement)

    def _execute(self, session: Session, statement: TargetStatement) -> None:
        if statement.action == "stop":
            raise SinkError(
                "E3421",
                f"{_subject(statement)} can't be created from the source's definition: {statement.refusal}",
                found=statement.source[:_SHOWN],
                wanted="the table at the target",
                fix="Create the table at the target by hand; then `replicator task retry NAME`.",
            )
        statement_settings.set_for(session, self._server, statement, self._config)
        statement_settings.mark(session, self._task)
        outcome = multi_statements.execute(session, statement.sql.encode(), 1, self._config.ddl_timeout_s)
        if outcome.error is not None and outcome.number not in _EXISTS:
            raise self._failed(session, statement, outcome.error)

    def _failed(self, session: Session, statement: TargetStatement, error: ReplicatorError) -> ReplicatorError:
        mapped = errors.of_transaction(error, session)
        if isinstance(mapped, SinkUnavailable) or server_errors.number_of(error) in server_errors.GRANT:
            return mapped
        return SinkError(
            "E3432",
            f"{session.where} refuses the source's definition of {_subject(statement)}",
            found=f"{error.found}; {statement.sql[:_SHOWN]}",
            wanted="a definition that the target accepts",
            fix="Create the table at the target by hand; then `replicator task retry NAME`.",
        )


def _subject(statement: TargetStatement) -> str:
    return ".".join(statement.tables[0]) if statement.tables else ", ".join(statement.databases)
