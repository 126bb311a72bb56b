"""The handshake with a broker before the first request: ApiVersions and the SASL login.

Pure: each exchange is a generator that yields a request (`Ask`) and is sent the body of its reply.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Final, NamedTuple, TypeVar

from replicator.kafka.failure import ConnectionFailure
from replicator.kafka.messages import api_versions
from replicator.kafka.messages import sasl as messages
from replicator.kafka.sasl import Exchange, ExchangeFailed, printable
from replicator.kafka.wire import MalformedMessage, Reader

UNSUPPORTED_MECHANISM: Final = 33
ILLEGAL_SASL_STATE: Final = 34
AUTHENTICATION_FAILED: Final = 58

_ROUNDS: Final = 8  # of a login; SCRAM takes two


class Ask(NamedTuple):
    """A request of the handshake."""

    key: int
    version: int
    body: bytes
    flexible: bool


Talk = Generator[Ask, memoryview, None]
T = TypeVar("T")


class Peer:
    """What a broker has said about itself.

    Attributes:
        versions: key of a request -> lowest and highest version.
        features: name of a finalized feature -> its level.
        lifetime_ms: after which the broker wants another login; 0: never.
    """

    def __init__(self) -> None:
        self.versions: Mapping[int, tuple[int, int]] = {}
        self.features: Mapping[str, int] = {}
        self.features_epoch = -1
        self.lifetime_ms = 0

    def version(self, key: int, lowest: int, highest: int) -> int | None:
        """The highest version of a request that the broker knows among those; None: it knows none of them."""
        least, most = self.versions.get(key, (0, -1))
        found = min(most, highest)
        return found if found >= max(least, lowest) else None


def greet(peer: Peer) -> Talk:
    """ApiVersions. Raises ConnectionFailure."""
    reply = yield _versions(api_versions.VERSION)
    found = _parsed(api_versions.decode, reply, api_versions.VERSION)
    if found.error_code == api_versions.UNSUPPORTED_VERSION:  # answered in version 0, as the protocol says
        reply = yield _versions(0)
        found = _parsed(api_versions.decode, reply, 0)
    if found.error_code:
        text = f"the broker refuses ApiVersions: error {found.error_code}"
        raise ConnectionFailure("versions", text, code=found.error_code)
    peer.versions, peer.features, peer.features_epoch = found.versions, found.features, found.features_epoch


def log_in(peer: Peer, mechanism: str, exchange: Exchange) -> Talk:
    """SaslHandshake and SaslAuthenticate, also in the middle of a session (KIP-368). Raises ConnectionFailure."""
    reply = yield Ask(messages.HANDSHAKE, 1, messages.encode_handshake(mechanism), flexible=False)
    code, offered = _parsed(messages.decode_handshake, reply)
    if code:
        raise _refused_mechanism(code, mechanism, offered)
    version = peer.version(messages.AUTHENTICATE, 0, 1)
    if version is None:
        raise ConnectionFailure("versions", "the broker does not support SaslAuthenticate", final=True)
    token: bytes | None = exchange.first()
    for _ in range(_ROUNDS):
        assert token is not None  # noqa: S101
        reply = yield Ask(messages.AUTHENTICATE, version, messages.encode_authenticate(token), flexible=False)
        answer = _parsed(messages.decode_authenticate, reply, version)
        if answer.error_code:
            text = printable(answer.error_message.encode(), 300) or f"error {answer.error_code}"
            final = answer.error_code in (AUTHENTICATION_FAILED, ILLEGAL_SASL_STATE)
            raise ConnectionFailure("authentication", text, final=final, code=answer.error_code)
        try:
            token = exchange.answer(answer.token)
        except ExchangeFailed as error:
            raise ConnectionFailure("authentication", str(error), final=True) from None
        if token is None:
            peer.lifetime_ms = answer.lifetime_ms
            return
    raise ConnectionFailure("authentication", f"the login by {mechanism} did not finish")


def _versions(version: int) -> Ask:
    return Ask(api_versions.KEY, version, api_versions.encode(version), flexible=version >= api_versions.FLEXIBLE)


def _refused_mechanism(code: int, mechanism: str, offered: tuple[str, ...]) -> ConnectionFailure:
    if code == UNSUPPORTED_MECHANISM:
        text = f"the broker does not accept logins by {mechanism}"
    elif code == ILLEGAL_SASL_STATE:
        text = "the listener accepts no logins"
    else:
        text = f"the broker refuses the login: error {code}"
    final = code in (UNSUPPORTED_MECHANISM, ILLEGAL_SASL_STATE)
    return ConnectionFailure("authentication", text, final=final, code=code, mechanisms=offered)


def _parsed(decode: Callable[..., T], reply: memoryview, *version: int) -> T:
    try:
        return decode(Reader(reply), *version)
    except MalformedMessage as error:
        raise ConnectionFailure("protocol", f"not a valid Kafka reply: {error}") from None
