"""A worker process: the data path of one task under one term.

It has no ZooKeeper session. What it needs of leadership is the end of the lease in shared memory, and it ends by itself
when the lease runs out or the pipe to its agent closes.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec

from core.channel import WorkerEnd
from core.protocol import (
    AddressRecorded,
    Drain,
    Drained,
    Failed,
    FromWorker,
    Lease,
    Logged,
    OutgoingChanged,
    Progress,
    ProposeAddress,
    Saved,
    SchemaHistoryAnswer,
    SecretChanged,
    ShareSource,
    SourceShared,
    Status,
    Streaming,
    ToWorker,
    Waiting,
    WorkerSpec,
)
from core.role_log import watched
from core.schema_history_client import SchemaHistoryClient
from core.secret_renewal import LOGINS, renewed
from core.source_watch import watch_source
from core.worker_addresses import AddressRejected, WorkerAddresses
from replicator.assembly.pipeline import build_pipeline, build_sink, build_source
from replicator.assembly.shared_source import SharedSource, shared
from replicator.config import sealed
from replicator.config.load import parse_task
from replicator.config.task import TaskConfig
from replicator.errors import (
    LeadershipLost,
    ProcessError,
    ReplicatorError,
    SinkFenced,
    UnknownTerm,
)
from replicator.model.checkpoint import Checkpoint
from replicator.model.lag import LagFacts
from replicator.model.position import Position
from replicator.model.target_table import TargetTables
from replicator.model.term import Term
from replicator.net import connections
from replicator.pipeline.backoff import Backoff
from replicator.pipeline.delivery_progress import DeliveryCounters
from replicator.pipeline.malloc import IdleRelease
from replicator.pipeline.pipeline import Pipeline
from replicator.pipeline.ports import Sink, Source
from replicator.pipeline.status import PipelineStatus
from replicator.telemetry import log

PROGRESS_SECONDS = 0.2
STATUS_SECONDS = 0.5
_UNCHANGED_SECONDS = 5.0
"""After as much, what has not changed is said again: idle tasks leave their agent alone."""
_SAVED_SECONDS = 30.0
LEASE_OVER, AGENT_GONE = 3, 4  # exit statuses


class Link:
    """The worker's end of the pipe: sends what happens, waits for what the agent says."""

    def __init__(self, way: WorkerEnd) -> None:
        self._way = way
        self._saved = 0
        self._changed = threading.Condition()
        self.drain = threading.Event()
        self.shared: SharedSource | None = None
        self.history = SchemaHistoryClient(self.send)
        self.addresses: WorkerAddresses

    def send(self, message: FromWorker) -> None:
        """A closed pipe means that the agent is gone: nothing more may leave."""
        try:
            self._way.send(message)
        except OSError:
            os._exit(AGENT_GONE)

    def listen(self, on_drain: Any) -> None:
        """Runs in a thread of its own, and ends the process like `send` when the pipe is closed."""
        while True:
            try:
                message: ToWorker = self._way.receive()
            except (EOFError, OSError):
                os._exit(AGENT_GONE)
            if isinstance(message, Drain):
                on_drain()
            elif isinstance(message, Saved):
                with self._changed:
                    self._saved = max(self._saved, message.number)
                    self._changed.notify_all()
            elif isinstance(message, SchemaHistoryAnswer):
                self.history.answered(message)
            elif isinstance(message, OutgoingChanged):
                connections.set_cluster_list(message.entries)
            elif isinstance(message, SourceShared) and self.shared is not None:
                self.shared.offer(message.key, message.name)
            elif isinstance(message, ProposeAddress):
                self.addresses.propose(message.section, message.address)
            elif isinstance(message, AddressRecorded):
                self.addresses.recorded(message.section)

    def is_shared(self) -> bool:
        """Whether the stream is one that tasks of this Core share."""
        return self.shared is not None and self.shared.joined

    def wait_saved(self, number: int, timeout: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._saved >= number, timeout)


class AgentStore:
    """The checkpoint store of a worker: the agent writes for it. The first save is waited for, where a table goes into
    quarantine or comes out of it, where the sink begins or ceases to hold the position, and where a position is set.
    The others are paced by the agent (the sink or lastCommit holds an older, safe position meanwhile)."""

    def __init__(self, link: Link, loaded: Checkpoint | None) -> None:
        self._link = link
        self._loaded = self.latest = loaded
        self._number = 0
        self.figures = DeliveryCounters()
        self.retention_headroom_s: float | None = None

    def load(self) -> Checkpoint | None:
        return self._loaded

    def save(self, checkpoint: Checkpoint) -> None:
        loaded, self._loaded = self._loaded, checkpoint
        if loaded is not None and _settled(loaded) == _settled(checkpoint):
            return  # the observer's progress, which follows, carries it
        self.report(checkpoint, urgent=True)
        if not self._link.wait_saved(self._number, _SAVED_SECONDS):
            raise LeadershipLost("E4008", "the position could not be written to lastCommit in time")

    def report(self, checkpoint: Checkpoint, *, urgent: bool = False) -> None:
        self._number += 1
        self.latest = checkpoint
        figures = self.figures
        self._link.send(
            Progress(
                number=self._number,
                checkpoint=checkpoint,
                urgent=urgent,
                rows=figures.rows,
                transactions=figures.transactions,
                bytes=figures.bytes,
                last_event_ms=figures.last_event_ms,
                retention_headroom_s=self.retention_headroom_s,
                pieces=figures.pieces,
            )
        )


def _settled(checkpoint: Checkpoint) -> tuple[object, ...]:
    """What has to be durable before anything is delivered behind it."""
    return checkpoint.quarantined, checkpoint.in_sink, checkpoint.position.reset


class AgentObserver:
    def __init__(self, link: Link, store: AgentStore, logger: Any) -> None:
        self._link = link
        self._store = store
        self._log = logger
        self._reported: tuple[object, ...] = ()
        self._reported_at = 0.0
        self._rest = IdleRelease()
        self._taking = 0  # when the snapshot at hand began
        self._absent: tuple[str, ...] = ()
        self._cut_ms = 0  # when the last consistent view was opened
        self.streamed = False

    def streaming(self, position: Position) -> None:
        self.streamed = True
        self._log.info("streaming", position=str(position))
        self._link.send(Streaming(str(position)))

    def waiting(self, error: ReplicatorError) -> None:
        self._log.warning("waiting", code=error.code, error=str(error))
        self._link.send(Waiting(error.to_dict()))

    def progress(self, checkpoint: Checkpoint, figures: DeliveryCounters) -> None:
        told = (checkpoint, *msgspec.structs.astuple(figures), self._store.retention_headroom_s)
        taken = checkpoint.position.snapshot
        if taken is not None and taken.consistent_since and self._taking == taken.begun_ms:
            since = taken.consistent_since
            self._log.info("snapshot complete", snapshot=taken.id, rows=taken.rows, consistent_since=since)
        if taken is not None and taken.absent != self._absent:
            self._absent = taken.absent
            if taken.absent:
                self._log.warning("snapshot names tables that do not exist", snapshot=taken.id, tables=taken.absent)
        if taken is not None and taken.cut_open and taken.cut_ms != self._cut_ms:
            self._cut_ms = taken.cut_ms
            again = {"views": taken.cuts, "rows_again": taken.again} if taken.cuts > 1 else {}
            self._log.info("consistent view", snapshot=taken.id, view=taken.view, lock_ms=taken.lock_ms, **again)
        self._taking = taken.begun_ms if taken is not None and not taken.ended_ms else 0
        now = time.monotonic()
        self._rest.seen(figures.rows, now)
        if told == self._reported and now - self._reported_at < _UNCHANGED_SECONDS:
            return
        self._reported, self._reported_at = told, now
        self._store.figures = figures
        self._store.report(checkpoint)


def main(way: socket.socket, lease: Lease, beat: Any, spec: WorkerSpec, log_style: str | None) -> None:
    """Entry point of the process. Ends with `Drained` or `Failed`, or without a word when term or agent are gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole process group; the agent drains us
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    log.setup(log_style)
    connections.set_cluster_list(spec.outgoing)
    logger = log.get_logger("worker").bind(task=spec.task, epoch=spec.epoch)
    term = Term(
        spec.task,
        spec.uid,
        spec.epoch,
        lambda: float(lease.deadline.value),
        wall_deadline=lambda: float(lease.wall_deadline.value),
        installation=spec.installation,
        host=spec.host,
        previous=spec.previous,
        purged=frozenset(spec.purged),
    )
    end = WorkerEnd(way)
    link = Link(end)
    log.recent.forward = lambda line: link.send(Logged(line))
    threading.Thread(target=_watch_lease, args=(term, beat), name="lease", daemon=True).start()
    last = _run(link, spec, term, logger)
    log.recent.forward = None
    link.send(last)
    end.close()
    os._exit(0)


def _run(link: Link, spec: WorkerSpec, term: Term, logger: Any) -> FromWorker:
    store, draining, refused = AgentStore(link, spec.checkpoint), threading.Event(), threading.Event()
    observer, built = AgentObserver(link, store, logger), list[Pipeline]()

    def drain() -> None:
        draining.set()
        for each in built:
            each.drain()

    try:
        config = parse_task(spec.config)
        sealed.bind(spec.config, spec.installation)
        addresses = WorkerAddresses(spec.config, spec.addresses, term, link.send, lambda: store.latest)
        link.addresses = addresses
        threading.Thread(target=link.listen, args=(drain,), name="agent", daemon=True).start()
        tables = TargetTables()
        opened = _opened(config, spec, tables, term, observer, draining, addresses)
        if opened is None:
            return Drained(None)
        source, sink = opened
        link.shared = shared(
            config,
            source,
            lambda terms: link.send(ShareSource(terms.key, terms.where, terms.replica)),
            lambda reason: logger.info("shared stream left", reason=reason),
        )
        source = link.shared or source
        pipeline = build_pipeline(
            config,
            source=source,
            sink=watched(sink, spec.task, spec.host, spec.epoch),
            tables=tables,
            term=term,
            store=store,
            observer=observer,
            history=link.history,
            orders=spec.orders,
            server_id=spec.server_id or None,
            save_interval=PROGRESS_SECONDS,
        )

        configured = pipeline.end
        if configured is None:
            pipeline.end = spec.until
        built.append(pipeline)
        if draining.is_set():
            pipeline.drain()
        if spec.checkpoint is not None:
            pipeline.status.place = spec.checkpoint.position
        reported = pipeline.status, link.send, link.is_shared
        threading.Thread(target=report_status, args=reported, name="status", daemon=True).start()
        watched_by = {"refused": refused.is_set}
        told = source, store, pipeline.status
        threading.Thread(target=watch_source, args=told, kwargs=watched_by, name="source", daemon=True).start()
        if spec.addresses:
            threading.Thread(target=addresses.watch, name="addresses", daemon=True).start()
        last, end = pipeline.run(), configured
        if last is not None and end is not None and last.position.order >= end.order:
            return Failed(
                ProcessError("E5015", f"'{spec.task}' has reached its end", found=f"source.until: {end}").to_dict()
            )
        return Drained(last)
    except (SinkFenced, LeadershipLost) as error:
        logger.warning("fenced", code=error.code, error=str(error))
        return Failed(error.to_dict(), fenced=True, epoch=error.epoch if isinstance(error, UnknownTerm) else 0)
    except AddressRejected as rejected:
        logger.warning("address refused", code=rejected.code, address=rejected.message.address, found=rejected.found)
        return rejected.message
    except ReplicatorError as error:
        refused.set()
        return _refused(error, observer, term, draining.is_set, logger)
    except Exception as error:
        logger.exception("failed", code="E5011")
        return Failed(ProcessError("E5011", f"{type(error).__name__}: {error}").to_dict())


def _opened(
    config: TaskConfig,
    spec: WorkerSpec,
    tables: TargetTables,
    term: Term,
    observer: AgentObserver,
    draining: threading.Event,
    addresses: WorkerAddresses,
) -> tuple[Source, Sink] | None:
    """Both, once their secrets can be had and the sink's address has passed; None: the worker is to end."""
    backoff = Backoff()
    while True:
        try:
            addresses.check_sink()
            source = addresses.source(build_source(config, spec.server_id or None))
            return source, build_sink(config, term.installation, tables)
        except AddressRejected:
            raise
        except ReplicatorError as error:
            if not error.transient:
                raise
            observer.waiting(error)
            if draining.wait(backoff.next()):
                return None
            term.check()


def _refused(
    error: ReplicatorError, observer: AgentObserver, term: Term, ended: Callable[[], bool], logger: Any
) -> FromWorker:
    """The last word after an error that is not retried."""
    try:
        if observer.streamed and error.code in LOGINS:
            observer.waiting(error)
        if renewed(error, worked=observer.streamed, check=term.check, ended=ended):
            return SecretChanged(error.to_dict())
        if ended() and error.code in LOGINS:  # for a new configuration, which may have the secret
            return Drained(None)
    except LeadershipLost as lost:
        return Failed(lost.to_dict(), fenced=True)
    logger.error("failed", code=error.code, error=str(error))
    return Failed(error.to_dict())


def report_status(
    status: PipelineStatus,
    send: Callable[[FromWorker], None],
    shared: Callable[[], bool] = lambda: False,
    wait: Callable[[float], object] = time.sleep,
) -> None:
    """Runs in a thread of its own: the thread that delivers may be blocked in the sink, and that has to be seen."""
    told, told_at = Status(LagFacts()), 0.0
    while True:
        facts, blocked = status.facts(), status.blocked()
        present = Status(facts, blocked, status.flowing, shared(), status.meter.activity(), status.behind)
        same = msgspec.structs.replace(told.lag, at_ms=facts.at_ms) == facts
        same = same and (told.flowing, told.shared) == (present.flowing, present.shared)
        quiet = same and not facts.waiting_ms and not facts.unread_ms and blocked is told.blocked is None
        now = time.monotonic()
        if not quiet or now - told_at >= _UNCHANGED_SECONDS:
            send(present)
            told, told_at = present, now
        wait(STATUS_SECONDS)


def _watch_lease(term: Term, beat: Any) -> None:
    """The batch and commit checks stand before each step; this one ends a step that outlives the lease. Its turns are
    the beat by which the agent sees that this process runs."""
    while (left := term.remaining()) > 0:
        beat.value = time.monotonic()
        time.sleep(min(max(left, 0.005), 0.25))
    os._exit(LEASE_OVER)
