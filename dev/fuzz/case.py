"""A fuzz case: a few choices and a list of events, as bytes that a fuzzer can mutate.

    form 1, switches 1, piece 1, damage at 2, damage 1, then for each event: length 2, type 1, flags 1, body

Headers, sizes, end positions and checksums are made anew, so that bent bytes reach the code behind the checks; the
damage comes on top, behind the checksums' back.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from replicator.source.binlog_layout import packets

_HEAD: Final = struct.Struct("<BBBHB")
_EVENT: Final = struct.Struct("<HBB")
_HEADER: Final = struct.Struct("<IBIIIH")
_FORMAT_DESCRIPTION: Final = 15
_NO_POSITION: Final = frozenset({4})
"""Artificial ROTATEs have no end position."""
_MARIADB, _PACKETS, _PARTIAL, _CHECKSUMS = 1, 2, 4, 8
_IN_USE: Final = 1
"""The flag of a file that is being written is not in its checksum."""
_STAMP: Final = 1_700_000_000


@dataclass(frozen=True)
class Case:
    """
    Attributes:
        form: chooses a format.
        piece: the stream is cut into pieces of 16 times as many bytes; 0: it is not cut.
        at, damage: one byte of the stream is changed by exclusive or; 0: none.
        events: (type, flags, body without checksum).
    """

    form: int = 0
    switches: int = _CHECKSUMS
    piece: int = 0
    at: int = 0
    damage: int = 0
    events: tuple[tuple[int, int, bytes], ...] = field(default=())

    @property
    def flavor(self) -> Literal["mysql", "mariadb"]:
        return "mariadb" if self.switches & _MARIADB else "mysql"

    @property
    def framing(self) -> Literal["packet", "file"]:
        return "packet" if self.switches & _PACKETS else "file"

    @property
    def row_image(self) -> Literal["require_full", "accept_partial"]:
        return "accept_partial" if self.switches & _PARTIAL else "require_full"

    @property
    def checksums(self) -> bool:
        return bool(self.switches & _CHECKSUMS)

    @classmethod
    def parse(cls, data: bytes) -> Case:
        """Any bytes are a case."""
        if len(data) < _HEAD.size:
            return cls()
        found, at = [], _HEAD.size
        while at + _EVENT.size <= len(data):
            size, kind, flags = _EVENT.unpack_from(data, at)
            at += _EVENT.size
            found.append((kind, flags, data[at : at + size]))
            at += size
        form, switches, piece, where, damage = _HEAD.unpack_from(data)
        return cls(form, switches, piece, where, damage, tuple(found))

    def pack(self) -> bytes:
        head = _HEAD.pack(self.form, self.switches, self.piece, self.at, self.damage)
        return head + b"".join(
            _EVENT.pack(len(body), kind, flags) + body for kind, flags, body in self.events if len(body) < 1 << 16
        )

    def before_damage(self) -> Case:
        """The events in front of the one that is damaged; in a file."""
        at, count = self.at % max(1, len(self.stream())), 0
        for event in self.raw():
            if len(event) > at:
                break
            at, count = at - len(event), count + 1
        return replace(self, damage=0, events=self.events[:count])

    def raw(self) -> list[bytes]:
        """The events as they stand in a file, and damaged."""
        found, offset = [], 4
        for kind, flags, body in self.events:
            event = self._event(kind, flags, body, offset)
            offset += len(event)
            found.append(event)
        return found

    def stream(self) -> bytes:
        events = self.raw()
        data = bytearray(b"".join(map(packets, events)) if self.framing == "packet" else b"".join(events))
        if self.damage and data:
            data[self.at % len(data)] ^= self.damage
        return bytes(data)

    def pieces(self) -> list[bytes]:
        data, size = self.stream(), 16 * self.piece
        return [data[at : at + size] for at in range(0, len(data), size)] if size else [data]

    def _event(self, kind: int, flags: int, body: bytes, offset: int) -> bytes:
        described = kind == _FORMAT_DESCRIPTION and bool(body)
        if described:
            body, flags = body[:-1] + bytes((self.checksums,)), flags & ~_IN_USE
        summed = self.checksums or described
        size = _HEADER.size + len(body) + (4 if summed else 0)
        end = 0 if kind in _NO_POSITION and flags & 0x20 else (offset + size) & 0xFFFFFFFF
        event = _HEADER.pack(_STAMP, kind, 1, size, end, flags) + body
        return event + struct.pack("<I", zlib.crc32(event)) if summed else event


def cases(raw: bytes, *, mariadb: bool, most: int = 4) -> list[Case]:
    """A recorded file as cases of a few transactions each. `raw`: behind the magic."""
    events = list(_events(raw))
    head = [event for event in events if event[0] == _FORMAT_DESCRIPTION][:1]
    groups: list[list[tuple[int, int, bytes]]] = [[]]
    for event in events:
        if event[0] in (33, 34, 42, 162):
            groups.append([])
        if event[0] != _FORMAT_DESCRIPTION and len(event[2]) < 1 << 14:
            groups[-1].append(event)
    switches = _CHECKSUMS | (_MARIADB if mariadb else 0)
    return [
        Case(switches=switches, events=(*head, *(event for group in groups[at : at + most] for event in group)))
        for at in range(0, len(groups), most)
    ]


def _events(raw: bytes) -> list[tuple[int, int, bytes]]:
    found: list[tuple[int, int, bytes]] = []
    at, summed = 0, True
    while at + _HEADER.size <= len(raw):
        _, kind, _, size, _, flags = _HEADER.unpack_from(raw, at)
        event = raw[at : at + size]
        if kind == _FORMAT_DESCRIPTION:
            summed = event[-5] == 1
        body = event[_HEADER.size : -4 if summed or kind == _FORMAT_DESCRIPTION else None]
        found.append((kind, flags & 0xFF, body))
        at += size
    return found
