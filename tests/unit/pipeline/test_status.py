"""What a pipeline says of itself, while its threads are blocked too."""

from __future__ import annotations

import threading
import time

import pytest

from replicator.errors import RegistryUnavailable, SinkUnavailable, SourceUnavailable
from replicator.model.batch import Batch
from replicator.model.position import Position
from replicator.pipeline import status as status_module
from replicator.pipeline.status import PipelineStatus
from tests.support.scripted import Bench, Recorder, Script, row
from tests.support.waiting import eventually

NOW = 1_760_000_000_000
HEARTBEAT = Batch((), Position("b.1", 8), True)


def at(offset: int) -> Position:
    return Position("b.1", offset)


def change(offset: int, ms: int) -> Batch:
    return Batch([row(offset)], at(offset), True, 1, 1, 10, ms, first_ms=ms)


class Clock:
    def __init__(self) -> None:
        self.ms = NOW

    def __call__(self) -> int:
        return self.ms


class Told:
    """A status whose stream is open at b.1:4."""

    def __init__(self, *, polls: bool = False) -> None:
        self.clock = Clock()
        self.status = PipelineStatus(self.clock)
        self.status.opened(at(4), polls=polls)

    def read(self, *batches: Batch, size: int = 60, backlog: bool = False) -> None:
        self.status.read(size, 0.5, backlog=backlog)
        for batch in batches:
            self.status.decoded(batch)
            self.status.place = batch.position

    def pause(self) -> None:
        self.status.read(0, 0.5, backlog=False)

    @property
    def lag(self) -> float | None:
        return self.status.lag().seconds


def test_a_pause_alone_proves_nothing_and_a_heartbeat_does() -> None:
    told = Told()
    told.read(Batch((), at(4), True))  # what a stream begins with
    told.pause()
    assert told.lag is None
    told.read(HEARTBEAT)
    told.pause()
    assert told.lag == 0.0


def test_a_pause_behind_a_recent_event_is_the_end() -> None:
    told = Told()
    told.read(change(5, NOW - 200))
    told.pause()
    assert told.lag == 0.0


def test_a_pause_behind_an_old_event_is_not() -> None:
    told = Told()
    told.read(change(5, NOW - 3_600_000))
    told.pause()
    assert told.lag is None


def test_each_empty_read_of_topics_has_asked_the_broker() -> None:
    told = Told(polls=True)
    told.pause()
    assert told.lag == 0.0


def test_heartbeats_renew_the_proof_and_silence_ends_it() -> None:
    told = Told()
    told.read(change(5, NOW))
    told.pause()
    for _ in range(3):
        told.clock.ms += 5_000
        told.read(HEARTBEAT)
        told.pause()
        assert told.lag == 0.0
    told.clock.ms += 9_000
    assert told.lag is None


def test_a_backlog_is_not_caught_up() -> None:
    told = Told()
    told.read(change(5, NOW))
    told.pause()
    told.read(change(6, NOW - 7_200_000), size=200_000, backlog=True)
    told.status.delivered(0, NOW - 7_200_000, outstanding=False, progress=True)
    assert told.lag == 7200.0
    assert told.status.lag().at_most


def test_what_waits_is_known_while_the_source_is_lost() -> None:
    told = Told()
    told.status.delivered(NOW - 1_000, 0, outstanding=True, progress=False)
    told.status.ended(SinkUnavailable("E3002", "late"))
    told.clock.ms += 60_000
    assert told.lag == 61.0
    told.status.ended(SourceUnavailable("E2001", "away"))
    assert told.lag == 61.0
    assert not told.status.flowing


def test_what_waited_is_over_once_it_is_acknowledged_in_another_session() -> None:
    told = Told()
    told.status.delivered(NOW - 1_000, 0, outstanding=True, progress=False)
    told.status.ended(SinkUnavailable("E3002", "late"))
    told.status.opened(at(4), polls=False)
    assert not told.status.flowing, "the sink may refuse it again"
    told.read(change(5, NOW - 1_000))
    told.status.delivered(NOW - 1_000, 0, outstanding=False, progress=False)
    assert told.lag == 1.0
    told.status.delivered(0, NOW - 1_000, outstanding=False, progress=True)
    assert told.status.flowing
    told.pause()
    assert told.lag == 0.0


def test_a_change_that_could_not_even_be_encoded_is_not_delivered() -> None:
    """As by a registry of schemas that does not answer: each session fails at the change that it has just read."""
    told = Told()
    told.pause()
    told.read(HEARTBEAT)
    told.pause()
    assert told.status.flowing and told.lag == 0.0
    for _ in range(3):
        told.status.read(60, 0.5, backlog=False)  # decoded never returns
        told.status.ended(RegistryUnavailable("E3301", "away"))
        assert not told.status.flowing and told.lag != 0.0
        told.clock.ms += 2_000
        told.status.opened(at(8), polls=False)
        told.pause()  # the source takes its time
        assert not told.status.flowing and told.lag != 0.0, "nothing was read of this stream yet"
    told.status.asked(at(9), told.clock.ms)
    told.read(change(9, NOW))
    told.status.delivered(0, NOW, outstanding=False, progress=True)
    assert told.status.flowing


def test_a_session_that_begins_anew_has_read_nothing_of_what_the_last_one_had() -> None:
    told = Told()
    told.read(change(9, NOW - 60_000))
    told.status.delivered(NOW - 60_000, 0, outstanding=True, progress=False)
    told.status.ended(SinkUnavailable("E3002", "late"))
    told.status.opened(at(4), polls=False)
    told.status.asked(at(9), told.status.asking())
    assert told.lag == 60.0
    assert not told.status.flowing


def test_what_was_delivered_after_all_is_not_read_again() -> None:
    """A commit whose outcome was not known: the next session begins behind it."""
    told = Told()
    told.status.delivered(NOW - 1_000, 0, outstanding=True, progress=False)
    told.status.ended(SinkUnavailable("E3002", "late"))
    told.status.opened(at(5), polls=False)
    told.pause()
    told.read(HEARTBEAT)
    told.pause()
    assert told.lag == 0.0
    assert told.status.flowing


def test_the_source_is_lost() -> None:
    told = Told()
    told.read(change(5, NOW))
    told.pause()
    told.status.ended(SourceUnavailable("E2002", "away"))
    assert told.status.lag().note == "the source can't be reached"


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> Told:
    """Caught up at b.1:5, and nothing is read any more."""
    monkeypatch.setattr(status_module, "_READING_SECONDS", -1.0)
    told = Told()
    told.read(change(5, NOW))
    told.pause()
    return told


def test_the_end_of_the_log_says_what_is_not_read(unread: Told) -> None:
    unread.clock.ms += 6_000
    assert unread.status.shall_ask()
    unread.status.asked(at(5), unread.status.asking())
    unread.clock.ms += 6_000
    assert unread.lag == 0.0
    unread.status.asked(at(9), unread.status.asking())
    unread.clock.ms += 20_000
    assert (unread.lag, unread.status.lag().at_most) == (26.0, True)
    unread.read(change(9, NOW))
    assert not unread.status.lag().at_most, "it is read again"


def test_the_source_is_not_asked_all_the_time(unread: Told) -> None:
    unread.status.asking()
    assert not unread.status.shall_ask()
    unread.clock.ms += 5_001
    assert unread.status.shall_ask()


def test_a_source_that_does_not_answer_is_unknown(unread: Told) -> None:
    unread.status.asked(None, unread.status.asking())
    assert unread.status.lag().note == "the source can't be reached"
    unread.status.asked(at(5), unread.status.asking())
    assert unread.lag == 0.0


def test_while_the_stream_is_read_its_heartbeats_say_it() -> None:
    told = Told()
    told.read(change(5, NOW))
    told.pause()
    assert not told.status.shall_ask()
    told.status.asked(at(9), told.status.asking())
    assert told.lag == 0.0, "an event that is on its way is not unread"


def test_a_sink_that_blocks_is_seen_from_another_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """It answers neither with an error nor otherwise; the row that waits is known."""
    monkeypatch.setattr(status_module, "BLOCKED_SECONDS", 0.05)
    entered, released = threading.Event(), threading.Event()

    class Blocking(Recorder):
        def write(self, batch: Batch) -> None:
            entered.set()
            released.wait(20)
            super().write(batch)

    commit_ms = int(time.time() * 1000) - 3_000
    bench = Bench(Script(change(1, commit_ms)), Blocking())
    status = bench.pipeline.status
    thread = threading.Thread(target=bench.run_until, args=(1,))
    thread.start()
    try:
        assert entered.wait(20)
        eventually(lambda: status.blocked())
        blocked, lag = status.blocked(), status.lag()
        assert blocked is not None
        assert blocked.side == "sink"
        assert lag.seconds is not None
        assert lag.seconds >= 3.0
        assert not status.flowing
    finally:
        released.set()
        thread.join()
    assert status.blocked() is None


def test_a_source_that_does_not_open_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_module, "BLOCKED_SECONDS", 0.0)
    status = PipelineStatus()
    with status.source:
        time.sleep(0.001)
        blocked = status.blocked()
    assert blocked is not None
    assert blocked.side == "source"
    assert status.blocked() is None


def test_records_without_an_acknowledgement_are_a_sink_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """at_least_once: no call blocks. Each acknowledgement begins the time anew."""
    monkeypatch.setattr(status_module, "BLOCKED_SECONDS", 0.0)
    told = Told()
    told.status.delivered(NOW, 0, outstanding=True, progress=False)
    time.sleep(0.001)
    assert told.status.blocked() is not None
    told.status.delivered(0, NOW, outstanding=False, progress=True)
    assert told.status.blocked() is None
