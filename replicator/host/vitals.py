"""Measures the vitals of this machine."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Final, NamedTuple

import psutil

from replicator.model.vitals import DiskUse, Vitals

MOST_DISKS: Final = 12
"""In a report: the fullest ones, so that it stays small on a host with hundreds of mounts."""
MOST_MOUNT: Final = 100
"""Characters of the name of a mount."""
_LEAST_SECONDS: Final = 0.9
"""Rates over less than that are noise."""
_DISK_SECONDS: Final = 10.0
_DISKS_LAST: Final = 60.0
"""Figures of disks that are older are left out: the disk does not answer."""
_VIRTUAL: Final = ("lo", "veth", "docker", "br-", "virbr", "cni", "flannel", "cali", "dummy", "ifb")
"""Beginnings of the names of networks within the machine, whose bytes would be counted twice."""
_IMAGES: Final = frozenset({"squashfs", "iso9660", "udf", "erofs", "cramfs"})
"""File systems that are always full."""


class _Counted(NamedTuple):
    time_s: float
    received: int
    sent: int


class VitalsReader:
    """Of one thread, besides its own, which reads the disks: a file system that does not answer must not keep a machine
    from reporting. `clock`: monotonic s."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._booted_ms = int(psutil.boot_time() * 1000)
        self._disks: tuple[DiskUse, ...] = ()
        self._disks_at = clock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch_disks, name="disk-vitals", daemon=True)
        psutil.cpu_percent()
        self._before = self._counted()
        self._last = Vitals(booted_ms=self._booted_ms)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Does not wait."""
        self._stop.set()

    def read(self) -> Vitals:
        now = self._counted()
        passed = now.time_s - self._before.time_s
        if passed >= _LEAST_SECONDS:
            before, self._before = self._before, now
            self._last = Vitals(
                cpu=round(psutil.cpu_percent() / 100, 3),
                received_per_s=_rate(before.received, now.received, passed),
                sent_per_s=_rate(before.sent, now.sent, passed),
                disks=self._disks if self._clock() - self._disks_at < _DISKS_LAST else (),
                booted_ms=self._booted_ms,
            )
        return self._last

    def _counted(self) -> _Counted:
        networks = psutil.net_io_counters(pernic=True)
        counted = [found for name, found in networks.items() if not name.startswith(_VIRTUAL)]
        return _Counted(
            self._clock(), sum(found.bytes_recv for found in counted), sum(found.bytes_sent for found in counted)
        )

    def _watch_disks(self) -> None:
        while True:
            self._disks, self._disks_at = disks(), self._clock()
            if self._stop.wait(_DISK_SECONDS):
                return


def _rate(before: int, after: int, seconds: float) -> float | None:
    """None where a counter went back: a network was removed."""
    return round((after - before) / seconds, 1) if after >= before else None


def disks() -> tuple[DiskUse, ...]:
    """Local file systems, each once, however often it is mounted."""
    found: dict[str, DiskUse] = {}
    for part in sorted(psutil.disk_partitions(all=False), key=lambda part: len(part.mountpoint)):
        if part.device in found or part.fstype in _IMAGES:
            continue
        with contextlib.suppress(OSError):
            found[part.device] = _use(part.mountpoint)
    if not found:  # in a container all file systems are overlays
        with contextlib.suppress(OSError):
            found["/"] = _use("/")
    fullest = sorted(found.values(), key=lambda disk: -disk.share)[:MOST_DISKS]
    return tuple(sorted(fullest, key=lambda disk: disk.mount))


def _use(mount: str) -> DiskUse:
    use = psutil.disk_usage(mount)
    return DiskUse(mount=mount[:MOST_MOUNT], used=use.used, free=use.free)
