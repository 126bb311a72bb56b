from typing import Any, NamedTuple

from kafka.future import Future
from kafka.structs import TopicPartition

class RecordMetadata(NamedTuple):
    topic: str
    partition: int
    topic_partition: TopicPartition
    offset: int
    timestamp: int
    checksum: int | None
    serialized_key_size: int
    serialized_value_size: int
    serialized_header_size: int

class FutureRecordMetadata(Future[RecordMetadata]):
    def __init__(
        self,
        produce_future: Any,
        batch_index: int,
        timestamp_ms: int | None,
        checksum: int | None,
        serialized_key_size: int,
        serialized_value_size: int,
        serialized_header_size: int,
    ) -> None: ...
    def get(self, timeout: float | None = None) -> RecordMetadata: ...
