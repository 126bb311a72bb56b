"""A topic with its partitions and limits, as the sink uses it."""

from __future__ import annotations

BATCH_BYTES = 896 << 10


class Topic:
    """Attributes:
    partitions: the number that keys are spread over.
    record_bytes: the most that one record may have.
    batch_bytes: the size at which a batch is closed; lowered when the broker refuses one.
    recorded: the number of partitions is in the task's counts topic.
    lenient: larger records go elsewhere, so that a refused one only lowers `record_bytes`.
    """

    __slots__ = ("_refused", "batch_bytes", "lenient", "name", "partitions", "record_bytes", "recorded")

    def __init__(self, name: str, partitions: int, record_bytes: int, *, lenient: bool = False) -> None:
        self.name = name
        self.partitions = partitions
        self.lenient = lenient
        self.recorded = False
        self._refused: int | None = None
        self.batch_bytes = BATCH_BYTES
        self.limit(record_bytes)

    def limit(self, record_bytes: int) -> None:
        """What is allowed now, as far as the broker lets it be known; what it refused before stays refused."""
        self.record_bytes = record_bytes if self._refused is None else min(record_bytes, self._refused)
        self.batch_bytes = max(1, min(self.batch_bytes, self.record_bytes))

    def refused(self, record_bytes: int) -> None:
        """The broker has refused a record of this size."""
        self._refused = max(1, record_bytes - 1)
        self.limit(self.record_bytes)
