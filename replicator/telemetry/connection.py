"""Connections of a listener: TLS, limits of their number, and limits of time for what a client sends and reads.

    Accepted ──TLS──► HttpConnection (uvicorn's protocol over h11)

uvicorn creates an `Accepted` for each connection. TLS begins there instead of in the listening socket, so that
connections count before their handshake, a handshake has a limit of time, and each one gets the present certificate.
`HttpConnection` checks each request head before h11 parses it. Pipelined requests are not served: they are what a
smuggled request looks like, and no client of ours sends them. The connection ends after the first of them. What is left
of a body when its request is answered is read and dropped, a limited part of it: clients send head and body apart, and
a connection that is closed in between loses the answer, or the client's next request.
"""

from __future__ import annotations

import asyncio
import http
import time
from typing import Any, ClassVar, Final, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from replicator.errors import ProcessError
from replicator.telemetry import request_head
from replicator.telemetry.connection_limits import Connections
from replicator.telemetry.hosts import PEER_CERTIFICATE, error_body
from replicator.telemetry.listen import DEFAULT_LIMITS, Limits
from replicator.telemetry.log import get_logger
from replicator.telemetry.refusals import Note, nowhere
from replicator.telemetry.server_certificate import ServerCertificate

_LOG_EVERY: Final = 10.0
_DROPPED_BYTES: Final = 1 << 20
"""Of a body whose request is answered already."""
_log = get_logger("listener")


class Times:
    """Seconds."""

    HANDSHAKE: ClassVar[float] = 10.0
    HEAD: ClassVar[float] = 10.0
    BODY: ClassVar[float] = 30.0
    """For the whole body, however it drips."""
    WRITE: ClassVar[float] = 30.0
    """A client that reads nothing for so long is cut off."""
    LINGER: ClassVar[float] = 5.0
    """For what is left to send when a connection is closed, and of a body whose request is answered."""
    IDLE: ClassVar[int] = 30
    """Between two requests."""


class Door:
    """What all connections of a listener share. Of the event loop.

    Attributes:
        tls: None: plain HTTP.
        refused: called for each request, or connection, that is refused here.
    """

    def __init__(
        self, limits: Limits = DEFAULT_LIMITS, tls: ServerCertificate | None = None, refused: Note = nowhere
    ) -> None:
        self.tls = tls
        self.refused = refused
        self._connections = Connections(limits)
        self._idle: dict[HttpConnection, None] = {}
        self._logged = 0.0

    def admits(self, connection: object, address: str) -> bool:
        """When all places are taken the connection that has been idle longest is closed."""
        if self._connections.too_many_of(address):
            self.note("too many connections from one address", address)
            return False
        if self._connections.full and self._idle:
            longest = next(iter(self._idle))
            del self._idle[longest]
            self._connections.leave(longest)
            longest.drop()
        if self._connections.full:
            self.note("too many connections", address)
            return False
        self._connections.enter(connection, address)
        return True

    def leave(self, connection: object) -> None:
        self._connections.leave(connection)

    def set_idle(self, connection: HttpConnection, *, idle: bool) -> None:
        self._idle.pop(connection, None)
        if idle:
            self._idle[connection] = None

    def note(self, what: str, address: str, **fields: str) -> None:
        """In the log, but not as often as an attacker likes."""
        now = time.monotonic()
        if now - self._logged >= _LOG_EVERY:
            self._logged = now
            _log.warning(what, address=address, **fields)


def protocol(door: Door) -> type[asyncio.Protocol]:
    """For `uvicorn.Config(http=...)`."""
    return type("Accepted", (_Accepted,), {"door": door})


class _Accepted(asyncio.Protocol):
    """A connection until its handshake has ended."""

    door: Door

    def __init__(self, **arguments: Any) -> None:
        self._http = HttpConnection(**arguments)
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        plain = cast(asyncio.Transport, transport)
        peer = plain.get_extra_info("peername")
        address = str(peer[0]) if isinstance(peer, tuple) and peer else ""
        http_connection, tls = self._http, self.door.tls
        if not self.door.admits(http_connection, address):
            self.door.refused(address, 503, "E5084")
            if tls is None:
                plain.write(_answer(503, ProcessError("E5084", "too many connections"), retry_after=5))
                plain.close()
            else:
                plain.abort()
            return
        http_connection.door = self.door
        if tls is None:
            plain.set_protocol(http_connection)
            http_connection.connection_made(plain)
        else:
            loop = asyncio.get_running_loop()
            self._task = loop.create_task(self._encrypt(loop, plain, tls, address))

    async def _encrypt(
        self, loop: asyncio.AbstractEventLoop, plain: asyncio.Transport, tls: ServerCertificate, address: str
    ) -> None:
        try:
            encrypted = await loop.start_tls(
                plain,
                self._http,
                tls.context,
                server_side=True,
                ssl_handshake_timeout=Times.HANDSHAKE,
                ssl_shutdown_timeout=Times.LINGER,
            )
        except OSError as error:  # of ssl, of the connection, and of the time
            self.door.leave(self._http)
            plain.abort()
            self.door.note("TLS handshake failed", address, error=str(getattr(error, "reason", "") or error))
            return
        if encrypted is None:
            self.door.leave(self._http)
            return
        self._http.connection_made(encrypted)


class HttpConnection(H11Protocol):
    """uvicorn's HTTP/1.1 connection with limits of time, and without what could be read in two ways."""

    door: Door | None = None

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._head = b""
        self._early = b""
        self._dropped = 0
        self._phase = ""
        self._timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        peer = transport.get_extra_info("peercert")
        if peer:
            self.app_state = {**self.app_state, PEER_CERTIFICATE: peer}
        self._watch("head")
        early, self._early = self._early, b""
        if early:
            self.data_received(early)

    def connection_lost(self, exc: Exception | None) -> None:
        self._watch("")
        self._stop_write_timer()
        if self.door is not None:
            self.door.set_idle(self, idle=False)
            self.door.leave(self)
        if self.transport is not None:
            super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport is None:  # sent with the end of the handshake
            self._early += data
        elif self.transport.is_closing():
            return
        elif self.conn.their_state is h11.IDLE:
            self._head_received(data)
        elif self.conn.their_state is h11.SEND_BODY:
            if self._answered_early():
                self._drop_rest(data)
            else:
                super().data_received(data)
                if self.conn.trailing_data[0]:
                    self._last_request()
        else:
            self._last_request()
        self._rearm()

    def _answered_early(self) -> bool:
        return self.conn.their_state is h11.SEND_BODY and self.cycle is not None and self.cycle.response_complete

    def _drop_rest(self, data: bytes) -> None:
        """Not uvicorn's way, which would parse what follows the body without our check of its head."""
        self._dropped += len(data)
        try:
            self.conn.receive_data(data)
            event = self.conn.next_event()
            while isinstance(event, h11.Data):
                event = self.conn.next_event()
        except h11.RemoteProtocolError:
            self.transport.close()
            return
        if isinstance(event, h11.EndOfMessage):
            self._begin_anew(self.conn.trailing_data[0])
        elif event is not h11.NEED_DATA or self._dropped > _DROPPED_BYTES:
            self.transport.close()

    def _begin_anew(self, next_request: bytes) -> None:
        """A client that has its answer may send the next request before the rest of this one is read here."""
        self.conn = h11.Connection(h11.SERVER, 2 * request_head.MAX_HEAD)
        if next_request:
            self._head_received(next_request)

    def _head_received(self, data: bytes) -> None:
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
            self.timeout_keep_alive_task = None
        self._head += data
        parts = request_head.split(self._head)
        fault = request_head.fault(parts[0]) if parts is not None else request_head.incomplete(self._head)
        if fault is not None:
            self._refuse(fault.status, ProcessError("E5082", "the HTTP request is not valid", found=fault.found))
        elif parts is not None:
            self._head = b""
            super().data_received(parts[0])
            if parts[1]:
                self.data_received(parts[1])

    def _last_request(self) -> None:
        """What follows the present request is not served."""
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
        else:
            self.cycle.keep_alive = False

    def send_400_response(self, msg: str) -> None:
        found = "no HTTP/1.1" if self.cycle is None else "no HTTP/1.1, or a body that is not framed as declared"
        self._refuse(400, ProcessError("E5082", "the HTTP request is not valid", found=found))

    def _refuse(self, status: int, error: ProcessError) -> None:
        """Answers, unless an answer is under way, and ends the connection."""
        cycle = self.cycle
        under_way = cycle is not None and not cycle.response_complete
        if under_way:
            cycle.disconnected = True
            cycle.message_event.set()
        if not (under_way and cycle.response_started):
            self.transport.write(_answer(status, error))
            if self.door is not None:
                self.door.refused(self.client[0] if self.client else "", status, error.code)
        self.transport.close()
        self._watch("close")

    def on_response_complete(self) -> None:
        self._dropped = 0
        super().on_response_complete()
        self._rearm()

    def _rearm(self) -> None:
        if self.transport is None:
            return
        if self.transport.is_closing():
            phase = "close"
        elif self.conn.their_state is h11.SEND_BODY:
            phase = "rest" if self._answered_early() else "body"
        elif self.conn.their_state is h11.IDLE:
            phase = "head" if self._head or (self.cycle is None and self._phase == "head") else "idle"
        else:
            phase = "answer"
        self._watch(phase)

    def _watch(self, phase: str) -> None:
        """A phase has one limit of time from its begin; what drips does not extend it. uvicorn limits "idle"."""
        if phase == self._phase:
            return
        self._phase = phase
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.door is not None and phase:
            self.door.set_idle(self, idle=phase == "idle")
        seconds = {"head": Times.HEAD, "body": Times.BODY, "rest": Times.LINGER, "close": Times.LINGER}.get(phase)
        if seconds is not None:
            self._timer = self.loop.call_later(seconds, self._expired)

    def _expired(self) -> None:
        if self._phase == "close":
            self.transport.abort()
        elif self._phase == "rest" or (self._phase == "head" and not self._head):
            self.drop()
        else:
            what = f"the {self._phase} of the request was not complete in time"
            limit = Times.HEAD if self._phase == "head" else Times.BODY
            self._refuse(408, ProcessError("E5083", what, wanted=f"within {limit:.0f} s"))

    def drop(self) -> None:
        """Ends a connection without a request."""
        self.transport.close()
        self._watch("close")

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._rearm()

    def shutdown(self) -> None:
        super().shutdown()
        self._rearm()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stop_write_timer()
        self._write_timer = self.loop.call_later(Times.WRITE, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_write_timer()

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None


def _answer(status: int, error: ProcessError, *, retry_after: int = 0) -> bytes:
    body = error_body(error)
    lines = [
        f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}",
        "content-type: application/json",
        f"content-length: {len(body)}",
        "cache-control: no-store",
        "x-content-type-options: nosniff",
        "connection: close",
        *([f"retry-after: {retry_after}"] if retry_after else []),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body
