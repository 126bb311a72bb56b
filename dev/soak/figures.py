"""What a run measured: take-over times, their percentiles and their picture."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from dev.checker.history import Seen


class Takeover(NamedTuple):
    """From the last record of one term to the first of the next, by the producers' clocks.

    `begun_ms`: when the last record of the old term was made; `seconds` is negative when terms are mixed in a topic."""

    begun_ms: int
    seconds: float


def takeovers(seen: Iterable[Seen]) -> list[Takeover]:
    """Of one task, in the order of its terms."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for record in seen:
        first[record.epoch] = min(first.get(record.epoch, record.time_ms), record.time_ms)
        last[record.epoch] = max(last.get(record.epoch, record.time_ms), record.time_ms)
    epochs = sorted(first)
    return [Takeover(last[old], (first[new] - last[old]) / 1000) for old, new in itertools.pairwise(epochs)]


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
