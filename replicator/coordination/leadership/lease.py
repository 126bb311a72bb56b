"""The lease of a term: the period, by the local clock, in which its worker may send."""

from __future__ import annotations

import math

import msgspec

from replicator.coordination.leadership.grace import LEASE, margin
from replicator.coordination.ports import Stat


class Lease(msgspec.Struct):
    """A term's lease. `deadline`: seconds of the lease clock, 0.0 when it is over for good; `wall_deadline`: the same
    of the wall clock; `least`: the fewest seconds that were left of it when an answer came.

    A connection that counts as CONNECTED proves nothing; only an answer does, and only from the moment on at which the
    question was sent.
    """

    path: str
    epoch: int
    session: int
    deadline: float = 0.0
    wall_deadline: float = math.inf
    least: float = math.inf
    over: bool = False

    def confirm(self, stat: Stat | None, sent: float, timeout: float, wall: float = math.inf) -> bool:
        """Takes in the answer to a check of our node.

        Args:
            stat: None when the node is gone.
            sent: time of the lease clock at which the question was sent; wall: of the wall clock.
            timeout: negotiated session timeout, seconds.

        Returns False when the term is over: the node is gone, or it is not ours.
        """
        if self.over:
            return False
        if stat is None or stat.czxid != self.epoch or stat.owner != self.session:
            self.end()
            return False
        self.deadline = max(self.deadline, sent + LEASE * timeout)
        self.wall_deadline = wall + LEASE * timeout + margin(timeout)
        return True

    def answered(self, now: float) -> None:
        """An answer has come; before `confirm`, which may extend the lease."""
        if self.deadline:
            self.least = min(self.least, self.deadline - now)

    def end(self) -> None:
        self.over = True
        self.deadline = 0.0
