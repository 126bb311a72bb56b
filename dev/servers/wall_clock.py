"""A wall clock for one server process that can be set while it runs; its monotonic clock is not touched."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

from dev.errors import ServerUnavailable
from dev.fetch.once import run

_SOURCE = Path(__file__).with_suffix(".c")


class WallClock:
    """Args: folder: of the server; owner: its name."""

    def __init__(self, folder: Path, owner: str) -> None:
        self._file = folder / "clock"
        self._library = folder / "clock.so"
        self._owner = owner

    def prepare(self) -> None:
        """Raises ServerUnavailable."""
        compiler = shutil.which("cc")
        if compiler is None:
            raise ServerUnavailable(self._owner, "there is no C compiler, which its clock requires")
        self._file.write_bytes(struct.pack("q", 0))
        run(self._owner, [compiler, "-shared", "-fPIC", "-O1", "-o", str(self._library), str(_SOURCE)])

    def set(self, ahead: int) -> None:
        """Seconds by which it is ahead, from now on."""
        with self._file.open("r+b") as file:
            file.write(struct.pack("q", ahead))

    def command(self, program: list[str]) -> list[str]:
        return ["/usr/bin/env", f"LD_PRELOAD={self._library}", f"WALL_CLOCK={self._file}", *program]
