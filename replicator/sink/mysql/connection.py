"""A connection to the target that row images are applied over: its server, settings and packets."""

from __future__ import annotations

from typing import Final

from replicator.config.mysql_sink import MySQLSink
from replicator.errors import ReplicatorError, SinkError
from replicator.mysql import multi_statements, server_errors
from replicator.mysql.multi_statements import Outcome
from replicator.mysql.server import read_server
from replicator.mysql.session import Session
from replicator.mysql.statement_text import Text
from replicator.sink.mysql import apply_mode, errors, events, row_groups
from replicator.sink.mysql.apply_mode import Mode
from replicator.sink.mysql.lenient_settings import lenient
from replicator.sink.mysql.sql import load_mode
from replicator.sink.mysql.sql.statements import MODE, RESTORED

_NET_SECONDS: Final = 600
_IDLE_SECONDS: Final = 28_800
"""A session that is idle for longer than that ends, and the next one begins."""
_SETTINGS: Final = (
    f"sql_mode = '{MODE}'",
    "time_zone = '+00:00'",
    "foreign_key_checks = 1",
    "unique_checks = 1",
    "sql_quote_show_create = 1",
    "completion_type = NO_CHAIN",
    "sql_notes = 1",
    f"net_read_timeout = {_NET_SECONDS}",
    f"net_write_timeout = {_NET_SECONDS}",
    f"wait_timeout = {_IDLE_SECONDS}",
)
"""DESIGN.md names them."""
_PACKET_SPARE: Final = 1024


class Target:
    """
    Attributes:
        session: with the server that is written to.
        server: what it says of itself.
        mode: how row images are applied.
        room: bytes that the text of a packet may have.
        obstacle: why rows are not inserted by LOAD DATA LOCAL, if they are applied by SQL.
    """

    def __init__(self, config: MySQLSink, password: str) -> None:
        """Raises SinkUnavailable, SinkError."""
        sends_rows = config.load_data and config.apply != "binlog"
        self.session = Session(config, password, found_rows=True, sends_rows=sends_rows)
        self._timeout = config.statement_timeout_s
        try:
            self.server = read_server(self.session)
            self._refuse_read_only()
            self._refuse_lenient()
            self._set(config)
            self.mode: Mode = apply_mode.chosen(config, self.session, self.server)
            largest = int(self.session.value("SELECT @@SESSION.max_allowed_packet"))
            self.room = min(largest, config.max_packet_bytes) - _PACKET_SPARE
            self.largest = largest - _PACKET_SPARE
            self.obstacle = load_mode.obstacle(config, self.server)
            multi_statements.enable(self.session)
        except BaseException:
            self.session.close()
            raise
        self._described = False

    def _refuse_read_only(self) -> None:
        value = self.server.get("read_only")
        if value.upper() not in ("OFF", "0", ""):
            raise errors.read_only(self.session.where, f"read_only = {value}")

    def _refuse_lenient(self) -> None:
        found = lenient(self.server)
        if found:
            raise SinkError(
                "E3413",
                f"{self.session.where} does not apply row images strictly",
                found=", ".join(f"{one.name} = {one.value}" for one in found),
                wanted=", ".join(f"{one.name} = {one.wanted}" for one in found),
                fix=" ".join(one.fix for one in found),
            )

    def _set(self, config: MySQLSink) -> None:
        waits = [f"{name} = {config.lock_wait_timeout_s}" for name in ("innodb_lock_wait_timeout", "lock_wait_timeout")]
        own = ["max_statement_time = 0"] if self.server.mariadb else []
        self.session.rows("SET SESSION " + ", ".join([*_SETTINGS, *waits, *own]))
        self.session.rows("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")

    def describe(self) -> None:
        """Prepares the session for row images. Raises SinkError E3405: the account may not."""
        if self._described or self.mode == "sql":
            return
        group = events.format_description(mariadb=self.server.mariadb)
        outcome = self.execute(row_groups.text([group]), 1)
        if outcome.error is not None:
            raise self._denied(outcome.error)
        if not self.server.mariadb:
            # A format description makes gtid_next NOT_YET_DETERMINED; the server would then want one of ours.
            self.session.rows("SET SESSION gtid_next = 'AUTOMATIC'")
        self._described = True

    def execute(self, text: Text, statements: int) -> Outcome:
        """Raises SinkUnavailable: the connection is lost, the outcome unknown."""
        return multi_statements.execute(self.session, text, statements, self._timeout)

    def send(self, text: Text) -> None:
        """Raises SinkUnavailable: the connection is lost."""
        multi_statements.send(self.session, text, self._timeout)

    def receive(self, statements: int) -> Outcome:
        """Behind `send`. Raises SinkUnavailable: the connection is lost, the outcome unknown."""
        return multi_statements.receive(self.session, statements, self._timeout)

    def rollback(self) -> None:
        """Raises SinkUnavailable."""
        for statement in (b"ROLLBACK", *self.restored):
            self.session.rows(statement.decode())

    @property
    def restored(self) -> tuple[bytes, ...]:
        """Statements that restore the settings of the session after an error between those of rows."""
        return RESTORED if self.mode == "sql" else ()

    def abandon(self) -> None:
        """Rolls back, or ends the session: the connection may be lost."""
        try:
            self.rollback()
        except ReplicatorError:
            self.close()

    def close(self) -> None:
        self.session.close()

    def _denied(self, error: ReplicatorError) -> ReplicatorError:
        if server_errors.number_of(error) not in server_errors.GRANT:
            return error
        privilege = apply_mode.privilege(self.server)
        account = server_errors.account_of(self.session.user)
        return SinkError(
            "E3405",
            f"the account {account} may not write row images",
            found=error.found,
            wanted=privilege,
            fix=f"GRANT {privilege} ON *.* TO {account};",
        )
