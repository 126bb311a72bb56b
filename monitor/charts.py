"""Charts of a task or a machine: points for the script, and the same in figures. One of a key and span is computed once
for all browsers that draw it, and for its words."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final, cast

import msgspec

from monitor.history.history import Chart, History
from monitor.history.steps import SPANS
from monitor.history.summary import Figures, Summary, figures, summaries
from monitor.shared_reads import SharedReads
from replicator.errors import ProcessError

DEFAULT_SPAN: Final = "15m"
_MOST: Final = 60
_LEAST_S: Final = 1.0
_MOST_S: Final = 30.0


class ChartWords(msgspec.Struct, frozen=True):
    """span: that is shown; spans: that there are; summary: by series; figures: over time; stored: over a restart;
    problem: why figures are not stored at present."""

    span: str
    spans: tuple[str, ...]
    summary: tuple[Summary, ...]
    figures: Figures
    stored: bool
    problem: str


class Charts:
    """Keys are those of the history: the name of a task, or what `machine_key` makes of a host."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._reads = SharedReads(_MOST)

    async def points(self, key: str, query: Mapping[str, str]) -> Chart:
        """Raises ProcessError E5132 for a span that there is not."""
        span = query.get("span", DEFAULT_SPAN)
        if span not in SPANS:
            raise ProcessError("E5132", f"there is no chart of '{span[:20]}'", found=span[:20], wanted=", ".join(SPANS))
        seconds = min(max(SPANS[span] / 1000, _LEAST_S), _MOST_S)
        read = await self._reads.get((key, span), lambda: self._history.chart(key, span, time.time()), seconds)
        return cast("Chart", read.value)  # it comes from no coordinator, which could be away

    async def words(self, key: str, query: Mapping[str, str]) -> ChartWords:
        """Raises ProcessError E5132 likewise."""
        chart = await self.points(key, query)
        return ChartWords(
            chart.span, tuple(SPANS), summaries(chart), figures(chart), self._history.stored, self._history.problem
        )

    def close(self) -> None:
        self._reads.close()
