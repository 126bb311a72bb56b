"""Connects the clients that ask the brokers: ours for what a sink needs, kafka-python's for `replicator check`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from replicator.config.addresses import addresses
from replicator.config.task import KafkaSink
from replicator.kafka.address import resolve
from replicator.kafka.admin_client import AdminClient
from replicator.kafka.failure import ConnectionFailure
from replicator.net import connections
from replicator.sink.kafka.connection_probe import no_connection
from replicator.sink.kafka.errors import translating
from replicator.sink.kafka.security import library_settings, security

BOOTSTRAP_MS: Final = 10_000
REQUEST_MS: Final = 5_000

T = TypeVar("T")


class Ask(Protocol):
    """`Topics.ask`: a question over the connection that is there for it; what could not be done, if it can't."""

    def __call__(self, what: str, question: Callable[[AdminClient], T]) -> T: ...


def connect_admin(config: KafkaSink) -> AdminClient:
    """Raises SinkUnavailable E3001: no broker answers; SinkError, ConfigError: why none lets us in."""
    try:
        return AdminClient(list(addresses(config.bootstrap_servers)), security(config))
    except (ConnectionFailure, KafkaError) as error:
        raise no_connection(config, error) from error


def connect_library_admin(config: KafkaSink) -> KafkaAdminClient:
    """kafka-python's client, which knows more questions. Raises as `connect_admin`."""
    _check_brokers(config)  # why we are not let in; the library only says that its time is up
    clients: list[Any] = []
    original = KafkaAdminClient.DEFAULT_CONFIG["kafka_client"]

    def make_client(**settings: Any) -> Any:
        clients.append(original(**settings))
        return clients[-1]

    try:
        return KafkaAdminClient(
            bootstrap_servers=list(config.bootstrap_servers),
            bootstrap_timeout_ms=BOOTSTRAP_MS,
            request_timeout_ms=REQUEST_MS,
            reconnect_backoff_ms=20,
            reconnect_backoff_max_ms=1000,
            kafka_client=make_client,
            **library_settings(config),
        )
    except (KafkaError, OSError) as error:
        for client in clients:  # the constructor leaves its thread and sockets behind
            with contextlib.suppress(Exception):
                client.close()
        raise no_connection(config, error) from error


def _check_brokers(config: KafkaSink) -> None:
    """Raises as `connect_admin`, and ConfigError E1050 where the cluster names a broker that is not allowed."""
    with contextlib.closing(connect_admin(config)) as admin, translating("the brokers can't be listed"):
        for host, port in admin.brokers() if connections.is_limited() else ():
            try:
                resolve(host, port)
            except ConnectionFailure as failure:
                if failure.kind == "outgoing":
                    raise
