"""Runs a task: source -> decode -> transform -> encode -> sink -> checkpoint.

A reader thread turns bytes of the source into batches (decode, transform and encode are one pass: the plan of
`model/plan.py`), and the calling thread delivers them and remembers how far it got. Between the two stands a queue that
is bounded in bytes, so that a slow sink stops the reading.

A *session* is one open source with one open sink. Any transient error ends the session; the next one starts at the
position that the sink holds, else at the last acknowledged one. A crash is recovered from like a lost connection.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable
from typing import TypeAlias

import msgspec

from replicator.errors import LeadershipLost, PositionGone, ReplicatorError, SessionRenewed, SinkError, SinkFenced
from replicator.model.batch import Batch
from replicator.model.checkpoint import Checkpoint
from replicator.model.conflicts import since
from replicator.model.position import Position
from replicator.model.position_order import reached
from replicator.model.snapshot import SnapshotProgress
from replicator.model.snapshot_orders import SnapshotOrders, following, is_open, taken_up
from replicator.model.term import Term
from replicator.pipeline import malloc
from replicator.pipeline.authority import authority, left_by_another
from replicator.pipeline.backoff import Backoff
from replicator.pipeline.beginning import first_position, ordered_position
from replicator.pipeline.buffer import Buffer
from replicator.pipeline.catch_up import CatchUpSession
from replicator.pipeline.delivery_progress import DeliveryCounters, DeliveryProgress
from replicator.pipeline.new_snapshot import NewSnapshot, with_marks, with_new_snapshot
from replicator.pipeline.observer import Observer
from replicator.pipeline.ports import CheckpointStore, Decoder, Sink, Source, Stream
from replicator.pipeline.quarantine import Quarantine
from replicator.pipeline.reader import Reader
from replicator.pipeline.snapshot.session import SnapshotSession
from replicator.pipeline.status import PipelineStatus
from replicator.pipeline.timed_sink import TimedSink

_FIRST_SECONDS, _MOST_SECONDS = 0.02, 0.2
"""While there is a backlog, a commit waits no longer for more: at first not long, as somebody may wait for the first
row of a new term; then twice as long each time."""
_NEXT_SECONDS = 0.02  # and no longer than this for the next batch
_FLUSH_SECONDS = 30.0
_LARGE_BYTES = 4 << 20  # after which memory is given back as soon as nothing comes any more
_SWITCH_SECONDS = 0.0005
"""Reading, delivering and the client's sender come back from the system all the time; with Python's 5 ms each waits as
long for the others, which cost a fifth of the rate of 1-row transactions."""
_GROWTH = 4  # records have about as many bytes for each one of the binlog
_WRITE_BYTES = 3 << 20  # up to which what waits is written together: fewer and fuller batches of records

OpenSnapshot: TypeAlias = Callable[[SnapshotProgress, Stream, Decoder], SnapshotSession]


class Pipeline:
    """The data path of one task under one term.

    Args:
        make_decoder: decoder for a freshly opened stream (it starts at `stream.position`).
        max_batch_bytes: whole transactions are joined into one commit up to this size while there is a backlog.
        save_interval: seconds between checkpoints given to the store.
        split_transactions: also commit positions inside a transaction (at_least_once).
        max_transaction_bytes: a transaction of which as much is written is committed so far, as the position inside it
            says; None: never.
        start_given: the source begins at a named place; else a task without a position does not begin "now" where an
            earlier one of its name has left a position at the sink.
        quarantine: the tables that `make_decoder` leaves out: where each stops and goes on is remembered.
        until: where `run` ends of itself.
        snapshot: opens a snapshot beside a stream and its decoder, at the progress that is given.
        snapshot_first: a task without a position begins with a snapshot.
        snapshot_again: so does one whose position the source has purged.
        snapshot_orders: of operators.
        snapshot_only: it ends when the snapshot has.
        stopping: set by `drain`, for whoever waits on its behalf.
    """

    def __init__(
        self,
        *,
        source: Source,
        make_decoder: Callable[[Stream], Decoder],
        sink: Sink,
        store: CheckpointStore,
        term: Term,
        observer: Observer,
        max_batch_bytes: int = 8 << 20,
        buffer_bytes: int = 8 << 20,
        save_interval: float = 1.0,
        split_transactions: bool = False,
        max_transaction_bytes: int | None = None,
        start_given: bool = False,
        quarantine: Quarantine | None = None,
        until: Position | None = None,
        snapshot: OpenSnapshot | None = None,
        snapshot_first: bool = False,
        snapshot_again: bool = False,
        snapshot_orders: SnapshotOrders | None = None,
        snapshot_only: bool = False,
        stopping: threading.Event | None = None,
    ) -> None:
        self._source = source
        self._make_decoder = make_decoder
        self.status = PipelineStatus()
        """Lag, and what is waited for. For any thread."""
        self._sink = TimedSink(sink, self.status)
        self._store = store
        self._term = term
        self._observer = observer
        self._max_batch_bytes = max_batch_bytes
        self._buffer_bytes = buffer_bytes
        self._save_interval = save_interval
        self._split = split_transactions
        self._max_transaction_bytes = max_transaction_bytes
        self._start_given = start_given
        self._quarantine = quarantine or Quarantine()
        self.end = until
        self._open_snapshot = snapshot
        self._snapshot_first = snapshot_first
        self._new_snapshot = NewSnapshot(wanted=snapshot_again)
        self._gone: PositionGone | None = None
        self._snapshot_orders = snapshot_orders or SnapshotOrders()
        self._snapshot_only = snapshot_only
        self._snapshot: SnapshotSession | None = None
        self._stopping = stopping or threading.Event()
        self._stream: Stream | None = None
        self._catching_up: CatchUpSession | None = None
        self._bound = False  # whole transactions are written, and the beginning of another one behind them
        self._careful = 0  # bytes of the source that the next session delivers transaction by transaction
        self._until: Position | Callable[[], Position] | None = None
        self._delivery: DeliveryProgress | None = None
        self._saved: Checkpoint | None = None
        self._next_save = 0.0

    @property
    def figures(self) -> DeliveryCounters:
        return self._delivery.figures if self._delivery is not None else DeliveryCounters()

    @property
    def streaming(self) -> bool:
        """Whether a stream is open, so that there may be something to drain."""
        return self._stream is not None

    def drain(self) -> None:
        """From any thread: stop reading, commit the whole transactions that were written, save, return from `run`."""
        self._stopping.set()
        stream = self._stream
        if stream is not None:
            stream.close()

    def run(self, until: Position | Callable[[], Position] | None = None) -> Checkpoint | None:
        """Delivers until drained, or until `until` is reached. Returns the last checkpoint; None when there was none.

        `until` may be a question to the source: it is asked once, again only when that raises a transient error.

        Raises every error that is not transient, after what came before it is delivered and saved.
        """
        self._until = until if until is not None else self.end
        malloc.keep()
        sys.setswitchinterval(_SWITCH_SECONDS)
        backoff = Backoff()
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                if self._session():
                    break
            except ReplicatorError as error:
                if not error.transient:
                    # A successor's reader throws ours out at the source: then it is the term that failed, not the task.
                    self._term.check()
                    last = self._delivery.last.position if self._delivery is not None else None
                    if last is not None and self._catching_up is None and self._new_snapshot.takes(error, last):
                        self._gone = error
                        continue
                    if not self._quarantine.take(error):
                        raise
                    self._observer.waiting(error)  # for the moment until the next session goes on without the table
                    continue
                if self._stopping.is_set():
                    break
                if time.monotonic() - began > 30:
                    backoff.reset()
                self._observer.waiting(error)
                self._stopping.wait(backoff.next())
        return self._saved

    def _session(self) -> bool:
        """False: there is another one to come. Either the sink refuses something, or something can't be read, that
        would be committed together with what came before it, and the next session delivers that first, transaction by
        transaction; or this one has delivered what was left out of a table, or has made the schema history long."""
        buffer = Buffer(self._buffer_bytes)
        reader: Reader | None = None
        stream: Stream | None = None
        status, ended_by = self.status, None
        try:
            if callable(self._until):
                self._until = self._until()
            position = self._resume()
            behind = self._catching_up = CatchUpSession(position) if position.catch_up is not None else None
            if behind is None and self._reached(position):
                return True
            with status.source:
                stream = self._stream = self._source.open(behind.start if behind is not None else position)
            if behind is None:
                self._remember_server(stream.position.server)
            # Before anybody is told: the first decoder of a task reads the tables' definitions, and they shall be those
            # of its beginning.
            decoder = self._make_decoder(stream)
            if behind is None:
                self._snapshot = self._begun_snapshot(position, stream, decoder)
            self._observer.streaming(stream.position)
            status.opened(stream.position, polls=stream.framing == "file")
            reader = self._reader(stream, decoder, buffer)
            self._deliver(reader)
            return behind is None and not self._another
        except SessionRenewed:
            return False
        except ReplicatorError as error:
            ended_by = error
            if error.transient or isinstance(error, SinkFenced | LeadershipLost) or reader is None:
                raise
            if not isinstance(error, SinkError) and not self._bound:
                raise
            if reader.careful:
                with contextlib.suppress(ReplicatorError):  # the error that is raised says more
                    self._finish(None)
                raise
            reader.careful = 2 * self._buffer_bytes + self._max_batch_bytes
            return False
        finally:
            status.ended(ended_by)
            self._stream = None
            buffer.abandon()
            if stream is not None:
                stream.close()
            if reader is not None:
                reader.join()
                self._careful = reader.careful
            if self._snapshot is not None:
                self._snapshot.close()
                self._snapshot = None
            self._sink.close()

    def _begun_snapshot(self, position: Position, stream: Stream, decoder: Decoder) -> SnapshotSession | None:
        if position.snapshot is None or self._open_snapshot is None:
            return None
        snapshot = self._open_snapshot(position.snapshot, stream, decoder)
        snapshot.start(paused=self._paused(position))
        return snapshot

    def _reader(self, stream: Stream, decoder: Decoder, buffer: Buffer) -> Reader:
        return Reader(
            stream,
            decoder,
            buffer,
            stopping=self._stopping,
            is_end=self._is_end,
            ends=self.end is not None or self._catching_up is not None,
            seen=self._seen(),
            careful=self._careful,
            snapshot=self._snapshot,
            catch_up=self._catching_up,
            status=self.status,
        )

    def _seen(self) -> Callable[[Position, bool], Position] | None:
        if self._catching_up is not None:
            return self._catching_up.seen
        if self._snapshot is not None:
            seen = self._snapshot.seen
            return lambda position, boundary: seen(position)
        last = self._delivery_or_raise.last.position.snapshot
        if last is None:
            return None
        return lambda position, boundary: msgspec.structs.replace(position, snapshot=last)

    def _paused(self, position: Position) -> bool:
        return self._snapshot_orders.paused and is_open(position.snapshot)

    @property
    def _another(self) -> bool:
        """A snapshot has ended, and another one waits: it begins with the next session."""
        if self._snapshot is None or self._snapshot.active or self._snapshot_only:
            return False
        return self._snapshot.again or following(self._snapshot_orders, self._snapshot.progress) is not None

    def _resume(self) -> Position:
        """The sink is fenced first; only then is any position read."""
        held = self._sink.open(self._term)
        known = self._delivery.last if self._delivery is not None else self._store.load()
        if known is None:
            if held is None and self._sink.left is not None and not self._start_given:
                raise left_by_another(self._sink.left)
            # Before the first row: were the starting point not durable, a successor would start "latest" again, later.
            with self.status.source:
                now, orders, first = _now_ms(), self._snapshot_orders, self._snapshot_first
                position = held or first_position(self._source, orders, now, snapshot=first)
            known = Checkpoint(position)
        position = authority(held, known, rows=self._sink.holds_rows)
        with self.status.source:
            position = ordered_position(self._source, position)
        gone, self._gone = self._gone, None
        if gone is not None:
            end = self._source.start_position()
            position = with_new_snapshot(position, end, self._snapshot_orders, gone, _now_ms())
            known = with_marks(known, position)
        if position.catch_up is None:
            position = taken_up(position, self._snapshot_orders, _now_ms(), initial=self._snapshot_first)
        if msgspec.structs.replace(position, server=known.position.server) == known.position:
            position = known.position  # which may know more of the server: see _remember_server
        known = self._mark(self._settle(known, position, held), position)
        if gone is not None:
            self._observer.waiting(self._new_snapshot.begun(position, gone))
        self._delivery = self._progress_of(known)
        return self._quarantine.begin(known.quarantined, known.position)

    def _progress_of(self, known: Checkpoint) -> DeliveryProgress:
        sink = self._sink
        return DeliveryProgress(known, self.figures, self.status, in_sink=sink.holds_position, by_sql=sink.by_sql)

    def _settle(self, known: Checkpoint, position: Position, held: Position | None) -> Checkpoint:
        """Remembers where the session begins, and whether the sink holds the position from now on. Durably, before the
        first row: else a session of the other kind could go on behind rows that this one sends again. Whoever looks at
        the checkpoint, or sets another position, must see where we stand, also where the sink is ahead."""
        holds = self._sink.holds_position
        if known.in_sink is holds and known.position == position:
            return known
        if holds and held != position and (not known.in_sink or (held is not None and held.reset != position.reset)):
            self._sink.commit(position)
            self._sink.flush(_FLUSH_SECONDS)
        epoch, now = self._term.epoch, _now_ms()
        known = msgspec.structs.replace(known, position=position, in_sink=holds, epoch=epoch, time_ms=now)
        self._save(known)
        return known

    def _save(self, known: Checkpoint) -> None:
        self._store.save(known)
        self._saved = known

    def _mark(self, known: Checkpoint, position: Position) -> Checkpoint:
        """Remembers where tables stop and go on, durably before anything behind it is delivered."""
        marks, begins = self._quarantine.marks(known.quarantined, position, _now_ms())
        known, before = msgspec.structs.replace(known, position=begins, quarantined=marks), known
        if marks != before.quarantined or begins != position:
            known = msgspec.structs.replace(known, epoch=self._term.epoch)
            self._save(known)
        return known

    def _remember_server(self, server: str) -> None:
        """Durably before anything is delivered: whose binlog the position is of, where that was not known, or another
        server has taken the place of the one that it was of."""
        last = self._delivery_or_raise.last
        if server == last.position.server:
            return
        known = msgspec.structs.replace(last, position=msgspec.structs.replace(last.position, server=server))
        known = msgspec.structs.replace(known, epoch=self._term.epoch)
        self._save(known)
        self._delivery = self._progress_of(known)

    def _reached(self, position: Position) -> bool:
        if is_open(position.snapshot) if self._snapshot is None else self._snapshot.active:
            return False
        if self._snapshot_only:
            return True
        if self._until is self.end:
            return self.end is not None and reached(position, self.end)
        return isinstance(self._until, Position) and position.order >= self._until.order

    def _is_end(self, position: Position) -> bool:
        if self._catching_up is not None:
            return self._catching_up.is_end(position)
        return self._another or self._reached(position)

    def _deliver(self, reader: Reader) -> None:
        ready: Position | None = None  # end of whole transactions that are written and not yet committed
        self._bound = False
        size, since, used, inside = 0, 0.0, 0, 0
        most = _FIRST_SECONDS
        while True:
            unfinished = self._sink.unfinished
            batch = reader.get(self._patience(ready), 0 if reader.careful else _WRITE_BYTES)
            if batch is not None and self._stopping.is_set():
                # What is not written yet is left to the successor. After an outage the sink may need half a minute for
                # it, and whatever the drain has no time to see acknowledged is sent twice.
                self._finish(ready)
                return
            if batch is None:
                if self._ended(reader, ready):
                    return
                if ready is not None:
                    self._commit(ready)
                    ready, size = None, 0
                self._acknowledge()
                if used > _LARGE_BYTES and not (unfinished or self._delivery_or_raise.outstanding):
                    malloc.release()
                    used = 0
                continue
            if ready is not None and batch.barrier:
                self._commit(ready)
                ready, size = None, 0
            if ready is not None and not batch.boundary and not self._split:
                # Behind the beginning of another transaction they can't be committed before its end.
                self._bound = self._is_short(batch) and not reader.careful and time.monotonic() - since < _MOST_SECONDS
                if not self._bound:
                    self._commit(ready)
                    size = 0
                ready = None
            self._term.check()
            dead = self._sink.dead_letters
            self._delivery_or_raise.writing(batch)
            self._sink.write(batch)
            self._delivery_or_raise.written(batch, self._sink.dead_letters - dead)
            since = since if size else time.monotonic()
            size += max(batch.size, 1)
            used += batch.size
            inside = 0 if batch.boundary else inside + batch.size
            if batch.boundary or self._split:
                ready, self._bound = batch.position, False
                late = time.monotonic() - since > most
                if reader.low or late or reader.careful or batch.barrier or size >= self._max_batch_bytes:
                    self._commit(ready)
                    ready, size, most = None, 0, min(2 * most, _MOST_SECONDS)
            elif self._may_commit_inside(batch.position, inside):
                self._commit(batch.position)
                size = inside = 0
            batch = None  # not while the next one is waited for: it may be a row of 64 MB

    def _may_commit_inside(self, position: Position, size: int) -> bool:
        """Of a transaction of which `size` bytes are written. Never of a snapshot's chunk: its progress comes at its
        end, and a position inside it would deliver its rows again."""
        at = position.catch_up.at if position.catch_up is not None else position
        return self._max_transaction_bytes is not None and size >= self._max_transaction_bytes and not at.boundary

    def _is_short(self, batch: Batch) -> bool:
        """Whether the transaction that ends behind the batch is known to end soon."""
        return 0 < batch.length * _GROWTH <= self._max_batch_bytes

    def _patience(self, ready: Position | None) -> float:
        if ready is not None:
            return _NEXT_SECONDS
        if self._sink.unfinished:
            return 0.0  # what has no successor to be made meanwhile is ended at once
        return 0.05 if self._delivery_or_raise.outstanding else 0.5

    def _ended(self, reader: Reader, ready: Position | None) -> bool:
        """At the end of the stream: delivers what is left, before the error that ended it, if any, is passed on."""
        try:
            finished = reader.finished()
        except ReplicatorError:
            self._finish(ready)
            raise
        if finished:
            self._finish(ready)
        return finished

    def _finish(self, ready: Position | None) -> None:
        if ready is not None:
            self._commit(ready)
        self._term.check()
        self._sink.flush(_FLUSH_SECONDS, self._piece_acknowledged)
        self._acknowledge(force=True)

    def _piece_acknowledged(self) -> None:
        self.figures.pieces += 1
        self._acknowledge()

    def _commit(self, position: Position) -> None:
        self._term.check()
        conflicts = self._sink.conflicts
        self._sink.commit(position)
        self._delivery_or_raise.committed(position, since(self._sink.conflicts, conflicts))
        self._acknowledge()

    def _acknowledge(self, *, force: bool = False) -> None:
        delivery = self._delivery_or_raise
        delivery.acknowledged(self._sink.acknowledged(), self._term.epoch)
        now = time.monotonic()
        if not force and now < self._next_save:
            return
        self._next_save = now + self._save_interval
        if delivery.advanced and (self._saved is None or delivery.last.position != self._saved.position):
            self._store.save(delivery.last)
            self._saved = delivery.last
        delivery.figures.lag_s = self.status.lag().seconds
        self._observer.progress(delivery.last, delivery.figures)

    @property
    def _delivery_or_raise(self) -> DeliveryProgress:
        assert self._delivery is not None, "a session has begun"  # noqa: S101
        return self._delivery


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
