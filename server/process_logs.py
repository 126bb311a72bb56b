"""Processes of the bus, and their last log lines."""

from __future__ import annotations

import threading
from typing import Final

from replicator.coordination.layout import Layout
from replicator.coordination.logs.collector import SECONDS, LogCollector
from replicator.coordination.logs.processes import Process, processes
from replicator.coordination.ports import Coordinator
from replicator.errors import NodeMissing, ProcessError

MOST_AT_ONCE: Final = 4
"""Requests that wait for lines: each takes a thread, for up to 5 s."""


class ProcessLogs:
    """Thread-safe."""

    def __init__(self, coordinator: Coordinator, layout: Layout, collector: LogCollector | None = None) -> None:
        self._coordinator = coordinator
        self._layout = layout
        self._collector = collector or LogCollector(coordinator, layout)
        self._free = threading.BoundedSemaphore(MOST_AT_ONCE)

    def list(self) -> list[Process]:
        return processes(self._coordinator, self._layout)

    def lines(self, process: str, by: str) -> tuple[Process, str]:
        """Raises NodeMissing E5110, ProcessError E5111."""
        found = next((one for one in self.list() if one.id and one.id == process), None)
        if found is None:
            raise NodeMissing("E5110", "there is no such process online", found=repr(process[:64]))
        if not self._free.acquire(blocking=False):
            what = "the log lines of other processes are being fetched"
            raise ProcessError("E5111", what, found=f"{MOST_AT_ONCE} requests", fix="Repeat the request.")
        try:
            answers = self._collector.collect([process], by)
        finally:
            self._free.release()
        if process not in answers:
            what = f"{found.kind} {found.name}, pid {found.pid}, has not sent its log lines"
            raise ProcessError("E5111", what, found=f"no answer within {SECONDS:g} s")
        return found, answers[process]
