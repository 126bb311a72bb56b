"""What a pipeline waits for, and how far the sink is behind the source, for threads that show it.

The threads of the pipeline note what happens; each note is a store into an attribute, so that none of them waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from replicator.errors import SourceUnavailable
from replicator.model.batch import Batch
from replicator.model.behind import Behind, nothing
from replicator.model.lag import Lag, LagFacts, lag
from replicator.model.position import Position
from replicator.model.position_order import reached
from replicator.model.retrying import Blocked
from replicator.pipeline.activity_meter import ActivityMeter

BLOCKED_SECONDS: Final = 3.0
"""A sink that takes longer is shown as one that does not answer; so is a source to which a connection is opened."""
_QUIET_SECONDS: Final = 0.15
"""A read that finds nothing for as long: the source may have nothing more."""
_LIVE_MS: Final = 10_000
"""Age of an event behind which a pause means that the source has nothing more, as it does after a heartbeat."""
_READING_SECONDS: Final = 2.0
_ASK_SECONDS: Final = 5.0


class Call:
    """A call that may block: `since` is the monotonic time of its beginning, 0.0 outside it; `took`: seconds of the
    last one."""

    def __init__(self) -> None:
        self.since = self.took = 0.0

    def __enter__(self) -> Self:
        self.since = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.took = time.monotonic() - self.since
        self.since = 0.0


class PipelineStatus:
    """
    Attributes:
        sink, source: their calls that may block.
        place: position of the stream up to which everything was read.
        meter: how long the stages take.
    """

    def __init__(self, now_ms: Callable[[], int] | None = None) -> None:
        self.sink, self.source = Call(), Call()
        self.meter = ActivityMeter()
        self.place: Position | None = None
        self._now_ms = now_ms or _wall_ms
        self._streaming = False
        self._polls = False  # each empty read of the stream has asked the source
        self._read_at = 0.0  # monotonic time of the last end of a read
        self._event_ms = 0  # commit time of the last transaction that was read
        self._quiet = self._idle = False
        self._caught_up = False
        self._proof_ms = self._unread_ms = self._asked_ms = 0
        self._source_lost = self._stumbled = False
        self._behind = Behind()  # when the source was asked last
        self._skew_ms: int | None = None
        self._waiting_ms = self._undelivered_ms = self._delivered_ms = 0
        self._outstanding = False
        self._progress_at = 0.0

    # The session

    def opened(self, position: Position, *, polls: bool) -> None:
        """A stream is open. `polls`: its reads ask the source, which is otherwise silent while it has nothing."""
        self.place, self._polls = position, polls
        self._streaming, self._source_lost = True, False
        self._caught_up = self._quiet = self._idle = False
        self._delivered_ms = self._event_ms = 0
        self._read_at = time.monotonic()

    def ended(self, error: BaseException | None) -> None:
        """The session is over. What was read and not acknowledged still waits, at the source."""
        self._streaming = self._outstanding = False
        self._undelivered_ms = self._undelivered_ms or self._waiting_ms
        self._waiting_ms = 0
        self.meter.dropped()
        if error is not None:  # what was read last may be what it failed at, and is read again
            self._caught_up = self._quiet = self._idle = False
            self._stumbled = True
        if isinstance(error, SourceUnavailable):
            self._source_lost = True

    # The reader

    def read(self, size: int, waited: float, *, backlog: bool) -> None:
        """A read has brought `size` bytes, after at most `waited` seconds."""
        self._read_at = time.monotonic()
        self._unread_ms = 0
        if backlog:
            self._caught_up = self._quiet = self._idle = False
        elif size:
            if self._caught_up:
                self._proof_ms = self._now_ms()
            self._idle, self._quiet = self._quiet, False  # a heartbeat, unless it is followed by a transaction
        elif waited >= _QUIET_SECONDS:
            self._pause()

    def _pause(self) -> None:
        now = self._now_ms()
        live = self._event_ms and now + (self._skew_ms or 0) - self._event_ms < _LIVE_MS
        self._quiet = True
        if self._polls or live or self._idle:
            self._caught_up_at(self._proof_ms if self._caught_up and not self._polls else now)

    def decoded(self, batch: Batch) -> None:
        if batch.boundary and not batch.transactions and not batch.records:
            return
        self._idle = False
        self._event_ms = batch.source_ms or self._event_ms

    def _caught_up_at(self, now_ms: int) -> None:
        self._caught_up, self._proof_ms, self._unread_ms, self._source_lost = True, now_ms, 0, False
        self._stumbled = False
        if self.place is not None and not (self._waiting_ms or self._undelivered_ms):
            self._behind = nothing(self.place)
        if not self._waiting_ms and self._streaming:
            self._undelivered_ms = 0  # it was delivered after all, or belongs to the task no longer

    # The delivery

    def delivered(self, waiting_ms: int, acknowledged_ms: int, *, outstanding: bool, progress: bool) -> None:
        """
        Args:
            waiting_ms: commit time of the oldest change that is not acknowledged; 0: there is none.
            acknowledged_ms: commit time of the last one that has just been; 0: none has.
            outstanding: something is committed and not acknowledged.
            progress: the sink has taken or acknowledged something.
        """
        if acknowledged_ms:
            self._delivered_ms, self._undelivered_ms, self._stumbled = acknowledged_ms, 0, False
        if progress or (outstanding and not self._outstanding):
            self._progress_at = time.monotonic()
        self._waiting_ms, self._outstanding = waiting_ms, outstanding

    # What the source says beside the stream

    def shall_ask(self) -> bool:
        """Whether only the end of the source's log says if it has more than what was read."""
        now = self._now_ms()
        if self.place is None or now - self._asked_ms < _ASK_SECONDS * 1000:
            return False
        if time.monotonic() - self._read_at > _READING_SECONDS:
            return True
        return not self._caught_up or now - self._proof_ms > (_ASK_SECONDS + 1) * 1000

    def asking(self) -> int:
        """The source is asked now. Returns the time, for `asked`."""
        self._asked_ms = self._now_ms()
        return self._asked_ms

    def asked(self, end: Position | None, time_ms: int, behind: Behind = Behind()) -> None:  # noqa: B008 - frozen
        """Its log ended at `end` at or after `time_ms`; None: it did not answer. `behind`: what of it was not delivered
        then."""
        place, self._behind = self.place, behind
        if end is None or place is None:
            self._source_lost = True
        elif reached(place, end):
            self._caught_up_at(time_ms)
        else:
            self._source_lost = False
            if time.monotonic() - self._read_at > _READING_SECONDS:
                self._unread_ms = self._unread_ms or time_ms

    def clock(self, skew_ms: int | None) -> None:
        self._skew_ms = skew_ms

    # What is shown

    def facts(self) -> LagFacts:
        return LagFacts(
            at_ms=self._now_ms(),
            waiting_ms=self._undelivered_ms or self._waiting_ms,
            delivered_ms=self._delivered_ms,
            caught_up=self._caught_up,
            proof_ms=self._proof_ms,
            unread_ms=self._unread_ms,
            source_lost=self._source_lost,
            skew_ms=self._skew_ms,
        )

    @property
    def behind(self) -> Behind:
        """What of the source's log is not delivered: as of the time when the source was asked last, or nothing where
        it has shown since that it has nothing more."""
        return self._behind

    def lag(self) -> Lag:
        facts = self.facts()
        return lag(facts, facts.at_ms)

    def blocked(self) -> Blocked | None:
        """The side that does not answer, once that takes long."""
        now, since, opening = time.monotonic(), self.sink.since, self.source.since
        waits = max(since, self._progress_at) if since or self._outstanding else now
        if now - waits > BLOCKED_SECONDS:
            return Blocked("sink", now - waits)
        if opening and now - opening > BLOCKED_SECONDS:
            return Blocked("source", now - opening)
        return None

    @property
    def flowing(self) -> bool:
        """The stream is open, the sink answers, and nothing waits that an earlier session could not deliver, or could
        not even encode: something has been delivered since, or the source has no more."""
        return self._streaming and not (self._undelivered_ms or self._stumbled) and self.blocked() is None


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000
