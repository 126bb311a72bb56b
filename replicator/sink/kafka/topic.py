"""A topic as the sink uses it."""

from __future__ import annotations

BATCH_BYTES = 512 << 10


class Topic:
    """Attributes:
    partitions: the number that keys are spread over.
    record_bytes: the most that one record may have.
    batch_bytes: the size at which a batch is closed; lowered when the broker refuses one.
    """

    __slots__ = ("batch_bytes", "name", "partitions", "record_bytes")

    def __init__(self, name: str, partitions: int, record_bytes: int) -> None:
        self.name = name
        self.partitions = partitions
        self.record_bytes = record_bytes
        self.batch_bytes = max(1, min(BATCH_BYTES, record_bytes))
