"""Knocks at a broker as the client does, to learn what it has against us: the client itself tries on, whatever the
reason, and only says that its time is up. The protocol: https://kafka.apache.org/protocol, SaslHandshake and
SaslAuthenticate."""

from __future__ import annotations

import socket
import ssl
import struct
from typing import Any, Final, Self

from kafka.net.sasl import get_sasl_mechanism

from replicator.config.tls import Tls
from replicator.net import tls

UNSUPPORTED_MECHANISM: Final = 33
_SECONDS: Final = 3.0
_HANDSHAKE, _AUTHENTICATE = (17, 1), (36, 0)  # key and version of the request
_MOST: Final = 64 << 10
_ROUNDS: Final = 4


class Nonsense(Exception):
    """What came back is no answer of a broker's, or nothing at all."""


class Door:
    """One connection. Raises OSError; ssl.SSLError, which is one; tls.FilesUnusable.

    Args:
        wanted: None: not encrypted.
    """

    def __init__(self, host: str, port: int, wanted: Tls | None) -> None:
        self._socket = socket.create_connection((host, port), timeout=_SECONDS)
        if wanted is not None:
            try:
                self._socket = tls.context(wanted).wrap_socket(self._socket, server_hostname=host)
            except BaseException:
                self._socket.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    @property
    def certificate_days(self) -> float | None:
        """See `tls.days_left`."""
        return tls.days_left(self._socket)

    def handshake(self, mechanism: str) -> tuple[int, list[str]]:
        """The broker's error number for a login by `mechanism`, and those that it knows. Raises Nonsense."""
        answer = self._ask(*_HANDSHAKE, struct.pack(">h", len(mechanism)) + mechanism.encode())
        try:
            code, count = struct.unpack_from(">hi", answer)
            names, at = [], 6
            for _ in range(count):
                (length,) = struct.unpack_from(">h", answer, at)
                names.append(answer[at + 2 : at + 2 + length].decode())
                at += 2 + length
        except (struct.error, UnicodeDecodeError) as error:
            raise Nonsense from error
        return code, names

    def login(self, settings: dict[str, Any]) -> str:
        """After a handshake: what the broker has against the login; "" when it lets us in. Raises Nonsense.

        Args:
            settings: of the client, with `sasl_...` among them.
        """
        mechanism = get_sasl_mechanism(settings["sasl_mechanism"])(**settings)
        for _ in range(_ROUNDS):
            if mechanism.is_done():
                break
            token = mechanism.auth_bytes()
            answer = self._ask(*_AUTHENTICATE, struct.pack(">i", len(token)) + token)
            try:
                code, length = struct.unpack_from(">hh", answer)
                at = 4 + max(length, 0)
                if code:
                    return answer[4:at].decode(errors="replace") or f"error {code}"
                (size,) = struct.unpack_from(">i", answer, at)
                mechanism.receive(answer[at + 4 : at + 4 + size])
            except (struct.error, ValueError) as error:
                raise Nonsense from error
        return "" if mechanism.is_authenticated() else "the broker does not know the password itself"

    def _ask(self, key: int, version: int, body: bytes) -> bytes:
        """What stands in the answer behind its header."""
        request = struct.pack(">hhih", key, version, 1, -1) + body  # correlation id 1, no client id
        self._socket.sendall(struct.pack(">i", len(request)) + request)
        (size,) = struct.unpack(">i", self._exactly(4))
        if not 4 <= size <= _MOST:
            raise Nonsense
        return self._exactly(size)[4:]

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self._socket.recv(size - len(data))
            if not piece:
                raise Nonsense
            data += piece
        return bytes(data)


def understands(host: str, port: int, wanted: Tls | None) -> bool:
    """Whether a broker answers there at all, encrypted or not."""
    try:
        with Door(host, port, wanted) as door:
            if wanted is None:
                door.handshake("")
    except (OSError, Nonsense, tls.FilesUnusable):
        return False
    return True


def is_final(error: ssl.SSLError) -> bool:
    """Whether trying again is in vain; a broker that is going down just ends the connection."""
    return not isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError | ssl.SSLSyscallError)
