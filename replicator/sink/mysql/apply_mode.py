"""Decides how row images are applied: by the BINLOG statement where the account may execute it, else by SQL."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from replicator.config.mysql_sink import MySQLSink
from replicator.mysql.server import Server
from replicator.mysql.server_errors import GRANT
from replicator.mysql.session import Session

Mode: TypeAlias = Literal["binlog", "sql"]
_GTID: Final = "SET gtid_next"


def refused(session: Session, server: Server) -> list[str]:
    """Of the statements that the mode binlog needs, those that the account may not execute. None of them has an
    effect. Raises the errors of the session's side."""
    statements = {"BINLOG": "BINLOG ''"}
    if not server.mariadb:
        statements[_GTID] = "SET SESSION gtid_next = 'AUTOMATIC'"
    return [name for name, sql in statements.items() if session.refusal(sql) in GRANT]


def statements(server: Server) -> str:
    return "BINLOG" if server.mariadb else f"BINLOG and {_GTID}"


def privilege(server: Server) -> str:
    """That the mode binlog needs."""
    return "BINLOG REPLAY" if server.mariadb else "REPLICATION_APPLIER"


def chosen(config: MySQLSink, session: Session, server: Server) -> Mode:
    """Raises SinkUnavailable."""
    if config.apply != "auto":
        return config.apply
    return "sql" if refused(session, server) else "binlog"
