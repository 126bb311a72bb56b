"""Reads the bytes of the dump from the socket in large pieces; the decoder splits them into packets."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable
from typing import Literal

from replicator.errors import ReplicatorError, SourceError, SourceUnavailable
from replicator.model.position import Position
from replicator.mysql.session import Session
from replicator.source.mysql import stream_errors
from replicator.source.shared.terms import Terms

_CHUNK = 512 << 10
_READABLE = select.POLLIN | select.POLLPRI


class MySQLStream:
    """See `replicator.pipeline.ports.Stream`. Owns the session's connection from now on.

    Args:
        silence: seconds without a byte after which the connection counts as dead.
        patience: the same for the first such silence: a MariaDB server sends nothing while it looks for a GTID.
        rival: asks who else reads with our replica id.
        terms: under which it may be shared, for who asked for them.
    """

    framing: Literal["packet", "file"] = "packet"

    def __init__(
        self,
        session: Session,
        position: Position,
        silence: float,
        patience: float,
        rival: Callable[[], str] = lambda: "",
        terms: Terms | None = None,
    ) -> None:
        self.position = position
        self._rival = rival
        self._where, self._user = session.where, session.user
        self.silence = silence
        self.terms = terms
        self._session = session  # its connection closes the socket when it is collected
        self._socket, self._held = _take_over(session)
        self._socket.setblocking(False)
        self._encrypted = isinstance(self._socket, ssl.SSLSocket)
        self._poll = select.poll()
        self._poll.register(self._socket.fileno(), _READABLE)
        now = time.monotonic()
        self._heard = now
        self._patient_until = now + patience
        self._closed = False
        self._drained = False  # the last read took all there was: the next one need not ask the socket before it waits
        self._reading = threading.Lock()  # held while a read uses the socket: only then close() leaves it open

    def read(self, timeout: float) -> bytes:
        """See `replicator.pipeline.ports.Stream`: at most 512 KB, from a TLS connection too."""
        with self._reading:
            try:
                return self._read(timeout)
            finally:
                if self._closed:
                    self._socket.close()

    def server_error(self, errno: int, sqlstate: str, message: str) -> ReplicatorError:
        error = stream_errors.stream_error(errno, message, self._where, self._user, str(self.position))
        rival = self._rival() if error.code == "E2207" else ""
        if rival:
            fields = {**error.to_dict(), "found": f"{rival} ({message})"}
            return SourceError(fields.pop("code"), fields.pop("what"), **fields)
        return error

    def close(self) -> None:
        """May be called from any thread and more than once."""
        self._closed = True
        with contextlib.suppress(OSError):
            # The plain socket's method: SSLSocket.shutdown would take the TLS state away from under a reader.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        if self._reading.acquire(blocking=False):
            try:
                self._socket.close()
            finally:
                self._reading.release()

    def _read(self, timeout: float) -> bytes:
        now = time.monotonic()
        deadline = now + timeout
        while True:
            if self._drained:
                quiet_until = max(self._heard + self.silence, self._patient_until)
                self._poll.poll(max(1.0, (min(deadline, quiet_until) - now) * 1000))
            if self._closed:
                raise self._lost("this process closed the stream")
            if self._held:
                data, self._held = self._held, b""
                return data
            data = self._receive()
            now = time.monotonic()
            self._drained = len(data) < _CHUNK
            if data:
                self._heard = now
                return data
            if now >= max(self._heard + self.silence, self._patient_until):
                raise self._lost(f"no event and no heartbeat for {now - self._heard:.1f} s")
            if now >= deadline:
                return b""

    def _receive(self) -> bytes:
        """What is there now; b"" when nothing is. TLS gives at most 16 KB at a time: they are joined."""
        try:
            data = self._socket.recv(_CHUNK)
            if self._encrypted and data:
                data = self._more(data)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError, InterruptedError):
            return b""
        except (OSError, ValueError) as error:
            raise self._lost(str(error)) from error
        if not data:
            raise self._lost("the server closed the connection")
        return data

    def _more(self, first: bytes) -> bytes:
        pieces, size = [first], len(first)
        with contextlib.suppress(OSError):  # an end or error shows itself again at the next call
            while size < _CHUNK:
                piece = self._socket.recv(_CHUNK - size)
                if not piece:
                    break
                pieces.append(piece)
                size += len(piece)
        return b"".join(pieces)

    def _lost(self, found: str) -> SourceUnavailable:
        return _ended(self._where, found)


def _take_over(session: Session) -> tuple[socket.socket, bytes]:
    """The session's socket and what the buffered reader of the client library has already taken from it."""
    sock, reader = session.packets.sock, session.packets.reader
    sock.setblocking(False)
    held = b""
    # peek() returns the buffer, and asks the (now non-blocking) socket only when the buffer is empty.
    try:
        held = bytes(reader.peek())
    except (BlockingIOError, ssl.SSLWantReadError):
        pass
    except OSError as error:  # a connection that is cut at this moment
        raise _ended(session.where, str(error)) from error
    reader.close()
    return sock, held


def _ended(where: str, found: str) -> SourceUnavailable:
    return SourceUnavailable("E2002", f"the binlog stream from {where} ended", found=found)
