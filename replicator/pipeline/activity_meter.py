"""Measures how long the stages of a pipeline take: a few readings of the clock per batch, none per row."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from replicator.model.activity import PUBLISH_BUCKETS, Activity
from replicator.model.batch import Batch


class ActivityMeter:
    """Each attribute is written by one thread at a time, and read by any. Seconds since it was made."""

    def __init__(self) -> None:
        self.read = self.decode = self.write = self.commit = 0.0
        self.decode_blocked = self.write_blocked = 0.0
        self.bytes = self.inflight_records = self.inflight_bytes = 0
        self._publishes = [0] * (len(PUBLISH_BUCKETS) + 1)
        self._publish = 0.0

    def decoding(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The same batches. What it takes to make one is time of the stage `decode`; what happens between is not."""
        made = iter(batches)
        while True:
            began = time.monotonic()
            batch = next(made, None)
            self.decode += time.monotonic() - began
            if batch is None:
                return
            yield batch
            del batch

    def written(self, records: int, size: int) -> None:
        self.inflight_records += records
        self.inflight_bytes += size

    def acknowledged(self, records: int, size: int) -> None:
        self.inflight_records -= records
        self.inflight_bytes -= size
        self.bytes += size

    def published(self, seconds: float) -> None:
        self._publishes[bisect_left(PUBLISH_BUCKETS, seconds)] += 1
        self._publish += seconds

    def dropped(self) -> None:
        """The session has ended: what was in flight is read and written again."""
        self.inflight_records = self.inflight_bytes = 0

    def activity(self) -> Activity:
        counts = list(self._publishes)
        while counts and not counts[-1]:
            counts.pop()
        return Activity(
            busy_ms=tuple(round(spent * 1000) for spent in (self.read, self.decode, self.write, self.commit)),
            blocked_ms=(round(self.decode_blocked * 1000), round(self.write_blocked * 1000)),
            publishes=tuple(counts),
            publish_ms=round(self._publish * 1000),
            bytes=self.bytes,
            inflight_records=self.inflight_records,
            inflight_bytes=self.inflight_bytes,
        )
