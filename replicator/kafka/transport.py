"""The socket of one connection to a broker: TCP or TLS, never blocking.

It is closed by a reset (SO_LINGER 0), also by the kernel when the process is killed: what is still in its buffer is
dropped. The kernel would otherwise go on sending it for minutes, behind rows that a later session has delivered.
"""

from __future__ import annotations

import errno
import os
import socket
import ssl
import struct
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Final

from replicator.kafka.address import Address
from replicator.kafka.failure import ConnectionFailure

READ_BYTES: Final = 1 << 20
"""The most that one `read` gives, more or less: other connections wait meanwhile."""

_RESET: Final = struct.pack("ii", 1, 0)
_CHUNK: Final = 64 << 10
_BUFFERS: Final = 64  # of one sendmsg; the kernel takes 1024
_RECORD: Final = 64 << 10  # what TLS is given at a time: four of its records
_NOT_SENT: Final = 256 << 10  # in the kernel's buffer: enough for any line, and progress is seen soon
_WAITS: Final = (BlockingIOError, InterruptedError)


class Transport:
    """One non-blocking connection, which is begun at once. The descriptor is the same from beginning to end.

    Every method but `flush` and `close` raises ConnectionFailure.
    """

    def __init__(self, address: Address, tls: ssl.SSLContext | None) -> None:
        self._address = address
        self._tls = tls
        self._secure: ssl.SSLSocket | None = None
        self._chunk = memoryview(bytearray(_CHUNK))
        self._unsent: deque[memoryview] = deque()
        self._piece: memoryview | None = None  # in TLS: it has to be offered again as it is
        self._tls_writes = False  # TLS has to write before it can go on with what we want
        self._write_reads = False  # and here to read before it can write
        self.unsent = 0
        self.established = False
        self.broken: ConnectionFailure | None = None
        """A write has failed: nothing more leaves, and `read` gives what has come before it raises."""
        self._connected = False
        try:
            self._socket: socket.socket = socket.socket(address.family, socket.SOCK_STREAM)
        except OSError as error:
            raise ConnectionFailure("refused", f"no connection to {address}: {_reason(error)}") from None
        try:
            self._configure()
            code = self._socket.connect_ex(address.sockaddr)
            if code not in (0, errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EINTR):
                raise ConnectionFailure("refused", f"no connection to {address}: {os.strerror(code)}")
        except OSError as error:
            self._socket.close()
            raise ConnectionFailure("refused", f"no connection to {address}: {_reason(error)}") from None
        except ConnectionFailure:
            self._socket.close()
            raise

    def _configure(self) -> None:
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _NOT_SENT)

    @property
    def fd(self) -> int:
        return self._socket.fileno()

    @property
    def peer(self) -> ssl.SSLSocket | None:
        """The socket of an encrypted connection, for its certificate."""
        return self._secure

    @property
    def wants_write(self) -> bool:
        if not self.established:
            return not self._connected or self._tls_writes
        return self.broken is None and (self._tls_writes or (bool(self.unsent) and not self._write_reads))

    @property
    def reads_when_writable(self) -> bool:
        """TLS has to write before it can continue reading."""
        return self.established and self._tls_writes

    def establish(self, *, writable: bool) -> bool:
        """Goes on with connecting and TLS. True once data can be exchanged."""
        if not self._connected:
            if not writable:
                return False
            code = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code:
                raise ConnectionFailure("refused", f"no connection to {self._address}: {os.strerror(code)}")
            self._connected = True
            if self._tls is not None:
                self._wrap(self._tls)
        if self._secure is not None and not self.established:
            try:
                self._secure.do_handshake()
            except ssl.SSLWantReadError:
                self._tls_writes = False
                return False
            except ssl.SSLWantWriteError:
                self._tls_writes = True
                return False
            except OSError as error:
                raise self._failed(error) from None
            self._tls_writes = False
        self.established = True
        return True

    def _wrap(self, tls: ssl.SSLContext) -> None:
        try:
            self._secure = tls.wrap_socket(
                self._socket,
                server_hostname=self._address.host,
                do_handshake_on_connect=False,
                suppress_ragged_eofs=False,
            )
        except (OSError, ValueError) as error:
            raise self._failed(error) from None
        self._socket = self._secure

    def read(self) -> Iterator[memoryview]:
        """What has arrived, about READ_BYTES at most; each piece is valid until the next. The failure that ends the
        connection comes behind it."""
        chunk, total = self._chunk, 0
        self._write_reads = self._tls_writes = False
        while total < READ_BYTES or (self._secure is not None and self._secure.pending()):
            try:
                count = self._socket.recv_into(chunk)
            except (ssl.SSLWantReadError, *_WAITS):
                break
            except ssl.SSLWantWriteError:
                self._tls_writes = True
                break
            except (OSError, ValueError) as error:
                raise self._failed(error) from None
            if not count:
                raise ConnectionFailure("closed", f"{self._address} has closed the connection")
            total += count
            yield chunk[:count]
            if count < _CHUNK and self._secure is None and self.broken is None:
                break  # that was all, or the selector says so
        if self.broken is not None:
            raise self.broken

    def write(self, pieces: list[memoryview]) -> None:
        """Queues those and sends what the socket takes. They may not change until `unsent` is 0."""
        self._unsent.extend(piece for piece in pieces if piece)
        self.unsent += sum(map(len, pieces))

    def flush(self) -> int:
        """Sends as much as the socket takes. Returns the number of bytes. Sets `broken` where it fails."""
        before = self.unsent
        try:
            while (
                self.unsent
                and not self.broken
                and (self._send_plain() if self._secure is None else self._send_tls(self._secure))
            ):
                pass
        except _WAITS:
            pass
        except (OSError, ValueError) as error:
            self.broken = self._failed(error)
        return before - self.unsent

    def _send_plain(self) -> bool:
        """False: the socket takes no more."""
        queue = self._unsent
        offered = list(islice(queue, _BUFFERS))
        taken = self._socket.sendmsg(offered) if len(offered) > 1 else self._socket.send(offered[0])
        self.unsent -= taken
        for piece in offered:
            if taken < len(piece):
                queue[0] = piece[taken:]
                return False
            taken -= len(piece)
            queue.popleft()
        return True

    def _send_tls(self, secure: ssl.SSLSocket) -> bool:
        """OpenSSL wants what it could not write offered again with the same bytes: a piece is kept until it has
        left."""
        if self._piece is None:
            self._piece = self._next_piece()
        try:
            taken = secure.send(self._piece)
        except ssl.SSLWantReadError:
            self._write_reads = True
            return False
        except ssl.SSLWantWriteError:
            return False
        self.unsent -= taken
        self._piece = self._piece[taken:] if taken < len(self._piece) else None
        return True

    def _next_piece(self) -> memoryview:
        """What TLS is given next: small neighbours together, a large one in parts, without a copy."""
        queue = self._unsent
        if len(queue) == 1 or len(queue[0]) >= _RECORD:
            first = queue.popleft()
            if len(first) > _RECORD:
                queue.appendleft(first[_RECORD:])
            return first[:_RECORD]
        joined = bytearray()
        while queue and len(joined) < _RECORD:
            piece = queue.popleft()
            room = _RECORD - len(joined)
            joined += piece[:room]
            if len(piece) > room:
                queue.appendleft(piece[room:])
        return memoryview(joined)

    def _failed(self, error: OSError | ValueError) -> ConnectionFailure:
        if isinstance(error, ssl.SSLZeroReturnError) or (self.established and isinstance(error, ssl.SSLEOFError)):
            return ConnectionFailure("closed", f"{self._address} has closed the connection")
        if isinstance(error, ssl.SSLError):
            # A broker that is going down just ends the connection.
            final = not isinstance(error, ssl.SSLEOFError | ssl.SSLSyscallError)
            stage = "was lost" if self.established else "could not be established"
            text = f"the encrypted connection to {self._address} {stage}: {_reason(error)}"
            return ConnectionFailure("tls", text, final=final, reason=error.reason or "")
        return ConnectionFailure("closed", f"the connection to {self._address} was lost: {_reason(error)}")

    def close(self) -> None:
        """By a reset. May be called again."""
        self._unsent.clear()
        self._piece = None
        self.unsent = 0
        self._socket.close()


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"{error.reason or 'the certificate is not accepted'}: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return str(error.reason or error)
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
