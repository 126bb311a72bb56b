"""What a Core looks at apart from the data path: certificates and consumers once an hour, everything once a day."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from core.expiry_checks import ExpiryChecks
from core.nightly_verifications import NightlyVerifications, Process
from core.task_checks import Led, TaskChecks
from core.task_runner import TaskRunner
from replicator.assembly.expiry_checks import ExpiryReport
from replicator.coordination.installation import installation_id
from replicator.coordination.layout import Layout
from replicator.coordination.leadership.state import State
from replicator.coordination.ports import Coordinator
from replicator.coordination.tasks.checks import TaskCheckResults
from replicator.coordination.tasks.verifications import Verifications
from replicator.coordination.tasks.verify_orders import VerifyOrders
from replicator.errors import CoordinationError
from replicator.model.finding import Finding
from replicator.model.nightly import Outcome
from replicator.model.position import Position

Config: TypeAlias = Mapping[str, Any]
Look: TypeAlias = Callable[[Config, str], ExpiryReport | None]
Check: TypeAlias = Callable[[Config, str, Position | None], list[Finding] | None]
"""Both are given the id of the installation, and return None where nothing is known."""
Verify: TypeAlias = Callable[[Config, str, str, Mapping[str, int]], Process]
"""Given the configuration, the id of the installation, the uid of the task, when tables were compared last."""
_DAILY: Final = (State.RUNNING, State.FAILED)


class Inspections:
    """
    Args:
        runners: those of this Core at present; called from other threads.
        host: our name.
        clock: monotonic s.
        kept: a cache of the coordinator.
    """

    def __init__(
        self,
        coordinator: Coordinator,
        layout: Layout,
        runners: Callable[[], Iterable[TaskRunner]],
        look: Look,
        check: Check,
        host: Callable[[], str],
        clock: Callable[[], float],
        verify: Verify,
        kept: Coordinator,
    ) -> None:
        self._coordinator, self._layout = coordinator, layout
        self._runners = runners
        self._look, self._check = look, check
        self._expiry = ExpiryChecks(self._running, self._look_at, clock)
        self._checks = TaskChecks(self._led, self._checked, TaskCheckResults(coordinator, layout), host, clock)
        orders, results = VerifyOrders(coordinator, layout, kept), Verifications(coordinator, layout)
        self._verify = verify
        self._nightly = NightlyVerifications(self._led, self._verifying, orders, results, host)

    def start(self) -> None:
        self._expiry.start()
        self._checks.start()
        self._nightly.start()

    def stop(self) -> None:
        self._expiry.stop()
        self._checks.stop()
        self._nightly.stop()

    def expiry(self, task: str) -> ExpiryReport:
        return self._expiry.of(task)

    def _running(self) -> dict[str, Config]:
        here = [(one, one.participant.facts) for one in self._runners()]
        running = [(one, facts.good) for one, facts in here if facts.good and facts.state is State.RUNNING]
        return {one.task: one.connected(good.data) for one, good in running}

    def _led(self) -> dict[str, Led]:
        found = {}
        for runner in self._runners():
            facts, view = runner.participant.facts, runner.participant.view
            if not runner.participant.leads or facts.good is None or view is None or view.own is None:
                continue
            stored = view.commit.checkpoint
            checkpoint = runner.gauge.checkpoint or facts.checkpoint or stored
            found[runner.task] = Led(
                view.own.name,
                view.incarnation,
                facts.good.version,
                runner.connected(facts.good.data),
                checkpoint.position if checkpoint is not None else None,
                facts.check,
                facts.state in _DAILY,
                facts.state,
            )
        return found

    def _look_at(self, config: Config) -> ExpiryReport | None:
        try:
            return self._look(config, installation_id(self._coordinator, self._layout))
        except CoordinationError:
            return None

    def _verifying(self, config: Config, uid: str, last: Mapping[str, int]) -> Process:
        """Raises CoordinationError."""
        return self._verify(config, installation_id(self._coordinator, self._layout), uid, last)

    def _checked(self, config: Config, position: Position | None) -> list[Finding] | None:
        """Raises CoordinationError."""
        return self._check(config, installation_id(self._coordinator, self._layout), position)


def no_verification(config: Config, installation: str, uid: str, last: Mapping[str, int]) -> Process:
    """Of an agent that was given nothing to verify with."""
    return _Nothing()


class _Nothing:
    def poll(self, position: Position | None) -> Outcome | None:
        return Outcome(stage="failed", note="this Core can't verify")

    def kill(self) -> None:
        pass
