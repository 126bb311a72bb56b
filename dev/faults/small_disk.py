"""A file system of a few kilobytes that can be filled without filling the machine's disk."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

from dev.errors import ServerFailed


class SmallDisk:
    """`with SmallDisk(folder, 64 << 10) as disk: ...` mounts a tmpfs on `folder`. Needs root.

    Args:
        folder: made if it does not exist.
        size: bytes; rounded up to pages.
    """

    def __init__(self, folder: Path, size: int) -> None:
        self.folder = folder
        self._size = size
        self._filler = folder / ".filler"

    def fill(self) -> None:
        """Takes all the room that is left."""
        with self._filler.open("ab", buffering=0) as file:
            try:
                while True:
                    file.write(b"\0" * 4096)
            except OSError:
                return

    def empty(self) -> None:
        """Gives back what `fill` took."""
        self._filler.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={self._size}", "tmpfs", str(self.folder)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise ServerFailed("small disk", f"mount: {done.stderr.strip()}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        subprocess.run(["umount", "--lazy", str(self.folder)], capture_output=True, check=False)
