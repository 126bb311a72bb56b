"""Transactions in which a SELECT sees every transaction that the stream has passed.

A server sends a transaction to its replicas before its engine shows it: the commit is written and synchronized first,
and with semi-synchronous replication (AFTER_SYNC) it then waits for a replica. A SELECT of that time has the rows as
they were before, and the stream, which is behind the transaction already, does not bring them again.
"""

from __future__ import annotations

import contextlib
import time
from typing import Final, Protocol

from replicator.errors import SourceError, SourceUnavailable
from replicator.model.gtid import GtidSet
from replicator.model.origin import Origin
from replicator.model.position import Position
from replicator.mysql.server import Server
from replicator.mysql.session import Session
from replicator.source.mysql.executed_gtids import one_line
from replicator.source.mysql.snapshot.connections import Connections

_WAIT_S: Final = 60.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.001, 0.05
_SETTLE_S: Final = 1.0
_SHORT: Final = 4096
"""Characters of GTIDs that are sent without a closer look at which of them are new."""


class Views(Protocol):
    def begin(self, passed: Position) -> None:
        """Begins a transaction on the connection for rows, one that sees everything before `passed`.

        Raises:
            SourceUnavailable: E2002, not within a minute.
            SourceError.
        """
        ...

    def confirm(self, table: str, text: str | None) -> None:
        """While a SELECT holds the table's metadata lock: `text` is its definition now.

        Raises:
            SourceUnavailable: E2225, it is not the one that the view has rows of.
            SourceError.
        """
        ...

    def asking(self) -> contextlib.AbstractContextManager[None]:
        """Around a question for keys on the connection for rows."""
        ...

    def end(self) -> None:
        """Behind the last row of a SELECT."""
        ...

    @property
    def place(self) -> Position | None:
        """Of the log that all views see; None: each one sees its own."""
        ...


def views(connections: Connections) -> Views:
    """Those of the server."""
    if connections.server.mariadb:
        return PositionViews(connections)
    return GtidViews(connections) if connections.server.gtid else SettledViews(connections)


class _Short:
    """A transaction for each chunk."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    @property
    def place(self) -> Position | None:
        return None

    def confirm(self, table: str, text: str | None) -> None:
        return

    def asking(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def end(self) -> None:
        self._connections.rows.rows("COMMIT")


class GtidViews(_Short):
    """MySQL with GTIDs: a transaction is among the executed ones only after its engine shows it."""

    def __init__(self, connections: Connections) -> None:
        super().__init__(connections)
        self._seen: frozenset[str] = frozenset()
        self._settled = SettledViews(connections)

    def begin(self, passed: Position) -> None:
        if not passed.gtid:  # a stream that began at a file position does not know the set until the next file
            self._settled.begin(passed)
            return
        parts = frozenset(passed.gtid.split(",")) if passed.gtid else frozenset()
        missing, waiting = self._new(parts), _Waiting(self._connections, passed)
        while missing:
            sql = "SELECT GTID_SUBTRACT(%s, @@GLOBAL.gtid_executed)"
            missing = one_line(self._connections.control.value(sql, (missing,)))
            if missing:
                waiting.pause(f"{missing[:200]} is not executed")
        self._seen = parts
        _start(self._connections)

    def _new(self, parts: frozenset[str]) -> str:
        """What of a set was not seen executed yet, of one part for each server. Sets may have 300 kB, and change by
        little."""
        new = ",".join(parts - self._seen)
        if len(new) <= _SHORT or not self._seen:
            return new
        return str(GtidSet.parse(new).subtract(GtidSet.parse(",".join(self._seen - parts))))


class PositionViews(_Short):
    """MariaDB: the server says which place of its log a view belongs to. Events that it writes by itself, as those of a
    new file, move that place, too."""

    def __init__(self, connections: Connections) -> None:
        super().__init__(connections)
        self._elsewhere: tuple[str, float] | None = None

    def begin(self, passed: Position) -> None:
        waiting = _Waiting(self._connections, passed)
        if Origin.parse(passed.server).created == 0:
            self._of_another_log(passed)
            passed = Position("", 0)
        while True:
            session = self._connections.rows
            session.rows("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
            found = self._place(session)
            if found.order >= passed.order:
                return
            session.rows("ROLLBACK")
            waiting.pause(f"the engine is at {found}")

    def _of_another_log(self, passed: Position) -> None:
        """Behind a fail-over the position names a file of the former server until something is written. The server that
        is read now has all of it (`source.hosts`); its engine is given a second since then."""
        if self._elsewhere is None or self._elsewhere[0] != passed.gtid:
            self._elsewhere = passed.gtid, time.monotonic()
        left = _SETTLE_S - (time.monotonic() - self._elsewhere[1])
        if left > 0:
            self._connections.pause(left)

    def _place(self, session: Session) -> Position:
        found = {
            str(name).lower(): _text(value) for name, value in session.rows("SHOW STATUS LIKE 'binlog_snapshot_%'")
        }
        file, offset = found.get("binlog_snapshot_file", ""), found.get("binlog_snapshot_position", "")
        if not file:
            raise SourceError("E2201", "the server shows no binlog", found="an empty status", wanted="log_bin = ON")
        return Position(file, int(offset))


class SettledViews(_Short):
    """MySQL without GTIDs does not say what its engine shows. A commit is given a second for it, and as long as it may
    wait for a semi-synchronous replica; see DESIGN.md."""

    def __init__(self, connections: Connections) -> None:
        super().__init__(connections)
        self._passed: tuple[tuple[int, int, int], float] | None = None

    def begin(self, passed: Position) -> None:
        if self._passed is None or passed.order > self._passed[0]:
            self._passed = passed.order, time.monotonic()
        since = self._passed[1]
        left = settling_s(self._connections.control) - (time.monotonic() - since)
        if left > _WAIT_S:
            raise _unseen(self._connections.control.where, passed, "a commit may wait for a replica as long")
        if left > 0:
            self._connections.pause(left)
        _start(self._connections)


def _start(connections: Connections) -> None:
    read_only = " READ ONLY" if connections.server.version >= (5, 6) else ""
    connections.rows.rows("START TRANSACTION" + read_only)


class _Waiting:
    def __init__(self, connections: Connections, passed: Position) -> None:
        self._connections, self._passed = connections, passed
        self._deadline = time.monotonic() + _WAIT_S
        self._pause = _FIRST_PAUSE_S

    def pause(self, found: str) -> None:
        if time.monotonic() > self._deadline:
            raise _unseen(self._connections.control.where, self._passed, found)
        self._connections.pause(self._pause)
        self._pause = min(2 * self._pause, _LONGEST_PAUSE_S)


def _unseen(where: str, passed: Position, found: str) -> SourceUnavailable:
    return SourceUnavailable(
        "E2002",
        f"{where} does not show the transactions that it has sent",
        found=found,
        wanted=f"everything before {passed} visible within {_WAIT_S:.0f} s",
        position=str(passed),
    )


def settling_s(session: Session) -> float:
    """How long a commit is given to become visible, where the server does not say whether it is."""
    return _SETTLE_S + _semi_sync_s(session)


def late_xa_s(session: Session, server: Server) -> float:
    """How long the engine is given to show an XA COMMIT that the server has sent and counts as shown; 0 where it does
    not do that, or has committed no XA transaction since it was started."""
    if not server.mariadb and server.version >= (8, 0, 30):
        return 0.0
    rows = session.rows("SHOW GLOBAL STATUS LIKE 'Com_xa_commit'")
    return _SETTLE_S if any(int(str(value)) for _, value in rows) else 0.0


def _semi_sync_s(session: Session) -> float:
    """How long a commit may wait for a replica, between the log and the engine; 0 where it does not."""
    rows = session.rows("SHOW GLOBAL VARIABLES LIKE 'rpl_semi_sync_%'")
    found = {str(name).replace("_master_", "_source_"): str(value) for name, value in rows}
    if found.get("rpl_semi_sync_source_enabled") != "ON":
        return 0.0
    return int(found.get("rpl_semi_sync_source_timeout", "0")) / 1000


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
