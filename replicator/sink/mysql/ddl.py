"""Executes statements of the source at the target.

A statement commits by itself, so it can't be in the transaction of a position. The position row says which one was
begun, with the definitions before it. After a crash the definitions tell whether it was executed; then it is noted as
done, and passed over when the source sends it again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Final, Literal

import msgspec

from replicator.config.mysql_sink import MySQLSink as MySQLSinkConfig
from replicator.errors import ReplicatorError, SinkError, SinkUnavailable
from replicator.model.batch import Record
from replicator.model.decoding import from_json
from replicator.model.target_statement import TargetStatement
from replicator.model.term import Term
from replicator.mysql import multi_statements, server_errors
from replicator.mysql.session import Session
from replicator.sink.mysql import errors, shard_statements, statement_settings
from replicator.sink.mysql.connection import Target
from replicator.sink.mysql.definitions import Definitions, read_definitions
from replicator.sink.mysql.position_table import PositionTable
from replicator.sink.mysql.transaction import Transaction

_SHOWN: Final = 500
_PAUSE_SECONDS: Final = 0.2
_WORKS: Final = frozenset({"Query", "Execute"})
"""COMMAND of a session that executes something."""


class Noted(msgspec.Struct, frozen=True):
    """What the position row says of the last statement.

    Attributes:
        id: of its record: position and number in its transaction.
        uid: of the incarnation of the task.
        connection: of the session that executes it.
        before: definitions before it.
    """

    id: str
    state: Literal["begun", "done"]
    uid: str
    sql: str = ""
    kind: str = ""
    connection: int = 0
    tables: tuple[tuple[str, str], ...] = ()
    databases: tuple[str, ...] = ()
    before: Definitions = Definitions()


class Statements:
    """Of one session of the sink.

    Args:
        open_session: another connection to the target, for statements alone: their settings are not those of rows.
    """

    def __init__(
        self,
        target: Target,
        table: PositionTable,
        term: Term,
        config: MySQLSinkConfig,
        open_session: Callable[[], Session],
    ) -> None:
        self._target = target
        self._table = table
        self._term = term
        self._config = config
        self._open_session = open_session
        self._done = ""  # id of the last one, while no position behind it is committed
        self._passed = False  # the stream is behind it

    def recover(self, sequence: int) -> int:
        """Decides on a statement that an earlier session had begun. Returns the sequence of the position row.

        What another incarnation of the task has executed is not passed over.

        Raises SinkUnavailable, SinkError, LeadershipLost.
        """
        text = self._table.statement(self._target.session)
        noted = from_json(text, Noted) if text else None
        if noted is None:
            return sequence
        if noted.state == "begun":
            self._wait_for(noted.connection)
            after = read_definitions(self._target.session, noted.tables, noted.databases)
            executed = after != noted.before if noted.kind != "DROP TABLE" else not after.any_of(noted.tables)
            if not executed:
                return self._note(None, sequence)
            noted = Noted(noted.id, "done", noted.uid)
            sequence = self._note(noted, sequence)
        if noted.uid == self._term.uid:
            self._done = noted.id
        return sequence

    def taken(self) -> bytes | None:
        """What the position row says of statements with the next position: nothing, once that is behind the last one.
        Otherwise an operator who sets an earlier position would have it passed over. None: as before."""
        return b"" if self._passed else None

    def committed(self) -> None:
        """A position was, with what `taken` has returned."""
        if self._passed:
            self._done, self._passed = "", False

    def _wait_for(self, connection: int) -> None:
        """Until the session of the earlier term is gone. What it executes is what has to be executed."""
        session = self._target.session
        while connection != session.value("SELECT CONNECTION_ID()"):
            self._term.check()
            rows = session.rows("SELECT USER, COMMAND FROM information_schema.PROCESSLIST WHERE ID = %s", (connection,))
            if not rows or str(rows[0][0]) != session.user:
                return
            if str(rows[0][1]) not in _WORKS:
                session.refusal(f"KILL {connection:d}")
            time.sleep(_PAUSE_SECONDS)

    def execute(self, record: Record, sequence: int) -> int:
        """Everything before is committed. Returns the sequence of the position row.

        Raises:
            SinkError: E3431, it is not to be executed; E3432, the server refuses it.
            SinkUnavailable, SinkFenced, LeadershipLost.
        """
        statement = from_json(record[2] or b"", TargetStatement)
        place = record[3].decode("ascii", "replace")
        id_ = f"{place}/{record[4]}"
        if id_ == self._done:
            self._passed = True
            return sequence
        if statement.action == "stop":
            raise self._stopped(statement, place)
        if self._is_done(statement, place):
            self._done = id_
            return sequence
        with self._open_session() as session:
            statement_settings.set_for(session, self._target.server, statement, self._config)
            # In the session that reads them after a crash: with ANSI_QUOTES the same definition has another text.
            before = read_definitions(self._target.session, statement.tables, statement.databases)
            self._refuse_ambiguous(statement, before, place)
            connection = int(session.value("SELECT CONNECTION_ID()"))
            noted = Noted(
                id_,
                "begun",
                self._term.uid,
                statement.sql,
                statement.kind,
                connection,
                statement.tables,
                statement.databases,
                before,
            )
            sequence = self._note(noted, sequence)
            statement_settings.mark(session, self._term.task)
            self._term.check()
            outcome = multi_statements.execute(session, statement.sql.encode(), 1, self._config.ddl_timeout_s)
        if outcome.error is not None and not shard_statements.tolerated(outcome.number, statement.shard):
            self._note(None, sequence)
            raise self._failed(statement, outcome.error, place)
        sequence = self._note(Noted(id_, "done", self._term.uid), sequence)
        self._done, self._passed = id_, True
        return sequence

    def _is_done(self, statement: TargetStatement, place: str) -> bool:
        """Whether one of several tables that are merged has had the same statement before."""
        if statement.shard is None:
            return False
        try:
            target, fails = self._target, partial(self._fails, statement)
            return shard_statements.is_done(target.session, target.server, statement.shard, fails)
        except shard_statements.Misfit as error:
            what, fix = error.args
            raise self._stopped(msgspec.structs.replace(statement, refusal=what, fix=fix), place) from error

    def _fails(self, statement: TargetStatement, sql: str) -> bool:
        """Whether `sql` has a subquery with more than one row. It may take as long as an ALTER TABLE. Values are read
        as in the session of the statement."""
        with self._open_session() as session:
            statement_settings.set_for(session, self._target.server, statement, self._config)
            outcome = multi_statements.execute(session, sql.encode(), 1, self._config.ddl_timeout_s)
        if outcome.error is not None and outcome.number != errors.NOT_ONE_ROW:
            raise errors.of_transaction(outcome.error, session)
        return outcome.error is not None

    def _note(self, noted: Noted | None, sequence: int) -> int:
        text = b"" if noted is None else msgspec.json.encode(noted)
        return Transaction(self._target, self._table, self._term, sequence).note(text)

    def _refuse_ambiguous(self, statement: TargetStatement, before: Definitions, place: str) -> None:
        """Tables that change their names and look the same: afterwards nothing would tell."""
        if statement.renames and before.kept_by(statement.tables, statement.renames):
            refusal = "RENAME TABLE exchanges tables of equal definitions: after a crash nothing tells whether it ran"
            refused = msgspec.structs.replace(statement, refusal=refusal)
            raise self._stopped(refused, place)

    def _stopped(self, statement: TargetStatement, place: str) -> SinkError:
        return SinkError(
            "E3431",
            f"a {statement.kind} statement of the source is not executed: {statement.refusal}",
            found=statement.source[:_SHOWN],
            wanted="the change at the target",
            fix=statement.fix,
            position=place,
            transaction=place,
            transaction_end=statement.end,
        )

    def _failed(self, statement: TargetStatement, error: ReplicatorError, place: str) -> ReplicatorError:
        session = self._target.session
        if server_errors.number_of(error) in server_errors.GRANT:
            return error
        mapped = errors.of_transaction(error, session)
        if isinstance(mapped, SinkUnavailable):
            return mapped
        return SinkError(
            "E3432",
            f"{session.where} refuses a {statement.kind} statement of the source",
            found=f"{error.found}; {statement.sql[:_SHOWN]}",
            wanted="a statement that the target accepts",
            fix="Change the target so that it accepts the statement, then `replicator task retry NAME`; or make the "
            "change by hand, then `replicator task skip NAME`.",
            position=place,
            transaction=place,
            transaction_end=statement.end,
        )


def is_begun(text: str) -> bool:
    """Whether a statement is being executed, by what the position row says."""
    return bool(text) and from_json(text, Noted).state == "begun"
