"""The last value of each key: in memory up to a bound, above it in files by the hash of the key."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

PARTS: Final = 256
"""Parts that are looked at one after the other: those of the first byte of a key."""
MOST_BYTES: Final = 96 << 20
"""Of memory, about, before entries are written to files."""
_ENTRY_BYTES: Final = 230
"""Of memory that an entry takes besides its value: the objects of key and value, and the place in a dict."""
_HEAD: Final = struct.Struct("<16sI")

Merge: TypeAlias = Callable[[bytes, bytes], bytes]
"""(earlier value, later one) of a key -> what is kept of the two."""


def later(earlier: bytes, value: bytes) -> bytes:
    return value


class Spill:
    """Values by keys of 16 bytes that are distributed evenly, such as digests.

    The files are in a private directory, which `close` removes. They are read part by part, so that one part of all
    keys is in memory at a time.

    Args:
        merge: of values that one key is given in succession; it has to be associative.
        most_bytes: see `MOST_BYTES`.
    """

    def __init__(self, merge: Merge = later, most_bytes: int = MOST_BYTES) -> None:
        self._merge, self._most = merge, most_bytes
        self._parts: list[dict[bytes, bytes]] = [{} for _ in range(PARTS)]
        self._bytes = 0
        self._directory: tempfile.TemporaryDirectory[str] | None = None

    def put(self, key: bytes, value: bytes) -> None:
        """Raises OSError: a file can't be written."""
        part = self._parts[key[0]]
        before = part.get(key)
        if before is None:
            part[key] = value
            self._bytes += _ENTRY_BYTES + len(value)
        else:
            part[key] = value = self._merge(before, value)
            self._bytes += len(value) - len(before)
        if self._bytes > self._most:
            self._flush()

    def part(self, number: int) -> dict[bytes, bytes]:
        """All keys that begin with the byte `number`. Raises OSError."""
        found: dict[bytes, bytes] = {}
        path = self._path(number)
        if path is not None and path.exists():
            with path.open("rb") as file:
                while head := file.read(_HEAD.size):
                    key, size = _HEAD.unpack(head)
                    self._add(found, key, file.read(size))
        for key, value in self._parts[number].items():
            self._add(found, key, value)
        return found

    @property
    def spilled(self) -> bool:
        return self._directory is not None

    def close(self) -> None:
        """May be called again."""
        directory, self._directory = self._directory, None
        self._parts = [{} for _ in range(PARTS)]
        if directory is not None:
            directory.cleanup()

    def _add(self, found: dict[bytes, bytes], key: bytes, value: bytes) -> None:
        before = found.get(key)
        found[key] = value if before is None else self._merge(before, value)

    def _path(self, number: int) -> Path | None:
        return Path(self._directory.name) / f"{number:03}" if self._directory is not None else None

    def _flush(self) -> None:
        if self._directory is None:
            self._directory = tempfile.TemporaryDirectory(prefix="replicator-verify-")
        for number, part in enumerate(self._parts):
            path = self._path(number)
            if part and path is not None:
                with path.open("ab") as file:
                    file.write(b"".join(_HEAD.pack(key, len(value)) + value for key, value in part.items()))
                part.clear()
        self._bytes = 0
