"""Follows the events of a dump from packet to packet: where they end, in the stream and in the binlog.

Only headers are looked at. The compiled loop skips over ordinary events that are whole; everything else is read here.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from typing import Final

from replicator import compiled

_EVENT: Final = struct.Struct("<IBIIIH")  # timestamp, type, server id, size, end position, flags
_HEADER: Final = 5 + _EVENT.size  # packet header, status byte, event header
_LONGEST: Final = 0xFFFFFF
_ARTIFICIAL: Final = 0x20
_ROTATE, _DESCRIPTION, _HEARTBEAT = 4, 15, 27
_LONGEST_NAME: Final = 1024
_MODULO: Final = 1 << 32
_CHECKSUM: Final = 4

Skip = Callable[[memoryview, int, int], tuple[int, int]]


def _skip_nothing(data: memoryview, offset: int, target: int) -> tuple[int, int]:
    return 0, offset


def compiled_skip() -> Skip:
    """(data, offset, target) -> (bytes of whole ordinary events at its beginning, where the last of them ends)."""
    return compiled.module("framing").skip if compiled.available() else _skip_nothing


class EventWalk:
    """
    Attributes:
        file, offset: where the last whole event ends in the binlog; "" until the stream has said so.
        created: when that file was, s since the epoch: after a reset another file has its name.
        boundary: bytes of the stream up to there.
        safe: bytes of the stream that belong to events, whole or not.
        total: bytes of the stream that were looked at.
        ended: the server has ended the stream, with an error or without; nothing behind `safe` is read.
        lost: the stream has gone back: no position can be trusted any more.
    """

    def __init__(self, skip: Skip | None = None) -> None:
        self._skip = skip or compiled_skip()
        self.file, self.offset, self.created = "", 0, 0
        self.boundary = self.safe = 0
        self.ended = self.lost = False
        self.total = 0
        self._head = bytearray()  # of a packet of which not enough is there
        self._rest = 0  # bytes of the packet that are still to come
        self._continues = False  # the event goes on in the next packet
        self._after: tuple[str, int] | None = None  # file and offset behind the present event

    @property
    def between(self) -> bool:
        """What was read ends with an event."""
        return self.boundary == self.total

    def feed(self, data: memoryview, target: int | None = None) -> None:
        """Goes on over `data`. `target`: stops behind the event of the present file that ends there; then `boundary`
        is the place, and the walk is not fed any more."""
        at, size = 0, len(data)
        while at < size and not self.ended:
            if self._rest:
                step = min(self._rest, size - at)
                at, self._rest, self.total = at + step, self._rest - step, self.total + step
                if not self._rest and not self._continues:
                    self._event_ends()
            elif not self._head and not self._continues and (step := self._ordinary(data[at:], target)):
                at += step
            else:
                step = self._read_head(data[at:])
                at += step
                self.total += step
            if target is not None and self.offset == target and self.boundary == self.total:
                return
        if not self.ended:
            self.safe = self.total - len(self._head)

    def _ordinary(self, data: memoryview, target: int | None) -> int:
        step, offset = self._skip(data, self.offset, -1 if target is None else target)
        if step:
            self.total += step
            self.offset, self.boundary = offset, self.total
        return step

    def _read_head(self, data: memoryview) -> int:
        """Takes the beginning of a packet, as far as it is there. Returns the bytes taken."""
        before = len(self._head)
        while (wanted := self._wanted()) > len(self._head):
            piece = data[len(self._head) - before : wanted - before]
            if not piece:
                return len(self._head) - before
            self._head += piece
        head, self._head = bytes(self._head), bytearray()
        taken = len(head) - before
        length = int.from_bytes(head[:3], "little")
        if not self._continues:
            if length == 0 or head[4] != 0 or len(head) < _HEADER:
                self.safe, self.ended = self.total + taken - len(head), True
                return taken
            self._after = self._behind(head)
        self._continues = length == _LONGEST
        self._rest = 4 + length - len(head)
        if not self._rest and not self._continues:
            self.total += taken  # `_event_ends` counts from here
            self._event_ends()
            self.total -= taken
        return taken

    def _wanted(self) -> int:
        """Bytes of the packet that have to be read at once: a ROTATE event to its end."""
        if len(self._head) < 4:
            return 4
        whole = 4 + int.from_bytes(self._head[:3], "little")
        if self._continues:
            return 4
        if len(self._head) < _HEADER:
            return min(_HEADER, whole)
        return whole if self._head[9] == _ROTATE and whole < _LONGEST_NAME else _HEADER

    def _behind(self, head: bytes) -> tuple[str, int]:
        stamp, kind, _, _, end, flags = _EVENT.unpack_from(head, 5)
        if kind == _DESCRIPTION:
            self.created = stamp
        if kind == _ROTATE and (end == 0 or flags & _ARTIFICIAL):
            return _rotated(head[5:])
        if end == 0 or flags & _ARTIFICIAL or not self.file:
            return self.file, self.offset
        forward = (end - self.offset) % _MODULO
        if forward >= _MODULO // 2:
            self.lost = self.lost or kind != _HEARTBEAT
            return self.file, self.offset
        return self.file, self.offset + forward

    def _event_ends(self) -> None:
        if self._after is not None:
            self.file, self.offset = self._after
        self.boundary = self.total


def _rotated(event: bytes) -> tuple[str, int]:
    """The place that an artificial ROTATE names. Whether it has a checksum is seen from the event itself."""
    if zlib.crc32(event[:-_CHECKSUM]) == int.from_bytes(event[-_CHECKSUM:], "little"):
        event = event[:-_CHECKSUM]
    (offset,) = struct.unpack_from("<Q", event, _EVENT.size)
    return event[_EVENT.size + 8 :].decode("utf-8", "replace"), offset
