"""EndTxn: commits or aborts a transaction; with transaction protocol 2 the reply has the next producer epoch."""

from __future__ import annotations

from typing import Final, NamedTuple

from replicator.kafka import wire
from replicator.kafka.wire import Reader

KEY: Final = 26
VERSIONS: Final = (3, 5)
SECOND_PROTOCOL: Final = 5
"""First version in which the broker gives the producer its next epoch."""


class Ended(NamedTuple):
    """producer_id, epoch: those from now on; -1: as before."""

    throttle_ms: int
    error: int
    producer_id: int = -1
    epoch: int = -1


def request(transactional_id: str, producer_id: int, epoch: int, *, commit: bool) -> bytes:
    identity = wire.compact_string(transactional_id) + wire.int64(producer_id) + wire.int16(epoch)
    return identity + wire.boolean(commit) + wire.NO_TAGS


def reply(reader: Reader, version: int) -> Ended:
    throttle, error = reader.int32(), reader.int16()
    producer_id, epoch = (reader.int64(), reader.int16()) if version >= SECOND_PROTOCOL else (-1, -1)
    reader.skip_tags()
    return Ended(throttle, error, producer_id, epoch)
