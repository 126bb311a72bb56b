"""The last value of each key: in memory up to a bound, above it in a file, by the hash of the key."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Callable
from typing import IO, Final, TypeAlias

PARTS: Final = 256
"""Parts that are looked at one after the other: those of the first byte of a key."""
MOST_BYTES: Final = 96 << 20
"""Of memory, about, before entries are written to a file."""
_ENTRY_BYTES: Final = 230
"""Of memory that an entry takes besides its value: the objects of key and value, and the place in a dict."""
_HEAD: Final = struct.Struct("<16sI")

Merge: TypeAlias = Callable[[bytes, bytes], bytes]
"""(earlier value, later one) of a key -> what is kept of the two."""


def later(earlier: bytes, value: bytes) -> bytes:
    return value


class Spill:
    """Values by keys of 16 bytes that are distributed evenly, such as digests.

    The file has no name, so that nothing is left of it when the process ends. It is read part by part: one part of all
    keys is in memory at a time.

    Args:
        merge: of values that one key is given in succession; it has to be associative.
        most_bytes: see `MOST_BYTES`.
    """

    def __init__(self, merge: Merge = later, most_bytes: int = MOST_BYTES) -> None:
        self._merge, self._most = merge, most_bytes
        self._parts: list[dict[bytes, bytes]] = [{} for _ in range(PARTS)]
        self._bytes = 0
        self._file: IO[bytes] | None = None
        self._blocks: list[list[tuple[int, int]]] = [[] for _ in range(PARTS)]

    def put(self, key: bytes, value: bytes) -> None:
        """Raises OSError: the file can't be written."""
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
        for offset, size in self._blocks[number]:
            self._load(found, offset, size)
        for key, value in self._parts[number].items():
            self._add(found, key, value)
        return found

    @property
    def spilled(self) -> bool:
        return self._file is not None

    def close(self) -> None:
        """May be called again."""
        file, self._file = self._file, None
        self._parts, self._blocks = [{} for _ in range(PARTS)], [[] for _ in range(PARTS)]
        if file is not None:
            file.close()

    def _add(self, found: dict[bytes, bytes], key: bytes, value: bytes) -> None:
        before = found.get(key)
        found[key] = value if before is None else self._merge(before, value)

    def _load(self, found: dict[bytes, bytes], offset: int, size: int) -> None:
        if self._file is None:
            raise ValueError("it is closed")
        self._file.seek(offset)
        block, at = self._file.read(size), 0
        while at < size:
            key, length = _HEAD.unpack_from(block, at)
            at += _HEAD.size
            self._add(found, key, block[at : at + length])
            at += length

    def _flush(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 (see `close`)
        offset = self._file.seek(0, 2)
        for number, part in enumerate(self._parts):
            if part:
                block = b"".join(_HEAD.pack(key, len(value)) + value for key, value in part.items())
                self._file.write(block)
                self._blocks[number].append((offset, len(block)))
                offset += len(block)
                part.clear()
        self._bytes = 0
