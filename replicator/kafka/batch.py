"""A record batch (message format v2, KIP-98) whose records are bytes already."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from crc32c import crc32c

Place: TypeAlias = tuple[str, int]
"""A partition: topic and number."""

OVERHEAD: Final = 61
"""Bytes of a batch besides its records."""

_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_CRC: Final = struct.Struct(">I")
_CRC_AT: Final = 17
_CRC_FROM: Final = 21
_LENGTH_FROM: Final = 12
_TRANSACTIONAL: Final = 0x10
_MAGIC: Final = 2

Done: TypeAlias = Callable[[BaseException | None], None]


class Batch:
    """A batch of one partition on its way to the broker.

    Args:
        place: the partition.
        data: `OVERHEAD` bytes for the header, and the records behind them, compressed as `codec` says; writable. They
            may not be changed until the batch is done.
        rest: what comes behind `data`, where that is in several places; likewise.
        count: records.
        time_ms: wall clock, the timestamp of all records.
        done: called once: with None when the batch is durable, else with what failed.
        codec: bits 0 to 2 of the attributes.

    Attributes:
        size: bytes of all of it.
        sequence: of its first record; -1 until the batch is sent for the first time. Sent again, it keeps it.
        number: of the batch among those of its partition.
        created: monotonic time at which it was appended.
    """

    __slots__ = ("codec", "count", "created", "data", "done", "number", "place", "rest", "sequence", "size", "time_ms")

    def __init__(
        self,
        place: Place,
        data: memoryview,
        count: int,
        time_ms: int,
        done: Done,
        codec: int = 0,
        rest: Sequence[memoryview] = (),
    ) -> None:
        self.place = place
        self.data = data
        self.rest = rest
        self.size = len(data) + sum(map(len, rest))
        self.count = count
        self.time_ms = time_ms
        self.done = done
        self.codec = codec
        self.sequence = -1
        self.number = -1
        self.created = 0.0

    def seal(self, producer_id: int, epoch: int, sequence: int, *, transactional: bool) -> None:
        """Writes the header: what identifies the batch for the broker."""
        self.sequence = sequence
        data = self.data
        _HEADER.pack_into(
            data,
            0,
            0,  # base offset: the broker's
            self.size - _LENGTH_FROM,
            0,  # partition leader epoch: the broker's
            _MAGIC,
            0,  # crc, below
            self.codec | (_TRANSACTIONAL if transactional else 0),
            self.count - 1,
            self.time_ms,
            self.time_ms,
            producer_id,
            epoch,
            sequence,
            self.count,
        )
        crc = crc32c(data[_CRC_FROM:])
        for piece in self.rest:
            crc = crc32c(piece, crc)
        _CRC.pack_into(data, _CRC_AT, crc)
