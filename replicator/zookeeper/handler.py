"""The handler that kazoo gets its sockets from: it bounds a host's time, and reads the answer to each greeting.

A handler is kazoo's public interface to threads and sockets. The first packets of a connection are the greeting:
ConnectRequest and ConnectResponse of the ZooKeeper protocol.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from kazoo.exceptions import ConnectionDropped
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.serialization import Connect

from replicator.zookeeper.attempts import CLOSED, SILENT, Attempts, reason_of
from replicator.zookeeper.entry import Entry

_HEAD: Final = struct.Struct(">iiiq")
"""Of a ConnectResponse: its length, the protocol's version, the session timeout in ms (0: the session is over), the
session's id."""


class Handler(SequentialThreadingHandler):
    """
    Attributes:
        seconds: for a host to take a TCP connection, and for it to answer a greeting, at most. kazoo gives each of them
            up to the whole session timeout: at a host that is cut off, or that takes connections while it starts and
            forgets them, the session would end while the next host waits to be asked.
        negotiated: session timeout in seconds that the server has answered last. It limits the one that was asked for,
            and kazoo keeps the answer in a local variable.
        current: the socket of the present connection, or of the last one.
    """

    def __init__(self, entry: Entry, session_timeout: float, attempts: Attempts) -> None:
        super().__init__()
        self.seconds = float("inf")
        self.negotiated = 0.0
        self.current: GreetingSocket | None = None
        self._entry = entry
        self._asked_ms = int(session_timeout * 1000)
        self._attempts = attempts

    def create_connection(self, address: Any, timeout: float, **options: Any) -> Any:
        seconds = min(timeout, self.seconds)
        try:
            made = super().create_connection(address, timeout=seconds, **options)
        except Exception as error:
            self._attempts.failed(address, reason_of(error, seconds))
            raise
        if self._entry.as_stranger():
            with made:
                self._greet_as_stranger(made)
            self._entry.let_in()
            raise ConnectionDropped("another client would be admitted")
        self.current = GreetingSocket(made, self, self._entry, partial(self._attempts.failed, address))
        return self.current

    def select(
        self, readable: list[Any], writable: list[Any], exceptional: list[Any], timeout: float | None = None
    ) -> Any:
        current = self.current
        greets = current is not None and not current.answered and (current in readable or current in writable)
        if greets and timeout is not None:
            timeout = min(timeout, self.seconds)
        ready = super().select(readable, writable, exceptional, timeout)
        if greets and current is not None and not any(ready):
            current.failed(SILENT)
        return ready

    def admitted(self, session_timeout: float) -> None:
        """A server has answered that there is a session."""
        self.negotiated = session_timeout
        self._attempts.connected()

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


class GreetingSocket(socket.socket):
    """A connected socket that notes the answer to the greeting as kazoo reads it. failed: takes why there was none.

    Raises SessionExpiredError from a read or write at which the server hangs up for good: see `Entry`.
    """

    def __init__(self, made: socket.socket, handler: Handler, entry: Entry, failed: Callable[[str], None]) -> None:
        super().__init__(made.family, made.type, made.proto, made.detach())
        self.answered = False
        self._answer = b""
        self._handler = handler
        self._entry = entry
        self.failed = failed

    def send(self, data: Any, flags: int = 0) -> int:
        try:
            return super().send(data, flags)
        except OSError as error:
            self._failed(error)
            raise

    def recv(self, size: int, flags: int = 0) -> bytes:
        try:
            data = super().recv(size, flags)
        except OSError as error:
            self._failed(error)
            raise
        if not self.answered:
            self._note(data)
        return data

    def _failed(self, error: OSError) -> None:
        if not self.answered and not isinstance(error, BlockingIOError):
            self.failed(CLOSED)
            self._entry.refused()

    def _note(self, data: bytes) -> None:
        if not data:
            self.failed(CLOSED)
            self._entry.refused()
        self._answer += data
        if len(self._answer) < _HEAD.size:
            return
        _, _, timeout_ms, _ = _HEAD.unpack_from(self._answer)
        self.answered = True
        self._entry.answered(timeout_ms > 0)
        if timeout_ms > 0:
            self._handler.admitted(timeout_ms / 1000)
