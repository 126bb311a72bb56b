"""The parts of the binlog's layout that a source needs to send a file as a server does.

A server begins a stream, and each further file, with an artificial ROTATE event that names file and offset, then the
file's format description, then the events from the offset on. Sources without a server do the same, so that decoders
know one order only.
"""

from __future__ import annotations

import struct
import zlib

from replicator.errors import SourceError
from replicator.model.description import algorithm, tells_checksum

MAGIC = b"\xfebin"
HEADER = len(MAGIC)  # offset of a file's first event
_EVENT = struct.Struct("<IBIIIH")  # timestamp, type, server id, size, end position, flags
_ROTATE = 4
_FORMAT_DESCRIPTION = 15
_ARTIFICIAL = 0x20
_CRC32 = 1
_PACKET = 0xFFFFFF
_BETWEEN_TRANSACTIONS = frozenset({3, 4, 15, 26, 33, 34, 35, 42, 161, 162, 163, 164})
"""STOP, ROTATE, FORMAT_DESCRIPTION, INCIDENT, GTID, ANONYMOUS_GTID, PREVIOUS_GTIDS, GTID_TAGGED;
MariaDB: BINLOG_CHECKPOINT, GTID, GTID_LIST, START_ENCRYPTION."""


def opening(file: str, offset: int, head: bytes) -> bytes:
    """What is sent before the events at `offset`. `head`: the file's first bytes, magic number included.

    Raises SourceError E2302 when that is no binlog file.
    """
    description = format_description(file, head)
    rotate = artificial_rotate(file, offset, description)
    return rotate if offset == HEADER else rotate + _repeated(description)


def _repeated(description: bytes) -> bytes:
    """Without an end position: the stream has passed it."""
    event = bytearray(description)
    struct.pack_into("<I", event, 13, 0)
    if tells_checksum(description[_EVENT.size :]):
        struct.pack_into("<I", event, len(event) - 4, zlib.crc32(event[:-4]))
    return bytes(event)


def artificial_rotate(file: str, offset: int, description: bytes) -> bytes:
    """The event that says where the following ones come from; with a checksum when the file's own events have one."""
    body = struct.pack("<Q", offset) + file.encode()
    checksum = has_checksum(description)
    size = _EVENT.size + len(body) + (4 if checksum else 0)
    server_id = _EVENT.unpack_from(description)[2]
    event = _EVENT.pack(0, _ROTATE, server_id, size, 0, _ARTIFICIAL) + body
    return event + struct.pack("<I", zlib.crc32(event)) if checksum else event


def format_description(file: str, head: bytes) -> bytes:
    """The first event of a binlog file. `head`: its first bytes, magic number included. Raises SourceError E2302."""
    if head[:HEADER] == MAGIC and len(head) >= HEADER + _EVENT.size:
        _, kind, _, size, _, _ = _EVENT.unpack_from(head, HEADER)
        if kind == _FORMAT_DESCRIPTION and len(head) >= HEADER + size:
            return head[HEADER : HEADER + size]
    raise SourceError(
        "E2302", f"{file} is not a binlog file", found=head[:8].hex(), wanted="fe62696e and a description"
    )


def has_checksum(description: bytes) -> bool:
    return algorithm(description[_EVENT.size :]) == _CRC32


def starts_transaction(head: bytes, offset: int) -> bool:
    """Whether a stream may begin with the event at `offset` of its file, of which `head` is the first 19 bytes."""
    if len(head) < _EVENT.size:
        return False
    _, kind, _, size, end, _ = _EVENT.unpack_from(head)
    return kind in _BETWEEN_TRANSACTIONS and end == (offset + size) & 0xFFFFFFFF


def packets(event: bytes) -> bytes:
    """An event as on the wire: status byte 0 in front, split into packets of at most 16 MB. Sequence numbers are 0."""
    body = b"\0" + event
    pieces = [body[at : at + _PACKET] for at in range(0, len(body) + 1, _PACKET)]
    return b"".join(struct.pack("<I", len(piece)) + piece for piece in pieces)


def split_events(data: bytes) -> list[bytes]:
    """Whole events that stand back to back."""
    found, at = [], 0
    while at < len(data):
        size = _EVENT.unpack_from(data, at)[3]
        found.append(data[at : at + size])
        at += size
    return found
