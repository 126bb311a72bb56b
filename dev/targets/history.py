"""What the source was after each transaction, and whether what was seen of the target was one of these states. Pure."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

Print: TypeAlias = tuple[int, int, int]
"""Of the rows of a writer in a table: how many, sum and XOR of their versions. Each change of a row gives it a version
that no other row ever has, so that equal prints are equal rows."""

EMPTY: Print = (0, 0, 0)


class Sample(msgspec.Struct, frozen=True):
    """One consistent view of the target.

    Attributes:
        marks: writer -> number of its last transaction.
        prints: (table, writer) -> print; those without rows may be missing.
        tick: number of all transactions; None where they were not counted.
    """

    marks: Mapping[int, int]
    prints: Mapping[tuple[str, int], Print]
    tick: int | None = None


class History:
    """Thread-safe."""

    def __init__(self, tables: Sequence[str], writers: int) -> None:
        self._tables, self._writers = tables, range(writers)
        self._lock = threading.Lock()
        self._states: dict[tuple[int, int], Mapping[tuple[str, int], Print]] = {}
        self._ticks: dict[int, tuple[int, int]] = {}

    def committed(
        self, writer: int, number: int, prints: Mapping[tuple[str, int], Print], tick: int | None = None
    ) -> None:
        """The writer's transaction `number`. `prints`: of the rows after it; without a tick, of its own rows."""
        with self._lock:
            self._states[writer, number] = prints
            if tick is not None:
                self._ticks[tick] = (writer, number)

    def last(self) -> dict[int, int]:
        """Writer -> number of its last transaction."""
        with self._lock:
            return {
                writer: max((number for each, number in self._states if each == writer), default=0)
                for writer in self._writers
            }

    def wrong(self, sample: Sample) -> list[str]:
        """What shows that the source never was in this state."""
        with self._lock:
            if sample.tick is not None:
                return self._wrong_at_tick(sample, sample.tick)
            return [line for writer in self._writers for line in self._wrong_rows(sample, writer)]

    def _wrong_rows(self, sample: Sample, writer: int) -> list[str]:
        number = sample.marks.get(writer, 0)
        state = self._states.get((writer, number))
        if state is None:
            return [f"writer {writer}: transaction {number} was never committed"]
        where = f"after transaction {number} of writer {writer}"
        return self._differences(sample, state, [writer], where)

    def _wrong_at_tick(self, sample: Sample, tick: int) -> list[str]:
        marks = dict.fromkeys(self._writers, 0)
        for each in range(1, tick + 1):
            if each not in self._ticks:
                return [f"transaction {each} of all was never committed"]
            writer, number = self._ticks[each]
            marks[writer] = number
        if marks != dict(sample.marks):
            return [f"after {tick} transactions of all the marks are {dict(sample.marks)}, and were {marks}"]
        state = self._states[self._ticks[tick]] if tick else self._states[0, 0]
        return self._differences(sample, state, self._writers, f"after {tick} transactions of all")

    def _differences(
        self, sample: Sample, state: Mapping[tuple[str, int], Print], writers: Sequence[int], where: str
    ) -> list[str]:
        lines = []
        for table in self._tables:
            for writer in writers:
                seen, was = sample.prints.get((table, writer), EMPTY), state.get((table, writer), EMPTY)
                if seen != was:
                    lines.append(f"{where}: rows of writer {writer} in {table} are {seen}, and were {was}")
        return lines
