"""The steps in which values are kept, for how long, and which of them a chart of a given span is drawn from."""

from __future__ import annotations

from typing import Final, NamedTuple

MOST_POINTS: Final = 2200
"""Of one chart: two for each pixel of a wide screen."""
_DAY: Final = 86_400


class Step(NamedTuple):
    """
    Attributes:
        seconds: length of a step.
        slots: steps in a chunk, which is what is stored at once.
        keep_s: for how long they are kept.
        flush_s: how often an open chunk is stored.
    """

    seconds: int
    slots: int
    keep_s: int
    flush_s: int

    @property
    def chunk_s(self) -> int:
        return self.seconds * self.slots

    def chunk_of(self, time_s: float) -> int:
        """When the chunk with `time_s` begins."""
        return int(time_s // self.chunk_s) * self.chunk_s


STEPS: Final = (
    Step(1, 300, 900, 10),
    Step(10, 360, _DAY, 60),
    Step(60, 360, 30 * _DAY, 300),
    Step(600, 432, 366 * _DAY, 600),
)

SPANS: Final = {"15m": 900, "1h": 3600, "6h": 21_600, "24h": _DAY, "7d": 7 * _DAY, "30d": 30 * _DAY, "1y": 365 * _DAY}


class Choice(NamedTuple):
    """`joined`: of so many steps each point of the chart is made."""

    step: Step
    joined: int


def choose(span_s: int) -> Choice:
    """The finest steps that are kept for so long and are not too many."""
    for step in STEPS:
        if step.keep_s >= span_s and span_s // step.seconds <= MOST_POINTS:
            return Choice(step, 1)
    width = -(-span_s // MOST_POINTS)
    step = max(one for one in STEPS if one.keep_s >= span_s and one.seconds <= width)
    return Choice(step, -(-width // step.seconds))
