"""What the Monitor has seen of each task, over a restart: noted once a second, read by charts."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from math import isnan, nan
from typing import Final

import msgspec

from monitor.history.chunk import Chunk, reduced
from monitor.history.open_chunks import OpenChunk, OpenChunks
from monitor.history.series import SERIES, values_of
from monitor.history.stages import StageRates
from monitor.history.steps import SPANS, Step, choose
from monitor.history.store import Store, Stored
from monitor.view import View
from replicator.telemetry.log import get_logger

log = get_logger("monitor")

_FLUSH_SECONDS: Final = 10.0
_TRIM_SECONDS: Final = 300.0


class Chart(msgspec.Struct, frozen=True):
    """Points of one task.

    Attributes:
        begin_s: epoch seconds of the first point; step_s: between two points.
        series: name -> values, None where nothing is known: a gap.
    """

    task: str
    span: str
    begin_s: int
    step_s: int
    series: dict[str, list[float | None]]


class History:
    """Thread-safe. `clock`: monotonic s. `problem`: why nothing is stored at present, else ""."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self.problem = ""
        self._store = store
        self._clock = clock
        self._lock = threading.RLock()
        self._tasks: dict[str, OpenChunks] = {}
        self._ended: list[Stored] = []
        self._stages = StageRates()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="monitor-history", daemon=True)

    @property
    def stored(self) -> bool:
        """Over a restart of the Monitor."""
        return self._store.path is not None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stores what is not stored yet."""
        self._stop.set()
        self._thread.join(10)
        self.flush(all_of_them=True)
        self._store.close()

    def note(self, view: View) -> None:
        """The figures of a view that was just read."""
        with self._lock:
            for task in view.tasks:
                chunks = self._tasks.get(task.name)
                if chunks is None:
                    chunks = self._tasks[task.name] = OpenChunks(self._loader(task.name), self._clock)
                values = values_of(task, view.read_ms, self._stages.of(task, view.read_ms))
                ended = chunks.add(view.read_ms / 1000, values)
                self._ended += [_stored(task.name, one) for one in ended]
            names = {task.name for task in view.tasks}
            self._stages.keep(names)
            for name in self._tasks.keys() - names:
                self._ended += [_stored(name, one) for one in self._tasks.pop(name).due(all_of_them=True)]

    def chart(self, task: str, span: str, now_s: float) -> Chart:
        """`span`: one of `SPANS`."""
        step, joined = choose(SPANS[span])
        width = step.seconds * joined
        end = (int(now_s) // width + 1) * width
        begin = end - SPANS[span] // width * width
        with self._lock:
            columns = self._columns(task, step, begin, end)
        values = {
            series.name: [
                _rounded(reduced(number, columns[number][at : at + joined])) for at in _range(columns, joined)
            ]
            for number, series in enumerate(SERIES)
        }
        return Chart(task, span, begin, width, values)

    def _columns(self, task: str, step: Step, begin: int, end: int) -> list[list[float]]:
        """Of each series, its values from `begin` to `end`."""
        first, last = step.chunk_of(begin), step.chunk_of(end - 1)
        try:
            stored = self._store.between(task, step, first, last)
        except sqlite3.Error as error:
            self._failed(error)
            stored = {}
        stored |= {one.begin: one.data for one in self._ended if one.task == task and one.step == step}
        columns: list[list[float]] = [[] for _ in SERIES]
        empty = [nan] * step.slots
        for start in range(first, last + 1, step.chunk_s):
            chunk = self._open(task, step, start) or Chunk.decode(stored.get(start, b""), step.slots)
            skipped = max(begin - start, 0) // step.seconds
            used = min(end - start, step.chunk_s) // step.seconds
            for number, column in enumerate(columns):
                column += (chunk.column(number) if chunk is not None else empty)[skipped:used]
        return columns

    def _open(self, task: str, step: Step, begin: int) -> Chunk | None:
        chunks = self._tasks.get(task)
        return chunks.at(step, begin) if chunks is not None else None

    def _loader(self, task: str) -> Callable[[Step, int], Chunk | None]:
        def load(step: Step, begin: int) -> Chunk | None:
            for one in reversed(self._ended):  # of a task that was deleted, and is there again
                if (one.task, one.step, one.begin) == (task, step, begin):
                    return Chunk.decode(one.data, step.slots)
            try:
                found = self._store.read(task, step, begin)
            except sqlite3.Error as error:
                self._failed(error)
                return None
            return Chunk.decode(found, step.slots) if found is not None else None

        return load

    # Storing

    def _run(self) -> None:
        trimmed = self._clock()
        while not self._stop.wait(_FLUSH_SECONDS):
            self.flush()
            if self._clock() - trimmed > _TRIM_SECONDS:
                trimmed = self._clock()
                self.trim(time.time())

    def flush(self, *, all_of_them: bool = False) -> None:
        """Never raises: without its file the Monitor still shows what it has in memory."""
        with self._lock:
            due = [(name, one) for name, chunks in self._tasks.items() for one in chunks.due(all_of_them=all_of_them)]
            chunks = self._ended + [_stored(name, one) for name, one in due]
            try:
                self._store.write(chunks)
            except sqlite3.Error as error:
                self._failed(error)
                return
            self._ended = []
            for _, one in due:
                one.dirty, one.flushed = False, self._clock()
        if self.problem:
            log.info("the history is stored again", file=str(self._store.path))
            self.problem = ""

    def trim(self, now_s: float) -> None:
        with self._lock:
            try:
                self._store.trim(now_s)
            except sqlite3.Error as error:
                self._failed(error)

    def _failed(self, error: sqlite3.Error) -> None:
        if not self.problem:
            log.error("the history can't be stored", code="E5131", file=str(self._store.path), error=str(error))
        self.problem = str(error)
        del self._ended[:-_MOST_WAITING]


_MOST_WAITING: Final = 20_000
"""Chunks that have ended and could not be stored: about 100 MB at most."""


def _stored(task: str, one: OpenChunk) -> Stored:
    return Stored(task, one.step, one.begin, one.chunk.encode())


def _range(columns: Sequence[Sequence[float]], joined: int) -> range:
    return range(0, len(columns[0]), joined)


def _rounded(value: float) -> float | None:
    """Three digits behind the point, or more where the value is small: a chart has no more."""
    return None if isnan(value) else round(value, 3)
