"""A record batch that is bytes already, in the place of the library's own."""

from __future__ import annotations

import struct
from typing import Any

from crc32c import crc32c

from replicator.sink.kafka.compression import Codec
from replicator.sink.kafka.records import BATCH_OVERHEAD
from replicator.sink.kafka.requests import framed

_HEADER = struct.Struct(">qiibIhiqqqhii")
_CRC_AT = 17
_CRC_FROM = 21
_LENGTH_FROM = 12
_TRANSACTIONAL = 0x10


class Prebuilt:
    """A batch whose records are bytes already; stands where the sender expects its own MemoryRecordsBuilder."""

    __slots__ = (
        "_closed",
        "_code",
        "_count",
        "_room",
        "_time_ms",
        "_transactional",
        "base_sequence",
        "number",
        "producer_epoch",
        "producer_id",
    )

    def __init__(self, count: int, room: memoryview, time_ms: int, code: int = 0, *, number: int = 0) -> None:
        """`room`: as many bytes as the batch's header takes, and the records behind them, compressed as `code` says;
        in a frame (`requests.py`).
        `number`: higher than those of the batches before it."""
        self.number = number
        self._count = count
        self._code = code
        self._room = room
        self._time_ms = time_ms
        self._transactional = False
        self._closed = False
        self.producer_id = -1
        self.producer_epoch = -1
        self.base_sequence = -1

    def append(self, *_: Any) -> None:
        """Nothing can be appended: the accumulator then opens a batch of its own."""

    def is_full(self) -> bool:
        return True

    def next_offset(self) -> int:
        return self._count

    def size_in_bytes(self) -> int:
        return len(self._room)

    def compression_rate(self) -> float:
        return 1.0

    def set_producer_state(self, producer_id: int, producer_epoch: int, sequence: int, transactional: bool) -> None:
        """Called once, when the batch leaves for the first time; a retry keeps its identity and sequence."""
        self.producer_id, self.producer_epoch = producer_id, producer_epoch
        self.base_sequence, self._transactional = sequence, transactional

    def close(self) -> None:
        """Writes the header; later calls change nothing."""
        if self._closed:
            return
        self._closed = True
        room = self._room
        _HEADER.pack_into(
            room,
            0,
            0,  # base offset: the broker's
            len(room) - _LENGTH_FROM,
            0,  # partition leader epoch: the broker's
            2,  # magic
            0,  # crc, below
            self._code | (_TRANSACTIONAL if self._transactional else 0),
            self._count - 1,
            self._time_ms,
            self._time_ms,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self._count,
        )
        struct.pack_into(">I", room, _CRC_AT, crc32c(room[_CRC_FROM:]))

    def buffer(self) -> memoryview | None:
        return self._room if self._closed else None


def compressed(batch: memoryview, codec: Codec) -> tuple[memoryview, int]:
    """The same batch with its records compressed, and the code of that; as it was, and 0, where that is not smaller."""
    records = batch[BATCH_OVERHEAD:]
    smaller = codec.compress(records)
    return (framed(smaller), codec.code) if len(smaller) < len(records) else (batch, 0)
