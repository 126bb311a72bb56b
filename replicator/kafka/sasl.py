"""SASL mechanisms of Kafka as pure exchanges of bytes: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER.

RFC 4616 (PLAIN), RFC 5802 and RFC 7677 (SCRAM), RFC 7628 (OAUTHBEARER). An exchange serves one login and holds the
secret no longer than that. No error text contains a secret.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

_HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_ITERATIONS: Final = range(4096, 1_000_001)
"""Fewer make a stolen exchange easy to guess from, as RFC 7677 says; more let a server occupy our CPU."""
_OAUTH_ERROR_BYTES: Final = 200


class ExchangeFailed(Exception):
    """The broker's side of the exchange is wrong. The text is for people and contains no secret."""


class Exchange(Protocol):
    """One login, seen from the client."""

    def first(self) -> bytes:
        """The client's first message."""
        ...

    def answer(self, challenge: bytes) -> bytes | None:
        """The reply to a message of the broker; None when the exchange is complete. Raises ExchangeFailed."""
        ...


class TokenUnavailable(Exception):
    """The source of tokens gave none. The text is for people and contains no secret.

    Args:
        final: trying again is in vain.
    """

    def __init__(self, text: str, *, final: bool = False) -> None:
        super().__init__(text)
        self.final = final


@dataclass(frozen=True)
class Password:
    """Logs in by name and password. mechanism: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512."""

    mechanism: str
    user: str
    password: str = field(repr=False)

    waits: Final = False

    def exchange(self) -> Exchange:
        if self.mechanism == "PLAIN":
            return _Plain(self.user, self.password)
        return _Scram(_HASHES[self.mechanism], self.user, self.password)


@dataclass(frozen=True)
class Bearer:
    """Logs in by an OAuth 2 token.

    Args:
        token: gives a valid one; may take its time. Raises TokenUnavailable.
        extensions: SASL extensions, sent along.
    """

    token: Callable[[], str] = field(repr=False)
    extensions: Mapping[str, str] = field(default_factory=dict)

    mechanism: Final = "OAUTHBEARER"
    waits: Final = True

    def exchange(self) -> Exchange:
        return _Bearer(self.token(), self.extensions)


Sasl = Password | Bearer
"""`exchange()` begins a login; `waits`: it may block and belongs into a thread of its own."""


class _Plain:
    def __init__(self, user: str, password: str) -> None:
        self._message = f"\0{user}\0{password}".encode()

    def first(self) -> bytes:
        return self._message

    def answer(self, challenge: bytes) -> bytes | None:
        return None


class _Bearer:
    def __init__(self, token: str, extensions: Mapping[str, str]) -> None:
        pairs = "".join(f"{key}={value}\1" for key, value in extensions.items())
        self._message = f"n,,\1auth=Bearer {token}\1{pairs}\1".encode()
        self._refused = ""

    def first(self) -> bytes:
        return self._message

    def answer(self, challenge: bytes) -> bytes | None:
        """A refusal comes as JSON; the broker ends the exchange after our next message."""
        if self._refused:
            raise ExchangeFailed(self._refused)
        if not challenge:
            return None
        self._refused = "the broker refuses the token: " + printable(challenge, _OAUTH_ERROR_BYTES)
        return b"\1"


class _Scram:
    def __init__(self, hash_name: str, user: str, password: str, nonce: str | None = None) -> None:
        """`nonce`: for tests; printable, without a comma."""
        self._hash = hash_name
        self._password = password.encode()
        self._nonce = nonce or secrets.token_urlsafe(24)
        self._bare = f"n={user.replace('=', '=3D').replace(',', '=2C')},r={self._nonce}"
        self._signature: bytes | None = None

    def first(self) -> bytes:
        return f"n,,{self._bare}".encode()

    def answer(self, challenge: bytes) -> bytes | None:
        fields = _fields(challenge)
        if self._signature is None:
            return self._final(challenge, fields)
        if "e" in fields:
            raise ExchangeFailed("the broker refuses the login: " + printable(fields["e"].encode(), 100))
        if not hmac.compare_digest(_decoded(fields.get("v", "")), self._signature):
            raise ExchangeFailed("the broker can't prove that it knows the password")
        return None

    def _final(self, challenge: bytes, fields: Mapping[str, str]) -> bytes:
        nonce, salt, count = fields.get("r", ""), _decoded(fields.get("s", "")), fields.get("i", "")
        if "m" in fields:
            raise ExchangeFailed("the broker requires an unknown SCRAM extension")
        if not nonce.startswith(self._nonce) or len(nonce) == len(self._nonce) or not salt:
            raise ExchangeFailed("the broker's answer belongs to another login")
        if not count.isascii() or not count.isdigit() or len(count) > 7 or int(count) not in _ITERATIONS:
            raise ExchangeFailed(
                f"the broker asks for {printable(count.encode(), 20) or 'no'} iterations of SCRAM; "
                f"{_ITERATIONS.start} to {_ITERATIONS.stop - 1} are accepted"
            )
        salted = hashlib.pbkdf2_hmac(self._hash, self._password, salt, int(count))
        final = f"c=biws,r={nonce}"
        said = ",".join((self._bare, challenge.decode(), final)).encode()
        client_key = self._digest(salted, b"Client Key")
        stored_key = hashlib.new(self._hash, client_key).digest()
        proof = bytes(a ^ b for a, b in zip(client_key, self._digest(stored_key, said), strict=True))
        self._signature = self._digest(self._digest(salted, b"Server Key"), said)
        return f"{final},p={base64.b64encode(proof).decode()}".encode()

    def _digest(self, key: bytes, message: bytes) -> bytes:
        return hmac.new(key, message, self._hash).digest()


def _fields(message: bytes) -> dict[str, str]:
    """Raises ExchangeFailed for anything that is not `a=...,b=...` in UTF-8."""
    try:
        pairs = [pair.partition("=") for pair in message.decode().split(",")]
    except UnicodeDecodeError:
        raise ExchangeFailed("the broker's answer is not a SCRAM message") from None
    if any(len(name) != 1 or not equals for name, equals, _ in pairs):
        raise ExchangeFailed("the broker's answer is not a SCRAM message")
    return {name: value for name, _, value in pairs}


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ExchangeFailed("the broker's answer is not a SCRAM message") from None


def printable(text: bytes, limit: int) -> str:
    """What a server sent, safe to show: at most `limit` characters, none that controls a terminal."""
    return "".join(each if each.isprintable() else "?" for each in text.decode(errors="replace")[:limit])
