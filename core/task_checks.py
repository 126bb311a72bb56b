"""Checks once a day, and when it is ordered, whether the tasks that this Core leads can run, and keeps the findings.

It is `replicator check` from the host that matters, with its network and its secrets, each in a separate process.
"""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from replicator.coordination.leadership.facts import CheckOrder
from replicator.coordination.leadership.state import State
from replicator.errors import CoordinationError
from replicator.model.finding import Finding
from replicator.model.position import Position
from replicator.model.task_check import TaskCheck, fitting
from replicator.telemetry import log

DAY: Final = 86_400.0
FIRST: Final = 120.0
"""Seconds after which a task that has come here, or has another configuration, is checked: not while it takes over."""
SPREAD: Final = 600.0
"""Seconds over which the tasks that come here at once are spread."""
PACE: Final = 20.0
"""Seconds from one daily check to the next. Ordered ones do not wait."""
_AGAIN: Final = 300.0
"""Seconds after which a result is written that could not be."""
_TURN: Final = 1.0
_LOG = log.get_logger("core")

Config: TypeAlias = Mapping[str, Any]
Run: TypeAlias = Callable[[Config, Position | None], list[Finding] | None]
"""None: it has not answered in time."""


class Led(NamedTuple):
    """A task that this Core leads. own: name of its contender node; daily: it is checked without an order, too."""

    own: str
    uid: str
    version: int
    config: Config
    position: Position | None
    order: CheckOrder | None = None
    daily: bool = True
    state: State = State.RUNNING


class Results(Protocol):
    """`TaskCheckResults`."""

    def read(self, task: str, uid: str) -> TaskCheck | None: ...

    def write(self, task: str, own: str, result: TaskCheck) -> bool: ...


class _Plan:
    """due: by our clock; known: of which incarnation and version; ordered: id of the last order that was obeyed."""

    def __init__(self, uid: str, version: int, due: float) -> None:
        self.uid, self.version, self.due = uid, version, due
        self.ordered = ""


class TaskChecks:
    """Runs the checks in a separate thread, one at a time.

    Args:
        led: the tasks that this Core leads, by name.
        host: our name.
        clock: monotonic s; wall: s since the epoch.
    """

    def __init__(
        self,
        led: Callable[[], dict[str, Led]],
        run: Run,
        results: Results,
        host: Callable[[], str],
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._led = led
        self._run_check = run
        self._results = results
        self._host = host
        self._clock = clock
        self._wall = wall
        self._plans: dict[str, _Plan] = {}
        self._next = 0.0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="checks", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(_TURN):
            try:
                self.round()
            except CoordinationError as error:
                _LOG.warning("a check was put off", code=error.code, error=str(error))

    def round(self) -> None:
        """Checks one task, if one is due, an ordered one first. Raises CoordinationError."""
        led, now = self._led(), self._clock()
        for task in self._plans.keys() - led.keys():
            del self._plans[task]
        for task, one in led.items():
            self._plan(task, one, now)
        ordered = [task for task, one in led.items() if one.order and one.order.id != self._plans[task].ordered]
        if ordered:
            self._check(ordered[0], led[ordered[0]], now)
            return
        due = [task for task, one in led.items() if one.daily and self._plans[task].due <= now]
        if due and self._next <= now:
            self._next = now + PACE
            task = min(due, key=lambda each: self._plans[each].due)
            known = self._results.read(task, led[task].uid)
            age = self._wall() - known.ended_ms / 1000 if known is not None else DAY
            if known is not None and known.version == led[task].version and 0 <= age < DAY:
                self._plans[task].due = now + DAY - age  # the Core before us did it
                return
            self._check(task, led[task], now)

    def _plan(self, task: str, one: Led, now: float) -> None:
        plan = self._plans.get(task)
        if plan is None or (plan.uid, plan.version) != (one.uid, one.version):
            spread = zlib.crc32(task.encode()) % int(SPREAD)
            ordered = plan.ordered if plan is not None else ""
            plan = self._plans[task] = _Plan(one.uid, one.version, now + FIRST + spread)
            plan.ordered = ordered

    def _check(self, task: str, one: Led, now: float) -> None:
        plan, order = self._plans[task], one.order
        ordered = order is not None and order.id != plan.ordered
        plan.due = now + DAY
        if order is not None:
            plan.ordered = order.id
        began_ms = int(self._wall() * 1000)
        found = self._run_check(one.config, one.position)
        findings, left_out = fitting(found if found is not None else [_UNFINISHED])
        result = TaskCheck(
            uid=one.uid,
            version=one.version,
            host=self._host(),
            began_ms=began_ms,
            ended_ms=int(self._wall() * 1000),
            order=order.id if order is not None and ordered else "",
            by=order.by if order is not None and ordered else "",
            findings=findings,
            left_out=left_out,
        )
        try:
            self._results.write(task, one.own, result)
        except CoordinationError:
            plan.due = now + _AGAIN
            raise
        if result.result != "ok":
            worst = result.worst_finding
            told = {"finding": worst.id, "found": worst.found, "fix": worst.fix} if worst is not None else {}
            _LOG.warning("the check of a task has findings", task=task, result=result.result, **told)


_UNFINISHED: Final = Finding(
    "check.finished",
    "warn",
    "the check did not end in time, or its process was killed",
    "an answer of the source and of the sink within 2 minutes",
    "Check the network of the host of this Core, and order it again: `replicator check NAME --via-core`.",
)
