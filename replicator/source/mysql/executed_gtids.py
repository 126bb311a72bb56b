"""Computes the executed GTID set at a position in a binlog: that of its file, plus the GTIDs in front of the
position."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from replicator.errors import SourceError
from replicator.model.gtid import GtidSet, MariaDBPosition
from replicator.model.position import Position
from replicator.mysql.server import Server
from replicator.mysql.session import Session
from replicator.source.binlog_layout import HEADER
from replicator.source.mysql.logs import current_log

EventLength = Callable[[Position], int]
"""Bytes of the event at a position, asked for those that SHOW BINLOG EVENTS refuses."""

_PAGE = 5_000  # events: as many take 3 MB
_FIRST_PAGE = 50  # most positions that people give are a file's beginning
_JOINED = 500
_MYSQL_REFUSES = re.compile(r"at position (\d+):.*too big", re.IGNORECASE)
_MARIADB_REFUSES = "Wrong offset or I/O error"
_MARIADB_GTID = re.compile(r"\bGTID (\d+)-(\d+)-(\d+)")
_READINGS = 5


def mysql(session: Session, file: str, offset: int, event_length: EventLength) -> str:
    if offset == HEADER:
        head = session.rows("SHOW BINLOG EVENTS IN %s LIMIT 2", (file,))
        return "".join(one_line(event[5]) for event in head if event[2] == "Previous_gtids")
    found = _Sets()
    for event in _events(session, file, offset, event_length):
        found.add(str(event[2]), event[5])
    return found.text()


def mariadb(session: Session, file: str, offset: int, event_length: EventLength) -> str:
    """BINLOG_GTID_POS is NULL behind an event over max_allowed_packet, which may have been larger when it was written:
    then the events themselves are read."""
    state = session.value("SELECT BINLOG_GTID_POS(%s, %s)", (file, offset))
    if state is not None:
        return _in_order(state)
    found = MariaDBPosition.parse(mariadb_before(session, file))
    for event in _events(session, file, offset, event_length):
        gtid = _MARIADB_GTID.search(str(event[5])) if event[2] == "Gtid" else None
        if gtid is not None:
            found.add(*map(int, gtid.groups()))
    return str(found)


def mariadb_before(session: Session, file: str) -> str:
    """What was executed before the file."""
    return _in_order(session.value("SELECT BINLOG_GTID_POS(%s, %s)", (file, HEADER)))


def mariadb_end(session: Session, server: Server) -> Position | None:
    """Where the log ends; None when log_bin is off.

    A transaction is among the server's GTIDs before all of it is in the log, and both happen under the lock that SHOW
    MASTER STATUS takes: what that says before and after the GTIDs are read is their place when it is the same. On a
    server too busy for that the place is a little before theirs, as with a start at a GTID, and they all are in the
    log. (BINLOG_GTID_POS would read the whole file, and may be NULL: see `mariadb`.)
    """
    after = current_log(session, server)
    for _ in range(_READINGS):
        status, gtid = after, session.value("SELECT @@GLOBAL.gtid_binlog_pos")
        after = current_log(session, server)
        if after is None or after == status:
            break
    return Position(str(status[0]), int(status[1]), _in_order(gtid)) if status is not None else None


def one_line(text: object) -> str:
    """Sets of several servers come with line breaks."""
    return "" if text is None else "".join(str(text).split())


def _in_order(state: object) -> str:
    """Servers list domains as they come."""
    return str(MariaDBPosition.parse(one_line(state)))


def _events(session: Session, file: str, offset: int, event_length: EventLength) -> Iterator[tuple[Any, ...]]:
    """Rows of SHOW BINLOG EVENTS before `offset`, without those over max_allowed_packet."""
    at, page = HEADER, _FIRST_PAGE
    while at < offset:
        last = at
        try:
            for event in session.rows("SHOW BINLOG EVENTS IN %s FROM %s LIMIT %s", (file, at, page)):
                if int(event[1]) < offset:
                    yield event
                last = int(event[4])
        except SourceError as error:
            there = _refused(error.found or "", last, page)
            if there is None:
                raise
            at = last
            if at < there:  # those before it, one page after the other: the server gives a page as a whole
                page = max(1, min(page // 2, 1 + (there - at) // 100))
            else:
                at += event_length(Position(file, at))
            continue
        page = min(_PAGE, 10 * page)
        if last == at:
            return
        at = last


def _refused(found: str, at: int, page: int) -> int | None:
    """Where the event stands that the server refuses to show, as far as it says so (MariaDB: somewhere on the page);
    None: it refuses something else."""
    told = _MYSQL_REFUSES.search(found)
    if told is not None:
        return int(told[1])
    if _MARIADB_REFUSES not in found:
        return None
    return at if page == 1 else at + 100 * page


class _Sets:
    """MySQL's GTIDs, joined now and then: a file may hold millions."""

    def __init__(self) -> None:
        self._found: list[str] = []

    def add(self, kind: str, info: object) -> None:
        """`kind`, `info`: columns of SHOW BINLOG EVENTS."""
        if kind == "Previous_gtids":
            self._found.append(one_line(info))
        elif kind.startswith("Gtid") and "'" in str(info):
            self._found.append(str(info).split("'")[1])
        if len(self._found) >= _JOINED:
            self._found = [self.text()]

    def text(self) -> str:
        joined = ",".join(filter(None, self._found))
        return str(GtidSet.parse(joined)) if joined else ""
