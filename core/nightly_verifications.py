"""Runs the nightly verifications that a Server ordered, of the tasks that this Core leads, one after the other.

Each has a separate process; this thread starts it, looks once a second whether the task is still ours and unchanged,
and writes the result in one transaction with the order, for which our contender node must be there. A Core that takes
over begins an order again whose former Core is gone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import msgspec

from core.task_checks import Led
from replicator.coordination.leadership.state import State
from replicator.coordination.tasks.verifications import Verifications
from replicator.coordination.tasks.verify_orders import Kept, VerifyOrders
from replicator.errors import CoordinationError
from replicator.model.nightly import DAY_MS, MOST_ATTEMPTS, Outcome, Stage, VerifyOrder, snapshot_open, wanted
from replicator.model.position import Position
from replicator.model.verification import VerificationReport
from replicator.telemetry import log

BY: Final = "nightly"
_TURN: Final = 1.0
_LATE: Final = 1.0
_HALTED: Final = (State.PAUSED, State.FAILED, State.UNCONFIGURED)
_LOG = log.get_logger("core")


class Process(Protocol):
    """A verification at work."""

    def poll(self, position: Position | None) -> Outcome | None:
        """None: it goes on. `position`: of the task now."""
        ...

    def kill(self) -> None: ...


Start: TypeAlias = Callable[[Mapping[str, Any], str, Mapping[str, int]], Process]
"""Given the configuration, the uid of the task, and when its tables were compared last."""


class _Run(NamedTuple):
    """`kept`: the order as we have written it."""

    task: str
    led: Led
    kept: Kept
    process: Process


class NightlyVerifications:
    """A separate thread between `start` and `stop`.

    Args:
        led: the tasks that this Core leads, by name.
        begin: starts the process of a verification.
        host: our name.
        wall: s since the epoch.
    """

    def __init__(
        self,
        led: Callable[[], dict[str, Led]],
        begin: Start,
        orders: VerifyOrders,
        results: Verifications,
        host: Callable[[], str],
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._led, self._begin = led, begin
        self._orders, self._results = orders, results
        self._host, self._wall = host, wall
        self._active: _Run | None = None
        self._outcome: Outcome | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="verify", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """The order stays as it is, for the Core that takes over."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(_LATE)

    def _run(self) -> None:
        while not self._stopped.wait(_TURN):
            try:
                self.round()
            except CoordinationError as error:
                _LOG.warning("a nightly verification was put off", code=error.code, error=str(error))
            except (OSError, EOFError) as error:
                _LOG.error("a nightly verification could not be started", code="E5018", error=str(error))
        if self._active is not None:
            self._active.process.kill()

    def round(self) -> None:
        """Looks after the verification at work, or begins one that is due. Raises CoordinationError."""
        led = self._led()
        if self._active is not None:
            self._look_after(self._active, led.get(self._active.task))
            return
        for task, one in sorted(led.items()):
            kept = self._orders.read(task)
            if kept.order is not None and kept.order.uid == one.uid and self._take(task, one, kept, kept.order):
                return

    def _take(self, task: str, one: Led, kept: Kept, order: VerifyOrder) -> bool:
        """Whether a verification began."""
        if order.stage not in ("ordered", "running"):
            return False
        mine = msgspec.structs.replace(order, own=one.own, host=self._host())
        verdict = judged(one, order, self._now_ms())
        if verdict is not None:
            stage, note = verdict
            if stage != "ordered":
                self._note(task, mine.ended(stage, self._now_ms(), note), kept.version)
            return False
        begun = msgspec.structs.replace(
            mine, stage="running", began_ms=self._now_ms(), attempts=order.attempts + 1, note=""
        )
        if not self._orders.write(task, begun, kept.version):
            return False
        before = self._results.read(task, one.uid)
        last = {each.table: each.time_ms for each in before.tables} if before is not None else {}
        process = self._begin(one.config, one.uid, last)
        self._active, self._outcome = _Run(task, one, Kept(begun, kept.version + 1), process), None
        _LOG.info("the nightly verification begins", task=task, attempt=begun.attempts)
        return True

    def _look_after(self, run: _Run, now: Led | None) -> None:
        if now is None or (now.own, now.uid) != (run.led.own, run.led.uid):
            run.process.kill()  # the order is left to the Core that leads next
            self._active = None
            return
        if (why := ended_by(run.led, now)) is not None:
            run.process.kill()
            self._end_early(run, *why)
            self._active = None
            return
        self._outcome = self._outcome or run.process.poll(now.position)
        if self._outcome is not None:
            self._finish(run, self._outcome)
            self._active = None

    def _end_early(self, run: _Run, stage: Stage, note: str) -> None:
        order = _order(run)
        if stage == "ordered" and order.attempts < MOST_ATTEMPTS:
            self._orders.write(run.task, msgspec.structs.replace(order, stage="ordered"), run.kept.version)
        else:
            self._note(run.task, order.ended("interrupted", self._now_ms(), note), run.kept.version)

    def _finish(self, run: _Run, outcome: Outcome) -> None:
        """Tried again in the next round where the coordinator is not there."""
        ended = _order(run).ended(outcome.stage, self._now_ms(), outcome.note)
        if not outcome.tables:
            self._note(run.task, ended, run.kept.version)
            return
        report = VerificationReport(
            uid=run.led.uid,
            version=run.led.version,
            whole=outcome.whole,
            began_ms=ended.began_ms,
            ended_ms=ended.ended_ms,
            host=self._host(),
            tables=outcome.tables,
            omitted=outcome.omitted,
        )
        changes = self._orders.changes(run.task, ended, run.kept.version)
        try:
            kept = self._results.add(run.task, report, BY, changes)
        except CoordinationError as error:
            if error.transient:
                raise
            self._note(run.task, ended.ended("failed", ended.ended_ms, str(error)), run.kept.version)
            return
        told = {"note": ended.note} if ended.note else {}
        _LOG.info("the nightly verification has ended", task=run.task, stage=ended.stage, result=kept.result, **told)

    def _note(self, task: str, ended: VerifyOrder, version: int) -> None:
        if self._orders.write(task, ended, version):
            _LOG.warning("no nightly verification", task=task, stage=ended.stage, why=ended.note)

    def _now_ms(self) -> int:
        return int(self._wall() * 1000)


def judged(one: Led, order: VerifyOrder, now_ms: int) -> tuple[Stage, str] | None:
    """None: the order of a task that we lead can begin. "ordered": it waits."""
    if not wanted(one.config):
        return "skipped", "the configuration does not want it any more"
    if order.stage == "running" and order.attempts >= MOST_ATTEMPTS:
        return "interrupted", f"{MOST_ATTEMPTS} Cores have begun it and were gone before its end"
    if now_ms >= order.not_before_ms + DAY_MS:
        return "skipped", "it could not begin within a day"
    if now_ms < order.not_before_ms:
        return "ordered", ""
    if one.state in _HALTED:
        return "skipped", f"the task is {one.state.value}"
    if one.state is not State.RUNNING:
        return "ordered", ""
    if snapshot_open(one.position):
        return "skipped", "rows of a snapshot are still to be delivered"
    return None


def ended_by(begun: Led, now: Led) -> tuple[Stage, str] | None:
    """Why a verification at work ends while we lead, as the stage of its order. None: it goes on."""
    if (now.version, now.config) != (begun.version, begun.config):
        return "interrupted", "the configuration was changed"
    if now.state in _HALTED:
        return "interrupted", f"the task is {now.state.value}"
    if now.state is not State.RUNNING:
        return "ordered", f"the task is {now.state.value}"
    return None


def _order(run: _Run) -> VerifyOrder:
    assert run.kept.order is not None  # noqa: S101 - begun with it
    return run.kept.order
