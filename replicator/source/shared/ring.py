"""A ring of bytes in shared memory with one writer, which no reader can hold up, and many readers.

Positions count the bytes since the beginning of the stream; byte `n` is at `n % size`. Two words say what is valid:
`head`, the end of what is published, and `floor`, the beginning of what the writer has not begun to overwrite. The
writer raises `floor` before it overwrites and `head` after it has written. A reader copies first and looks at `floor`
afterwards: bytes that may have been overwritten during the copy are never returned.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Final, Protocol

CONTROL: Final = 1 << 16
"""Bytes of the control block: a multiple of every page size, as it is mapped apart from the ring."""
SLOTS: Final = 256
_WORDS: Final = 8  # of 8 bytes: a cache line
_HEAD: Final = 0
_FLOOR: Final = _WORDS
_FIRST_SLOT: Final = 2 * _WORDS
_CURSOR, _WAITING = 0, 1


class Overtaken(Exception):
    """The writer has overwritten what the reader wanted next."""


class Bytes(Protocol):
    def __getitem__(self, where: slice, /) -> Iterable[int]: ...


class _Fence:
    """Keeps loads and stores on either side of it in their order, on processors that would exchange them: a release
    followed by an acquire."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def __call__(self) -> None:
        self._lock.release()
        self._lock.acquire()


class Writer:
    """Args:
    control: at least `CONTROL` bytes, zeros at first; readers write their slots.
    ring: the ring.
    """

    def __init__(self, control: memoryview, ring: memoryview) -> None:
        self._words = control.cast("Q")
        self._ring = ring
        self._fence = _Fence()
        self.size = len(ring)
        self.end = 0
        """Of what is written; it may be beyond what is published."""

    @property
    def floor(self) -> int:
        return self._words[_FLOOR]

    def floor_after(self, size: int) -> int:
        """Where `floor` will be once `size` more bytes are written."""
        return max(self.floor, self.end + size - self.size)

    def write(self, piece: memoryview) -> None:
        """At most as many bytes as the ring has."""
        floor = self.floor_after(len(piece))
        if floor > self.floor:
            self._words[_FLOOR] = floor
            self._fence()
        at = self.end % self.size
        first = min(len(piece), self.size - at)
        self._ring[at : at + first] = piece[:first]
        self._ring[: len(piece) - first] = piece[first:]
        self.end += len(piece)

    def publish(self, end: int) -> None:
        """Everything before `end` may be read."""
        self._fence()
        self._words[_HEAD] = end
        self._fence()

    def cursors(self, slots: Iterable[int]) -> list[int]:
        """Of those of these slots that read now."""
        words = self._words
        found = [words[_FIRST_SLOT + slot * _WORDS + _CURSOR] for slot in slots]
        return [cursor - 1 for cursor in found if cursor]

    def waiting(self, slots: Iterable[int]) -> list[int]:
        """Those of these slots that wait for something new; they do so no longer."""
        found = []
        for slot in slots:
            word = _FIRST_SLOT + slot * _WORDS + _WAITING
            if self._words[word]:
                self._words[word] = 0
                found.append(slot)
        return found

    def free(self, slot: int) -> None:
        word = _FIRST_SLOT + slot * _WORDS
        self._words[word + _CURSOR] = self._words[word + _WAITING] = 0


class Reader:
    """Reads from `begin` on. The slot belongs to this reader alone."""

    def __init__(self, control: memoryview, ring: Bytes, size: int, slot: int) -> None:
        self._words = control.cast("Q")
        self._ring = ring
        self._size = size
        self._slot = _FIRST_SLOT + slot * _WORDS
        self._fence = _Fence()
        self.cursor = 0

    def begin(self, at: int) -> None:
        self.cursor = at
        self._words[self._slot + _CURSOR] = at + 1
        self._fence()

    def rest(self) -> None:
        """Reads no more for now: the writer need not wait for this reader."""
        self._words[self._slot + _CURSOR] = 0

    def read(self, most: int) -> bytes:
        """The next bytes, b"" when there are none yet. Raises Overtaken."""
        cursor = self.cursor
        size = min(self._words[_HEAD] - cursor, most, self._size)
        if size <= 0:
            return b""
        self._fence()
        at = cursor % self._size
        first = min(size, self._size - at)
        data = bytes(self._ring[at : at + first])
        if first < size:
            data += bytes(self._ring[: size - first])
        self._fence()
        if cursor < self._words[_FLOOR]:
            raise Overtaken
        self.cursor = cursor + size
        self._words[self._slot + _CURSOR] = self.cursor + 1
        return data

    def wait(self) -> bool:
        """Asks to be woken; False: there is something to read already."""
        self._words[self._slot + _WAITING] = 1
        self._fence()
        if self._words[_HEAD] > self.cursor:
            self._words[self._slot + _WAITING] = 0
            return False
        return True
