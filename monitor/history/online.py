"""How much of a time a machine was online, of the time in which that was seen. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, isnan
from typing import Final

import msgspec

from monitor.history.steps import STEPS, Step

_DAY: Final = 86_400
SPANS_S: Final = (_DAY, 7 * _DAY, 30 * _DAY)
"""Day, week, month."""
_MOST_STEPS: Final = 4400
"""A day in minutes, a week and a month in ten minutes: all machines are read once a minute."""


class OnlineRate(msgspec.Struct, frozen=True):
    """share: 0 to 1, None where nothing was seen; seen_s: of `span_s`, while the machine was to be online and this
    Monitor looked. A Monitor that did not run, or had no ZooKeeper, has seen nothing, and says so; a machine that has
    ended on purpose was not to be online."""

    share: float | None
    seen_s: float
    span_s: int

    @property
    def offline_s(self) -> float:
        return (1 - self.share) * self.seen_s if self.share is not None else 0.0


def step_for(span_s: int) -> Step:
    """The finest one that is kept for so long and is not too many."""
    return next(step for step in STEPS if step.keep_s >= span_s and span_s // step.seconds <= _MOST_STEPS)


def online_rate(values: Sequence[float], span_s: int) -> OnlineRate:
    """
    Args:
        values: means of equal steps that make up the span; NaN: not seen. A step that was seen in part counts as one
            that was seen.
    """
    known = [value for value in values if not isnan(value)]
    if not known:
        return OnlineRate(None, 0.0, span_s)
    return OnlineRate(min(fsum(known) / len(known), 1.0), span_s * len(known) / len(values), span_s)
