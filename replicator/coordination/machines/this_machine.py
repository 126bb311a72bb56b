"""What a process reports of the machine that it runs on."""

from __future__ import annotations

import os

import psutil

from replicator.coordination.clock import now_ms
from replicator.coordination.records import MachineRecord
from replicator.host.installed_version import installed_version
from replicator.host.vitals import VitalsReader


class ThisMachine:
    """Between `start` and `stop` vitals are measured."""

    def __init__(self) -> None:
        self._vitals = VitalsReader()
        self._own = psutil.Process()
        self._started_ms = now_ms()

    def start(self) -> None:
        self._vitals.start()

    def stop(self) -> None:
        self._vitals.stop()

    def record(self, host: str, process: str, session_timeout_s: float) -> MachineRecord:
        """As it is now. host: the name to go by; process: id of this process in the tree."""
        memory = psutil.virtual_memory()
        return MachineRecord(
            host=host,
            pid=os.getpid(),
            process=process,
            started_ms=self._started_ms,
            time_ms=now_ms(),
            version=installed_version(),
            cores=psutil.cpu_count() or 0,
            load1=round(os.getloadavg()[0], 2),
            memory_bytes=memory.total - memory.available,
            memory_total_bytes=memory.total,
            rss_bytes=self._own.memory_info().rss,
            session_timeout_s=session_timeout_s,
            vitals=self._vitals.read(),
        )
