"""What a verification knows of the replication between its two sides."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Protocol

from replicator.errors import ProcessError
from replicator.model.position import Position

_POLL_S: Final = 0.1


class Replication(Protocol):
    def end(self) -> Position:
        """Where the source's log ends now. Raises SourceUnavailable, SourceError."""
        ...

    def passed(self, goal: Position) -> bool | None:
        """Whether the target has everything before `goal`; None: the target has no position of the task.

        Raises SinkUnavailable, SinkError.
        """
        ...


class Waiter:
    """Waits until the target has passed a position of the source.

    Args:
        patience_s: for one position.
    """

    def __init__(
        self,
        replication: Replication,
        patience_s: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._replication, self._patience_s = replication, patience_s
        self._clock, self._sleep = clock, sleep
        self.known = True
        """The target has a position of the task."""

    def end(self) -> Position:
        return self._replication.end()

    def wait(self, goal: Position) -> None:
        """Returns at once where the target has no position.

        Raises ProcessError E5031: it does not reach `goal` in time.
        """
        deadline = self._clock() + self._patience_s
        while not (passed := self._replication.passed(goal)):
            self.known = passed is not None
            if passed is None:
                return
            if self._clock() >= deadline:
                raise ProcessError(
                    "E5031",
                    f"the target has not reached the source's position in {self._patience_s:g} s",
                    found="the task does not run, or is behind",
                    wanted=f"{goal.gtid or goal} at the target",
                    fix="Start the task or wait until it has caught up, or raise --wait.",
                    position=str(goal),
                )
            self._sleep(_POLL_S)
