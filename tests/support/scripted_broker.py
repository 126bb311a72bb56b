"""A broker whose every byte a test decides: a listening socket, and a script that runs for each connection."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Self, TypeAlias

from replicator.kafka import wire
from replicator.kafka.messages import api_versions, sasl

ALL_VERSIONS = dict.fromkeys(range(80), (0, 20))
_SECONDS = 20.0


class Request(NamedTuple):
    key: int
    version: int
    correlation: int
    client_id: str
    body: bytes


class Hung(Exception):
    """The other side has closed the connection, or reset it."""


class Conversation:
    """One connection, seen from the broker. Every method raises Hung at its end.

    Attributes:
        number: 0 for the first connection.
        login: the user that logged in by SCRAM, "" before.
    """

    def __init__(self, connection: socket.socket, number: int) -> None:
        self.socket = connection
        self.number = number

    def request(self, *, flexible: bool | None = None) -> Request:
        """The next request. flexible: whether its header has tagged fields; None: as ApiVersions says."""
        (size,) = struct.unpack(">i", self._exactly(4))
        data = self._exactly(size)
        key, version, correlation, length = struct.unpack_from(">hhih", data)
        client, at = data[10 : 10 + length].decode(), 10 + length
        if flexible is None:
            flexible = key == api_versions.KEY and version >= api_versions.FLEXIBLE
        return Request(key, version, correlation, client, data[at + 1 :] if flexible else data[at:])

    def reply(self, to: Request, body: bytes, *, flexible: bool = False, correlation: int | None = None) -> None:
        """flexible: the header of the reply has tagged fields. correlation: another one than the request's."""
        self.raw(frame(to.correlation if correlation is None else correlation, body, flexible=flexible))

    def raw(self, data: bytes) -> Self:
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise Hung from error
        return self

    def greet(self, versions: Mapping[int, tuple[int, int]] = ALL_VERSIONS, **features: int) -> Self:
        """Answers ApiVersions."""
        request = self.request()
        assert request.key == api_versions.KEY, request
        self.reply(request, versions_reply(versions, request.version, features))
        return self

    def handshake(self, *mechanisms: str, code: int = 0) -> str:
        """Answers SaslHandshake. Returns the mechanism that was asked for."""
        request = self.request()
        assert (request.key, request.version) == (sasl.HANDSHAKE, 1), request
        names = b"".join(map(wire.string, mechanisms))
        self.reply(request, wire.int16(code) + wire.int32(len(mechanisms)) + names)
        return wire.Reader(request.body).string() or ""

    def token(self) -> tuple[Request, bytes]:
        """What comes in the next SaslAuthenticate."""
        request = self.request()
        assert request.key == sasl.AUTHENTICATE, request
        return request, wire.Reader(request.body).bytes_() or b""

    def authenticated(
        self, to: Request, token: bytes = b"", *, lifetime_ms: int = 0, code: int = 0, message: str | None = None
    ) -> None:
        """Answers SaslAuthenticate."""
        body = wire.int16(code) + wire.string(message) + wire.int32(len(token)) + token
        self.reply(to, body + (wire.int64(lifetime_ms) if to.version >= 1 else b""))

    def closed_by(self) -> type[BaseException] | None:
        """How the other side ended the connection, when it did: None for an orderly end, ConnectionResetError for a
        reset."""
        try:
            while self.socket.recv(1 << 16):
                pass
        except OSError as error:
            return type(error)
        return None

    def reset(self) -> None:
        """Ends the connection at once; what is in the buffers is lost."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                piece = self.socket.recv(min(size - len(data), 1 << 20))
            except OSError as error:
                raise Hung from error
            if not piece:
                raise Hung
            data += piece
        return bytes(data)


Script: TypeAlias = Callable[[Conversation], Any]


class ScriptedBroker:
    """Runs `script` for each connection, in a thread of its own. What a script raises fails the test at `close`; the
    end of the connection does not.

    Args:
        tls: encrypts; a handshake that fails ends the connection.
        plays: one script for all connections, or one for each in their order, the last one for all that follow.
    """

    def __init__(self, *plays: Script, tls: ssl.SSLContext | None = None) -> None:
        self._plays: Sequence[Script] = plays
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.host, self.port = self._listener.getsockname()
        self.errors: list[BaseException] = []
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.close()
        if kind is None and self.errors:
            raise self.errors[0]

    def close(self) -> None:
        """Ends all connections and waits for the scripts."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join(_SECONDS)
        self._listener.close()
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads[1:]:
            thread.join(_SECONDS)
        for each in self._open:
            each.close()

    def _accept(self) -> None:
        number = 0
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.settimeout(_SECONDS)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            thread = threading.Thread(target=self._serve, args=(connection, number), daemon=True)
            self._open.append(connection)
            self._threads.append(thread)
            thread.start()
            number += 1

    def _serve(self, connection: socket.socket, number: int) -> None:
        try:
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
                self._open.append(connection)
            self._plays[min(number, len(self._plays) - 1)](Conversation(connection, number))
        except (Hung, OSError):
            pass
        except BaseException as error:
            self.errors.append(error)
        finally:
            connection.close()


def frame(correlation: int, body: bytes, *, flexible: bool = False) -> bytes:
    """A reply as it goes over the line."""
    content = struct.pack(">i", correlation) + (wire.NO_TAGS if flexible else b"") + body
    return struct.pack(">i", len(content)) + content


def versions_reply(versions: Mapping[int, tuple[int, int]], version: int, features: Mapping[str, int]) -> bytes:
    """The body of a reply to ApiVersions; features: finalized, as of epoch 7."""
    rows = [struct.pack(">hhh", key, *limits) for key, limits in versions.items()]
    if version < api_versions.FLEXIBLE:
        return wire.int16(0) + wire.int32(len(rows)) + b"".join(rows)
    body = wire.int16(0) + wire.array_length(len(rows)) + b"".join(row + wire.NO_TAGS for row in rows) + wire.int32(0)
    if not features:
        return body + wire.NO_TAGS
    levels = [
        wire.compact_string(name) + struct.pack(">hh", level, 0) + wire.NO_TAGS for name, level in features.items()
    ]
    named = wire.array_length(len(levels)) + b"".join(levels)
    epoch = wire.int64(7)
    return body + wire.uvarint(2) + b"\1" + wire.uvarint(len(epoch)) + epoch + b"\2" + wire.uvarint(len(named)) + named
