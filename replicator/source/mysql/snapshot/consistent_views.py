"""Opens transactions on several connections that all see the rows of one moment, and reads the position of that moment.

While `FLUSH TABLES WITH READ LOCK` is held no transaction commits, so transactions that begin WITH CONSISTENT SNAPSHOT
see the same rows, those of all transactions before the end of the log. The lock is held for a few round trips. While it
is waited for, writers of the source wait behind it: so it is waited for as short as the server allows for.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import msgspec

from replicator.errors import SourceError, SourceUnavailable
from replicator.model.finding import listed
from replicator.model.origin import Origin
from replicator.model.position import Position
from replicator.mysql import server_errors
from replicator.mysql.server import Server
from replicator.mysql.session import Session
from replicator.source.mysql import positions
from replicator.source.mysql.snapshot import definition as definitions
from replicator.source.mysql.snapshot import table_ids
from replicator.source.mysql.snapshot.connections import Connections, view_lost
from replicator.source.mysql.snapshot.table_ids import Ids

LOCK_WAIT_S: Final = 2
"""`lock_wait_timeout` of the lock. The server takes it in up to three steps, and waits for each of them as long."""
_IDLE_S: Final = 5
"""`wait_timeout` of the connection that holds the lock: if this process stands still, the server releases the lock."""
_LIMITS: Final = f"SET SESSION lock_wait_timeout = {LOCK_WAIT_S}, wait_timeout = {_IDLE_S}"
_NOT_GRANTED: Final = frozenset({1205, 1213, 1223, 1317, 1969, 3024})
"""Time-outs, deadlocks, interruptions, and a lock of another session."""
_PROBE: Final = "FLUSH TABLES `no such database`.`no such table` WITH READ LOCK"
"""The server looks for RELOAD first, and then finds no table."""
_TABLES: Final = (
    "SELECT TABLE_SCHEMA, TABLE_NAME, ENGINE, CREATE_TIME FROM information_schema.TABLES "
    "WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')"
)
_ONE: Final = " AND TABLE_SCHEMA = %s AND TABLE_NAME = %s"
_ENGINE: Final = "InnoDB"
_FIX: Final = "or set `source.snapshot.consistent: false`."

Stamp: TypeAlias = tuple[str, str]
"""Digest of a table's definition, and when the table was created, which TRUNCATE and an exchange of names change."""


class Stamps:
    """What tables were before the lock.

    Args:
        of_tables: `database.table` -> `Stamp`.
        statements, ids: see `table_ids`; read in this order.
    """

    def __init__(self, server: Server, of_tables: dict[str, Stamp], statements: str, ids: Ids | None) -> None:
        self._server, self._of_tables = server, of_tables
        self._statements, self._ids = statements, ids

    def difference(self, session: Session, table: str, text: str | None) -> str:
        """Between the table as it was and as it is now; "": none. `text`: its definition now."""
        name = definitions.split(session, table)
        rows = session.rows(_TABLES + _ONE, name)
        if text is None or not rows:
            return f"{table} was dropped or renamed"
        if self._of_tables.get(table) != (_digest(text), str(rows[0][3])):
            return f"{table} was altered, truncated or created again"
        return f"rows of {table} were exchanged with another table's" if self._is_exchanged(session, name) else ""

    def _is_exchanged(self, session: Session, name: tuple[str, str]) -> bool:
        if self._ids is None or table_ids.statements(session) == self._statements:
            return False
        ids = table_ids.read(session, self._server)
        return ids is not None and table_ids.of(ids, *name) != table_ids.of(self._ids, *name)


class FixedView:
    """See `views.Views`: one transaction for everything that is read on the connection for rows. Each SELECT is in a
    savepoint, so that its metadata lock ends with it, and an ALTER TABLE does not wait for the whole snapshot."""

    def __init__(self, connections: Connections, place: Position, stamps: Stamps) -> None:
        self._connections, self._place, self._stamps = connections, place, stamps

    @property
    def place(self) -> Position | None:
        return self._place

    def begin(self, passed: Position) -> None:
        self._connections.rows.rows("SAVEPOINT chunk")

    def end(self) -> None:
        self._connections.rows.rows("ROLLBACK TO SAVEPOINT chunk")

    def confirm(self, table: str, text: str | None) -> None:
        difference = self._stamps.difference(self._connections.control, table, text)
        if difference:
            raise view_lost(self._connections.control.where, difference, table=table)

    @contextlib.contextmanager
    def asking(self) -> Iterator[None]:
        self.begin(self._place)
        try:
            yield
        except SourceError as error:
            if server_errors.number_of(error) in definitions.ALTERED:
                raise view_lost(self._connections.control.where, str(error.found)) from error
            raise
        self.end()


class Opened(msgspec.Struct):
    """`views`: one of each of the connections. `lock_s`: how long writers were locked, s."""

    views: Sequence[FixedView]
    place: Position
    lock_s: float


def refused(session: Session, tables: Sequence[str]) -> SourceError | None:
    """What of `open_views` is known without a lock: E2104, E2226; None: nothing is in its way."""
    try:
        session.rows(_PROBE)
    except SourceError as error:
        if error.transient:
            raise
        if _is_denial(error):
            return _denied(session, error)
    try:
        _created(session, tables)
    except SourceError as error:
        if error.code != "E2226":
            raise
        return error
    return None


def open_views(connections: Sequence[Connections], locking: Session, server: Server, tables: Sequence[str]) -> Opened:
    """
    Args:
        connections: made for one view each, on which nothing was read yet.
        locking: a separate connection, for the lock. It is of no more use behind it.
        tables: see `SnapshotSource.open_views`.

    Raises:
        SourceUnavailable: E2224, or the lock was lost.
        SourceError: E2104, E2226.
    """
    stamps = _stamps(locking, server, tables)
    for each in connections:
        each.rows.rows("SELECT 1")
    locking.rows(_LIMITS)
    _lock(locking)
    begun = time.monotonic()
    end = positions.end_position(locking, server)
    for each in connections:
        each.rows.rows("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
    locking.rows("UNLOCK TABLES")  # raises if the server has released it before
    held = time.monotonic() - begun
    place = msgspec.structs.replace(end, server=str(Origin(server.identity)))
    return Opened([FixedView(each, place, stamps) for each in connections], place, held)


def _lock(session: Session) -> None:
    try:
        session.rows("FLUSH TABLES WITH READ LOCK")
    except SourceError as error:
        if _is_denial(error):
            raise _denied(session, error) from error
        if server_errors.number_of(error) not in _NOT_GRANTED:
            raise
        raise SourceUnavailable(
            "E2224",
            f"{session.where} did not grant the lock for a consistent snapshot",
            found=error.found or "",
            wanted=f"FLUSH TABLES WITH READ LOCK within {LOCK_WAIT_S} s: no statement that runs for longer",
            fix=f"The task tries again. End long statements (SHOW PROCESSLIST), {_FIX}",
        ) from error


def _is_denial(error: SourceError) -> bool:
    number = server_errors.number_of(error)
    return number == server_errors.NO_PRIVILEGE or number in server_errors.LOGIN


def _denied(session: Session, error: SourceError) -> SourceError:
    account = server_errors.account_of(session.user)
    return SourceError(
        "E2104",
        f"the account {account} may not lock the server for a consistent snapshot",
        found=error.found or "",
        wanted="RELOAD, for FLUSH TABLES WITH READ LOCK",
        fix=f"GRANT RELOAD ON *.* TO {account}; {_FIX}",
    )


def _created(session: Session, tables: Sequence[str]) -> dict[str, str]:
    """When each of the tables that exist was created. Raises SourceError E2226."""
    wanted, found, others = set(tables), dict[str, str](), []
    for database, name, engine, created in session.rows(_TABLES):
        table = f"{database}.{name}"
        if table not in wanted:
            continue
        if str(engine) != _ENGINE:
            others.append(f"{table} ({engine})")
        found[table] = str(created)
    if others:
        raise SourceError(
            "E2226",
            "the storage engine of a table has no consistent views",
            found=listed(sorted(others)),
            wanted=_ENGINE,
            fix=f"Convert the tables to {_ENGINE}, exclude them in `source.snapshot.tables`, {_FIX}",
        )
    return found


def _stamps(session: Session, server: Server, tables: Sequence[str]) -> Stamps:
    """Of tables that exist. Raises SourceError E2226."""
    statements = table_ids.statements(session)
    found = _created(session, tables)
    texts = ((table, definitions.text_of(session, table)) for table in found)
    of_tables = {table: (_digest(text), found[table]) for table, text in texts if text is not None}
    return Stamps(server, of_tables, statements, table_ids.read(session, server))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
