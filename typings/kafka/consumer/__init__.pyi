from collections.abc import Collection, Sequence
from typing import Any, Literal, TypedDict, type_check_only

from kafka.consumer.fetcher import ConsumerRecord
from kafka.structs import TopicPartition
from typing_extensions import Unpack

@type_check_only
class ConsumerConfig(TypedDict, total=False):
    """Those of `KafkaConsumer.DEFAULT_CONFIG` that are used here. Without deserializers, as keys and values of
    `ConsumerRecord` are bytes."""

    bootstrap_servers: str | Sequence[str]
    proxy_url: str | None
    group_id: str | None
    enable_auto_commit: bool
    auto_offset_reset: Literal["earliest", "latest", "none"]
    isolation_level: str
    allow_auto_create_topics: bool
    fetch_max_wait_ms: float
    max_partition_fetch_bytes: int
    fetch_max_bytes: int
    max_poll_records: int
    reconnect_backoff_ms: float
    reconnect_backoff_max_ms: float

class KafkaConsumer:
    DEFAULT_CONFIG: dict[str, Any]
    def __init__(self, *topics: str, **configs: Unpack[ConsumerConfig]) -> None: ...
    def assign(self, partitions: Collection[TopicPartition]) -> None: ...
    def close(self, autocommit: bool = True, timeout_ms: float | None = None) -> None: ...
    def end_offsets(
        self, partitions: Collection[TopicPartition], timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]: ...
    def partitions_for_topic(self, topic: str) -> set[int] | None: ...
    def poll(
        self, timeout_ms: float = 0, max_records: int | None = None, update_offsets: bool = True
    ) -> dict[TopicPartition, list[ConsumerRecord]]: ...
    def position(self, partition: TopicPartition, timeout_ms: float | None = None) -> int: ...
    def seek(self, partition: TopicPartition, offset: int) -> None: ...
    def seek_to_beginning(self, *partitions: TopicPartition) -> Any: ...
    def seek_to_end(self, *partitions: TopicPartition) -> Any: ...
    def topics(self) -> set[str]: ...
