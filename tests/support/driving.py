"""Drives a `Connection` as a producer's loop does, with a selector."""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable
from typing import Any

from replicator.kafka.address import Address, resolve
from replicator.kafka.connection import Connection, Reply
from replicator.kafka.security import PLAINTEXT, Security
from tests.support.scripted_broker import ScriptedBroker


def connect(broker: ScriptedBroker, security: Security = PLAINTEXT, **options: Any) -> Connection:
    """A connection that is being made."""
    return Connection(address(broker), security, client_id="test", now=time.monotonic(), **options)


def address(broker: ScriptedBroker) -> Address:
    return resolve(broker.host, broker.port)[0]


def until(connection: Connection, condition: Callable[[list[Reply]], object], seconds: float = 15) -> list[Reply]:
    """The replies that came until `condition` held, or the connection ended."""
    replies: list[Reply] = []
    end = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        while connection.failure is None and not condition(replies):
            assert time.monotonic() < end, f"not within {seconds} s; {replies}"
            wanted = connection.wants_read * selectors.EVENT_READ | connection.wants_write * selectors.EVENT_WRITE
            key = selector.register(connection.fd, wanted)
            happened = selector.select(max(0.0, min(0.02, connection.deadline - time.monotonic())))
            selector.unregister(key.fileobj)
            mask = happened[0][1] if happened else 0
            replies += connection.advance(
                readable=bool(mask & selectors.EVENT_READ),
                writable=bool(mask & selectors.EVENT_WRITE),
                now=time.monotonic(),
            )
    return replies


def ready(connection: Connection) -> Connection:
    """Drives it until requests may be sent, or it has ended."""
    until(connection, lambda _: connection.ready)
    return connection
