"""What the data path of a task has done and how long each of its stages took. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from replicator.model.histogram import Histogram

PUBLISH_BUCKETS: Final = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0)
"""Upper bounds of the histogram of publish durations, seconds; longer ones are counted behind them. They are the same
for all tasks and versions of a record: a new list needs a new field."""
BUSY_STAGES: Final = ("read", "decode", "write", "commit")
"""read: waits for bytes of the source while it has more; decode: decodes, transforms and encodes; write: hands records
to the sink; commit: waits until the sink has confirmed them."""
BLOCKED_STAGES: Final = ("decode", "write")
"""Stages that may wait for the one behind them: decode for room in the buffer, write for room in flight."""


class Activity(msgspec.Struct, frozen=True, array_like=True):
    """Counters of a worker, from 0 at its start. It is an array in JSON, as a Core reports one for each task each
    second.

    Attributes:
        busy_ms: time in which each of `BUSY_STAGES` worked.
        blocked_ms: time in which each of `BLOCKED_STAGES` waited.
        publishes: durations of commits, in `PUBLISH_BUCKETS`: from the first change that is handed to the sink to its
            acknowledgement. Commits without changes do not count.
        bytes: of keys and values that were delivered.
        inflight_records, inflight_bytes: handed to the sink and not acknowledged, now.
    """

    busy_ms: tuple[int, ...] = ()
    blocked_ms: tuple[int, ...] = ()
    publishes: Histogram = Histogram()
    bytes: int = 0
    inflight_records: int = 0
    inflight_bytes: int = 0

    def busy_s(self, stage: str) -> float:
        """Seconds in which one of `BUSY_STAGES` worked."""
        return _seconds(self.busy_ms, BUSY_STAGES.index(stage))

    def blocked_s(self, stage: str) -> float:
        """Seconds in which one of `BLOCKED_STAGES` waited."""
        return _seconds(self.blocked_ms, BLOCKED_STAGES.index(stage))


def _seconds(values: tuple[int, ...], index: int) -> float:
    return values[index] / 1000 if index < len(values) else 0.0
