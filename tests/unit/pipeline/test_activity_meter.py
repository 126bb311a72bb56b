"""How long the stages of a pipeline take."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from replicator.errors import SinkUnavailable
from replicator.model.activity import PUBLISH_BUCKETS, Activity
from replicator.model.batch import Batch
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.pipeline import activity_meter, delivery_progress, status, timed_sink
from replicator.pipeline.activity_meter import ActivityMeter
from replicator.pipeline.delivery_progress import DeliveryCounters, DeliveryProgress
from replicator.pipeline.status import PipelineStatus
from replicator.pipeline.timed_sink import TimedSink
from tests.support.scripted import Recorder, row


class Clock:
    """Stands in for the module `time`."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def time_ns(self) -> int:
        return int(self.now * 1e9)


def clocked(monkeypatch) -> Clock:
    clock = Clock()
    for module in (activity_meter, delivery_progress, status):
        monkeypatch.setattr(module, "time", clock)
    return clock


def at(offset: int) -> Position:
    return Position("b.1", offset)


def change(offset: int, rows: int = 1, size: int = 10) -> Batch:
    return Batch([row(offset)] * rows, at(offset), True, rows, 1, size, 5, first_ms=5)


class Slow(Recorder):
    """Writes take 2 s, of which it waits 1.5 s for room; commits take 3 s."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def write(self, batch: Batch) -> None:
        self._clock.now += 2.0
        self.waited_s += 1.5
        super().write(batch)

    def commit(self, position: Position) -> None:
        self._clock.now += 3.0
        super().commit(position)

    def flush(self, timeout: float, progress: Callable[[], None] | None = None) -> None:
        self._clock.now += 4.0


def test_stages_of_the_sink(monkeypatch) -> None:
    clock = clocked(monkeypatch)
    seen = PipelineStatus()
    sink = TimedSink(Slow(clock), seen)
    sink.open(Term("copy", "u", 1, lambda: 0.0))
    sink.write(change(1))
    sink.commit(at(1))
    sink.flush(1.0)
    found = seen.meter.activity()
    assert (found.busy_s("write"), found.blocked_s("write"), found.busy_s("commit")) == (0.5, 1.5, 7.0)
    assert found.busy_s("read") == found.busy_s("decode") == found.blocked_s("decode") == 0


def test_a_call_that_fails_has_taken_its_time_too(monkeypatch) -> None:
    clock = clocked(monkeypatch)
    seen, slow = PipelineStatus(), Slow(clock)
    slow.fail = [("write", SinkUnavailable("E3002", "gone"))]
    sink = timed_sink.TimedSink(slow, seen)
    with contextlib.suppress(SinkUnavailable):
        sink.write(change(1))
    assert seen.meter.activity().busy_s("write") == 0.5


def test_only_making_a_batch_is_decoding(monkeypatch) -> None:
    clock = clocked(monkeypatch)
    meter = ActivityMeter()

    def made():
        for offset in range(3):
            clock.now += 1
            yield change(offset)

    for _ in meter.decoding(made()):
        clock.now += 10
    assert meter.activity().busy_s("decode") == 3


def delivery(seen: PipelineStatus) -> DeliveryProgress:
    return DeliveryProgress(Checkpoint(at(0)), DeliveryCounters(), seen)


def test_publish_durations_and_what_is_in_flight(monkeypatch) -> None:
    clock = clocked(monkeypatch)
    seen = PipelineStatus()
    book = delivery(seen)
    for offset, rows, size in ((1, 2, 30), (2, 3, 40)):
        batch = change(offset, rows, size)
        book.writing(batch)
        clock.now += 0.015
        book.written(batch)
        book.committed(at(offset))
    found = seen.meter.activity()
    assert (found.inflight_records, found.inflight_bytes, found.bytes, found.publishes.count) == (5, 70, 0, 0)
    book.acknowledged(at(1), 1)
    found = seen.meter.activity()
    assert (found.inflight_records, found.inflight_bytes, found.bytes) == (3, 40, 30)
    clock.now += 60
    book.acknowledged(at(2), 1)
    found = seen.meter.activity()
    assert (found.inflight_records, found.inflight_bytes, found.bytes) == (0, 0, 70)
    assert found.publishes.counts == (0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1), "30 ms, and a minute"
    assert found.publishes.cumulative(PUBLISH_BUCKETS) == (0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2)
    assert found.publishes.sum_ms == 60_045


def test_a_position_without_changes_is_no_publish() -> None:
    seen = PipelineStatus()
    book = delivery(seen)
    heartbeat = Batch((), at(1), True)
    book.writing(heartbeat)
    book.written(heartbeat)
    book.committed(at(1))
    book.acknowledged(at(1), 1)
    assert seen.meter.activity() == Activity((0, 0, 0, 0), (0, 0))


def test_nothing_is_in_flight_between_sessions() -> None:
    seen = PipelineStatus()
    book = delivery(seen)
    book.written(change(1))
    seen.ended(SinkUnavailable("E3002", "gone"))
    assert seen.meter.activity().inflight_bytes == 0
    again = delivery(seen)  # the next session writes it again
    again.writing(change(1))
    again.written(change(1))
    again.committed(at(1))
    again.acknowledged(at(1), 1)
    found = seen.meter.activity()
    assert (found.inflight_records, found.inflight_bytes, found.bytes) == (0, 0, 10)


def test_an_activity_of_an_older_core_has_zeros() -> None:
    assert Activity().busy_s("commit") == Activity().blocked_s("write") == 0
    assert Activity().publishes.cumulative(PUBLISH_BUCKETS) == (0,) * (len(PUBLISH_BUCKETS) + 1)
