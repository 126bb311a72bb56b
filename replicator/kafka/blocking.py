"""A blocking connection to a broker, one request after the other, for short-lived probes and queries."""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable, Sequence
from typing import Final, Self

from replicator.kafka.address import resolve
from replicator.kafka.connection import CONNECT_SECONDS, REQUEST_SECONDS, Connection
from replicator.kafka.failure import ConnectionFailure
from replicator.kafka.security import Security
from replicator.kafka.wire import Reader

CLIENT_ID: Final = "mysql-replicator"

_LOOK_SECONDS: Final = 0.05  # whether a token is there, which another thread fetches


class BlockingConnection:
    """Connected and logged in, to the first address of a broker that answers. Not thread-safe.

    Args:
        timeout: seconds for each address.

    Raises:
        ConnectionFailure: that of the last address, or the first that is final.
    """

    def __init__(
        self,
        host: str,
        port: int,
        security: Security,
        *,
        client_id: str = CLIENT_ID,
        timeout: float = CONNECT_SECONDS,
        request_timeout: float = REQUEST_SECONDS,
    ) -> None:
        failure: ConnectionFailure | None = None
        for address in resolve(host, port):
            self._connection = Connection(
                address,
                security,
                client_id=client_id,
                now=time.monotonic(),
                connect_timeout=timeout,
                request_timeout=request_timeout,
            )
            self._wait(lambda: self._connection.ready)
            failure = self._connection.failure
            if failure is None or failure.final:
                break
        if failure is not None:
            raise failure

    @property
    def connection(self) -> Connection:
        return self._connection

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def version(self, key: int, lowest: int, highest: int) -> int | None:
        """See `Connection.version`."""
        return self._connection.version(key, lowest, highest)

    def ask(self, key: int, version: int, body: Sequence[bytes], *, flexible: bool) -> Reader:
        """The body of the reply. Raises ConnectionFailure."""
        self._wait(lambda: self._connection.ready)
        if self._connection.failure is not None:
            raise self._connection.failure
        self._connection.send(key, version, body, flexible=flexible, token=None, now=time.monotonic())
        replies = self._wait(lambda: False)
        if not replies:
            raise self._connection.failure or ConnectionFailure("closed", "the connection is closed")
        return Reader(replies[0])

    def close(self) -> None:
        """May be called again."""
        self._connection.close()

    def _wait(self, done: Callable[[], bool]) -> list[memoryview]:
        """Until `done`, a reply, or the end of the connection; the connection's own time-outs bound it."""
        connection = self._connection
        with selectors.DefaultSelector() as selector:
            while connection.failure is None and not done():
                events = selectors.EVENT_READ | (selectors.EVENT_WRITE if connection.wants_write else 0)
                key = selector.register(connection.fd, events)
                happened = selector.select(max(0.0, min(connection.deadline - time.monotonic(), _LOOK_SECONDS)))
                selector.unregister(key.fileobj)
                mask = happened[0][1] if happened else 0
                replies = connection.advance(
                    readable=bool(mask & selectors.EVENT_READ),
                    writable=bool(mask & selectors.EVENT_WRITE),
                    now=time.monotonic(),
                )
                if replies:
                    return [reply.body for reply in replies]
        return []
