"""Progress output of `replicator run`: a status line on a terminal, log lines in a pipe. Both go to stderr; stdout is
for data."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from replicator.cli import snapshot_line
from replicator.errors import ReplicatorError
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from replicator.model.snapshot_report import report
from replicator.pipeline.delivery_progress import DeliveryCounters
from replicator.telemetry import log

_LOG_SECONDS = 5.0
_WAITING_SECONDS = 60.0


class Rate:
    """Rows per second over the last few seconds."""

    def __init__(self) -> None:
        self._points: list[tuple[float, int]] = []

    def add(self, rows: int) -> float:
        now = time.monotonic()
        self._points = [point for point in self._points if now - point[0] < 5] + [(now, rows)]
        (first, before), (last, after) = self._points[0], self._points[-1]
        return (after - before) / (last - first) if last > first else 0.0


class Waits:
    """Tells a cause once and again every minute, not at each attempt."""

    def __init__(self) -> None:
        self._told: tuple[str, str] | None = None
        self._again = 0.0

    def news(self, error: ReplicatorError) -> bool:
        cause, now = (error.code, error.what), time.monotonic()
        if cause == self._told and now < self._again:
            return False
        self._told, self._again = cause, now + _WAITING_SECONDS
        return True

    def over(self) -> None:
        self._told = None


class LogLines:
    """One line when something changes, and one every few seconds while rows flow."""

    def __init__(self, task: str) -> None:
        self._log = log.get_logger("run").bind(task=task)
        self._rate = Rate()
        self._figures = DeliveryCounters()
        self._checkpoint: Checkpoint | None = None
        self._next = 0.0
        self._shown = -1
        self._waits = Waits()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        position = str(self._checkpoint.position) if self._checkpoint else ""
        self._log.info("stopped", rows=self._figures.rows, position=position)

    def streaming(self, position: Position) -> None:
        self._waits.over()
        self._log.info("streaming", position=str(position))

    def waiting(self, error: ReplicatorError) -> None:
        if self._waits.news(error):
            self._log.warning("waiting", code=error.code, error=str(error))

    def progress(self, checkpoint: Checkpoint, figures: DeliveryCounters) -> None:
        rate = self._rate.add(figures.rows)
        self._figures, self._checkpoint = figures, checkpoint
        if figures.rows == self._shown or time.monotonic() < self._next:
            return
        self._next, self._shown = time.monotonic() + _LOG_SECONDS, figures.rows
        self._log.info(
            "progress",
            rows=figures.rows,
            rows_per_s=round(rate),
            lag_s=None if figures.lag_s is None else round(figures.lag_s, 3),
            position=str(checkpoint.position),
            **_of_snapshot(checkpoint),
        )


class LiveLine:
    """One line that is drawn over."""

    def __init__(self, task: str) -> None:
        self._task = task
        self._rate = Rate()
        self._waits = Waits()
        self._live = Live(
            Text(f"{task}  connecting"), console=Console(stderr=True), refresh_per_second=4, transient=False
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *ignored: Any) -> None:
        self._live.stop()

    def streaming(self, position: Position) -> None:
        self._waits.over()
        self._live.update(Text(f"{self._task}  streaming from {position}"))

    def waiting(self, error: ReplicatorError) -> None:
        if self._waits.news(error):
            self._live.console.print(Text(str(error)))
        self._live.update(Text(f"{self._task}  waiting ({error.code}), retries automatically"))

    def progress(self, checkpoint: Checkpoint, figures: DeliveryCounters) -> None:
        rate = self._rate.add(figures.rows)
        lag = "unknown" if figures.lag_s is None else f"{figures.lag_s:.1f} s"
        self._live.update(
            Text(
                f"{self._task}  {figures.rows:,} rows  {rate:,.0f} rows/s  lag {lag}  "
                f"{checkpoint.position}{_beside(checkpoint)}",
                no_wrap=True,
                overflow="ellipsis",
            )
        )


def _of_snapshot(checkpoint: Checkpoint) -> dict[str, str]:
    progress = checkpoint.position.snapshot
    if progress is None or progress.ended_ms:
        return {}
    return {"snapshot": snapshot_line.line(report(progress, checkpoint.time_ms))}


def _beside(checkpoint: Checkpoint) -> str:
    return "".join(f"  snapshot {text}" for text in _of_snapshot(checkpoint).values())
