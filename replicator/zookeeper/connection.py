"""A kazoo client whose quirks are put right, each beside its reason."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss
from kazoo.protocol.connection import _CONNECTION_DROP
from kazoo.protocol.serialization import Connect
from kazoo.retry import KazooRetry

_LOG = logging.getLogger("replicator.zookeeper.kazoo")
# kazoo writes several warnings for each attempt to connect; the states that matter are logged by whoever listens.
_LOG.setLevel(logging.ERROR)


class Client(KazooClient):  # type: ignore[misc]  # kazoo is untyped
    """KazooClient that never queues a request while there is no connection and knows its negotiated timeout.

    Args:
        hosts: `HOST:PORT[,HOST:PORT...]`.
        session_timeout: seconds asked for.
        auth: pairs of (scheme, credential), e.g. ("digest", "user:password").
    """

    def __init__(self, hosts: str, session_timeout: float, auth: tuple[tuple[str, str], ...] = ()) -> None:
        self._gate = threading.Lock()
        self.negotiated = 0.0
        super().__init__(
            hosts=hosts,
            timeout=session_timeout,
            auth_data=set(auth),
            connection_retry=_endless(session_timeout),
            logger=_LOG,
        )
        self._note_negotiated()

    def _note_negotiated(self) -> None:
        """The server clamps the timeout that was asked for and kazoo throws its answer away, so it is read where the
        answer passes."""
        invoke: Callable[..., Any] = self._connection._invoke

        def noting(timeout: float, request: Any, xid: int | None = None) -> Any:
            answer = invoke(timeout, request, xid)
            if isinstance(request, Connect) and answer[0].time_out > 0:
                self.negotiated = answer[0].time_out / 1000.0
            return answer

        self._connection._invoke = noting

    def _call(self, request: Any, async_object: Any) -> Any:
        """kazoo queues what is asked while it reconnects and sends it afterwards, when the asker may have lost his
        leadership. The gate makes "is connected" and "is queued" one step against `_notify_pending`, which empties
        the queue when the connection drops."""
        with self._gate:
            if not self._live.is_set():
                async_object.set_exception(ConnectionLoss())
                return False
            return super()._call(request, async_object)

    def _notify_pending(self, state: Any) -> None:
        with self._gate:
            super()._notify_pending(state)

    def drop_connection(self) -> None:
        """Goes to another server. kazoo counts its own requests as pings, so a server that is frozen while we keep
        asking is never noticed by kazoo itself."""
        with self._gate:
            if not self._live.is_set():
                return
            self._queue.append((_CONNECTION_DROP, None))
            try:
                self._connection._write_sock.send(b"\0")
            except (OSError, AttributeError):
                return  # it is being closed: gone already

    def current_session(self) -> int:
        return self._session_id or 0


def _endless(session_timeout: float) -> KazooRetry:
    """Tries for ever, a few times per session timeout, with jitter against many clients at once."""
    return KazooRetry(max_tries=-1, delay=0.05, backoff=2, max_jitter=0.4, max_delay=max(0.1, session_timeout / 8))
