"""What a session finds of commits that an earlier one has divided among connections.

A branch that is prepared survives its connection and its server. Whether its commit has happened is in the row of
decisions, which is changed in the transaction of the position. So, behind the claim of the position row, after which no
earlier term decides anything, each branch that is left is committed or rolled back; then its row is claimed, so that
none is prepared again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from replicator.errors import ReplicatorError, SinkError
from replicator.model.term import Term
from replicator.mysql import server_errors
from replicator.mysql.identifiers import quote_account
from replicator.mysql.server import Server
from replicator.mysql.session import Session
from replicator.sink.mysql import claim
from replicator.sink.mysql.branches import support, xids
from replicator.sink.mysql.position_table import PositionRow, PositionTable

_PARTS: Final = 3
DECISIONS: Final = 0
"""Number of the row that says which commit was the last one with branches."""
_NOT_OURS_YET: Final = frozenset({1397, 1399})
"""XAER_NOTA, XAER_RMFAIL: the connection that has prepared it has not ended, or somebody else was faster."""
_MAY_NOT: Final = frozenset({1401, server_errors.NO_PRIVILEGE})


class Decision(NamedTuple):
    """The last commit with branches.

    Attributes:
        commit: see `Xid`.
        uid: the task's incarnation.
        branches: numbers of those that had rows.
    """

    commit: str
    uid: str
    branches: tuple[int, ...]

    @property
    def text(self) -> bytes:
        return f"{self.commit} {self.uid} {','.join(map(str, self.branches))}".encode()


def decision(text: str) -> Decision | None:
    """The reverse of `Decision.text`; None: there was no such commit."""
    parts = text.split(" ")
    if len(parts) != _PARTS:
        return None
    return Decision(parts[0], parts[1], tuple(int(number) for number in parts[2].split(",") if number))


def recover(session: Session, server: Server, table: PositionTable, term: Term) -> None:
    """Does nothing where no session of the task has ever had branches.

    Raises:
        SinkError: E3405, XA RECOVER is not granted; E3414, rows of the last commit are missing.
        SinkUnavailable.
        LeadershipLost.
    """
    rows = {number: table.of_branch(number) for number in table.branches(session)}
    if not rows:
        return
    made = decision(rows[DECISIONS].statement(session)) if DECISIONS in rows else None
    _end(session, server, table, made)
    for row in rows.values():
        claim.claim(session, row, term, lambda held: _release(session, server, table, made, held))
    if made is not None and made.uid == term.uid:
        _check_whole(session, table, made, rows)


def _release(session: Session, server: Server, table: PositionTable, made: Decision | None, held: PositionRow) -> None:
    claim.kill_claimant(session, held)
    _end(session, server, table, made)


def _end(session: Session, server: Server, table: PositionTable, made: Decision | None) -> None:
    """Commits the branches of the commit that was made, and rolls back all others."""
    for xid in _asked(lambda: xids.prepared(session, table.owner), session, server):
        verb = "COMMIT" if made is not None and made.commit == xid.commit else "ROLLBACK"
        try:
            session.rows(f"XA {verb} {xid.literal.decode()}")
        except ReplicatorError as error:
            if server_errors.number_of(error) not in _NOT_OURS_YET:
                raise


def _asked(ask: Callable[[], Iterable[xids.Xid]], session: Session, server: Server) -> Iterable[xids.Xid]:
    try:
        return ask()
    except ReplicatorError as error:
        if server.mariadb or server_errors.number_of(error) not in _MAY_NOT:
            raise
        account = quote_account(server.account)
        raise SinkError(
            "E3405",
            f"the account {account} may not see prepared transactions at {session.where}",
            found=error.found,
            wanted=f"{support.RECOVER}, which sink.order: key needs, and the first start after it",
            fix=support.recover_grant(server),
        ) from error


def _check_whole(session: Session, table: PositionTable, made: Decision, rows: dict[int, PositionTable]) -> None:
    """A dump may have been taken between the ends of the branches of one commit, and then be restored."""
    missing = [
        number for number in made.branches if number not in rows or rows[number].statement(session) != made.commit
    ]
    if missing:
        raise SinkError(
            "E3414",
            f"{session.where} lacks rows of the last commit of the task",
            found=f"the position is that of commit {made.commit}, whose rows of branches "
            f"{', '.join(map(str, missing))} are neither there nor prepared",
            wanted="all rows up to the position: this is a copy that was made between the ends of the branches",
            fix=f"`replicator verify NAME --repair` writes what is missing. Then {table.branches_removal}; and "
            "`replicator task retry NAME`.",
        )
