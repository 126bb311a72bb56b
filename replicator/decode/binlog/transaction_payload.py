"""Decompresses TRANSACTION_PAYLOAD events (MySQL `payload_event_buffer_istream.cpp`).

The body is a list of (field, length, value), all length-encoded integers, that a field 0 ends, and then the events,
each with a header of its own and without a checksum. They are decompressed piece by piece: what is held is the
compressed event, zstd's window (8 MiB at ordinary levels, 128 at most), one piece, and the longest event inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import msgspec
import zstandard

from replicator.decode.binlog import event_types, unsupported_events
from replicator.decode.binlog.framing import Event, Pieces, event_end
from replicator.decode.values.byte_reader import ByteReader

PIECE: Final = 1 << 20
"""Decompressed bytes that are held and decoded at a time, where no event is longer."""

LONGEST: Final = 256 << 20
"""Bytes of one decompressed event at most. Two images of a row of 64 MB fit; a few bytes that claim 4 GB do not."""

NOT_INSIDE: Final = frozenset(
    {
        event_types.TRANSACTION_PAYLOAD,
        event_types.FORMAT_DESCRIPTION,
        event_types.ROTATE,
        event_types.STOP,
        event_types.PREVIOUS_GTIDS,
        event_types.GTID,
        event_types.ANONYMOUS_GTID,
        event_types.GTID_TAGGED,
        event_types.HEARTBEAT,
        event_types.HEARTBEAT_V2,
        event_types.INCIDENT,
    }
)
"""Events that are never part of a transaction's changes."""

Take: TypeAlias = Callable[[bytes, int, bool], int]
"""(buffer, where an event begins, whether the buffer holds the payload's last event) -> where the first event begins
that was not taken. Unless the buffer holds the payload's last event, an event may be taken only when the one behind it
is whole in the buffer, too."""

_END, _SIZE, _COMPRESSION, _UNCOMPRESSED = range(4)
_ZSTD: Final = 0
_NONE: Final = 255


class Payload(msgspec.Struct, frozen=True):
    """size: of `body`, which starts at `start`, in bytes; uncompressed: what it decompresses to."""

    start: int
    size: int
    compression: int
    uncompressed: int


def header(b: bytes, p: int, end: int) -> Payload:
    """Raises DecodeError: E2302 for fields that can't be right, E2301 for a compression that is not known."""
    reader = ByteReader(b, p, end, "a compressed transaction")
    fields: dict[int, int] = {}
    while (field := reader.packed()) != _END:
        part = reader.part(reader.packed())
        if field in fields:
            raise unsupported_events.structure("a compressed transaction has a duplicate field", f"field {field}")
        if field <= _UNCOMPRESSED:  # later fields may be other than numbers
            fields[field] = part.packed()
            if part:
                raise unsupported_events.structure(
                    "a field of a compressed transaction has an invalid length", f"field {field}"
                )
    size, compression = fields.get(_SIZE, -1), fields.get(_COMPRESSION, _NONE)
    if size != end - reader.at:
        raise unsupported_events.structure(
            "the stated size of a compressed transaction is wrong", f"{size}, not {end - reader.at} bytes"
        )
    if compression not in (_ZSTD, _NONE):
        raise unsupported_events.compression(compression)
    uncompressed = size if compression == _NONE else fields.get(_UNCOMPRESSED, -1)
    return Payload(reader.at, size, compression, uncompressed)


def inside(b: bytes, p: int, end: int, take: Take | None = None) -> Iterator[Event]:
    """The events in the payload whose header starts at `p`. Each piece comes first, as an event without bytes: (piece,
    0, 0). The last event, which commits, comes only once the payload has proved to be as long as it states.

    Args:
        take: asked before each event but the last one.

    Raises:
        DecodeError: E2301, E2302.
    """
    payload = header(b, p, end)
    waiting, found, rest = Pieces(), 0, b""
    for piece in _pieces(payload, memoryview(b)[payload.start : end]):
        found += len(piece)
        if found > payload.uncompressed:
            break
        yield piece, 0, 0
        buffer = waiting.join(piece)
        if buffer is None:
            continue
        at = 0
        while True:
            if take is not None:
                at = take(buffer, at, False)
            behind = event_end(buffer, at, LONGEST)
            after = event_end(buffer, behind, LONGEST) if behind <= len(buffer) else behind
            if after > len(buffer):
                break
            yield buffer, at, behind
            at = behind
        rest = buffer[at:]
        waiting.keep(rest, after - at)
    held = b"".join(waiting.kept)
    last = event_end(held, 0, LONGEST) if held else 0
    left = len(held) - last if last <= len(held) else len(held)
    if found != payload.uncompressed or left:
        raise unsupported_events.structure(
            "a compressed transaction does not have its stated size",
            f"{found} of {payload.uncompressed} bytes, {left} after its last complete event",
        )
    if held:
        yield held, 0, last


class Inflater:
    """Decompresses payloads of one piece, in one thread. Its context is kept: it takes longer to make than to use."""

    def __init__(self) -> None:
        self._open = zstandard.ZstdDecompressor().stream_reader

    def __call__(self, body: bytes, uncompressed: int) -> bytes | None:
        """The events, or one byte more than `uncompressed` of them; None: the body is damaged, as `inside` says."""
        try:
            found: bytes = self._open(body, read_across_frames=True).read(uncompressed + 1)
        except zstandard.ZstdError:
            return None
        return found


def rest_of(buffer: bytes, at: int, take: Take) -> Iterator[Event]:
    """The events from `at` on of a whole payload whose events are known to be whole."""
    while (at := take(buffer, at, True)) < len(buffer):
        behind = event_end(buffer, at, LONGEST)
        yield buffer, at, behind
        at = behind


def _pieces(payload: Payload, body: memoryview) -> Iterator[bytes]:
    if payload.compression == _NONE:
        for at in range(0, payload.size, PIECE):
            yield bytes(body[at : at + PIECE])
        return
    reader = zstandard.ZstdDecompressor().stream_reader(body, read_across_frames=True)
    try:
        while piece := reader.read(PIECE):
            yield piece
    except zstandard.ZstdError as error:
        raise unsupported_events.structure("a compressed transaction can't be decompressed", str(error)) from error
