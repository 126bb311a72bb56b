"""Follows where the tasks of this Core's group are placed; hands over what is placed elsewhere, one task at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from core.task_runner import TaskRunner
from replicator.coordination.groups.membership import Membership
from replicator.coordination.leadership.contender import Identity
from replicator.errors import CoordinationError, NotConnected
from replicator.telemetry import log

_REPEAT_SECONDS = 60.0
_LOG = log.get_logger("core")


class Placing:
    """All calls come from the agent's loop.

    Args:
        identity: of this Core, as it is now.
    """

    def __init__(self, membership: Membership, identity: Callable[[], Identity], clock: Callable[[], float]) -> None:
        self._membership = membership
        self._identity = identity
        self._clock = clock
        self._mover = ""
        self._said = ""
        self.due = 0.0
        """Monotonic time of the next turn."""

    @property
    def group(self) -> str:
        return self._membership.group

    @property
    def tasks(self) -> list[str]:
        return self._membership.tasks

    def turn(self, reread: float) -> None:
        """Reads and places. `reread`: seconds after which that is done again although no watch fires."""
        identity = self._identity()
        self.due = self._clock() + reread
        try:
            self._membership.turn(identity.host, identity.process)
        except NotConnected:
            self.due = self._clock() + 0.2
        except CoordinationError as error:
            self._log(error)

    def _log(self, error: CoordinationError) -> None:
        said = f"{error} {self._clock() // _REPEAT_SECONDS}"
        if said != self._said:
            _LOG.error("tasks can't be placed", group=self.group, code=error.code, error=str(error), fix=error.fix)
            self._said = said

    def apply(self, runners: Mapping[str, TaskRunner]) -> None:
        """Says to each task what the group says of it, and whose turn it is to be handed over."""
        self._choose(runners)
        for task, runner in runners.items():
            found = self._membership.candidacy(task)
            if task == self._mover:
                found = msgspec.structs.replace(found, may_move=True)
            if runner.participant.place(found):
                runner.due = 0.0

    def add(self, task: str, runner: TaskRunner) -> None:
        """A task that is new here."""
        runner.participant.place(self._membership.candidacy(task))

    def moved(self, task: str, runners: Mapping[str, TaskRunner]) -> None:
        """After a turn of a task: the next one follows at once where it is handed over."""
        if task == self._mover and not (task in runners and runners[task].participant.leaves):
            self.apply(runners)

    def _choose(self, runners: Mapping[str, TaskRunner]) -> None:
        """One that drains goes on. One that does not begin, for nobody healthy is there, gives its turn to the next."""
        if self._mover in runners and runners[self._mover].participant.moves:
            return
        leaving = sorted(task for task, runner in runners.items() if runner.participant.leaves)
        later = [task for task in leaving if task > self._mover]
        self._mover = (later or leaving or [""])[0]

    def leave(self) -> None:
        """The process ends. What can't be written now shows when the session ends."""
        try:
            self._membership.leave(self._identity().process)
        except CoordinationError as error:
            _LOG.warning("that this Core leaves its group can't be written", code=error.code, error=error.what)

    def session_lost(self) -> None:
        self._membership.clear()
        self.due = 0.0
