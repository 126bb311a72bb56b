"""The connections of `sink.order: key`, and a commit that is divided among them and the one of the position.

    main      BEGIN; fence; rows ............ │ fence with the position; decision; COMMIT │
    branch 1  XA START; fence; rows; XA PREPARE │                                          │ XA COMMIT
    branch 2  XA START; fence; rows; XA PREPARE │                                          │ XA COMMIT

All rows are executed before anything is committed, and the main transaction decides: see `recovery.py`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from replicator.errors import ReplicatorError, SinkFenced
from replicator.model.term import Term
from replicator.mysql import server_errors
from replicator.mysql.multi_statements import Outcome
from replicator.mysql.statement_text import Text
from replicator.sink.mysql import claim
from replicator.sink.mysql.branches.branch import Branch
from replicator.sink.mysql.branches.recovery import DECISIONS, Decision
from replicator.sink.mysql.branches.xids import Xid
from replicator.sink.mysql.connection import Target
from replicator.sink.mysql.errors import LOCKED
from replicator.sink.mysql.position_table import PositionTable

log: Final = logging.getLogger(__name__)

FEWEST_BYTES: Final = 128 << 10
"""Events of a commit that is divided: a smaller one is faster over one connection."""
_PAUSE_SECONDS: Final = 60.0
"""Without branches after one could not be opened, or has waited for a lock."""


class Refused(NamedTuple):
    """Why a divided commit is not possible; all of it is rolled back. `fenced`: another term has claimed a row."""

    error: ReplicatorError
    fenced: bool


class Branches:
    """Of one session of the sink.

    Args:
        connect: makes a connection to the server of the main one.
        count: branches beside the main connection.
    """

    def __init__(self, connect: Callable[[], Target], table: PositionTable, term: Term, task: str, count: int) -> None:
        self.count = count
        self._connect = connect
        self._table = table
        self._term = term
        self._task = task
        self._branches: list[Branch] = []
        self._decisions = table.of_branch(DECISIONS)
        self._decided = 0  # sequence of the row of decisions
        self._xids: list[tuple[Branch, Xid]] = []  # of the commit at hand
        self._not_before = 0.0

    def ready(self) -> bool:
        """Opens the connections when they are needed first. False: not now; the log says why."""
        if time.monotonic() < self._not_before:
            return False
        if self._branches:
            return True
        opened: list[Branch] = []
        try:
            for number in range(1, self.count + 1):
                opened.append(self._opened(number))
        except ReplicatorError as error:
            for branch in opened:
                branch.close()
            if isinstance(error, SinkFenced):
                raise
            self.rest(f"{self.count} more connections to the target can't be opened", error)
            return False
        self._branches = opened
        return True

    def _opened(self, number: int) -> Branch:
        target = self._connect()
        try:
            target.describe()
            if number == 1:
                self._decided = claim.claim(target.session, self._decisions, self._term, _wait).sequence
            table = self._table.of_branch(number)
            claimed = claim.claim(target.session, table, self._term, _wait)
        except BaseException:
            target.close()
            raise
        return Branch(number, target, table, self._term, claimed.sequence)

    def rest(self, why: str, error: ReplicatorError) -> None:
        """For some time the rows of all commits are written by one connection."""
        self._not_before = time.monotonic() + _PAUSE_SECONDS
        log.warning("%s: %s; one connection writes for %.0f s: %s", self._task, why, _PAUSE_SECONDS, error)

    def send(self, commit: str, main: Target, first: Text, parts: Sequence[Sequence[Text]]) -> None:
        """Has the first part executed over the main connection, and the others over the branches, at the same time;
        these are prepared then.

        Args:
            commit: see `Xid`.
            parts: for each branch; empty: none.

        Raises SinkUnavailable: a connection is lost, and the next session ends what is prepared.
        """
        self._xids = [
            (branch, Xid(self._table.owner, commit, branch.number))
            for branch, rows in zip(self._branches, parts, strict=True)
            if rows
        ]
        main.send(first)
        for branch, xid in self._xids:
            branch.send(xid, parts[branch.number - 1])

    def receive(self, main: Target, statements: int) -> tuple[Outcome, Refused | None]:
        """Behind `send`. Returns the outcome of the first part, which has `statements` statements. Raises as `send`."""
        outcome = main.receive(statements)
        refused = None if outcome.error is None else Refused(outcome.error, fenced=False)
        for branch, _ in self._xids:
            its = branch.received()
            if its.error is not None and refused is None:
                refused = Refused(its.error, branch.is_fenced(its))
        if refused is not None:
            main.rollback()
            for branch, xid in self._xids:
                branch.roll_back(xid)
            if server_errors.number_of(refused.error) in LOCKED:
                self.rest("connections have waited for each other's locks", refused.error)
        return outcome, refused

    def decision(self, commit: str) -> bytes:
        """Two statements for the transaction of the position: from then on the commit has happened."""
        made = Decision(commit, self._term.uid, tuple(branch.number for branch, _ in self._xids))
        return self._decisions.fence(self._term, self._decided, None, made.text)

    def commit(self) -> None:
        """Behind the main transaction. Raises SinkUnavailable: the next session does it."""
        self._decided += 1
        for branch, xid in self._xids:
            branch.send_commit(xid)
        for branch, _ in self._xids:
            branch.committed()

    def close(self) -> None:
        """What is prepared stays so."""
        for branch in self._branches:
            branch.close()
        self._branches = []


def _wait(_: object) -> None:
    """Connections of this session are not ended: the next one does it."""
