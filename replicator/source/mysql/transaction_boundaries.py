"""Determines whether an event of a binlog file is between two transactions, so that a stream may start with it."""

from __future__ import annotations

import re
from typing import Any, Final

from replicator.model.position import Position
from replicator.mysql.server import Server
from replicator.mysql.session import Session

_BETWEEN: Final = (
    "Anonymous_Gtid",
    "Binlog_checkpoint",
    "Format_desc",
    "Gtid",
    "Incident",
    "Previous_gtids",
    "Rotate",
    "Start_encryption",
    "Stop",
)
"""Beginnings of `Event_type`."""
_MARKED: Final = (5, 7, 5)
"""Since this release an event of MySQL's stands before each transaction, whether it has a GTID or not."""
_RELEASE: Final = re.compile(r"Server ver: (\d+)\.(\d+)\.(\d+)")
_PAGE: Final = 1000
_ENDS: Final = ("COMMIT", "ROLLBACK")


def is_between_transactions(session: Session, server: Server, position: Position, event: tuple[Any, ...]) -> bool:
    """`event`: the row of SHOW BINLOG EVENTS at the position.

    Without GTIDs, releases before MySQL 5.7 write nothing before a transaction but its BEGIN, and nothing at all before
    a statement that changes no rows. Whether such a statement is one of several in a transaction is seen in what comes
    behind it: an end, or the next beginning.
    """
    kind, info = str(event[2]), str(event[5])
    if kind.startswith(_BETWEEN):
        return True
    if kind != "Query" or server.gtid or _release(session, position.file) >= _MARKED:
        return False
    return info == "BEGIN" or (info not in _ENDS and not _ends_first(session, position))


def _release(session: Session, file: str) -> tuple[int, ...]:
    """Of the server that wrote the file: it may have been upgraded since."""
    first = session.rows("SHOW BINLOG EVENTS IN %s LIMIT 1", (file,))
    found = _RELEASE.search(str(first[0][5])) if first else None
    return tuple(map(int, found.groups())) if found else _MARKED


def _ends_first(session: Session, position: Position) -> bool:
    """Whether a transaction ends behind the position before one begins."""
    at = position.offset
    while True:
        events = session.rows("SHOW BINLOG EVENTS IN %s FROM %s LIMIT %s", (position.file, at, _PAGE))
        for event in events:
            kind, info = str(event[2]), str(event[5])
            if kind == "Xid" or (kind == "Query" and info in _ENDS):
                return True
            if kind == "Query" and info == "BEGIN":
                return False
        if len(events) < _PAGE:
            return False
        at = int(events[-1][4])
