"""A kazoo client with workarounds for known problems, each with its reason."""

from __future__ import annotations

import contextlib
import logging
import socket
import ssl
import threading
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss
from kazoo.handlers.utils import AsyncResult
from kazoo.retry import KazooRetry

from replicator.host.addresses import parse_ensemble
from replicator.zookeeper.access import NO_ACCESS, Access
from replicator.zookeeper.attempts import Attempts
from replicator.zookeeper.entry import Entry
from replicator.zookeeper.handler import Handler

_LOG = logging.getLogger("replicator.zookeeper.kazoo")
# kazoo writes several warnings for each attempt to connect; the states that matter are logged by whoever listens.
_LOG.setLevel(logging.ERROR)


class Client(KazooClient):
    """KazooClient that never queues a request while there is no connection and knows its negotiated timeout.

    Args:
        hosts: `HOST:PORT[,HOST:PORT...][/CHROOT]`. Raises ValueError for anything else.
        session_timeout: seconds asked for.
        access: login and TLS, read again for each connection.
    """

    def __init__(self, hosts: str, session_timeout: float, access: Access = NO_ACCESS) -> None:
        self._gate = threading.Lock()
        self._access = access
        self._sasl: dict[str, str] = {"mechanism": "DIGEST-MD5", "username": "", "password": ""}
        ensemble = parse_ensemble(hosts)
        count = len(ensemble.servers)
        self.attempts = Attempts(ensemble.servers)
        self._entrance = Handler(Entry(session_timeout, count), session_timeout, self.attempts, self._prepare)
        self._entrance.seconds = patience(session_timeout, count)
        super().__init__(
            hosts=str(ensemble),
            timeout=session_timeout,
            handler=self._entrance,
            sasl_options=self._sasl if access.login == "sasl" else None,
            connection_retry=_endless(session_timeout),
            logger=_LOG,
        )

    def _prepare(self) -> ssl.SSLContext | None:
        """kazoo copies `auth_data` and the SASL options when it has connected: what is put there now counts."""
        access = self._access.fresh()
        if access.login == "digest":
            self.auth_data = {("digest", f"{access.user}:{access.secret()}")}
        elif access.login == "sasl":
            self._sasl.update(username=access.user, password=access.secret())
        return access.context() if access.tls else None

    @property
    def negotiated(self) -> float:
        """Session timeout in seconds that a server has answered; 0 before the first answer."""
        return self._entrance.negotiated

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
        held = self._entrance.current
        if held is not None and self.connected:
            with contextlib.suppress(OSError):  # it is closed already
                held.shutdown(socket.SHUT_RDWR)

    def current_session(self) -> int:
        """The id of the session; 0 without a connection."""
        held = self.client_id
        return held[0] if held is not None else 0


def patience(session_timeout: float, hosts: int) -> float:
    """Seconds for a host to answer who connects, so that each one can be asked before the session is over, and a single
    one twice. One second even where that is more than its share: a shorter one would only turn a busy host away."""
    return max(1.0, session_timeout / 2 / hosts)


def _endless(session_timeout: float) -> KazooRetry:
    """Tries for ever, a few times per session timeout, with jitter against many clients at once."""
    return KazooRetry(max_tries=-1, delay=0.05, backoff=2, max_jitter=0.4, max_delay=max(0.1, session_timeout / 8))
