"""InitProducerId: a producer id and epoch; for a transactional id it fences and aborts earlier producers."""

from __future__ import annotations

from typing import Final, NamedTuple

from replicator.kafka import wire
from replicator.kafka.wire import Reader

KEY: Final = 22
VERSIONS: Final = (4, 5)
_NONE_YET: Final = wire.int64(-1) + wire.int16(-1)
_NO_TRANSACTIONS_MS: Final = 0x7FFFFFFF


class ProducerId(NamedTuple):
    throttle_ms: int
    error: int
    producer_id: int
    epoch: int


def request(transactional_id: str | None, timeout_ms: int) -> bytes:
    """timeout_ms: after which the broker aborts a transaction by itself."""
    limit = timeout_ms if transactional_id is not None else _NO_TRANSACTIONS_MS
    return wire.compact_string(transactional_id) + wire.int32(limit) + _NONE_YET + wire.NO_TAGS


def reply(reader: Reader) -> ProducerId:
    found = ProducerId(reader.int32(), reader.int16(), reader.int64(), reader.int16())
    reader.skip_tags()
    return found
