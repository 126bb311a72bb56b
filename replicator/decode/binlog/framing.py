"""Splits a byte stream into binlog events: packets of a connection, or the contents of a binlog file.

Events are walked in place: what is yielded is a buffer and two offsets into it, nothing is copied but the incomplete
event at the end of a piece. A long event that comes in many pieces is put together once, when it is whole.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Protocol, TypeAlias

from replicator.decode.binlog.event_types import HEADER_SIZE, MAGIC
from replicator.errors import DecodeError, ReplicatorError

Event: TypeAlias = tuple[bytes, int, int]
"""(buffer, offset of the header's first byte, offset after the event's last byte)"""

ServerError: TypeAlias = Callable[[int, str, str], ReplicatorError]
Take: TypeAlias = Callable[[bytes, int], int]
"""(buffer, where an event's frame begins) -> where the first one begins that is not taken by somebody else"""


_MAX_PAYLOAD = 0xFFFFFF
_LENGTH = struct.Struct("<I").unpack_from


def event_end(buffer: bytes, at: int, longest: int) -> int:
    """Where the event at `at` ends, or its header where not all of that is there: behind the buffer if it is not whole.

    Raises:
        DecodeError: E2302, no event is as short, or as long.
    """
    if at + HEADER_SIZE > len(buffer):
        return at + HEADER_SIZE
    length: int = _LENGTH(buffer, at + 9)[0]
    if not HEADER_SIZE <= length <= longest:
        raise _damaged(f"an event of {length} bytes")
    return at + length


class Framing(Protocol):
    ended: bool
    """The server said that nothing follows (EOF packet of a dump that was asked not to wait)."""

    def split(self, data: bytes) -> Iterator[Event]:
        """The events that `data` completes, in order. To be exhausted before the next call.

        Raises:
            DecodeError: E2302, lengths that can't be right.
            ReplicatorError: made by `server_error`, an ERR packet.
        """
        ...


class Pieces:
    """Bytes that wait for the rest of an event. Joined only once the wanted length is there: linear in it."""

    def __init__(self) -> None:
        self.kept: list[bytes] = []
        self._size = 0
        self._wanted = 0

    @property
    def held(self) -> int:
        return self._size if self.kept else 0

    def join(self, data: bytes) -> bytes | None:
        """What was kept and `data`; None while that is still too short."""
        if not self.kept:
            return data
        self.kept.append(data)
        self._size += len(data)
        if self._size < self._wanted:
            return None
        whole = b"".join(self.kept)
        self.kept, self._size = [], 0
        return whole

    def keep(self, rest: bytes, wanted: int) -> None:
        """`wanted`: how many bytes it takes at least to go on."""
        if rest:
            self.kept, self._size, self._wanted = [rest], len(rest), wanted


class PacketFraming:
    """Packets of the client/server protocol: length 3, sequence 1, status 1 (0 event, 0xFF error, 0xFE end), event.

    A payload of 16 MiB - 1 continues in the next packet, without a status byte there.

    Args:
        take: asked before each event.
    """

    def __init__(self, server_error: ServerError, take: Take | None = None) -> None:
        self.ended = False
        self._take = take
        self._server_error = server_error
        self._pieces = Pieces()
        self._long: list[bytes] = []  # payloads of an event that spans packets

    def split(self, data: bytes) -> Iterator[Event]:
        buffer = self._pieces.join(data)
        if buffer is None:
            return
        at, size, wanted, take = 0, len(buffer), 4, self._take
        while at + 4 <= size:
            if take is not None and not self._long:
                at = take(buffer, at)
                if at + 4 > size:
                    break
            length = _LENGTH(buffer, at)[0] & _MAX_PAYLOAD
            end = at + 4 + length
            if end > size:
                wanted = 4 + length
                break
            if length == _MAX_PAYLOAD or self._long:
                event = self._assemble(buffer[at + 4 : end], length)
                if event is not None:
                    yield event
            elif length <= HEADER_SIZE or buffer[at + 4]:
                self._special(buffer[at + 4 : end])
            else:
                yield buffer, at + 5, end
            at = end
        self._pieces.keep(buffer[at:], wanted)

    def _assemble(self, payload: bytes, length: int) -> Event | None:
        self._long.append(payload)
        if length == _MAX_PAYLOAD:
            return None
        whole = b"".join(self._long)
        self._long = []
        if whole[0]:
            raise _damaged(f"a packet of {len(whole)} bytes with status {whole[0]}")
        return whole, 1, len(whole)

    def _special(self, payload: bytes) -> None:
        if payload[:1] == b"\xff":
            raise self._error(payload)
        if payload[:1] == b"\xfe" and len(payload) < 9:
            self.ended = True
            return
        raise _damaged(f"a packet of {len(payload)} bytes that starts with {payload[:4].hex() or 'nothing'}")

    def _error(self, payload: bytes) -> ReplicatorError:
        errno = int.from_bytes(payload[1:3], "little")
        state, text = "", payload[3:]
        if text[:1] == b"#":
            state, text = text[1:6].decode("ascii", "replace"), text[6:]
        return self._server_error(errno, state, text.decode("utf-8", "replace"))


class FileFraming:
    """A binlog file: the magic, then events back to back. A stream may also start behind the magic, with an event.

    The magic is looked for in the first bytes alone: later it may be an event's timestamp (September 2028).

    Args:
        magic: False for events that never have it in front.
        longest: bytes of an event at most.
        take: asked before each event.
    """

    def __init__(self, *, magic: bool = True, longest: int = 0xFFFFFFFF, take: Take | None = None) -> None:
        self.ended = False
        self._take = take
        self._pieces = Pieces()
        self._begun = not magic
        self._longest = longest

    @property
    def held(self) -> int:
        """Bytes that wait for the rest of an event."""
        return self._pieces.held

    @property
    def kind(self) -> int:
        """Type of the event that waits for its rest; 0 while that has not come."""
        head = b"".join(self._pieces.kept)[:HEADER_SIZE]
        return head[4] if len(head) > 4 else 0

    def split(self, data: bytes) -> Iterator[Event]:
        buffer = self._pieces.join(data)
        if buffer is None:
            return
        at, size, wanted = 0, len(buffer), HEADER_SIZE
        if not self._begun and size >= len(MAGIC):
            self._begun = True
            at = len(MAGIC) if buffer.startswith(MAGIC) else 0
        while self._begun and at + HEADER_SIZE <= size:
            if self._take is not None:
                at = self._take(buffer, at)
                if at + HEADER_SIZE > size:
                    break
            length = _LENGTH(buffer, at + 9)[0]
            if not HEADER_SIZE <= length <= self._longest:
                raise _damaged(f"an event of {length} bytes")
            if at + length > size:
                wanted = length
                break
            yield buffer, at, at + length
            at += length
        self._pieces.keep(buffer[at:], wanted)


def _damaged(found: str) -> DecodeError:
    return DecodeError("E2302", "the stream can't be split into events", found=found, wanted="whole binlog events")
