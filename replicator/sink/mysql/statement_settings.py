"""Settings of a session that executes a statement of the source: those of the session that executed it there."""

from __future__ import annotations

from typing import Final

from replicator.config.mysql_sink import MySQLSink as MySQLSinkConfig
from replicator.errors import ReplicatorError
from replicator.model.bookkeeping import statement_mark
from replicator.model.target_statement import TargetStatement
from replicator.mysql.server import Server
from replicator.mysql.session import Session

_MODES: Final = {
    1 << 0: "REAL_AS_FLOAT",
    1 << 1: "PIPES_AS_CONCAT",
    1 << 2: "ANSI_QUOTES",
    1 << 3: "IGNORE_SPACE",
    1 << 5: "ONLY_FULL_GROUP_BY",
    1 << 6: "NO_UNSIGNED_SUBTRACTION",
    1 << 7: "NO_DIR_IN_CREATE",
    1 << 19: "NO_AUTO_VALUE_ON_ZERO",
    1 << 20: "NO_BACKSLASH_ESCAPES",
    1 << 21: "STRICT_TRANS_TABLES",
    1 << 22: "STRICT_ALL_TABLES",
    1 << 23: "NO_ZERO_IN_DATE",
    1 << 24: "NO_ZERO_DATE",
    1 << 25: "ALLOW_INVALID_DATES",
    1 << 26: "ERROR_FOR_DIVISION_BY_ZERO",
    1 << 29: "HIGH_NOT_PRECEDENCE",
    1 << 31: "PAD_CHAR_TO_FULL_LENGTH",
}
"""Those that both servers have. NO_ENGINE_SUBSTITUTION is always on: else the server chooses another engine."""
_GIPK: Final = (8, 0, 30)


def sql_mode(bits: int) -> str:
    return ",".join([*(name for bit, name in _MODES.items() if bits & bit), "NO_ENGINE_SUBSTITUTION"])


def set_for(session: Session, server: Server, statement: TargetStatement, config: MySQLSinkConfig) -> None:
    """Raises SinkUnavailable, SinkError."""
    settings = statement.settings
    session.rows("SET SESSION sql_mode = %s", (sql_mode(settings.sql_mode),))
    session.rows(f"SET SESSION foreign_key_checks = {int(settings.foreign_key_checks)}")
    session.rows(f"SET SESSION lock_wait_timeout = {config.lock_wait_timeout_s}")
    _set_time_zone(session, settings.time_zone)
    if statement.time_s:  # rows get CURRENT_TIMESTAMP of the statement where a column is added
        session.rows(f"SET SESSION timestamp = {statement.time_s}.{settings.microsecond:06d}")
    if not server.mariadb and server.version >= _GIPK:
        session.rows("SET SESSION sql_generate_invisible_primary_key = OFF")


def mark(session: Session, task: str) -> None:
    """The session's statements get the mark of the task in the binlog (see `model/bookkeeping.py`). An account that may
    not do so executes them without; `check` says what that means.

    It is the last setting of a session: CONNECTION_ID() returns the mark from now on.
    """
    session.refusal(f"SET SESSION pseudo_thread_id = {statement_mark(task)}")


def _set_time_zone(session: Session, zone: str) -> None:
    """A zone that the target does not know is of no concern to most statements: the server's own one then."""
    try:
        session.rows("SET SESSION time_zone = %s", (zone or "+00:00",))
    except ReplicatorError as error:
        if error.transient:
            raise
