"""Connects to the source's brokers; errors of the client become ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from kafka.errors import AuthorizationError, CorruptRecordError, KafkaError, SaslAuthenticationFailedError

from replicator.config.addresses import addresses
from replicator.config.kafka_source import KafkaSource
from replicator.errors import ReplicatorError, SourceError, SourceUnavailable
from replicator.kafka.admin_client import AdminClient
from replicator.kafka.failure import ConnectionFailure
from replicator.kafka.security import Security

Login: TypeAlias = Callable[[], Security]
"""TLS and login settings, read for each connection. Raises ReplicatorError."""

_NOT_ALLOWED = (AuthorizationError, SaslAuthenticationFailedError)


def connect(config: KafkaSource, login: Login) -> AdminClient:
    """Raises SourceUnavailable E2341, SourceError E2342, and what `login` raises."""
    security = login()
    with translating(f"no broker answers at {', '.join(config.bootstrap_servers)}"):
        return AdminClient(addresses(config.bootstrap_servers), security)


@contextmanager
def translating(what: str) -> Iterator[None]:
    try:
        yield
    except (KafkaError, ConnectionFailure, OSError) as error:
        raise translated(error, what) from error


def translated(error: Exception, what: str) -> ReplicatorError:
    found = f"{type(error).__name__}: {error}"[:300].rstrip(": ")
    if isinstance(error, ConnectionFailure):
        if error.kind == "outgoing" and isinstance(error.__cause__, ReplicatorError):
            return error.__cause__
        refused = error.final and error.kind in ("authentication", "tls")
        return SourceError("E2342", what, found=found) if refused else SourceUnavailable("E2341", what, found=found)
    if isinstance(error, _NOT_ALLOWED):
        return SourceError("E2342", what, found=found)
    if isinstance(error, CorruptRecordError):
        return SourceError("E2347", what, found=found)
    return SourceUnavailable("E2341", what, found=found)
