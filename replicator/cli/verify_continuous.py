"""`replicator verify --continuous`: round after round, until a signal ends it."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Final

from replicator.errors import ReplicatorError
from replicator.verify.report import TableResult

ROWS_PER_S: Final = 10_000
"""Unless --max-rows-per-s says another rate: it may run all day."""
_LASTING: Final = frozenset({"E5032", "E5033"})
"""Errors that do not pass by themselves."""


class Stopped(BaseException):
    """A signal ends the verification."""


class Rounds:
    """
    Args:
        once: verifies all tables. Raises ReplicatorError.
        show: told of the tables whose result differs from that of the round before.
        failed: told of an error, once as long as it stays the same; the next round may pass.
        pause_s: between the end of a round and the next one.

    Attributes:
        latest: results of the last round that was completed; None before the first one.
    """

    def __init__(
        self,
        once: Callable[[], Sequence[TableResult]],
        show: Callable[[Sequence[TableResult]], None],
        failed: Callable[[ReplicatorError], None],
        pause_s: float,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._once, self._show, self._failed = once, show, failed
        self._pause_s, self._sleep = pause_s, sleep
        self._error = ""
        self.latest: Sequence[TableResult] | None = None

    def run(self) -> None:
        """Until Stopped, which it keeps. Raises ReplicatorError E5032, E5033: it can't be verified at all."""
        try:
            while True:
                self._round()
                self._sleep(self._pause_s)
        except Stopped:
            return

    def _round(self) -> None:
        try:
            results = self._once()
        except ReplicatorError as error:
            if error.code in _LASTING:
                raise
            if error.code != self._error:
                self._failed(error)
            self._error = error.code
            return
        self._error = ""
        changed = changes(self.latest or (), results)
        self.latest = results
        if changed:
            self._show(changed)


def changes(before: Sequence[TableResult], now: Sequence[TableResult]) -> list[TableResult]:
    """The results of `now` that `before` does not have."""
    known = {each.table: _verdict(each) for each in before}
    return [each for each in now if known.get(each.table) != _verdict(each)]


def _verdict(result: TableResult) -> tuple[object, ...]:
    counts = (result.missing, result.extra, result.different, result.changing, result.stopped)
    return (result.target, result.result, result.note, *counts)


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """SIGINT and SIGTERM raise Stopped in the main thread."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Stopped

    former = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
