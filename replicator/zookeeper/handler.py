"""The handler that kazoo gets its sockets from: it bounds a host's time, encrypts the connection, and reads the answers
to greeting and login.

A handler is kazoo's public interface to threads and sockets. The first packets of a connection are the greeting:
ConnectRequest and ConnectResponse of the ZooKeeper protocol. Packets of a login follow, one after the other.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from kazoo.exceptions import ConnectionDropped
from kazoo.handlers.threading import KazooTimeoutError, SequentialThreadingHandler
from kazoo.protocol.serialization import Connect

from replicator.errors import ConfigError
from replicator.zookeeper import polling
from replicator.zookeeper.attempts import CLOSED, SILENT, UNREACHABLE, Attempts, reason_of, tls_failure
from replicator.zookeeper.entry import Entry

_HEAD: Final = struct.Struct(">iiiq")
"""Of a ConnectResponse: its length, the protocol's version, the session timeout in ms (0: the session is over), the
session's id."""
_REQUEST: Final = struct.Struct(">iii")
"""Of a request: its length, its number, its kind."""
_REPLY: Final = struct.Struct(">iiqi")
"""Of a reply: its length, the request's number, the last transaction, the error."""
_LOGINS: Final = (100, 102)
"""Kinds of request: auth (digest) and SASL."""
_AT_ONCE: Final = 16384
_WAITS: Final = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)

Prepare = Callable[[], ssl.SSLContext | None]
Failed = Callable[..., None]


class Handler(SequentialThreadingHandler):
    """
    Args:
        prepare: called before each connection: reads login and TLS files anew; returns the context, None without TLS.
            Raises ConfigError.

    Attributes:
        seconds: for a host to take a TCP connection, and for it to answer a greeting, at most. kazoo gives each of them
            up to the whole session timeout: at a host that is cut off, or that takes connections while it starts and
            forgets them, the session would end while the next host waits to be asked.
        negotiated: session timeout in seconds that the server has answered last. It limits the one that was asked for,
            and kazoo keeps the answer in a local variable.
        current: the socket of the present connection, or of the last one.
    """

    def __init__(
        self, entry: Entry, session_timeout: float, attempts: Attempts, prepare: Prepare = lambda: None
    ) -> None:
        super().__init__()
        self.seconds = float("inf")
        self.negotiated = 0.0
        self.current: GreetingSocket | None = None
        self._entry = entry
        self._asked_ms = int(session_timeout * 1000)
        self._attempts = attempts
        self._prepare = prepare

    def create_connection(self, address: Any, timeout: float, hostname: str = "", **options: Any) -> Any:
        seconds = min(timeout, self.seconds)
        made = self._connected(address, seconds, hostname, options)
        if self._entry.as_stranger():
            with made:
                self._greet_as_stranger(made)
            self._entry.let_in()
            raise ConnectionDropped("another client would be admitted")
        self.current = GreetingSocket(made, self, self._entry, partial(self._attempts.failed, address))
        return self.current

    def _connected(self, address: Any, seconds: float, hostname: str, options: dict[str, Any]) -> socket.socket:
        try:
            context = self._prepare()
        except ConfigError as error:
            self._attempts.failed(address, f"{error.what}: {error.found}", error.code)
            raise ConnectionDropped(error.what) from error
        try:
            made: socket.socket = super().create_connection(address, timeout=seconds, **options)
        except Exception as error:
            self._attempts.failed(address, reason_of(error, seconds))
            raise
        if context is None:
            return made
        made.settimeout(seconds)
        try:
            return context.wrap_socket(made, server_hostname=hostname or str(address[0]))
        except OSError as error:
            made.close()
            self._attempts.failed(address, *tls_failure(error))
            raise

    def select(
        self, readable: list[Any], writable: list[Any], exceptional: list[Any], timeout: float | None = None
    ) -> Any:
        current = self.current
        if current is not None and current in readable and current.pending():
            # More has arrived than was read: the system knows nothing of it
            found = polling.ready([one for one in readable if one is not current], writable, 0)
            return ([current, *found[0]], found[1], found[2])
        greets = current is not None and not current.answered and (current in readable or current in writable)
        if greets and timeout is not None:
            timeout = min(timeout, self.seconds)
        found = polling.ready(readable, writable, timeout)
        if greets and current is not None and not any(found):
            current.failed(SILENT)
        return found

    def admitted(self, session_timeout: float) -> None:
        """A server has answered that there is a session."""
        self.negotiated = session_timeout
        self._attempts.connected()

    def login_refused(self) -> None:
        self._attempts.refused("ZooKeeper refuses user or password of this process", "E4030")

    def _greet_as_stranger(self, made: socket.socket) -> None:
        """As somebody who has no session and has seen nothing. Raises OSError where that is refused, too."""
        made.settimeout(self.seconds)
        body = bytes(Connect(0, 0, self._asked_ms, 0, bytes(16), False).serialize())
        made.sendall(len(body).to_bytes(4, "big") + body)
        answer = b""
        while len(answer) < _HEAD.size:
            part = made.recv(_HEAD.size - len(answer))
            if not part:
                raise ConnectionError("the server hung up")
            answer += part


class GreetingSocket:
    """A connected socket, encrypted or not, that notes the answers to greeting and login as kazoo reads them. failed:
    takes why there was none, and a code.

    Raises SessionExpiredError from a read or write at which the server hangs up for good: see `Entry`. Raises
    KazooTimeoutError when a login is refused: kazoo would end its loop for good, while after a timeout it tries the
    next server, and with the login that is valid by then.
    """

    def __init__(self, made: socket.socket, handler: Handler, entry: Entry, failed: Failed) -> None:
        self._made = made
        self.answered = False
        self._answer = self._ahead = b""
        self._reply: bytes | None = None
        self._handler = handler
        self._entry = entry
        self.failed = failed

    def __enter__(self) -> GreetingSocket:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def fileno(self) -> int:
        return self._made.fileno()

    def setblocking(self, flag: bool) -> None:
        self._made.setblocking(flag)

    def settimeout(self, seconds: float | None) -> None:
        self._made.settimeout(seconds)

    def close(self) -> None:
        self._made.close()

    def shutdown(self, how: int) -> None:
        """Of the connection below TLS: an SSLSocket would go on reading what is encrypted as if it were not."""
        socket.socket.shutdown(self._made, how)

    def pending(self) -> int:
        """Bytes that are here and were not read yet."""
        if not self._ahead and isinstance(self._made, ssl.SSLSocket):
            with contextlib.suppress(ValueError):  # closed
                return self._made.pending()
        return len(self._ahead)

    def send(self, data: Any) -> int:
        self._note_login(bytes(data[: _REQUEST.size]))
        try:
            return self._made.send(data)
        except OSError as error:
            self._failed(error)
            raise

    def recv(self, size: int) -> bytes:
        """kazoo asks for each answer's length and then for the rest. Once it is let in, all that has arrived is taken
        from the system at once."""
        try:
            data = self._taken(size)
        except OSError as error:
            self._failed(error)
            raise
        if not self.answered:
            self._note(data)
        elif self._reply is not None:
            self._note_reply(data)
        return data

    def _taken(self, size: int) -> bytes:
        if not self._ahead:
            if not self.answered or self._reply is not None or size >= _AT_ONCE:
                return self._made.recv(size)
            self._ahead = self._made.recv(_AT_ONCE)
        data, self._ahead = self._ahead[:size], self._ahead[size:]
        return data

    def _failed(self, error: OSError) -> None:
        if isinstance(error, _WAITS):
            return
        if not self.answered:
            self.failed(*(tls_failure(error) if isinstance(error, ssl.SSLError) else self._closed()))
            self._entry.refused()
        elif self._reply is not None:
            self._login_refused()

    def _closed(self) -> tuple[str, str]:
        if isinstance(self._made, ssl.SSLSocket):
            return f"{CLOSED}, or it refuses the certificate of this client", UNREACHABLE
        return CLOSED, UNREACHABLE

    def _note(self, data: bytes) -> None:
        if not data:
            self.failed(*self._closed())
            self._entry.refused()
        self._answer += data
        if self._answer[:2] == b"\x15\x03" and not isinstance(self._made, ssl.SSLSocket):
            self.failed("answers with TLS", "E4033")
            raise ConnectionDropped("the port is one with TLS")
        if len(self._answer) < _HEAD.size:
            return
        _, _, timeout_ms, _ = _HEAD.unpack_from(self._answer)
        self.answered = True
        self._entry.answered(timeout_ms > 0)
        if timeout_ms > 0:
            self._handler.admitted(timeout_ms / 1000)

    def _note_login(self, head: bytes) -> None:
        if self.answered and len(head) == _REQUEST.size:
            self._reply = b"" if _REQUEST.unpack(head)[2] in _LOGINS else None

    def _note_reply(self, data: bytes) -> None:
        if not data:
            self._login_refused()
        self._reply = (self._reply or b"") + data
        if len(self._reply) < _REPLY.size:
            return
        if _REPLY.unpack_from(self._reply)[3] != 0:
            self._login_refused()
        self._reply = None

    def _login_refused(self) -> None:
        self._handler.login_refused()
        raise KazooTimeoutError("the login is refused")
