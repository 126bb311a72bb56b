"""Connects the producers of a sink: ours, and kafka-python's for comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kafka import KafkaProducer
from kafka.errors import KafkaError

from replicator.config.addresses import addresses
from replicator.config.task import KafkaSink
from replicator.kafka.machine import Settings
from replicator.kafka.producer import Producer
from replicator.sink.kafka.connection_probe import no_connection
from replicator.sink.kafka.security import library_settings, security

BOOTSTRAP_SECONDS: Final = 10.0
REQUEST_MS: Final = 10_000
_REPLICA_MS: Final = 8_000
"""Less than a connection may be silent: the broker's answer that its replicas are late has to arrive."""
_IDENTIFY_SECONDS: Final = 10.0


def connect_producer(config: KafkaSink, transactional_id: str | None, guard: Callable[[], None]) -> Producer:
    """A connected idempotent producer of ours, with acks from all in-sync replicas. Raises SinkUnavailable, SinkError.

    Args:
        guard: raises when nothing may be sent any more.
    """
    delivery_ms = max(1000, config.delivery_timeout_ms)
    settings = Settings(
        transactional_id=transactional_id,
        transaction_timeout_ms=max(1000, config.transaction_timeout_ms),
        delivery_seconds=delivery_ms / 1000,
        replica_timeout_ms=min(_REPLICA_MS, delivery_ms),
    )
    producer = Producer(addresses(config.bootstrap_servers), settings, guard, security(config))
    try:
        producer.connect(BOOTSTRAP_SECONDS)
        if transactional_id is None:
            producer.identify(_IDENTIFY_SECONDS)
    except (KafkaError, OSError) as error:
        producer.close(1.0)
        raise no_connection(config, error) from error
    except BaseException:
        producer.close(1.0)
        raise
    return producer


def connect_plain(config: KafkaSink, transactional_id: str | None) -> KafkaProducer:
    """kafka-python's own producer, connected. Raises SinkUnavailable, SinkError."""
    delivery_ms = max(1000, config.delivery_timeout_ms)
    options: dict[str, Any] = {
        "transactional_id": transactional_id,
        "transaction_timeout_ms": max(1000, config.transaction_timeout_ms),
        "acks": "all",
        "enable_idempotence": True,
        "delivery_timeout_ms": delivery_ms,
        "request_timeout_ms": min(REQUEST_MS, delivery_ms),
        "max_block_ms": delivery_ms,
        "retry_backoff_ms": 3 if transactional_id is not None else 50,
        "linger_ms": 0,
        "max_request_size": max(4 << 20, config.max_record_bytes + (64 << 10)),
        "allow_auto_create_topics": False,
        "metrics_enabled": False,
        **library_settings(config),
    }
    try:
        return KafkaProducer(bootstrap_servers=list(config.bootstrap_servers), **options)
    except (KafkaError, OSError) as error:
        raise no_connection(config, error) from error
