"""One connection to one broker: connecting, TLS, login, requests with several on their way, time-outs.

Never blocks. The caller waits for readiness of `fd` and calls `advance`; sockets are in `transport.py`, what is said
before the first request in `handshake.py`.
"""

from __future__ import annotations

import math
import random
import struct
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from replicator.kafka.address import Address
from replicator.kafka.failure import ConnectionFailure
from replicator.kafka.frames import Frames, request_header
from replicator.kafka.handshake import Peer, Talk, greet, log_in
from replicator.kafka.sasl import Exchange, Sasl, TokenUnavailable
from replicator.kafka.security import Security
from replicator.kafka.transport import Transport
from replicator.kafka.wire import MalformedMessage, Reader

CONNECT_SECONDS: Final = 10.0
REQUEST_SECONDS: Final = 10.0

_TOGETHER: Final = 4096  # requests up to this size leave as one piece
_EARLY: Final = 0.85, 0.95  # of a session's lifetime: when the next login begins (as the Java client, KIP-368)
_TOKEN_AGAIN_SECONDS: Final = 1.0
_CORRELATION: Final = struct.Struct(">i")


class Reply(NamedTuple):
    """token: what `send` was given. body: behind the header of the reply."""

    token: Any
    key: int
    version: int
    body: memoryview


class _Sent(NamedTuple):
    correlation: int
    key: int
    version: int
    flexible: bool
    ours: bool  # of the handshake
    token: Any


class Connection:
    """Begins to connect at once. Not thread-safe: the caller holds its lock around every call.

    Args:
        connect_timeout: seconds for connecting, TLS, ApiVersions and login together.
        request_timeout: seconds without a byte taken by the kernel, or one that arrived, while a reply is missing.
        wake: called in another thread when `advance` has something to do though nothing happened at the socket.

    Attributes:
        ready: requests may be sent.
        failure: set once; the connection is then closed.
        unanswered: number of the caller's requests without a reply.
    """

    def __init__(
        self,
        address: Address,
        security: Security,
        *,
        client_id: str,
        now: float,
        connect_timeout: float = CONNECT_SECONDS,
        request_timeout: float = REQUEST_SECONDS,
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self.address = address
        self.ready = False
        self.failure: ConnectionFailure | None = None
        self.unanswered = 0
        self._client_id = client_id.encode()
        self._sasl = security.sasl
        self._wake = wake
        self._peer = Peer()
        self._frames = Frames()
        self._sent: deque[_Sent] = deque()
        self._left: list[Any] = []
        self._correlation = 0
        self._request_timeout = request_timeout
        self._connect_by = now + connect_timeout
        self._greeted = False
        self._heard = now  # when the last byte was taken or arrived, or the first request was sent
        self._excused = now
        self._login_at = math.inf
        self._talk: Talk | None = None
        self._fetch: _Fetch | None = None
        self._transport: Transport | None = None
        try:
            self._transport = Transport(address, security.tls)
        except ConnectionFailure as error:
            self.failure = error

    @property
    def fd(self) -> int:
        """Of the socket, the same for the whole life; -1 after it."""
        return self._transport.fd if self._transport is not None else -1

    @property
    def wants_read(self) -> bool:
        return self._transport is not None

    @property
    def wants_write(self) -> bool:
        return self._transport is not None and self._transport.wants_write

    @property
    def unsent(self) -> int:
        """Bytes that the kernel has not taken yet."""
        return self._transport.unsent if self._transport is not None else 0

    @property
    def deadline(self) -> float:
        """When `advance` has to be called though nothing happens; monotonic seconds."""
        if self._transport is None:
            return math.inf
        if self._transport.broken is not None:
            return -math.inf
        if not self._established:
            return self._connect_by
        return min(self._quiet_until if self._sent else math.inf, self._login_at)

    @property
    def features(self) -> Mapping[str, int]:
        return self._peer.features

    @property
    def features_epoch(self) -> int:
        return self._peer.features_epoch

    @property
    def certificate(self) -> Any:
        """The socket of an encrypted connection, else None."""
        return self._transport.peer if self._transport is not None else None

    def version(self, key: int, lowest: int, highest: int) -> int | None:
        """The highest version of a request that both sides know among those; None: there is none."""
        return self._peer.version(key, lowest, highest)

    def send(
        self,
        key: int,
        version: int,
        body: Sequence[bytes | bytearray | memoryview],
        *,
        flexible: bool,
        token: Any,
        now: float,
    ) -> None:
        """Sends a request; what the socket does not take now leaves by `advance`. The buffers of `body` must not change
        until `unsent` is 0. Errors of the socket are not raised: the next `advance`, which `deadline` then asks for at
        once, returns the replies that have come and sets `failure`."""
        if self.failure is None and not self.ready:
            raise RuntimeError("a request before the connection is ready")
        if self._transport is None:
            self._left.append(token)
            return
        self.unanswered += 1
        self._send(key, version, body, flexible=flexible, ours=False, token=token, now=now)

    def advance(self, *, readable: bool, writable: bool, now: float) -> list[Reply]:
        """Reads, writes, goes on with connecting and logging in, times out. The replies that have come, in the order of
        their requests; those before a failure are among them."""
        replies: list[Reply] = []
        if self._transport is None:
            return replies
        try:
            self._advance(self._transport, replies, readable=readable, writable=writable, now=now)
        except ConnectionFailure as error:
            self._fail(error)
        return replies

    def excuse(self, until: float) -> None:
        """The broker does not read before `until`, monotonic: it has said that we are over a quota (KIP-219). The
        time-out of requests that are on their way begins then."""
        self._excused = max(self._excused, until)

    def abandoned(self) -> list[Any]:
        """After the end: the tokens of requests without a reply, in order of sending, once."""
        if self._transport is not None:
            return []
        left, self._left = self._left, []
        return left

    def close(self) -> None:
        """By a reset. May be called again."""
        transport, self._transport = self._transport, None
        self.ready = False
        self.unanswered = 0
        self._talk = self._fetch = None
        self._left += [sent.token for sent in self._sent if not sent.ours]
        self._sent.clear()
        if transport is not None:
            transport.close()

    @property
    def _quiet_until(self) -> float:
        return max(self._heard, self._excused) + self._request_timeout

    @property
    def _established(self) -> bool:
        """Was ready at least once."""
        return self.ready or self._connect_by == math.inf

    def _fail(self, error: ConnectionFailure) -> None:
        if self.failure is None:
            self.failure = error
        self.close()

    def _advance(
        self, transport: Transport, replies: list[Reply], *, readable: bool, writable: bool, now: float
    ) -> None:
        if not transport.established:
            if not transport.establish(writable=writable):
                self._check_time(now)
                return
            self._begin(now)
        if readable or transport.broken is not None or (writable and transport.reads_when_writable):
            self._read(transport, replies, now)
        if writable and transport.unsent and transport.flush():
            self._heard = now
        if self._fetch is not None:
            self._log_in_with_token(self._fetch, now)
        elif now >= self._login_at and self.ready:
            self._log_in(now)
        self._check_time(now)

    def _read(self, transport: Transport, replies: list[Reply], now: float) -> None:
        for data in transport.read():
            self._heard = now
            for frame in self._frames.feed(data):
                self._receive(frame, replies, now)

    def _begin(self, now: float) -> None:
        """The way is open: what the broker knows, and meanwhile the token."""
        if self._sasl is not None and self._sasl.waits:
            self._fetch = _Fetch(self._sasl, self._wake)
        self._heard = now
        self._go_on(greet(self._peer), None, now)

    def _go_on(self, talk: Talk, reply: memoryview | None, now: float) -> None:
        """The next request of the handshake, or what comes behind it."""
        try:
            ask = next(talk) if reply is None else talk.send(reply)
        except StopIteration:
            self._talk = None
            if self._greeted or self._sasl is None:
                self._be_ready(now)
            else:
                self._log_in(now)
            self._greeted = True
            return
        self._talk = talk
        self._send(ask.key, ask.version, (ask.body,), flexible=ask.flexible, ours=True, token=None, now=now)

    def _be_ready(self, now: float) -> None:
        self._connect_by, self.ready = math.inf, True
        lifetime = self._peer.lifetime_ms / 1000
        self._login_at = now + lifetime * random.uniform(*_EARLY) if lifetime > 0 else math.inf  # noqa: S311

    def _log_in(self, now: float) -> None:
        """Also again, in the middle of a session: no request may be sent between then and its end."""
        assert self._sasl is not None  # noqa: S101
        self._login_at = math.inf
        if not self._sasl.waits:
            self._present(self._sasl.exchange(), now)
        elif self._fetch is None:
            self._fetch = _Fetch(self._sasl, self._wake)

    def _log_in_with_token(self, fetch: _Fetch, now: float) -> None:
        """Once there is a token, and ApiVersions is answered."""
        if fetch.failure is not None:
            if not self.ready or fetch.failure.final:
                raise fetch.failure
            self._fetch, self._login_at = None, now + _TOKEN_AGAIN_SECONDS  # the session has not ended yet
            return
        if fetch.exchange is not None and self._talk is None and self._greeted:
            self._fetch = None
            self._present(fetch.exchange, now)

    def _present(self, exchange: Exchange, now: float) -> None:
        assert self._sasl is not None  # noqa: S101
        self.ready = False
        self._go_on(log_in(self._peer, self._sasl.mechanism, exchange), None, now)

    def _send(
        self,
        key: int,
        version: int,
        body: Sequence[bytes | bytearray | memoryview],
        *,
        flexible: bool,
        ours: bool,
        token: Any,
        now: float,
    ) -> None:
        assert self._transport is not None  # noqa: S101
        correlation = self._correlation = (self._correlation + 1) % (1 << 31)
        size = sum(map(len, body))
        header = request_header(key, version, correlation, self._client_id, size, flexible=flexible)
        if not self._sent:
            self._heard = now
        self._sent.append(_Sent(correlation, key, version, flexible, ours, token))
        pieces = [b"".join((header, *body))] if size <= _TOGETHER else [header, *body]
        self._transport.write([memoryview(piece) for piece in pieces])
        self._transport.flush()  # what the kernel's buffer takes at once says nothing about the broker

    def _receive(self, frame: memoryview, replies: list[Reply], now: float) -> None:
        (correlation,) = _CORRELATION.unpack_from(frame)
        if not self._sent or self._sent[0].correlation != correlation:
            expected = self._sent[0].correlation if self._sent else "none"
            raise ConnectionFailure("protocol", f"{self.address} answers request {correlation}; expected: {expected}")
        sent = self._sent.popleft()
        body = frame[_CORRELATION.size :]
        if sent.ours:
            assert self._talk is not None  # noqa: S101
            self._go_on(self._talk, body, now)
            return
        self.unanswered -= 1
        replies.append(Reply(sent.token, sent.key, sent.version, _behind_tags(body) if sent.flexible else body))

    def _check_time(self, now: float) -> None:
        if now >= self._connect_by:
            raise ConnectionFailure("timeout", f"no connection to {self.address} in time")
        if self._established and self._sent and now >= self._quiet_until:
            seconds = f"{self._request_timeout:.0f} s"
            raise ConnectionFailure("timeout", f"{self.address} has not answered for {seconds}")


class _Fetch:
    """Begins a login in a thread of its own, as its token may take its time."""

    def __init__(self, sasl: Sasl, wake: Callable[[], None]) -> None:
        self.exchange: Exchange | None = None
        self.failure: ConnectionFailure | None = None
        self._sasl = sasl
        self._wake = wake
        threading.Thread(target=self._run, name="kafka-token", daemon=True).start()

    def _run(self) -> None:
        try:
            self.exchange = self._sasl.exchange()
        except TokenUnavailable as error:
            self.failure = ConnectionFailure("authentication", str(error), final=error.final)
            self.failure.__cause__ = error
        except Exception as error:  # the thread has nobody to raise to
            self.failure = ConnectionFailure("authentication", f"no token: {type(error).__name__}")
        self._wake()


def _behind_tags(body: memoryview) -> memoryview:
    """The body of a reply with a flexible header, whose tagged fields mean nothing to us."""
    reader = Reader(body)
    try:
        reader.skip_tags()
    except MalformedMessage:
        raise ConnectionFailure("protocol", "a reply ends in its header") from None
    return body[len(body) - reader.left :]
