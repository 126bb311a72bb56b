"""Measures how long the stages of a pipeline take: a few readings of the clock per batch, none per row."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from replicator.model.activity import PUBLISH_BUCKETS, Activity
from replicator.model.batch import Batch
from replicator.model.histogram import HistogramMeter


class ActivityMeter:
    """Each attribute is written by one thread at a time, and read by any. Seconds since it was made."""

    def __init__(self) -> None:
        self.read = self.decode = self.write = self.commit = 0.0
        self.decode_blocked = self.write_blocked = 0.0
        self.bytes = self.inflight_records = self.inflight_bytes = 0
        self._publishes = HistogramMeter(PUBLISH_BUCKETS)

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
        self._publishes.observe(seconds)

    def dropped(self) -> None:
        """The session has ended: what was in flight is read and written again."""
        self.inflight_records = self.inflight_bytes = 0

    def activity(self) -> Activity:
        return Activity(
            busy_ms=tuple(round(spent * 1000) for spent in (self.read, self.decode, self.write, self.commit)),
            blocked_ms=(round(self.decode_blocked * 1000), round(self.write_blocked * 1000)),
            publishes=self._publishes.histogram(),
            bytes=self.bytes,
            inflight_records=self.inflight_records,
            inflight_bytes=self.inflight_bytes,
        )
