"""Takes the position row for a term: from here on no earlier term writes to the target."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

import msgspec

from replicator.errors import ReplicatorError, SinkError, SinkUnavailable
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.mysql import server_errors
from replicator.mysql.session import Session
from replicator.sink import unknown_term
from replicator.sink.mysql.errors import DUPLICATE, LOCKED
from replicator.sink.mysql.position_table import PositionRow, PositionTable

_WAIT_SECONDS: Final = 20.0
"""For the row's lock, and for the session that has it to end."""
_PAUSE_SECONDS: Final = 0.05
_NO_SUCH_THREAD: Final = 1094
_NO_NOWAIT: Final = frozenset({1064})


class Claim(msgspec.Struct, frozen=True):
    """
    Attributes:
        sequence: of the row now.
        position: of this incarnation; None: it has committed none.
        left: that an earlier incarnation of the task's name has left.
    """

    sequence: int
    position: Position | None
    left: Position | None


Release: TypeAlias = "Callable[[PositionRow], None]"


def claim(session: Session, table: PositionTable, term: Term, release: Release | None = None) -> Claim:
    """
    Args:
        release: what is done, again and again, while the row is locked; None: `kill_claimant`.

    Raises:
        SinkFenced: E3111, the row is of a term that ZooKeeper does not know, as that of a later one.
        SinkUnavailable: not reachable, or the row stays locked.
        SinkError: E3411.
        LeadershipLost.
    """
    until = time.monotonic() + _WAIT_SECONDS
    while True:
        term.check()  # fencing is an act of leadership too
        row = table.read(session)  # without a lock: a later term is neither waited for nor killed
        _refuse_unknown(row, term)
        made = _locked(session, table, term)
        if made is not None:
            return made
        if time.monotonic() > until:
            raise _stays_locked(session, table, row)
        if row is not None:
            (release or partial(kill_claimant, session))(row)
        time.sleep(_PAUSE_SECONDS)


def _locked(session: Session, table: PositionTable, term: Term) -> Claim | None:
    """None: another session has the lock, or was faster to insert the row."""
    session.rows("BEGIN")
    try:
        row = _read_locked(session, table)
        _refuse_unknown(row, term)
        sequence = table.claim(session, row, term)
        term.check()
        session.rows("COMMIT")
    except ReplicatorError as error:
        _roll_back(session)
        if server_errors.number_of(error) in LOCKED | DUPLICATE | {1213}:
            return None
        raise
    own = row is not None and row.uid == term.uid
    position = row.position if row is not None else None
    counts = row is not None and row.uid not in term.purged
    return Claim(sequence, position if own else None, position if counts and not own else None)


def _read_locked(session: Session, table: PositionTable) -> PositionRow | None:
    try:
        return table.read(session, lock="FOR UPDATE NOWAIT")
    except ReplicatorError as error:
        if server_errors.number_of(error) not in _NO_NOWAIT:
            raise
    return table.read(session, lock="FOR UPDATE")  # MySQL before 8.0 waits as long as our sessions do


def _roll_back(session: Session) -> None:
    try:
        session.rows("ROLLBACK")
    except ReplicatorError:
        session.close()


def _refuse_unknown(row: PositionRow | None, term: Term) -> None:
    if row is not None and row.uid == term.uid:
        where = f"at {row.position}" if row.position is not None else "without a position"
        unknown_term.refuse_unknown(term, row.epoch, f"{row.host or 'an unknown host'}, {row.written_at} UTC, {where}")


def kill_claimant(session: Session, row: PositionRow) -> None:
    """Ends the session of an earlier term: its process may be frozen, in the middle of a transaction. Not if it is
    none of our account: the number may be another one's since the server was restarted."""
    user = session.value("SELECT USER FROM information_schema.PROCESSLIST WHERE ID = %s", (row.connection_id,))
    if user != session.user or row.connection_id == session.value("SELECT CONNECTION_ID()"):
        return
    try:
        session.rows(f"KILL {row.connection_id:d}")
    except SinkError as error:
        if server_errors.number_of(error) != _NO_SUCH_THREAD:
            raise


def _stays_locked(session: Session, table: PositionTable, row: PositionRow | None) -> SinkUnavailable:
    holder = f", claimed by connection {row.connection_id} of {row.host or 'an unknown host'}" if row else ""
    return SinkUnavailable(
        "E3409",
        f"the task's row in {table.name} at {session.where} is locked by another session",
        found=f"locked for {_WAIT_SECONDS:.0f} s{holder}",
        wanted="the row's lock",
        fix="`SHOW PROCESSLIST` and `KILL` end the session that has it.",
    )
