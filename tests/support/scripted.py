"""A pipeline over twins: a source that hands out prepared batches, a sink that writes down what it is told."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Any, Literal

from replicator.checkpoint.memory_store import MemoryStore
from replicator.errors import (
    ReplicatorError,
    SourceUnavailable,
)
from replicator.model.batch import Batch, Record
from replicator.model.checkpoint import Checkpoint
from replicator.model.conflicts import ConflictCounts
from replicator.model.position import Begin, Position
from replicator.model.source_end import SourceEnd
from replicator.model.term import Term
from replicator.pipeline import ports
from replicator.pipeline.delivery_progress import DeliveryCounters
from replicator.pipeline.pipeline import Pipeline
from replicator.pipeline.ports import Stream


def row(number: int) -> Record:
    return ("t", b"k%d" % number, b"v", b"p", number, ())


def whole(number: int, *, rows: int = 1, size: int = 100) -> Batch:
    """The transaction that begins at `number` and ends at `number + 1`."""
    return Batch([row(number)] * rows, Position("b.1", number + 1), True, rows, 1, size, 5)


def part(number: int, rows: int, *, size: int, length: int = 0) -> Batch:
    """The first `rows` rows of the transaction that begins at `number`. `length`: of all of it, where that is known."""
    return Batch([row(number)] * rows, Position("b.1", number, "", rows), False, rows, 0, size, 5, length)


class Script:
    """A source whose stream hands out prepared batches; an exception in the list ends a session. What a tuple holds
    comes with one read, and leaves the decoder one by one."""

    def __init__(self, *items: Batch | Exception | tuple[Batch, ...], then: list[Any] | None = None) -> None:
        self.items = list(items)
        self.then = then  # what a second session finds, instead of the rest
        self.read_size = 1
        self.opened: list[Position] = []
        self.begun: list[Begin | None] = []
        self.closed = threading.Event()

    def start_position(self, begin: Begin | None = None) -> Position:
        self.begun.append(begin)
        return Position("b.1", 0 if begin is None else 3)

    def end_position(self) -> Position:
        return Position("b.1", 0)

    def observe(self, delivered: Position | None = None) -> SourceEnd:
        return SourceEnd(Position("b.1", 0))

    def retention_headroom(self, position: Position, behind_s: float, speed: float) -> float | None:
        return None

    def open(self, position: Position) -> ScriptStream:
        if self.opened and self.then is not None:
            self.items = self.then
        self.opened.append(position)
        return ScriptStream(self, position)


class ScriptStream:
    framing: Literal["packet", "file"] = "packet"

    def __init__(self, script: Script, position: Position) -> None:
        self.position = position
        self._script = script
        self._closed = threading.Event()
        self.handed: queue.SimpleQueue[Batch] = queue.SimpleQueue()

    def read(self, timeout: float) -> bytes:
        if self._closed.is_set():
            raise SourceUnavailable("E2002", "closed")
        if not self._script.items:
            self._closed.wait(min(timeout, 0.05))
            return b""
        item = self._script.items.pop(0)
        if isinstance(item, Exception):
            raise item
        for batch in item if isinstance(item, tuple) else (item,):
            self.handed.put(batch)
        return b"x" * self._script.read_size

    def server_error(self, errno: int, sqlstate: str, message: str) -> ReplicatorError:
        raise AssertionError("not asked for")

    def close(self) -> None:
        self._closed.set()


class Hand:
    """The decoder: what the stream handed out."""

    def __init__(self, stream: Stream) -> None:
        assert isinstance(stream, ScriptStream)
        self._stream = stream
        self.more = False
        self.between = True
        self.watcher: ports.Watcher | None = None

    def watch(self, watcher: ports.Watcher | None) -> None:
        self.watcher = watcher

    def feed(self, data: bytes) -> list[Batch]:
        batches = [self._stream.handed.get()] if not self._stream.handed.empty() else []
        self.more = not self._stream.handed.empty()
        return batches

    def end(self) -> None: ...


class Recorder:
    """A sink that writes down the calls; `fail`: (call, exception) for the next such call."""

    dead_letters = 0
    holds_rows = unfinished = False
    conflicts: ConflictCounts = ()
    waited_s = 0.0
    by_sql = False
    left: Position | None = None

    @property
    def holds_position(self) -> bool:
        return self.held is not None

    def __init__(self, held: Position | None = None, slow: float = 0.0) -> None:
        self.calls: list[tuple[str, object]] = []
        self.held = held
        self.done: Position | None = None
        self.fail: list[tuple[str, Exception]] = []
        self._slow = slow

    def _call(self, name: str, value: object) -> None:
        if self.fail and self.fail[0][0] == name:
            raise self.fail.pop(0)[1]
        self.calls.append((name, value))

    def open(self, term: Term) -> Position | None:
        self._call("open", term.epoch)
        return self.held

    def write(self, batch: Batch) -> None:
        time.sleep(self._slow)
        self._call("write", batch.position.offset if batch.boundary else (batch.position.offset, batch.position.rows))

    def commit(self, position: Position) -> None:
        self._call("commit", position.offset)
        self.done = position
        if self.held is not None:
            self.held = position

    def acknowledged(self) -> Position | None:
        return self.done

    def flush(self, timeout: float, progress: Callable[[], None] | None = None) -> None:
        self._call("flush", None)

    def close(self) -> None:
        self.calls.append(("close", None))

    def of(self, *names: str) -> list[tuple[str, object]]:
        return [call for call in self.calls if call[0] in names]


class Watcher:
    def __init__(self) -> None:
        self.errors: list[ReplicatorError] = []
        self.figures = DeliveryCounters()

    def streaming(self, position: Position) -> None: ...

    def waiting(self, error: ReplicatorError) -> None:
        self.errors.append(error)

    def progress(self, checkpoint: Checkpoint, figures: DeliveryCounters) -> None:
        self.figures = figures


class Bench:
    def __init__(self, source: Script, sink: Recorder, store: MemoryStore | None = None, **options: Any) -> None:
        self.source, self.sink = source, sink
        self.store = store or MemoryStore()
        self.watcher = Watcher()
        self.deadline = float("inf")
        term = Term("task", "uid", 7, lambda: self.deadline)
        self.pipeline = Pipeline(
            source=source,
            make_decoder=Hand,
            sink=sink,
            store=self.store,
            term=term,
            observer=self.watcher,
            save_interval=0.0,
            **options,
        )

    def run_until(self, offset: int) -> Checkpoint | None:
        return self.pipeline.run(until=Position("b.1", offset))

    def drain_when(self, condition: Callable[[], bool]) -> threading.Thread:
        def wait() -> None:
            end = time.monotonic() + 10
            while not condition() and time.monotonic() < end:
                time.sleep(0.005)
            self.pipeline.drain()

        thread = threading.Thread(target=wait)
        thread.start()
        return thread
