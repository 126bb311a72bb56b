"""The binlog files of a server, as it lists them."""

from __future__ import annotations

from typing import Any

import msgspec

from replicator.mysql.server import Server
from replicator.mysql.session import Session


class Log(msgspec.Struct, frozen=True):
    """A binlog file that the server still has; size in bytes."""

    file: str
    size: int


def current_log(session: Session, server: Server) -> tuple[Any, ...] | None:
    """(file, offset, do_db, ignore_db[, executed GTID set: MySQL from 5.6]); None when log_bin is off."""
    modern = not server.mariadb and server.version >= (8, 2)
    rows = session.rows("SHOW BINARY LOG STATUS" if modern else "SHOW MASTER STATUS")
    return rows[0] if rows else None


def logs(session: Session) -> list[Log]:
    """The binlog files, oldest first."""
    return [Log(str(row[0]), int(row[1])) for row in session.rows("SHOW BINARY LOGS")]
