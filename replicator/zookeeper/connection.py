"""A kazoo client whose quirks are put right, each beside its reason."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionDropped, ConnectionLoss, SessionExpiredError
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.handlers.utils import AsyncResult
from kazoo.protocol.connection import _CONNECTION_DROP
from kazoo.protocol.serialization import Connect
from kazoo.retry import KazooRetry

T = TypeVar("T")

_LOG = logging.getLogger("replicator.zookeeper.kazoo")
# kazoo writes several warnings for each attempt to connect; the states that matter are logged by whoever listens.
_LOG.setLevel(logging.ERROR)


class _Handler(SequentialThreadingHandler):
    """kazoo gives one host the whole session timeout to take a TCP connection: at one that is cut off the session
    would end while the next host waits to be asked.

    Attributes:
        seconds: for a host to take a TCP connection, at most.
    """

    seconds = float("inf")

    def create_connection(self, *args: Any, timeout: float, **options: Any) -> Any:
        return super().create_connection(*args, timeout=min(timeout, self.seconds), **options)


class Client(KazooClient):
    """KazooClient that never queues a request while there is no connection and knows its negotiated timeout.

    Args:
        hosts: `HOST:PORT[,HOST:PORT...]`.
        session_timeout: seconds asked for.
        auth: pairs of (scheme, credential), e.g. ("digest", "user:password").
    """

    def __init__(self, hosts: str, session_timeout: float, auth: tuple[tuple[str, str], ...] = ()) -> None:
        self._gate = threading.Lock()
        self.negotiated = 0.0
        handler = _Handler()
        super().__init__(
            hosts=hosts,
            timeout=session_timeout,
            handler=handler,
            auth_data=set(auth),
            connection_retry=_endless(session_timeout),
            logger=_LOG,
        )
        self._entry = Entry(session_timeout)
        self._greet()
        handler.seconds = patience(session_timeout, len(self.hosts))

    def _greet(self) -> None:
        """The server clamps the timeout that was asked for and kazoo throws its answer away, so it is read where the
        answer passes. What a refusal means is found out there, too. A server that is just starting may take a
        connection and never answer on it: kazoo would wait until the only host's session is over."""
        invoke = self._connection._invoke

        def greeting(timeout: float, request: Any, xid: int | None = None) -> Any:
            if not isinstance(request, Connect):
                return invoke(timeout, request, xid)
            most = min(timeout, patience(request.time_out / 1000, len(self.hosts)))
            answer = self._entry.ask(lambda question: invoke(most, question), request, len(self.hosts))
            if answer[0].time_out > 0:
                self.negotiated = answer[0].time_out / 1000.0
            return answer

        self._connection._invoke = greeting

    def _call(self, request: Any, async_object: AsyncResult[Any]) -> bool | None:
        """kazoo queues what is asked while it reconnects and sends it afterwards, when the asker may have lost his
        leadership. The gate makes "is connected" and "is queued" one step against `_notify_pending`, which empties
        the queue when the connection drops."""
        with self._gate:
            if not self.connected:
                async_object.set_exception(ConnectionLoss())
                return False
            return super()._call(request, async_object)

    def _notify_pending(self, state: str) -> None:
        with self._gate:
            super()._notify_pending(state)

    def drop_connection(self) -> None:
        """Goes to another server. kazoo counts its own requests as pings, so a server that is frozen while we keep
        asking is never noticed by kazoo itself."""
        with self._gate:
            wake = self._connection._write_sock
            if not self.connected or wake is None:
                return
            self._queue.append((_CONNECTION_DROP, None))
            with contextlib.suppress(OSError):  # it is being closed: gone already
                wake.send(b"\0")

    def current_session(self) -> int:
        """The id of the session; 0 without a connection."""
        held = self.client_id
        return held[0] if held is not None else 0


class Entry:
    """What it means that servers hang up on us instead of answering.

    They do so while they have no quorum, and when they know less than we have seen: one that lags, or all of them, as
    their data are gone or were restored. kazoo tries the same for ever. So after a session timeout every other attempt
    asks as somebody who has no session and has seen nothing. When such a one is let in again and again and we are not,
    what we saw is no more, and our session with it.

    Args:
        patience: seconds.
    """

    def __init__(self, patience: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience = patience
        self._clock = clock
        self._since: float | None = None
        self._others = False  # who comes without a session is let in
        self._barred = 0

    def ask(self, invoke: Callable[[Connect], T], request: Connect, hosts: int) -> T:
        """The answer to `request`, of `hosts` servers. Raises SessionExpiredError when there is no way back, whatever
        `invoke` raises otherwise."""
        stranger = self._since is not None and self._clock() - self._since > self._patience and not self._others
        if stranger and request.session_id:
            invoke(request._replace(last_zxid_seen=0, session_id=0, passwd=bytes(16)))
            self._others = True
            raise ConnectionDropped("somebody else would be let in")
        try:
            answer = invoke(request)
        except ConnectionDropped:
            self._refused()
            if self._barred <= 2 * hosts:
                raise
            self._since, self._barred = None, 0
            raise SessionExpiredError("the servers know less than we have seen") from None
        self._since, self._others, self._barred = None, False, 0
        return answer

    def _refused(self) -> None:
        if self._since is None:
            self._since = self._clock()
        self._barred = self._barred + 1 if self._others else 0
        self._others = False


def patience(session_timeout: float, hosts: int) -> float:
    """Seconds for a host to answer who connects, so that each one can be asked before the session is over, and a single
    one twice. One second even where that is more than its share: a shorter one would only turn a busy host away."""
    return max(1.0, session_timeout / 2 / hosts)


def _endless(session_timeout: float) -> KazooRetry:
    """Tries for ever, a few times per session timeout, with jitter against many clients at once."""
    return KazooRetry(max_tries=-1, delay=0.05, backoff=2, max_jitter=0.4, max_delay=max(0.1, session_timeout / 8))
