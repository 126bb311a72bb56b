"""Builds the Kafka clients.

Everything the client leaves open is bounded here: bootstrap, metadata, requests, delivery.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

from kafka import KafkaProducer
from kafka.errors import KafkaConnectionError, KafkaError
from kafka.future import Future
from kafka.net.compat import KafkaNetClient
from kafka.protocol.producer import AddPartitionsToTxnRequest, InitProducerIdRequest

from replicator.config.task import KafkaSink
from replicator.errors import SinkUnavailable
from replicator.sink.kafka import access
from replicator.sink.kafka.admin import Admin
from replicator.sink.kafka.errors import describe, translate
from replicator.sink.kafka.sockets import PROXY_URL, QuietSelector

BOOTSTRAP_MS = 10_000
REQUEST_MS = 10_000
ADMIN_MS = 5_000  # asked while batches wait: the answer may not take long

# The library waits this long before a transaction may begin while the broker still writes the last one's markers:
# with its default of 100 ms every transaction takes 112 ms, with 3 ms it takes 10.
_TRANSACTION_RETRY_MS = 3
_RETRY_MS = 50

# The library lets as much pass between two requests for metadata, also between the one of connecting and the first for
# a topic: with its 100 ms a take-over waits twice for nothing.
_METADATA_MS = 20

C = TypeVar("C")


class PatientClient(KafkaNetClient):  # type: ignore[misc]
    """The library's sender wants to be told yes or no whether a broker can be written to, and keeps a request of the
    transaction when it is no. Told so by an exception, which is what happens where a broker refuses, it forgets the
    request, and its transaction stands still until the batches expire.

    A transaction begins over the connection over which the last one ended, and over no other: a broker that was away
    meanwhile may have left that one without an end (`hanging.py`), and this one would end it in its own way.
    """

    transactions: Any = None
    """The producer's TransactionManager."""
    _last: Any = None

    def send(self, node_id: Any, request: Any, **options: Any) -> Any:
        if isinstance(request, InitProducerIdRequest):
            self._last = self._manager._conns.get(node_id)
        elif isinstance(request, AddPartitionsToTxnRequest) and not self.transactions._transaction_started:
            connection = self._manager._conns.get(node_id)
            self._last = self._last or connection
            if self._last is not connection:
                return Future().failure(KafkaError("the broker that decides on transactions was away"))
        return super().send(node_id, request, **options)

    def coordinator_lost(self) -> bool:
        """Whether a transaction would be refused for want of the connection."""
        return self._last is not None and not self._last.connected

    def take_another(self) -> None:
        """The next transaction begins over whatever connection there is: none was left without an end."""
        self._last = None

    def await_ready(self, node_id: Any, timeout_ms: float = 30_000) -> bool:
        try:
            return bool(super().await_ready(node_id, timeout_ms=timeout_ms))
        except KafkaConnectionError:
            self.poll(timeout_ms=_METADATA_MS)  # who asks again does so at once
            return False


def connect_producer(config: KafkaSink, transactional_id: str | None) -> KafkaProducer:
    """A connected idempotent producer, with acks from all in-sync replicas. Raises SinkUnavailable, SinkError."""
    delivery_ms = max(1000, config.delivery_timeout_ms)
    options: dict[str, Any] = {
        "transactional_id": transactional_id,
        "transaction_timeout_ms": max(1000, config.transaction_timeout_ms),
        "acks": "all",
        "enable_idempotence": True,
        "delivery_timeout_ms": delivery_ms,
        "request_timeout_ms": min(REQUEST_MS, delivery_ms),
        "max_block_ms": delivery_ms,
        "retry_backoff_ms": _RETRY_MS if transactional_id is None else _TRANSACTION_RETRY_MS,
        "linger_ms": 0,
        "max_request_size": max(4 << 20, config.max_record_bytes + (64 << 10)),
        "allow_auto_create_topics": False,
        "metrics_enabled": False,
        "selector": QuietSelector,
    }
    producer = _connect(KafkaProducer, config, options)
    producer._sender._client.transactions = producer._transaction_manager
    return producer


def connect_admin(config: KafkaSink) -> Admin:
    return _connect(Admin, config, {"request_timeout_ms": ADMIN_MS})


def _connect(kind: Callable[..., C], config: KafkaSink, options: dict[str, Any]) -> C:
    """Constructors of the library connect; when they fail they leave an I/O thread and sockets behind, which are
    closed here."""
    options |= access.settings(config)
    clients: list[KafkaNetClient] = []

    def make_client(**settings: Any) -> KafkaNetClient:
        client = PatientClient(**settings)
        clients.append(client)
        # No setting of the client reaches this one.
        with contextlib.suppress(AttributeError, TypeError):
            client.cluster.config["retry_backoff_ms"] = _METADATA_MS
        return client

    try:
        return kind(
            bootstrap_servers=list(config.bootstrap_servers),
            bootstrap_timeout_ms=BOOTSTRAP_MS,
            reconnect_backoff_ms=20,
            reconnect_backoff_max_ms=1000,
            proxy_url=PROXY_URL,
            kafka_client=make_client,
            **options,
        )
    except (KafkaError, OSError) as error:
        for client in clients:
            with contextlib.suppress(Exception):
                client.close()
        brokers = ", ".join(config.bootstrap_servers)
        refused = translate(error, f"no login at {brokers}")
        if refused.code == "E3103":
            raise refused from error
        refusal = access.refusal(config)
        if refusal is not None:
            raise refusal from error
        raise SinkUnavailable("E3001", f"no broker answers at {brokers}", found=describe(error)) from error
