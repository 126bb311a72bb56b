"""A term of leadership as a value that can expire; the pipeline tests it before each batch."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Final

from replicator.errors import LeadershipLost
from replicator.model import lease_clock

_CONFIRM_SECONDS: Final = 0.005


class Term:
    """One term of leadership over one task.

    Args:
        task: name of the task.
        uid: id of the task's incarnation; a task deleted and made again under its name has another.
        epoch: czxid of the own election znode; rises with every term. 0 in `replicator run`.
        deadline: gives the end of the lease on the lease clock (`lease_clock.now`), in seconds. It is read from shared
            memory, so each call may give a later value, and 0.0 once the term is over.
        clock: the lease clock; another one only in tests.
        wall_deadline: the same on the wall clock, `wall`: when it is over, the lease has to be confirmed first.
        installation: id of the installation, part of the names that the sink gives; "" before there were such ids.
        host: where the term is held, for people who look for a rival.
        previous: epoch of the last term before this one, as ZooKeeper has it; None: not known.
        purged: ids of incarnations of the name that were deleted with their positions: what they have left at the sink
            does not count. The task's own is not among them: one that was restored from a backup after it was purged
            continues under its former id, and its own position counts.
    """

    def __init__(
        self,
        task: str,
        uid: str,
        epoch: int,
        deadline: Callable[[], float],
        clock: Callable[[], float] = lease_clock.now,
        *,
        wall_deadline: Callable[[], float] = lambda: math.inf,
        wall: Callable[[], float] = lease_clock.wall,
        installation: str = "",
        host: str = "",
        previous: int | None = None,
        purged: frozenset[str] = frozenset(),
    ) -> None:
        self.task = task
        self.uid = uid
        self.epoch = epoch
        self.installation = installation
        self.host = host
        self.previous = previous
        self.purged = purged - {uid}
        self._deadline = deadline
        self._clock = clock
        self._wall_deadline = wall_deadline
        self._wall = wall

    @classmethod
    def unlimited(cls, task: str, uid: str = "", installation: str = "") -> Term:
        """The term of a process that has no rivals (`replicator run`)."""
        return cls(task, uid, 0, lambda: float("inf"), installation=installation)

    def knows(self, epoch: int) -> bool:
        """Whether a position of this epoch at the sink can be of this task's own history: of this term, or of one that
        came before it. A term is written to ZooKeeper before it begins, so ZooKeeper knows every one that ever wrote,
        unless it was put back to an earlier state, or is one of two copies."""
        if epoch == self.epoch:
            return True
        return epoch <= self.previous if self.previous is not None else epoch < self.epoch

    def remaining(self) -> float:
        """Seconds of lease left; negative when it is over."""
        return self._deadline() - self._clock()

    def check(self) -> None:
        """Raises `LeadershipLost` when the lease is over. Called before each batch and before each commit.

        Waits for a new confirmation, no longer than the lease, where the wall clock is further than the lease clock
        says: the host may have been suspended for longer than its session, or somebody has set the date.
        """
        while True:
            if self._deadline() <= self._clock():
                raise LeadershipLost("E4008", f"the lease on task '{self.task}' (epoch {self.epoch}) has ended")
            if self._wall() < self._wall_deadline():
                return
            time.sleep(_CONFIRM_SECONDS)
