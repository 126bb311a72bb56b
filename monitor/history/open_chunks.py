"""The chunks of one task or machine that are still written to, one for each step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isnan

from monitor.history.chunk import Chunk
from monitor.history.series import Series, Values
from monitor.history.steps import STEPS, Step

Load = Callable[[Step, int], Chunk | None]
"""Step and begin of a chunk -> what is stored of it."""


class OpenChunk:
    """The last chunk of a step. `begin`: epoch seconds; `flushed`: when it was stored, monotonic s."""

    def __init__(self, step: Step, begin: int, chunk: Chunk, flushed: float, series: Sequence[Series]) -> None:
        self._series = series
        self.step, self.begin, self.chunk, self.flushed = step, begin, chunk, flushed
        self.dirty = False
        self._slot = -1
        self._sums: list[float] = []
        self._counts: list[int] = []

    def add(self, time_s: float, values: Values) -> None:
        """A value of a step that has several is joined with those before it."""
        slot = int((time_s - self.begin) // self.step.seconds)
        if slot != self._slot:
            self._slot, self._sums, self._counts = slot, [0.0] * len(self._series), [0] * len(self._series)
        self.chunk.put(slot, tuple(map(self._joined, range(len(self._series)), self.chunk.get(slot), values)))
        self.dirty = True

    def _joined(self, series: int, before: float, value: float) -> float:
        if isnan(value):
            return before
        how = self._series[series].reduce
        if how == "mean":
            self._sums[series] += value
            self._counts[series] += 1
            return self._sums[series] / self._counts[series]
        if isnan(before):
            return value
        return max(before, value) if how == "max" else min(before, value)


class OpenChunks:
    """`load`: a chunk that was begun before the process was started goes on."""

    def __init__(self, load: Load, clock: Callable[[], float], series: Sequence[Series]) -> None:
        self._series = series
        self._load = load
        self._clock = clock
        self._open: dict[Step, OpenChunk] = {}

    def add(self, time_s: float, values: Values) -> list[OpenChunk]:
        """Returns those that have come to an end: they are to be stored."""
        ended = []
        for step in STEPS:
            begin = step.chunk_of(time_s)
            current = self._open.get(step)
            if current is None or current.begin != begin:
                if current is not None and current.dirty:
                    ended.append(current)
                stored = self._load(step, begin) or Chunk(step.slots, len(self._series))
                current = self._open[step] = OpenChunk(step, begin, stored, self._clock(), self._series)
            current.add(time_s, values)
        return ended

    def due(self, *, all_of_them: bool = False) -> list[OpenChunk]:
        now = self._clock()
        return [
            one for one in self._open.values() if one.dirty and (all_of_them or now - one.flushed >= one.step.flush_s)
        ]

    def at(self, step: Step, begin: int) -> Chunk | None:
        current = self._open.get(step)
        return current.chunk if current is not None and current.begin == begin else None
