"""A sink in memory for tests: behaves as the Kafka sinks do, with faults on demand."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Literal, NamedTuple

from replicator.errors import ReplicatorError, SinkFenced, SinkUnavailable
from replicator.model.batch import Batch, Record
from replicator.model.conflicts import ConflictCounts
from replicator.model.partitioner import partition_of
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.sink.kafka.records import Stamp, too_large
from replicator.sink.unknown_term import refuse_unknown


class Stored(NamedTuple):
    """A record as a consumer sees it."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]


class MemoryBroker:
    """What outlives a sink: topics, committed positions, who is fenced. Several sinks may share one.

    Attributes:
        records: everything visible to a read_committed consumer, in order of arrival.
        positions: (task, uid) -> (epoch, position).
    """

    def __init__(self, partitions: int = 1) -> None:
        self.partitions = partitions
        self.records: list[Stored] = []
        self.positions: dict[tuple[str, str], tuple[int, Position]] = {}
        self._sessions: dict[str, int] = {}
        self._offsets: dict[tuple[str, int], int] = {}

    def fence(self, task: str) -> int:
        """Begins a session; earlier ones of the task are refused from now on."""
        self._sessions[task] = self._sessions.get(task, 0) + 1
        return self._sessions[task]

    def check(self, task: str, session: int) -> None:
        if self._sessions.get(task) != session:
            raise SinkFenced("E3104", "a later term uses the transactional id of the task")

    def append(self, record: Record, stamp: Stamp) -> None:
        topic, key, value = record[0], record[1], record[2]
        partition = partition_of(topic, record[6] if len(record) == 7 else key, self.partitions)
        offset = self._offsets.get((topic, partition), 0)
        self._offsets[topic, partition] = offset + 1
        self.records.append(Stored(topic, partition, offset, key, value, tuple(stamp.headers(record))))


class MemorySink:
    """`ports.Sink` in memory. exactly_once: a commit makes records and position visible together. at_least_once:
    records are visible at once and acknowledged by `settle()` or, with `auto`, at each commit."""

    dead_letters = 0
    left = None
    holds_rows = unfinished = False
    conflicts: ConflictCounts = ()
    waited_s = 0.0
    by_sql = False

    def __init__(
        self,
        task: str,
        broker: MemoryBroker | None = None,
        delivery: Literal["exactly_once", "at_least_once"] = "exactly_once",
        *,
        max_record_bytes: int = 1 << 20,
        auto: bool = True,
    ) -> None:
        self.broker = broker if broker is not None else MemoryBroker()
        self.opened = 0
        self._task = task
        self._transactional = delivery == "exactly_once"
        self._most = max_record_bytes
        self._auto = auto
        self._term: Term | None = None
        self._session = 0
        self._open: list[Record] = []
        self._marks: deque[Position] = deque()
        self._acknowledged: Position | None = None
        self._faults: dict[str, deque[tuple[ReplicatorError, bool]]] = {
            name: deque() for name in ("open", "write", "commit", "acknowledged")
        }

    def fail(
        self,
        call: Literal["open", "write", "commit", "acknowledged"],
        error: ReplicatorError | None = None,
        *,
        applied: bool = False,
    ) -> None:
        """The next `call` raises `error` (SinkUnavailable by default). `applied`: after it took effect, so that its
        outcome is unknown to the caller. Several queue up."""
        fault = error or SinkUnavailable("E3002", f"{call} failed as requested by a test")
        self._faults[call].append((fault, applied))

    @property
    def holds_position(self) -> bool:
        return self._transactional

    def settle(self) -> None:
        """Acknowledges every commit so far (at_least_once without `auto`)."""
        if self._marks:
            self._acknowledged = self._marks[-1]
            self._marks.clear()

    @property
    def uncommitted(self) -> list[Record]:
        """Written inside the open transaction."""
        return list(self._open)

    def open(self, term: Term) -> Position | None:
        self.close()
        term.check()
        self._fault("open", applied=False)
        held: tuple[int, Position] | None = None
        if self._transactional:
            held = self.broker.positions.get((self._task, term.uid))
            if held is not None:
                refuse_unknown(term, held[0], f"an unknown host, at {held[1]}")
            self._session = self.broker.fence(self._task)
        self._term = term
        self.opened += 1
        self._acknowledged = held[1] if held is not None else None
        self._fault("open", applied=True)
        return self._acknowledged

    def write(self, batch: Batch) -> None:
        term = self._ready()
        self._fault("write", applied=False)
        stamp = Stamp(self._task, term.epoch)
        for record in batch.records:
            size = len(record[1] or b"") + len(record[2] or b"")
            if size > self._most:
                raise too_large(record, size, self._most)
            if self._transactional:
                self._open.append(record)
            else:
                self.broker.append(record, stamp)
        self._fault("write", applied=True)

    def commit(self, position: Position) -> None:
        term = self._ready()
        self._fault("commit", applied=False)
        stamp = Stamp(self._task, term.epoch)
        if self._transactional:
            for record in self._open:
                self.broker.append(record, stamp)
            self._open.clear()
            self.broker.positions[self._task, term.uid] = (term.epoch, position)
        self._fault("commit", applied=True)
        self._marks.append(position)
        if self._transactional or self._auto:
            self.settle()

    def acknowledged(self) -> Position | None:
        self._fault("acknowledged", applied=False)
        return self._acknowledged

    def flush(self, timeout: float, progress: Callable[[], None] | None = None) -> None:
        self._ready()
        if self._marks:
            raise SinkUnavailable("E3002", "not all records were acknowledged in time")

    def close(self) -> None:
        self._term = None
        self._open.clear()
        self._marks.clear()

    def _ready(self) -> Term:
        if self._term is None:
            raise SinkUnavailable("E3002", "the sink is not open")
        self._term.check()
        if self._transactional:
            self.broker.check(self._task, self._session)
        return self._term

    def _fault(self, call: str, *, applied: bool) -> None:
        queue = self._faults[call]
        if queue and queue[0][1] is applied:
            raise queue.popleft()[0]
