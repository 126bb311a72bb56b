"""What a run measured: take-over times, their percentiles and their picture."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from dev.checker.history import Seen


class Takeover(NamedTuple):
    """From the last record of one term to the first of the next, by the producers' clocks.

    `begun_ms`: when the last record of the old term was made; `seconds` is negative when terms are mixed in a topic."""

    begun_ms: int
    seconds: float


class Terms:
    """When each term of one task began and ended to send."""

    def __init__(self) -> None:
        self._first: dict[int, int] = {}
        self._last: dict[int, int] = {}

    def see(self, record: Seen) -> None:
        epoch, now = record.epoch, record.time_ms
        self._first[epoch] = min(self._first.get(epoch, now), now)
        self._last[epoch] = max(self._last.get(epoch, now), now)

    def takeovers(self) -> list[Takeover]:
        """In the order of the terms."""
        first, last = self._first, self._last
        return [Takeover(last[old], (first[new] - last[old]) / 1000) for old, new in itertools.pairwise(sorted(first))]


class Backlog(NamedTuple):
    """Rows that were written while nothing arrived, until no more than a second's worth of them was left.

    `speed`: rows per second that arrived then, as a multiple of those that the writer made in the whole run."""

    rows: int
    seconds: float
    speed: float


_STEP_MS = 250
_LEAST_SECONDS = 3.0


def backlogs(written: Iterable[tuple[int, int]], came: Iterable[int]) -> list[Backlog]:
    """Of one task that repeats nothing, of all silences of three seconds and more.

    Args:
        written: (ms, rows) of each transaction.
        came: ms at which each row was visible.
    """
    made, seen = Counter[int](), Counter[int]()
    for when, rows in written:
        made[when // _STEP_MS] += rows
    for when in came:
        seen[when // _STEP_MS] += 1
    if not made or not seen:
        return []
    begin, end = min(made), max(max(made), max(seen)) + 1
    second = made.total() / (end - begin) * 1000 / _STEP_MS
    found: list[Backlog] = []
    waiting = silent = drained = 0
    since, largest = -1, 0
    for step in range(begin, end):
        waiting += made[step] - seen[step]
        silent = 0 if seen[step] else silent + 1
        if silent * _STEP_MS >= _LEAST_SECONDS * 1000 and waiting > _LEAST_SECONDS * second:
            since, largest, drained = step + 1, waiting, 0  # as long as the silence goes on
        elif since >= 0:
            drained += seen[step]
            if waiting <= second:
                took = max(1, step + 1 - since) * _STEP_MS / 1000
                found.append(Backlog(largest, took, drained / took / second))
                since = -1
    return found


def percentile(values: Sequence[float], share: float) -> float | None:
    """The smallest value that `share` of all do not exceed; None of nothing."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def draw(path: Path, curves: dict[str, Sequence[float]], session_seconds: float) -> None:
    """The share of take-overs that took no longer than so much, a curve per kind; as PNG."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    for name, values in curves.items():
        if values:
            axes.ecdf(values, label=f"{name} ({len(values)})")
    axes.axvline(session_seconds, color="grey", linestyle=":", label=f"T = {session_seconds:g} s")
    axes.set_xlabel("seconds from the last record of one term to the first of the next")
    axes.set_ylabel("share of take-overs")
    axes.set_xlim(left=0)
    axes.legend()
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
