"""The number of statements that a server runs."""

from __future__ import annotations

from replicator.mysql.session import Session

_REPLICAS = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'"


def running(session: Session, enough: int) -> int:
    """Threads_running. Each replica counts as a statement that runs, our own stream among them. Where there are more
    than `enough`, the replicas that the account may see are subtracted: its own, and with the privilege PROCESS all.
    The server looks at each of its connections for that, so it is not asked in vain.

    Raises SourceUnavailable, SourceError.
    """
    found = int(str(session.rows("SHOW GLOBAL STATUS LIKE 'Threads_running'")[0][1]))
    return found if found <= enough else max(1, found - int(session.value(_REPLICAS)))
