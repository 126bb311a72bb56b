"""The socket of a connection to MySQL: opened here, lent to PyMySQL, and used for packets that PyMySQL can't carry.

PyMySQL logs in and asks questions; `Connection.connect(sock=...)` takes a socket that somebody else opened. Replication
commands, their answers and the rest of a login by our own plugins go over the same socket, without PyMySQL.

A packet: 3 bytes length, 1 byte sequence number, payload. A payload of 16 MB or more goes on in the next packet; its
last packet is a shorter one.
"""

from __future__ import annotations

import socket
import ssl
import struct
import weakref
from collections.abc import Iterable
from typing import Any, Final

import pymysql

from replicator.net import connections

_FULL: Final = 0xFFFFFF
"""Bytes of a payload that goes on in the next packet."""
FILE_PACKET: Final = 1 << 14
"""Bytes of a file in one packet: max_allowed_packet has to be more."""
_ERROR: Final = 0xFF
_MALFORMED: Final = 2027
"""CR_MALFORMED_PACKET of MySQL's client library."""


class PacketSocket:
    """One socket, plain or with TLS, and the buffered reader that PyMySQL reads it by.

    PyMySQL makes the reader, twice where TLS begins after the greeting. Our two classes of sockets note it: an answer
    may be in its buffer already.

    Args:
        context: of TLS; None: nothing is encrypted. It is used for this connection alone.

    Attributes:
        sock: the one in use; known after `open`.
    """

    sock: socket.socket

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self._reader: Any = None
        self._buffered = True  # the reader may hold bytes
        self._number = 0
        if context is not None:
            context.sslsocket_class = _Encrypted
            _OWNERS[context] = weakref.ref(self)

    def open(self, host: str, port: int, timeout: float) -> socket.socket:
        """Takes at most `timeout` seconds for each address of `host`. Raises OSError; ConfigError E1050."""
        opened = connections.connect(host, port, timeout)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        plain = _Plain(opened.family, opened.type, opened.proto, opened.detach())
        plain.owner = weakref.ref(self)
        self.sock = plain
        return plain

    def lent(self, used: socket.socket, reader: Any) -> None:
        """Called by the sockets: PyMySQL goes on with these two."""
        self.sock, self._reader = used, reader

    @property
    def reader(self) -> Any:
        """An io.BufferedReader."""
        if self._reader is None:
            raise ConnectionError("the client library has not begun to read")
        return self._reader

    def command(self, payload: bytes) -> None:
        """Sends a command: the sequence begins again. Raises OSError."""
        self._number, self._buffered = -1, True
        self.reply(payload)

    def long_command(self, size: int, pieces: Iterable[bytes]) -> None:
        """As `command`, of a payload of `size` bytes that is made while it is sent. Raises OSError."""
        self._number, self._buffered = -1, True
        room = packet = 0  # what is left of the packet at hand, and its size
        for piece in pieces:
            view = memoryview(piece)
            while view:
                if not room:
                    room = packet = min(size, _FULL)
                    self._begin(packet)
                part = view[:room]
                self.sock.sendall(part)
                room, size, view = room - len(part), size - len(part), view[len(part) :]
        if packet == _FULL:
            self._begin(0)

    def _begin(self, size: int) -> None:
        self._number = (self._number + 1) % 256
        self.sock.sendall(size.to_bytes(3, "little") + bytes((self._number,)))

    def reply(self, payload: bytes) -> None:
        """Sends what follows the packet that `receive` gave. Raises OSError."""
        for at in range(0, len(payload) + 1, _FULL):
            piece = payload[at : at + _FULL]
            self._number = (self._number + 1) % 256
            self.sock.sendall(len(piece).to_bytes(3, "little") + bytes((self._number,)) + piece)

    def file(self, pieces: Iterable[bytes]) -> None:
        """Sends the bytes that the server has asked for, and where they end. Raises OSError."""
        for piece in pieces:
            for at in range(0, len(piece), FILE_PACKET):
                self.reply(piece[at : at + FILE_PACKET])
        self.reply(b"")

    def receive(self) -> bytes:
        """The payload of the next packet; within the time-out of the socket for each piece that arrives.

        Raises:
            OSError: the connection is lost.
            pymysql.err.OperationalError: (number, message) of an ERR packet; 2027 for what no server sends.
        """
        head = self._exactly(4)
        size, self._number = int.from_bytes(head[:3], "little"), head[3]
        if size in (0, _FULL):  # no answer to anything that is sent here is empty, or as long
            raise malformed(f"an answer of {size} bytes")
        payload = self._exactly(size)
        if payload[0] == _ERROR:
            raise error_of(payload)
        return payload

    def receive_into(self, view: memoryview) -> int:
        """What has come of the packets that follow, with their headers; at least one byte. Raises OSError."""
        if self._buffered:  # `readinto1` of a reader that holds something would wait for more
            data = self.reader.read1(len(view))
            size = len(data)
            view[:size] = data
            self._buffered = size == len(view)
        else:
            size = self.sock.recv_into(view)
        if not size:
            raise ConnectionError("the server closed the connection")
        return size

    def receive_long(self) -> bytes:
        """As `receive`, of any length: joined from packets of 16 MB."""
        parts = []
        while True:
            head = self._exactly(4)
            size, self._number = int.from_bytes(head[:3], "little"), head[3]
            parts.append(self._exactly(size))
            if size < _FULL:
                break
        payload = b"".join(parts)
        if not payload:
            raise malformed("an answer of 0 bytes")
        if payload[0] == _ERROR:
            raise error_of(payload)
        return payload

    def _exactly(self, size: int) -> bytes:
        data: bytes = self.reader.read(size)
        if len(data) < size:
            raise ConnectionError("the server closed the connection")
        return data


_OWNERS: Final = weakref.WeakKeyDictionary[ssl.SSLContext, "weakref.ref[PacketSocket]"]()
"""A context makes its sockets itself, and tells them nothing but that it has."""


class _Plain(socket.socket):
    owner: weakref.ref[PacketSocket]

    def makefile(self, *arguments: Any, **options: Any) -> Any:
        reader = super().makefile(*arguments, **options)
        return _note(self.owner, self, reader)


class _Encrypted(ssl.SSLSocket):
    def makefile(self, *arguments: Any, **options: Any) -> Any:
        reader = super().makefile(*arguments, **options)
        return _note(_OWNERS[self.context], self, reader)


def _note(owner: weakref.ref[PacketSocket], used: socket.socket, reader: Any) -> Any:
    found = owner()
    if found is not None:
        found.lent(used, reader)
    return reader


def malformed(found: str) -> Exception:
    made: Exception = pymysql.err.OperationalError(_MALFORMED, f"malformed packet: {found}")
    return made


def error_of(payload: bytes) -> Exception:
    """Of an ERR packet: number, then "#" and the SQL state (not before the login), then the message."""
    if len(payload) < 3:
        return malformed("an error without a number")
    (number,) = struct.unpack_from("<H", payload, 1)
    message = payload[9:] if payload[3:4] == b"#" else payload[3:]
    made: Exception = pymysql.err.OperationalError(number, message.decode("utf-8", "replace"))
    return made
