"""The checkpoint writer: one thread that writes the progress of all running terms to lastCommit.

ZooKeeper pays a disk flush for each write, so a term writes at most once per `checkpoint_interval_ms`, and only the
latest progress; what is urgent (the worker waits for it) goes at once. A position that moved over events without rows
of ours waits a little longer, the longer the more often that was so, up to once a minute; and what stands already is
written again only now and then.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

import msgspec

from core.core_counters import CoreCounters
from core.protocol import Progress
from replicator.errors import CoordinationError, LeadershipLost, NotConnected
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import TOPICS

_RETRY = 0.2
"""Seconds until a write whose outcome is unknown is tried again."""

_QUIET = 5
"""Intervals between writes that say nothing but a position: a successor would read as much again, and send nothing."""

_LONGEST = 60.0
"""Seconds between such writes while the position stays within `_NEAR` of what stands: each doubles the wait. A task of
which nothing is seen in a busy log costs ZooKeeper one write a minute."""

_NEAR = 16 << 20
"""Bytes of a log that a successor reads again in a fraction of a second."""

_AGAIN = 60.0
"""Seconds after which what stands is written again: a node that was deleted by hand comes back."""


class TermStore(Protocol):
    """Where a term writes its checkpoints: `coordination.leadership.progress.TermProgress`."""

    def save(self, checkpoint: Checkpoint) -> None: ...


class _Pen:
    def __init__(self, term: TermStore, interval: float, saved: Callable[[int], None]) -> None:
        self.term = term
        self.interval = interval
        self.saved = saved
        self.writing = threading.Lock()
        self.pending: Progress | None = None
        self.stands: Checkpoint | None = None
        """What lastCommit holds, as far as we know."""
        self.due = 0.0  # monotonic seconds, as the next two
        self.written = 0.0
        self.calm = 0
        """Writes in a row that said nothing but a position near the one before."""
        self.ended = False

    def news(self, checkpoint: Checkpoint, now: float) -> bool:
        """Whether there is anything to write."""
        if now - self.written >= _AGAIN or self.stands is None:
            return True
        return checkpoint != msgspec.structs.replace(self.stands, time_ms=checkpoint.time_ms)  # it is only shown

    def when(self) -> float:
        """When the pending progress is due."""
        if self.stands is None or self.pending is None or self.due == 0.0:
            return self.due
        after, before = self.pending.checkpoint, self.stands
        if not _is_quiet(before, after):
            return self.due
        wait = _QUIET * self.interval
        if _is_near(before, after):
            wait = max(wait, min(_LONGEST, wait * 2 ** min(self.calm, 10)))
        return self.due - self.interval + wait

    def wrote(self, checkpoint: Checkpoint, now: float) -> None:
        before = self.stands
        calm = before is not None and _is_quiet(before, checkpoint) and _is_near(before, checkpoint)
        self.calm = self.calm + 1 if calm else 0
        self.stands, self.written = checkpoint, now


def _is_quiet(before: Checkpoint, after: Checkpoint) -> bool:
    """Nothing of ours was delivered."""
    counts = (after.rows, after.dead_letters, after.quarantined)
    return counts == (before.rows, before.dead_letters, before.quarantined)


def _is_near(before: Checkpoint, after: Checkpoint) -> bool:
    old, new = before.position, after.position
    return old.file == new.file != TOPICS and 0 <= new.offset - old.offset < _NEAR


class CheckpointWriter:
    """Args:
    failed: called with (task, error) from this thread when a term can't write any more; must not block. The error is
        LeadershipLost when the term is over.
    counters: of writes that failed.
    """

    def __init__(
        self,
        failed: Callable[[str, CoordinationError], None],
        clock: Callable[[], float] = time.monotonic,
        counters: CoreCounters | None = None,
    ) -> None:
        self._failed = failed
        self._counters = counters or CoreCounters()
        self._clock = clock
        self._changed = threading.Condition()
        self._pens: dict[str, _Pen] = {}
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="checkpoints", daemon=True)
        self.written_ms: dict[str, int] = {}
        """When each task's lastCommit was last written by us, or found to say all there is; ms since the epoch."""

    def start(self) -> None:
        self._thread.start()

    def begin(self, task: str, term: TermStore, interval: float, saved: Callable[[int], None]) -> None:
        """interval: seconds between writes; saved: called with the number of what was written."""
        with self._changed:
            self._pens[task] = _Pen(term, interval, saved)

    def submit(self, task: str, progress: Progress) -> None:
        """The latest progress of a task; what an earlier one said and was not written is covered by it."""
        with self._changed:
            pen = self._pens.get(task)
            if pen is None or pen.ended:
                return
            if not progress.urgent and pen.pending is None and not pen.news(progress.checkpoint, self._clock()):
                self.written_ms[task] = _now_ms()
                return
            pen.pending = progress
            if progress.urgent:
                pen.due = 0.0
            self._changed.notify()

    def stands(self, task: str) -> Checkpoint | None:
        """What lastCommit holds of a task, as far as it is known. From any thread."""
        with self._changed:
            pen = self._pens.get(task)
            return pen.stands if pen is not None else None

    def end(self, task: str) -> None:
        """Returns when no write of this task is under way; what was not written is dropped."""
        with self._changed:
            pen = self._pens.pop(task, None)
            self.written_ms.pop(task, None)
            if pen is None:
                return
            pen.ended = True
        with pen.writing:
            return

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join(timeout=5)

    def _run(self) -> None:
        while True:
            found = self._next()
            if found is None:
                return
            self._write(*found)

    def _next(self) -> tuple[str, _Pen, Progress] | None:
        """Waits for the next thing to write; None at the end."""
        with self._changed:
            while not self._stopped:
                waiting = [(pen.when(), task) for task, pen in self._pens.items() if pen.pending is not None]
                if not waiting:
                    self._changed.wait()
                    continue
                due, task = min(waiting)
                left = due - self._clock()
                if left > 0:
                    self._changed.wait(left)
                    continue
                pen = self._pens[task]
                progress, pen.pending = pen.pending, None
                if progress is not None:
                    return task, pen, progress
        return None

    def _write(self, task: str, pen: _Pen, progress: Progress) -> None:
        with pen.writing:
            if pen.ended:
                return
            try:
                pen.term.save(progress.checkpoint)
            except LeadershipLost as error:
                self._counters.checkpoint_failed("lost")
                self._give_up(task, pen, error)
            except NotConnected:
                self._counters.checkpoint_failed("not_connected")
                self._later(pen, progress)
            except CoordinationError as error:
                self._counters.checkpoint_failed("refused")
                self._give_up(task, pen, error)
            else:
                self._done(task, pen, progress.checkpoint)
                pen.saved(progress.number)

    def _done(self, task: str, pen: _Pen, checkpoint: Checkpoint) -> None:
        with self._changed:
            self.written_ms[task] = _now_ms()
            pen.wrote(checkpoint, self._clock())
            urgent = pen.pending is not None and pen.pending.urgent
            pen.due = 0.0 if urgent else pen.written + pen.interval

    def _later(self, pen: _Pen, progress: Progress) -> None:
        with self._changed:
            if pen.pending is None:
                pen.pending = progress
            pen.stands = None  # the outcome is unknown
            pen.due = self._clock() + _RETRY

    def _give_up(self, task: str, pen: _Pen, error: CoordinationError) -> None:
        with self._changed:
            pen.ended = True
            pen.pending = None
        self._failed(task, error)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
