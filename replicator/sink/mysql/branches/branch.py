"""One connection with its share of the rows of a commit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from replicator.errors import SinkUnavailable
from replicator.model.term import Term
from replicator.mysql.multi_statements import Outcome
from replicator.mysql.statement_text import Text, joined
from replicator.sink.mysql.branches.xids import Xid
from replicator.sink.mysql.connection import Target
from replicator.sink.mysql.position_table import FENCE_STATEMENTS, PositionTable

_BEFORE: Final = 1 + FENCE_STATEMENTS
"""Statements in front of the rows: XA START, and the fence."""
_NO_SUCH_XID: Final = 1397


class Branch:
    """
    Args:
        table: with the row of this branch, which earlier terms can't change any more.
        sequence: of this row.
    """

    def __init__(self, number: int, target: Target, table: PositionTable, term: Term, sequence: int) -> None:
        self.number = number
        self._target = target
        self._table = table
        self._term = term
        self._sequence = sequence
        self._sent = 0

    def send(self, xid: Xid, rows: Sequence[Text]) -> None:
        """Begins a transaction and prepares it; `received` says how that ended. Raises SinkUnavailable."""
        fence = self._table.fence(self._term, self._sequence, None, xid.commit.encode())
        literal = xid.literal
        parts = [b"XA START " + literal, fence, *rows, b"XA END " + literal, b"XA PREPARE " + literal]
        self._sent = len(rows)
        self._target.send(joined(parts))

    def received(self) -> Outcome:
        """Raises SinkUnavailable."""
        return self._target.receive(_BEFORE + self._sent + 2)

    def is_fenced(self, outcome: Outcome) -> bool:
        """The row of the branch is another term's."""
        return outcome.error is not None and outcome.done == FENCE_STATEMENTS

    def send_commit(self, xid: Xid) -> None:
        """Raises SinkUnavailable."""
        self._target.send(b"XA COMMIT " + xid.literal)

    def committed(self) -> None:
        """Raises SinkUnavailable: it is prepared still, or its end is unknown."""
        outcome = self._target.receive(1)
        if outcome.error is not None:
            raise SinkUnavailable(
                "E3409",
                f"{self._target.session.where} has not ended a prepared transaction",
                found=str(outcome.error.found or outcome.error),
                wanted="XA COMMIT; the next session of the task repeats it",
            )
        self._sequence += 1

    def roll_back(self, xid: Xid) -> None:
        """Whatever its state is. Raises SinkUnavailable."""
        for statement in (b"XA END %s" % xid.literal, b"XA ROLLBACK %s" % xid.literal):
            outcome = self._target.execute(statement, 1)  # the first one fails where it has ended already
        if outcome.error is not None and outcome.number != _NO_SUCH_XID:
            self.close()
            raise outcome.error
        for statement in self._target.restored:
            self._target.session.rows(statement.decode())

    def close(self) -> None:
        self._target.close()
