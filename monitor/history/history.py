"""What the Monitor has seen of each task and machine, over a restart: noted once a second, read by charts."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from math import isnan, nan
from typing import Final

import msgspec

from monitor.history.chunk import Chunk, reduced
from monitor.history.online import SPANS_S, OnlineRate, online_rate, step_for
from monitor.history.open_chunks import OpenChunk, OpenChunks
from monitor.history.series import machine_key, machine_of, series_of, values_of, values_of_machine
from monitor.history.stages import StageRates
from monitor.history.steps import SPANS, Step, choose
from monitor.history.store import Store, Stored
from monitor.view import View
from replicator.telemetry.log import get_logger

log = get_logger("monitor")

_FLUSH_SECONDS: Final = 10.0
_TRIM_SECONDS: Final = 300.0


class Chart(msgspec.Struct, frozen=True):
    """Points of one task, or of one machine.

    Attributes:
        begin_s: epoch seconds of the first point; step_s: between two points.
        series: name -> values, None where nothing is known: a gap.
    """

    task: str
    span: str
    begin_s: int
    step_s: int
    series: dict[str, list[float | None]]
    machine: str = ""

    @property
    def key(self) -> str:
        """Under which it is kept."""
        return machine_key(self.machine) if self.machine else self.task


class History:
    """Thread-safe. `clock`: monotonic s. `problem`: why nothing is stored at present, else ""."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self.problem = ""
        self._store = store
        self._clock = clock
        self._lock = threading.RLock()
        self._open_chunks: dict[str, OpenChunks] = {}
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
        stages = {task.name: self._stages.of(task, view.read_ms) for task in view.tasks}
        self._stages.keep(set(stages))
        noted = {task.name: values_of(task, view.read_ms, stages[task.name]) for task in view.tasks}
        noted |= {machine_key(machine.host): values_of_machine(machine) for machine in view.machines}
        with self._lock:
            for key, values in noted.items():
                self._ended += [_stored(key, one) for one in self._chunks(key).add(view.read_ms / 1000, values)]
            for key in self._open_chunks.keys() - noted.keys():
                self._ended += [_stored(key, one) for one in self._open_chunks.pop(key).due(all_of_them=True)]

    def _chunks(self, key: str) -> OpenChunks:
        chunks = self._open_chunks.get(key)
        if chunks is None:
            chunks = self._open_chunks[key] = OpenChunks(self._loader(key), self._clock, series_of(key))
        return chunks

    def online(self, machine: str, now_s: float) -> tuple[OnlineRate, ...]:
        """Of a machine over each of `SPANS_S`."""
        return tuple(online_rate(self._online(machine, span_s, now_s), span_s) for span_s in SPANS_S)

    def _online(self, machine: str, span_s: int, now_s: float) -> list[float]:
        step = step_for(span_s)
        end = (int(now_s) // step.seconds + 1) * step.seconds
        with self._lock:
            return self._columns(machine_key(machine), step, end - span_s, end)[0]

    def chart(self, key: str, span: str, now_s: float) -> Chart:
        """`key`: name of a task, or `machine_key`; `span`: one of `SPANS`."""
        step, joined = choose(SPANS[span])
        width = step.seconds * joined
        end = (int(now_s) // width + 1) * width
        begin = end - SPANS[span] // width * width
        with self._lock:
            columns = self._columns(key, step, begin, end)
        values = {
            series.name: [
                _rounded(reduced(series, columns[number][at : at + joined])) for at in _range(columns, joined)
            ]
            for number, series in enumerate(series_of(key))
        }
        machine = machine_of(key)
        return Chart("" if machine else key, span, begin, width, values, machine)

    def _columns(self, key: str, step: Step, begin: int, end: int) -> list[list[float]]:
        """Of each series, its values from `begin` to `end`."""
        first, last = step.chunk_of(begin), step.chunk_of(end - 1)
        try:
            stored = self._store.between(key, step, first, last)
        except sqlite3.Error as error:
            self._failed(error)
            stored = {}
        stored |= {one.begin: one.data for one in self._ended if one.key == key and one.step == step}
        width = len(series_of(key))
        columns: list[list[float]] = [[] for _ in range(width)]
        empty = [nan] * step.slots
        for start in range(first, last + 1, step.chunk_s):
            chunk = self._open(key, step, start) or Chunk.decode(stored.get(start, b""), step.slots, width)
            skipped = max(begin - start, 0) // step.seconds
            used = min(end - start, step.chunk_s) // step.seconds
            for number, column in enumerate(columns):
                column += (chunk.column(number) if chunk is not None else empty)[skipped:used]
        return columns

    def _open(self, key: str, step: Step, begin: int) -> Chunk | None:
        chunks = self._open_chunks.get(key)
        return chunks.at(step, begin) if chunks is not None else None

    def _loader(self, key: str) -> Callable[[Step, int], Chunk | None]:
        width = len(series_of(key))

        def load(step: Step, begin: int) -> Chunk | None:
            for one in reversed(self._ended):  # of a task that was deleted, and is there again
                if (one.key, one.step, one.begin) == (key, step, begin):
                    return Chunk.decode(one.data, step.slots, width)
            try:
                found = self._store.read(key, step, begin)
            except sqlite3.Error as error:
                self._failed(error)
                return None
            return Chunk.decode(found, step.slots, width) if found is not None else None

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
            due = [
                (name, one) for name, chunks in self._open_chunks.items() for one in chunks.due(all_of_them=all_of_them)
            ]
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


def _stored(key: str, one: OpenChunk) -> Stored:
    return Stored(key, one.step, one.begin, one.chunk.encode())


def _range(columns: Sequence[Sequence[float]], joined: int) -> range:
    return range(0, len(columns[0]), joined)


def _rounded(value: float) -> float | None:
    """Three digits behind the point, or more where the value is small: a chart has no more."""
    return None if isnan(value) else round(value, 3)
