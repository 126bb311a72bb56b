"""Computes how long the server will retain the binlog that a task needs. Only time counts, although a MariaDB server
with `max_binlog_total_size` also purges by size."""

from __future__ import annotations

from replicator.model.position import Position
from replicator.mysql.server import Server
from replicator.mysql.session import Session
from replicator.source.mysql.logs import Log, logs

_DAY = 86_400.0


def retention(server: Server) -> float | None:
    """Seconds after which a closed file is purged; None when files are kept until they are purged by hand."""
    seconds = float(server.get("binlog_expire_logs_seconds") or 0)
    days = float(server.get("expire_logs_days") or 0)
    return seconds or days * _DAY or None


def remaining(session: Session, server: Server, position: Position, behind_s: float, speed: float) -> float | None:
    """Seconds until a file that we still need may be purged; None when it never is.

    Args:
        behind_s: age of the last transaction that we delivered, s. A file is purged `retention` after its last event.
        speed: seconds of the source's log that we deliver in a second; from 1 on we never fall further behind.
    """
    period = retention(server)
    return None if period is None else until_purged(period, logs(session), position, behind_s, speed)


def until_purged(period: float, there: list[Log], position: Position, behind_s: float, speed: float) -> float:
    """See `remaining`. `period`: the retention, s; there: the server's files, oldest first."""
    if there and position.file == there[-1].file:
        return period  # the file that is written is never purged
    left = max(0.0, period - behind_s)
    return left if speed <= 0 else left / (1 - speed) if speed < 1 else period
