"""Vitals of a machine: processor, disks, network."""

from __future__ import annotations

import msgspec


class DiskUse(msgspec.Struct, frozen=True, kw_only=True):
    """A file system, in bytes. `used` and `free` are less than `total` by what only root may use."""

    mount: str
    used: int = 0
    free: int = 0

    @property
    def share(self) -> float:
        """0 to 1, as `df` shows it."""
        room = self.used + self.free
        return self.used / room if room else 0.0


class Vitals(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    Attributes:
        cpu: share of all processors that was busy, 0 to 1; None: not measured yet.
        received_per_s, sent_per_s: bytes over all networks of the machine; None: not measured yet.
        disks: the fullest file systems, sorted by their mount.
        booted_ms: when the machine was started, 0: unknown.
    """

    cpu: float | None = None
    received_per_s: float | None = None
    sent_per_s: float | None = None
    disks: tuple[DiskUse, ...] = ()
    booted_ms: int = 0

    @property
    def fullest(self) -> DiskUse | None:
        return max(self.disks, key=lambda disk: disk.share, default=None)
