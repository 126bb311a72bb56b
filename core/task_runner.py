"""One task on this Core: its participant in the election, its worker process, and its reported state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from core.context import CoreContext, WorkerProcess
from core.protocol import (
    AddressAccepted,
    AddressPassed,
    AddressRefused,
    Drain,
    Drained,
    Failed,
    FromWorker,
    OutgoingChanged,
    Progress,
    Saved,
    SecretChanged,
    ShareSource,
    Streaming,
    Waiting,
    WorkerSpec,
)
from core.task_addresses import RunnerAddresses
from core.task_gauge import TaskGauge
from core.watchdog import Watchdog
from replicator.config.ddns import resolved
from replicator.coordination.addresses.address_records import AcceptedAddress
from replicator.coordination.addresses.task_addresses import TaskAddresses
from replicator.coordination.clock import now_ms
from replicator.coordination.ids import ReplicaIds
from replicator.coordination.installation import installation_id
from replicator.coordination.leadership.contender import Leading
from replicator.coordination.leadership.participant import Participant
from replicator.coordination.leadership.progress import TermProgress
from replicator.coordination.leadership.state import State
from replicator.coordination.leadership.view import Config
from replicator.coordination.records import TaskFigures
from replicator.coordination.tasks.purged import Purged
from replicator.coordination.tasks.schema_nodes import SchemaNodes
from replicator.errors import CoordinationError, LeadershipLost, NotConnected, ProcessError, VersionConflict
from replicator.model.checkpoint import Checkpoint
from replicator.telemetry import log

_LEASE_OVER = "E4008"
_AGAIN_SECONDS = 0.2


class TaskRunner:
    """Everything but `figures` and `on_progress` is called from the agent's loop.

    Args:
        wake: asks for a turn of this task; called from any thread.
    """

    def __init__(self, task: str, context: CoreContext, wake: Callable[[], None]) -> None:
        self.task = task
        self.due = 0.0
        """Monotonic time of the next turn."""
        self.gauge = TaskGauge(context.clock)
        self._context = context
        self._worker: WorkerProcess | None = None
        self._spec: WorkerSpec | None = None
        self._term: Leading | None = None
        self._addresses = RunnerAddresses()
        self._watchdog = Watchdog()
        self._pieces = 0
        self._epoch = 0  # of the last worker's term
        self._since_ms = now_ms()
        self._reported = State.ABSENT
        self._reported_error: dict[str, str] | None = None
        self._log = log.get_logger("core").bind(task=task, host=context.identity.host)
        self.participant = Participant(
            context.coordinator,
            context.layout,
            task,
            context.identity,
            self,
            context.clock,
            context.validate,
            wake,
            kept=context.kept,
        )

    def _purged(self) -> tuple[str, ...]:
        """Of the task's name; none where that can't be read, as no position is ignored on a guess."""
        try:
            return Purged(self._context.coordinator, self._context.layout).read(self.task).uids
        except CoordinationError as error:
            if error.transient:
                raise
            self._log.error("purged tasks of this name are not known", code=error.code, error=str(error), fix=error.fix)
            return ()

    # What the participant asks of its workers

    def start(self, term: Leading, config: Config, checkpoint: Checkpoint | None) -> None:
        context, task, name, uid = self._context, self.task, term.name, term.uid
        configured = config.data.get("source", {}).get("server_id")
        server_id = ReplicaIds(context.coordinator, context.layout).of(task, uid, configured)
        installation = installation_id(context.kept, context.layout)
        outgoing = context.outgoing.refresh()
        view = self.participant.view
        plans = self._addresses.begin(view.addresses if view is not None else ())
        data = resolved(config.data, {plan.section: plan.address for plan in plans})
        path = context.layout.contender(task, name)
        lease = context.leases.begin(task, path, term.czxid)
        spec = WorkerSpec(
            task,
            uid,
            term.epoch,
            context.identity.host,
            data,
            checkpoint,
            server_id,
            config.orders,
            installation=installation,
            previous=term.previous,
            purged=self._purged(),
            outgoing=outgoing,
            addresses=plans,
            until=config.until,
        )
        try:
            worker = context.launcher.start(spec, lease.deadline)
        except (OSError, EOFError) as error:
            context.leases.drop(task)
            self._log.error("worker could not be started", code="E5018", error=str(error))
            refused = ProcessError("E5018", f"the worker of '{task}' could not be started", found=str(error))
            self.gauge.wait(refused.to_dict())
            raise refused from error
        self._worker, self._spec, self._term = worker, spec, term
        self._watchdog = Watchdog()
        sink = config.data.get("sink", {}).get("type", "")
        self.gauge.reset(sink, same_term=term.epoch == self._epoch)
        self._epoch = term.epoch
        interval = float(config.data.get("checkpoint_interval_ms", 1000)) / 1000
        progress = TermProgress(
            context.coordinator,
            context.layout,
            task,
            name,
            term.czxid,
            uid,
            context.identity.host,
            above=term.above,
            previous=term.previous or 0,
        )
        context.writer.begin(task, progress, interval, lambda number: worker.send(Saved(number)))
        context.schema_history.begin(task, SchemaNodes(context.coordinator, context.layout, task, name), worker.send)
        context.leases.attach(task, worker)
        context.pipes.add(task, worker)
        self._log.info("worker started", epoch=term.epoch, pid=worker.pid, config_version=config.version)

    def obey(self, outgoing: tuple[str, ...] | None) -> None:
        """The cluster's list of outgoing addresses is another one now."""
        if self._worker is not None:
            self._worker.send(OutgoingChanged(outgoing))

    def drain(self) -> None:
        if self._worker is not None:
            self._worker.send(Drain())

    def kill(self) -> None:
        """The lease ends first: whatever the worker does until the signal reaches it, nothing leaves any more."""
        self._context.leases.drop(self.task)
        worker, self._worker = self._worker, None
        self._addresses.end()
        if worker is not None:
            self._context.pipes.remove(worker)
            worker.kill()
        self._context.writer.end(self.task)
        self._context.schema_history.end(self.task)

    # What the worker says, or does not say

    def check_watchdog(self) -> None:
        """A worker that does not run would hold the lease for ever and deliver nothing."""
        if self._worker is not None and self._watchdog.stuck(self._worker.beat, self._context.clock()):
            self._log.warning("worker did not respond and was killed", code="E5008", pid=self._worker.pid)
            self.kill()
            self.participant.on_died()
            self.due = 0.0

    def is_current(self, worker: object) -> bool:
        return worker is not None and worker is self._worker

    def on_progress(self, progress: Progress) -> None:
        """From the pipe thread, so that a checkpoint never waits for the loop."""
        self.gauge.note(progress)
        self._context.writer.submit(self.task, progress)

    def hear(self, message: FromWorker | None) -> None:
        """A message of the current worker; None when it is gone without a last word."""
        participant = self.participant
        match message:
            case Progress(checkpoint=checkpoint, pieces=pieces):
                if pieces != self._pieces:
                    self._pieces = pieces
                    participant.on_acknowledged()
                participant.on_progress(checkpoint)
            case Streaming(position):
                self.gauge.streaming(position)
                participant.on_streaming(position)
            case Waiting(error):
                self.gauge.wait(error)
                self._context.counters.refused(error)  # of a table that goes into quarantine
                participant.on_waiting(error)
                self._log.warning("waiting", code=error.get("code", ""), error=error.get("what", ""))
            case ShareSource() if self._worker is not None and self._spec is not None:
                self._context.relays.asked(self._spec, self._worker, message)
            case Drained(checkpoint):
                self.kill()
                participant.on_drained(checkpoint)
            case SecretChanged(error):
                self.kill()
                self.gauge.wait(error)
                self._log.info("a secret has changed: connecting with the new one", code=error.get("code", ""))
                participant.on_died()
            case AddressAccepted() | AddressPassed() | AddressRefused():
                self._on_address(message)
            case Failed(error, fenced, epoch):
                self._on_failed(error, fenced, epoch)
            case None:
                self._on_gone()

    def _on_address(self, message: AddressAccepted | AddressPassed | AddressRefused) -> None:
        match message:
            case AddressAccepted():
                self._addresses.accepted(message)
                self._record_addresses()
            case AddressPassed(section, address):
                if self._addresses.passed(message):
                    self._log.info("connecting to another address", section=section, address=address)
                    self.participant.on_outdated()
            case AddressRefused(_, address, error, ended):
                if ended:
                    self.kill()
                if self._addresses.refused(message):
                    self._log.warning("address refused", code=error["code"], address=address, found=error["found"])
                    self.participant.note("address", f"{error['code']} {error['what']}: {error['found']}")
                if ended:
                    self.participant.on_address_refused()

    def _record_addresses(self) -> None:
        """What can't be recorded now is recorded by a later turn; the worker waits for it, up to a limit."""
        worker, term = self._worker, self._term
        if worker is None or term is None:
            return
        try:
            for noted in self._addresses.record(self._accept(term), worker.send):
                self._log.info("connected to another address", change=noted)
                self.participant.note("address", noted)
        except (NotConnected, VersionConflict):
            self.due = min(self.due, self._context.clock() + _AGAIN_SECONDS)
        except LeadershipLost:
            return  # the next turn sees that our node is gone
        except CoordinationError as error:
            self.kill()
            self.participant.on_failed(error.to_dict())

    def _accept(self, term: Leading) -> Callable[[str, AcceptedAddress], None]:
        store = TaskAddresses(self._context.coordinator, self._context.layout)
        return lambda section, address: store.accept(self.task, term.uid, term.name, section, address)

    def _follow_addresses(self) -> None:
        view, worker = self.participant.view, self._worker
        if view is not None and view.exists:
            self._addresses.follow(view.addresses, worker.send if worker is not None else lambda message: None)
        self._record_addresses()

    def connected(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration with the addresses that are in use, from any thread."""
        return resolved(data, self._addresses.in_use)

    def _on_failed(self, error: dict[str, str], fenced: bool, epoch: int) -> None:
        self.kill()
        counters = self._context.counters
        if not fenced:
            counters.refused(error)
            self._addresses.failed()
            self.participant.on_failed(error)
        elif error.get("code") == _LEASE_OVER:
            counters.fenced("lease")
            self.participant.on_lease_over()
        else:
            counters.fenced("sink")
            self._log.warning("fenced at the sink", code=error.get("code", ""), found=error.get("found", ""))
            self.participant.on_fenced(error, epoch)

    def _on_gone(self) -> None:
        over = self._context.leases.left(self.task) <= 0
        self.kill()
        if over:
            self._context.counters.fenced("lease")
            self.participant.on_lease_over()
            return
        self._log.warning("worker died", code="E5008")
        self.gauge.wait(ProcessError("E5008", f"the worker of '{self.task}' ended without a message").to_dict())
        self.participant.on_died()

    def on_write_failed(self, error: CoordinationError) -> None:
        """The checkpoint writer can't go on. Without our node or our term there is nothing to decide: the next turn
        sees it. Anything else would let the position stand still unnoticed."""
        if isinstance(error, LeadershipLost):
            self._context.counters.fenced("zookeeper")
        else:
            self.kill()
            self.participant.on_failed(error.to_dict())

    # What is told

    def report(self) -> bool:
        """Logs a change of role. Called after each turn. True when something changed."""
        self._follow_addresses()
        participant = self.participant
        state = participant.state
        changed = state is not self._reported
        if changed:
            self._since_ms = now_ms()
            facts = participant.facts
            self._log.info(state.value, epoch=facts.czxid, was=self._reported.value)
            self._reported = state
        error = self._error()
        if error != self._reported_error:
            changed, self._reported_error = True, error
            if error is not None:
                self._log.error("the task can't run", code=error["code"], error=error["what"], fix=error.get("fix", ""))
        return changed

    def _error(self) -> dict[str, str] | None:
        problem = self.participant.problem
        if problem is not None:
            return problem
        view = self.participant.view
        return (view.config_error or view.status_error) if view else None

    def figures(self) -> TaskFigures:
        """From any thread: reads immutable values only."""
        facts, view, gauge = self.participant.facts, self.participant.view, self.gauge
        rows_per_s, bytes_per_s = gauge.rates()
        stored = view.commit.checkpoint if view else None
        checkpoint = gauge.checkpoint or facts.checkpoint or (stored if self.participant.leads else None)
        figures = TaskFigures(
            state=facts.state.value,
            guid=facts.guid,
            epoch=facts.czxid,
            sequence=view.own.sequence if view and view.own else -1,
            since_ms=self._since_ms,
            lease_left_s=round(self._context.leases.left(self.task), 3),
            lease_least_s=round(self._context.leases.least(self.task), 3),
            config_version=facts.worker.config.version if facts.worker else (facts.good.version if facts.good else -1),
            error=self.participant.problem,
            config_error=(view.config_error or view.status_error) if view else None,
            reach=self._context.reach(self.task),
            checkpoint_ms=self._context.writer.written_ms.get(self.task, stored.time_ms if stored else 0),
        )
        figures.addresses = self._addresses.figures()
        report = self._context.expiry_report(self.task)
        figures.certificate_ms, figures.certificate = report.certificate_ms, report.certificate
        figures.late_consumers = report.late_consumers
        worker, last = self._worker, gauge.last
        if worker is not None or facts.state is State.STARTING:
            figures.retrying = gauge.retrying()
        if checkpoint is not None:
            written = self._context.writer.stands(self.task)
            referred = written is not None and written.position.gtid == checkpoint.position.gtid
            figures = msgspec.structs.replace(
                figures,
                position=str(checkpoint.position),
                gtid="" if referred else checkpoint.position.gtid,  # readers take that of lastCommit
                rows=checkpoint.rows,
                transactions=checkpoint.transactions,
            )
        if worker is not None:
            figures = msgspec.structs.replace(
                figures,
                worker_pid=worker.pid,
                position=gauge.position or figures.position,
                rows_per_s=round(rows_per_s, 1),
                bytes_per_s=round(bytes_per_s, 1),
            )
        if worker is not None:
            lag = gauge.lag()
            figures.lag_s, figures.lag_at_most, figures.lag_note = lag.seconds, lag.at_most, lag.note
            figures.clock_skew_s = gauge.skew_s
            figures.behind_bytes, figures.behind_transactions = gauge.behind.bytes, gauge.behind.transactions
            figures.source_shared = gauge.shared
            figures.activity = gauge.activity
        else:
            figures.lag_note = f"the task is {facts.state.value}"
        if worker is not None and last is not None:
            figures.last_event_ms, figures.retention_headroom_s = last.last_event_ms, last.retention_headroom_s
        return figures
