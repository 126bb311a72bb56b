"""Classifies brokers' error codes for the producer: retry, refresh metadata or coordinator, or fail."""

from __future__ import annotations

from typing import Final

from kafka.errors import KafkaError, for_code

NONE: Final = 0
CORRUPT_MESSAGE: Final = 2
UNKNOWN_TOPIC_OR_PARTITION: Final = 3
LEADER_NOT_AVAILABLE: Final = 5
NOT_LEADER_OR_FOLLOWER: Final = 6
REQUEST_TIMED_OUT: Final = 7
BROKER_NOT_AVAILABLE: Final = 8
REPLICA_NOT_AVAILABLE: Final = 9
NETWORK_EXCEPTION: Final = 13
COORDINATOR_LOAD_IN_PROGRESS: Final = 14
COORDINATOR_NOT_AVAILABLE: Final = 15
NOT_COORDINATOR: Final = 16
NOT_ENOUGH_REPLICAS: Final = 19
NOT_ENOUGH_REPLICAS_AFTER_APPEND: Final = 20
TOPIC_AUTHORIZATION_FAILED: Final = 29
UNSUPPORTED_VERSION: Final = 35
OUT_OF_ORDER_SEQUENCE: Final = 45
DUPLICATE_SEQUENCE: Final = 46
INVALID_PRODUCER_EPOCH: Final = 47
CONCURRENT_TRANSACTIONS: Final = 51
OPERATION_NOT_ATTEMPTED: Final = 55
KAFKA_STORAGE_ERROR: Final = 56
FENCED_LEADER_EPOCH: Final = 74
UNKNOWN_LEADER_EPOCH: Final = 75
THROTTLING_QUOTA_EXCEEDED: Final = 89
PRODUCER_FENCED: Final = 90
UNKNOWN_TOPIC_ID: Final = 100
INCONSISTENT_TOPIC_ID: Final = 103
REBOOTSTRAP_REQUIRED: Final = 129

STALE_METADATA: Final = frozenset(
    (
        UNKNOWN_TOPIC_OR_PARTITION,
        LEADER_NOT_AVAILABLE,
        NOT_LEADER_OR_FOLLOWER,
        REPLICA_NOT_AVAILABLE,
        NETWORK_EXCEPTION,
        KAFKA_STORAGE_ERROR,
        FENCED_LEADER_EPOCH,
        UNKNOWN_LEADER_EPOCH,
        UNKNOWN_TOPIC_ID,
        INCONSISTENT_TOPIC_ID,
    )
)
"""Another broker may lead the partition."""

RETRY_BATCH: Final = STALE_METADATA | {
    CORRUPT_MESSAGE,
    REQUEST_TIMED_OUT,
    BROKER_NOT_AVAILABLE,
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    NOT_COORDINATOR,
    NOT_ENOUGH_REPLICAS,
    NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    CONCURRENT_TRANSACTIONS,
    THROTTLING_QUOTA_EXCEEDED,
}
"""The same batch, with the same sequence number, may be sent again."""

FIND_COORDINATOR: Final = frozenset((COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR))
"""Another broker may decide on our transactions."""

RETRY_COORDINATOR: Final = frozenset(
    (
        REQUEST_TIMED_OUT,
        COORDINATOR_LOAD_IN_PROGRESS,
        CONCURRENT_TRANSACTIONS,
        UNKNOWN_TOPIC_OR_PARTITION,
        OPERATION_NOT_ATTEMPTED,
        THROTTLING_QUOTA_EXCEEDED,
    )
)
"""The same broker may accept the same request later."""


def cause(code: int, message: str = "") -> KafkaError:
    """The exception of kafka-python that stands for an error code."""
    found: KafkaError = for_code(code)(message)
    return found
