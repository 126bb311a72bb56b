"""The agent: the main loop of a Core, with one ZooKeeper session and many tasks.

Threads: this loop (events -> turns), and one each for leases, checkpoints, pipes and the machine status. The loop alone
decides; the others carry on what it decided, and put what they learn into its queue.
"""

from __future__ import annotations

import contextlib
import queue
import random
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from core.checkpoint_writer import CheckpointWriter
from core.context import CoreContext, Starter
from core.inspections import Check, Inspections, Look, Verify, no_verification
from core.lease_renewal import LeaseRenewal
from core.machine_status import MachineStatus
from core.outgoing_watch import OutgoingWatch
from core.pipe_reader import PipeReader, Speaker
from core.placing import Placing
from core.protocol import AppendSchemaHistory, FromWorker, LoadSchemaHistory, Logged, Progress, RelaySpec, Status
from core.reachability import Reachability
from core.relays import RelayProcess, Relays
from core.schema_history_service import SchemaHistoryService
from core.task_runner import TaskRunner
from replicator.coordination.groups.membership import DEFAULT_CAPACITY, Membership
from replicator.coordination.layout import Layout, escape
from replicator.coordination.leadership.view import Validate
from replicator.coordination.ports import Connection, Coordinator
from replicator.coordination.records import TaskFigures
from replicator.coordination.tasks.registry import Registry
from replicator.coordination.tree_cache import TreeCache
from replicator.errors import CoordinationError, NotConnected, ReplicatorError
from replicator.model import lease_clock
from replicator.telemetry import log

STOP_SECONDS = 16.0
"""After which a process that was asked to end kills its workers and goes; later while a worker drains and its position
moves (`facts.STOP_MOST`)."""
_RELEASE_SECONDS = 4.0
"""For what follows the drain."""
_CUT_OFF_SECONDS = 3.0
"""The same without a connection: nothing can be released then."""
_HOLD_SECONDS = 0.2
_REPEAT_SECONDS = 60.0
"""How often the same error of the start is logged."""
_PULSE_SECONDS = 2.0
"""How often at least workers are looked at."""
_CALM_TURNS = 40.0
"""Turns a second, at most, of tasks in which nothing happens: their watches tell what changes, and reading all of them
again every T/4 would keep ZooKeeper and a Core with 1,000 tasks busy with nothing else."""
_TURNS_AT_ONCE = 32
"""Before the loop looks for events again: a change must not wait for the turns of all other tasks."""
_TURNERS = 8
"""Threads for the turns of several tasks, which mostly wait for ZooKeeper: hundreds of tasks are taken over at
once when a Core dies."""
_CHECKED = 20
"""Kept nodes that are read again every T/4, to compare them with the cache."""
_LOG = log.get_logger("core")

Event = Callable[[], None]


class Agent:
    """Args:
    host: label of this machine; another process of that name makes us `HOST~xxxx`.
    tasks: the tasks to take part in, registered if they are not yet; empty for all that exist and will exist.
    launcher: makes workers.
    alive: called with the clock's time at each turn of the main loop.
    relay: makes the process of a shared dump connection; None: none is shared.
    group, capacity: the group of Cores that this one joins, "" for none, and the weight that it takes.
    """

    def __init__(
        self,
        coordinator: Coordinator,
        layout: Layout,
        host: str,
        tasks: Sequence[str],
        launcher: Starter,
        validate: Validate,
        clock: Callable[[], float] = lease_clock.now,
        look: Look = lambda config, installation: None,
        check: Check = lambda config, installation, position: None,
        verify: Verify = no_verification,
        alive: Callable[[float], None] = lambda now: None,
        relay: Callable[[RelaySpec], RelayProcess] | None = None,
        group: str = "",
        capacity: int = DEFAULT_CAPACITY,
    ) -> None:
        self._coordinator, self._layout = coordinator, layout
        self._tasks = tuple(tasks)
        self._clock = clock
        self._alive = alive
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._runners: dict[str, TaskRunner] = {}
        self._registry = Registry(coordinator, layout)
        self._machine_status = MachineStatus(coordinator, layout, host, uuid.uuid4().hex, clock, group)
        self._reachability = Reachability(self._configs)
        self._kept = TreeCache(coordinator, layout.root)
        self._inspections = Inspections(
            coordinator,
            layout,
            self._present,
            look,
            check,
            lambda: self._context.identity.host,
            clock,
            verify,
            self._kept,
        )
        self._context = CoreContext(
            coordinator=coordinator,
            kept=self._kept,
            layout=layout,
            identity=self._machine_status.identity,
            launcher=launcher,
            leases=LeaseRenewal(coordinator, self._later_wake, clock),
            writer=CheckpointWriter(self._later_write_failed, clock, self._machine_status.counters),
            schema_history=SchemaHistoryService(),
            pipes=PipeReader(self._heard),
            outgoing=OutgoingWatch(coordinator, layout, self._later_outgoing, self._obey),
            relays=Relays(relay, self._is_current),
            counters=self._machine_status.counters,
            clock=clock,
            validate=validate,
            reach=self._reachability.of,
            expiry_report=self._inspections.expiry,
        )
        self._turners = ThreadPoolExecutor(_TURNERS, "turns")
        membership = Membership(coordinator, layout, group, capacity, self._later_place)
        self._placing = Placing(membership, lambda: self._context.identity, clock)
        self._named = False
        self._stopping = False
        self._stop_at = 0.0
        self._cut_off_since: float | None = None
        self._list_due = 0.0
        self._watching_list = False
        self._outgoing_due = self._pulse_due = 0.0

    @property
    def process(self) -> str:
        """Id of this process in the tree."""
        return self._machine_status.identity.process

    # From other threads

    def stop(self) -> None:
        """Drain, release, withdraw, and let `run` return. Also from a signal handler."""
        self._events.put(self._begin_stop)

    def _later_wake(self, task: str) -> None:
        self._events.put(lambda: self._wake(task))

    def _later_outgoing(self) -> None:
        def look() -> None:
            self._outgoing_due = 0.0

        self._events.put(look)

    def _later_place(self) -> None:
        self._events.put(lambda: setattr(self._placing, "due", 0.0))

    def _later_write_failed(self, task: str, error: CoordinationError) -> None:
        def tell() -> None:
            runner = self._runners.get(task)
            if runner is not None:
                runner.on_write_failed(error)
                runner.due = 0.0

        self._events.put(tell)

    def _heard(self, task: str, worker: Speaker, message: FromWorker | None) -> None:
        if isinstance(message, Logged):  # also of a worker that is not the current one any more
            log.recent.add(message.line)
            return
        runner = self._runners.get(task)
        if runner is None or not runner.is_current(worker):
            return
        if isinstance(message, LoadSchemaHistory | AppendSchemaHistory):
            self._context.schema_history.submit(task, message)
            return
        if isinstance(message, Status):
            runner.gauge.status(message)
            return
        if isinstance(message, Progress):
            runner.on_progress(message)
        self._events.put(lambda: self._hear(runner, worker, message))

    def _is_current(self, task: str, worker: object) -> bool:
        runner = self._runners.get(task)
        return runner is not None and runner.is_current(worker)

    def _on_connection(self, state: Connection) -> None:
        self._events.put(lambda: self._connection_changed(state))

    def _list_changed(self, change: object, path: str) -> None:
        def look() -> None:
            self._watching_list = False
            self._list_due = 0.0

        self._events.put(look)

    # The loop

    def run(self, up: Callable[[str], None] = lambda host: None) -> None:
        """Until stopped. `up` is called with our name when we stand for our tasks."""
        context = self._context
        self._coordinator.on_connection(self._on_connection)
        for part in (
            context.leases,
            context.writer,
            context.schema_history,
            context.pipes,
            self._reachability,
            self._inspections,
        ):
            part.start()
        try:
            if self._begin():
                self._machine_status.start(self._figures)
                up(context.identity.host)
                self._loop()
        finally:
            self._end()

    def _begin(self) -> bool:
        """Name and tasks; again and again until ZooKeeper takes them. False when we were stopped before."""
        said = ""
        while not self._stopping:
            try:
                self._context.identity = self._machine_status.claim(self._asked_to_stop)
                self._named = True
                self._context.outgoing.refresh()
                self._placing.turn(self._reread)  # before it stands for anything: its host may be drained
                for task in self._tasks:
                    self._registry.register(task, self._context.identity.host)
                    self._add(task)
                return not self._stopping
            except NotConnected:
                self._wait(0.2)
            except CoordinationError as error:
                if (logged := f"{error} {self._clock() // _REPEAT_SECONDS}") != said:
                    _LOG.error("the Core has not started yet", code=error.code, error=str(error))
                    said = logged
                self._wait(2.0)
        return False

    def _asked_to_stop(self) -> bool:
        self._take(0.0)
        return self._stopping

    def _loop(self) -> None:
        while not self._done():
            self._take(self._next_due())
            now = self._clock()
            if now >= self._outgoing_due:
                self._look_at_outgoing(now)
            if now >= self._placing.due:
                self._place()
            if now >= self._list_due and not self._stopping:
                self._look_for_tasks(now)
            runners = list(self._runners.values())
            if now >= self._pulse_due:
                self._pulse_due = now + _PULSE_SECONDS
                for runner in runners:
                    runner.check_watchdog()
            due = sorted((runner for runner in runners if now >= runner.due), key=lambda runner: runner.due)
            self._turn_each(due[:_TURNS_AT_ONCE])

    def _next_due(self) -> float:
        """Seconds until something is to be done by the clock."""
        dues = [runner.due for runner in self._runners.values()]
        dues += [self._clock() + _PULSE_SECONDS, self._outgoing_due, self._placing.due]
        if not self._stopping:
            dues.append(self._list_due)
        else:
            dues.append(self._clock() + 0.2)
        return max(0.0, min(dues, default=0.0) - self._clock())

    def _wait(self, seconds: float) -> None:
        end = self._clock() + seconds
        while not self._stopping and (left := end - self._clock()) > 0:
            self._take(left)

    def _take(self, timeout: float) -> None:
        """Handles what is in the queue; waits up to `timeout` seconds for the first."""
        self._alive(self._clock())
        with contextlib.suppress(queue.Empty):
            event = self._events.get(timeout=timeout) if timeout > 0 else self._events.get_nowait()
            while True:
                event()
                event = self._events.get_nowait()

    @property
    def _reread(self) -> float:
        """Seconds after which a task is looked at again although no watch fired."""
        return max(0.5, self._coordinator.session_timeout / 4)

    def _calm_reread(self) -> float:
        """The same for a task in which nothing happens. At random, so that they do not all come at once."""
        seconds = len(self._runners) / _CALM_TURNS
        return self._reread if seconds <= self._reread else seconds * random.uniform(0.75, 1.25)  # noqa: S311

    def _turn_each(self, runners: Sequence[TaskRunner]) -> None:
        """The loop waits: nothing else happens to these tasks meanwhile, and each is turned by one thread."""
        if len(runners) < _TURNERS / 2:
            for runner in runners:
                self._turn(runner)
        else:
            list(self._turners.map(self._turn, runners))

    def _turn(self, runner: TaskRunner) -> None:
        participant = runner.participant
        try:
            participant.turn()
            runner.due = self._clock() + (self._calm_reread() if participant.calm else self._reread)
            if participant.hold_until:
                # More often than the clock asks: what ends the wait early may be seen in pieces (an expired session's
                # nodes go one by one for those who read meanwhile), and no watch tells of the rest.
                runner.due = min(runner.due, participant.hold_until, self._clock() + _HOLD_SECONDS)
        except NotConnected:
            runner.due = self._clock() + 0.2
        except ReplicatorError as error:
            _LOG.error("a task could not be handled", task=runner.task, code=error.code, error=str(error))
            runner.due = self._clock() + self._reread
        except Exception:
            self._fault(runner)
        self._placing.moved(runner.task, self._runners)
        self._report(runner)

    def _fault(self, runner: TaskRunner) -> None:
        """A fault of ours in one task: that task stops emitting and is decided anew, the others go on."""
        _LOG.exception("fault", task=runner.task, code="E5011")
        runner.kill()
        runner.participant.on_died()
        runner.due = self._clock() + self._reread

    def _report(self, runner: TaskRunner) -> None:
        if runner.report():
            self._machine_status.poke()

    # Outgoing addresses

    def _look_at_outgoing(self, now: float) -> None:
        self._outgoing_due = now + self._reread
        with contextlib.suppress(CoordinationError):  # what was known before is in force
            self._context.outgoing.refresh()

    def _obey(self, entries: tuple[str, ...] | None) -> None:
        for runner in list(self._runners.values()):
            runner.obey(entries)

    # Tasks

    def _place(self) -> None:
        self._placing.turn(self._reread)
        if self._placing.group and not self._stopping:
            self._run_only(self._placing.tasks)
        self._placing.apply(self._runners)

    def _look_for_tasks(self, now: float) -> None:
        self._list_due = now + self._reread
        self._check_kept()
        if self._tasks or self._placing.group:
            return
        try:
            watch = None if self._watching_list else self._list_changed
            self._watching_list = True
            names = self._registry.names(watch)
        except NotConnected:
            self._watching_list = False
            self._list_due = now + 0.2
            return
        except CoordinationError as error:
            self._watching_list = False
            _LOG.error("the tasks can't be read", code=error.code, error=str(error))
            return
        self._run_only(names)

    def _run_only(self, names: Collection[str]) -> None:
        for name in names:
            self._add(name)
        gone = set(self._runners) - set(names)
        for name in gone:
            self._remove(name)
        if gone:
            self._kept.keep_below(self._layout.tasks, {escape(name) for name in names})

    def _check_kept(self) -> None:
        """See `TreeCache.check`."""
        with contextlib.suppress(CoordinationError):
            if path := self._kept.check(_CHECKED):
                _LOG.error("what was known of a node does not hold any more; everything is read again", path=path)

    def _add(self, task: str) -> None:
        if task not in self._runners:
            runner = TaskRunner(task, self._context, lambda: self._later_wake(task))
            self._placing.add(task, runner)
            self._runners[task] = runner

    def _remove(self, task: str) -> None:
        """A task that exists no more; its own turn has seen to its worker first."""
        if self._runners[task].participant.gone:
            del self._runners[task]
        else:
            self._runners[task].due = 0.0

    def _configs(self) -> dict[str, Mapping[str, Any]]:
        """From the reachability thread."""
        runners = list(self._runners.items())
        good = [(name, one, one.participant.facts.good) for name, one in runners]
        return {name: one.connected(config.data) for name, one, config in good if config is not None}

    def _present(self) -> list[TaskRunner]:
        """From the threads of the inspections."""
        return list(self._runners.values())

    def _figures(self) -> dict[str, TaskFigures]:
        return {name: runner.figures() for name, runner in list(self._runners.items())}

    # Events

    def _wake(self, task: str) -> None:
        runner = self._runners.get(task)
        if runner is not None:
            runner.due = 0.0

    def _hear(self, runner: TaskRunner, worker: Speaker, message: FromWorker | None) -> None:
        if not runner.is_current(worker):
            return
        if not isinstance(message, Progress):
            runner.due = 0.0
        try:
            runner.hear(message)
        except Exception:
            self._fault(runner)

    def _connection_changed(self, state: Connection) -> None:
        _LOG.info("zookeeper", state=state.value, session=f"{self._coordinator.session_id:#x}")
        self._cut_off_since = None if state is Connection.CONNECTED else self._clock()
        if state is Connection.LOST:
            self._context.outgoing.forget_watches()
            self._placing.session_lost()
            for runner in self._runners.values():
                runner.participant.on_session_lost()
        if state is Connection.CONNECTED:
            if self._named:
                self._machine_status.publish()  # before we stand: a session that stands has a machine node
            self._list_due = self._outgoing_due = self._placing.due = 0.0
            self._watching_list = False
        for runner in self._runners.values():
            runner.due = 0.0
            self._report(runner)

    # The end

    def _begin_stop(self) -> None:
        if self._stopping:
            return
        _LOG.info("stopping", tasks=len(self._runners))
        self._stopping = True
        self._stop_at = self._clock() + STOP_SECONDS
        self._placing.leave()
        for runner in self._runners.values():
            runner.participant.stop()
            runner.due = 0.0

    def _done(self) -> bool:
        if not self._stopping:
            return False
        now = self._clock()
        cut_off = self._cut_off_since is not None and now - self._cut_off_since > _CUT_OFF_SECONDS
        drains = max((entry.participant.drains_until for entry in self._runners.values()), default=0.0)
        late = now >= max(self._stop_at, drains + _RELEASE_SECONDS)
        return cut_off or late or all(entry.participant.gone for entry in self._runners.values())

    def _end(self) -> None:
        """Workers first: the session, and with it our nodes, must outlive every one of them."""
        self._turners.shutdown()
        self._machine_status.stop()
        self._reachability.stop()
        self._inspections.stop()
        for runner in self._runners.values():
            runner.kill()
        context = self._context
        context.leases.stop()
        context.writer.stop()
        context.schema_history.stop()
        context.pipes.stop()
        context.launcher.close()
        if self._stopping and self._named:
            self._machine_status.record_end()
        self._coordinator.close()
