"""Takes a source's stream apart into events, with nothing of the decoder's: for tests of sources."""

from __future__ import annotations

import re
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass

from replicator.pipeline.ports import Stream
from tests.support.present import present

ARTIFICIAL = 0x20
ENDS = frozenset({16})  # XID
_NAME = re.compile(rb"[a-z]+\.\d{6}")
GTIDS = frozenset({33, 34, 42, 162})  # MySQL's, anonymous, tagged, MariaDB's


@dataclass(frozen=True)
class Event:
    """`end`: offset after it in `file`, 0 for artificial events."""

    type: int
    file: str
    end: int
    flags: int
    body: bytes


class ErrorPacket(Exception):
    def __init__(self, errno: int, sqlstate: str, message: str) -> None:
        super().__init__(errno, sqlstate, message)


class Walker:
    """Iterates over the events of `stream`; ends when nothing came for `quiet` seconds, but not before `least`
    transactions have ended (a busy machine may be slow to send them) or 20 seconds have passed."""

    def __init__(self, stream: Stream, quiet: float = 0.4, least: int = 0) -> None:
        self._stream, self._quiet, self._least = stream, quiet, least
        self._buffer = bytearray()
        self._file = ""

    def __iter__(self) -> Iterator[Event]:
        latest = time.monotonic() + 20
        deadline = time.monotonic() + self._quiet
        while time.monotonic() < (deadline if self._least <= 0 else latest):
            data = self._stream.read(0.05)
            self._buffer += data
            for raw in self._whole():
                event = self._event(raw)
                self._least -= event.type in ENDS
                if event.type != 27:  # a heartbeat is quiet
                    deadline = time.monotonic() + self._quiet
                yield event

    def _whole(self) -> Iterator[bytes]:
        if self._stream.framing == "file":
            while len(self._buffer) >= 19:
                size = struct.unpack_from("<I", self._buffer, 9)[0]
                if len(self._buffer) < size:
                    return
                raw = bytes(self._buffer[:size])
                del self._buffer[:size]
                yield raw
            return
        while (packet := self._packet()) is not None:
            if packet[0] == 0xFF:
                errno = struct.unpack_from("<H", packet, 1)[0]
                raise ErrorPacket(errno, packet[4:9].decode(), packet[9:].decode())
            assert packet[0] == 0, packet[:20]
            yield packet[1:]

    def _packet(self) -> bytes | None:
        parts, at = [], 0
        while len(self._buffer) >= at + 4:
            size = int.from_bytes(self._buffer[at : at + 3], "little")
            if len(self._buffer) < at + 4 + size:
                return None
            parts.append(bytes(self._buffer[at + 4 : at + 4 + size]))
            at += 4 + size
            if size < 0xFFFFFF:
                del self._buffer[:at]
                return b"".join(parts)
        return None

    def _event(self, raw: bytes) -> Event:
        _, kind, _, size, end, flags = struct.unpack_from("<IBIIIH", raw)
        assert size == len(raw)
        if kind == 4:
            self._file = present(_NAME.match(raw[27:]))[0].decode()  # a checksum may follow
        return Event(kind, self._file, end, flags, raw[19:])


def transactions(stream: Stream, least: int = 0) -> int:
    """How many transactions end in what the stream sends until it is quiet; see Walker for `least`."""
    return sum(event.type in ENDS for event in Walker(stream, least=least))
