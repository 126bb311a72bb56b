"""The lease of a term: our own clock's answer to "may we still emit?"."""

from __future__ import annotations

import math

import msgspec

from replicator.coordination.grace import LEASE
from replicator.coordination.ports import Stat


class Lease(msgspec.Struct):
    """A term's lease. `deadline`: monotonic seconds, 0.0 when it is over for good; `least`: the fewest seconds that
    were left of it when an answer came.

    A connection that counts as CONNECTED proves nothing; only an answer does, and only from the moment on at which the
    question was sent.
    """

    path: str
    epoch: int
    session: int
    deadline: float = 0.0
    least: float = math.inf
    over: bool = False

    def confirm(self, stat: Stat | None, sent: float, timeout: float) -> bool:
        """Takes in the answer to a check of our node.

        Args:
            stat: None when the node is gone.
            sent: monotonic time at which the question was sent.
            timeout: negotiated session timeout, seconds.

        Returns False when the term is over: the node is gone, or it is not ours.
        """
        if self.over:
            return False
        if stat is None or stat.czxid != self.epoch or stat.owner != self.session:
            self.end()
            return False
        self.deadline = max(self.deadline, sent + LEASE * timeout)
        return True

    def answered(self, now: float) -> None:
        """An answer has come; before `confirm`, which may extend the lease."""
        if self.deadline:
            self.least = min(self.least, self.deadline - now)

    def end(self) -> None:
        self.over = True
        self.deadline = 0.0
