"""libfaketime: another wall clock for one process."""

from __future__ import annotations

from pathlib import Path

from dev.errors import ServerUnavailable
from dev.fetch.debian import unpack
from dev.fetch.once import folder_once


def library() -> Path:
    """The library for LD_PRELOAD, the one for threads."""

    def build(draft: Path) -> None:
        unpack("libfaketime", "bookworm", ["libfaketime"], draft)

    for found in folder_once("faketime-bookworm", build).glob("usr/lib/*/faketime/libfaketimeMT.so.1"):
        return found
    raise ServerUnavailable("libfaketime", "the package has no library for threads")


def environment(shift: str) -> dict[str, str]:
    """For a process whose wall clock is off by `shift`, "+3600s" say; its monotonic clock is everybody's."""
    return {"LD_PRELOAD": str(library()), "FAKETIME": shift, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
