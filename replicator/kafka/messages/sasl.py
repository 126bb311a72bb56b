"""SaslHandshake, version 1, and SaslAuthenticate, versions 0 and 1."""

from __future__ import annotations

from typing import Final, NamedTuple

from replicator.kafka.wire import Reader, int32, string

HANDSHAKE: Final = 17
AUTHENTICATE: Final = 36


class Handshake(NamedTuple):
    """mechanisms: those that the broker accepts."""

    error_code: int
    mechanisms: tuple[str, ...]


class Authenticated(NamedTuple):
    """lifetime_ms: after which the broker wants another login; 0: never, or a broker that knows no such thing."""

    error_code: int
    error_message: str
    token: bytes
    lifetime_ms: int


def encode_handshake(mechanism: str) -> bytes:
    return string(mechanism)


def decode_handshake(reader: Reader) -> Handshake:
    """Raises MalformedMessage."""
    return Handshake(reader.int16(), tuple(reader.plain_array(lambda: reader.string() or "")))


def encode_authenticate(token: bytes) -> bytes:
    return int32(len(token)) + token


def decode_authenticate(reader: Reader, version: int) -> Authenticated:
    """Raises MalformedMessage."""
    code, text, token = reader.int16(), reader.string() or "", reader.bytes_() or b""
    return Authenticated(code, text, token, reader.int64() if version >= 1 else 0)
