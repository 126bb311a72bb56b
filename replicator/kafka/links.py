"""The connections of a producer: opened when a broker is needed, and reopened when lost, one per broker."""

from __future__ import annotations

import contextlib
import ipaddress
import itertools
import select
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from replicator.kafka.address import Address, resolve
from replicator.kafka.cluster import NOBODY
from replicator.kafka.connection import Connection, Reply
from replicator.kafka.failure import ConnectionFailure
from replicator.kafka.request import Request
from replicator.kafka.security import Security
from replicator.kafka.wire import MalformedMessage, Reader
from replicator.net import connections

_FIRST_SECONDS, _MOST_SECONDS = 0.02, 1.0
"""Between two attempts to connect to a broker: at first, and at most."""

_PARALLEL_SECONDS: Final = 1.0
"""After which another broker is tried beside one that has not answered yet."""

_BOOTSTRAP: Final = -2
"""Node of the first bootstrap address; the others count down from it."""

_generations: Final = itertools.count(1)


class Link(Connection):
    """A connection, and what it is registered for."""

    generation = 0
    node = NOBODY
    mask = 0


class Attempt:
    """What is known of a broker that can't be reached: how often it failed, when to try again."""

    __slots__ = ("addresses", "failures", "not_before", "refused", "resolving")

    def __init__(self) -> None:
        self.addresses: list[Address] = []
        self.failures = 0
        self.not_before = 0.0
        self.refused: ConnectionFailure | None = None  # its address is not allowed
        self.resolving = False


class Links:
    """Not thread-safe; the caller holds its lock.

    Args:
        bootstrap: hosts and ports at which the cluster is looked for.
        poller: where sockets are registered, level-triggered.
        wake: ends a wait of `poller`, from any thread.

    Attributes:
        peers: the connections that take requests, by node.
        failure: the last one of a connection, None after a success.
        refused: the failure of a broker that is needed and whose address is not allowed.
    """

    def __init__(
        self,
        bootstrap: Sequence[tuple[str, int]],
        security: Security,
        client_id: str,
        poller: select.epoll,
        wake: Callable[[], None],
    ) -> None:
        self.peers: dict[int, Link] = {}
        self.failure: ConnectionFailure | None = None
        self.refused: ConnectionFailure | None = None
        self._bootstrap = {_BOOTSTRAP - index: address for index, address in enumerate(bootstrap)}
        self._security = security
        self._client_id = client_id
        self._poller = poller
        self._wake = wake
        self._links: dict[int, Link] = {}
        self._by_fd: dict[int, Link] = {}
        self._attempts: dict[int, Attempt] = {}
        self._next_broker = 0.0

    def want(self, nodes: Iterable[int], brokers: Mapping[int, tuple[str, int]], now: float) -> None:
        """Connects to those nodes that are not connected; `NOBODY`: to any broker."""
        for node in nodes:
            if node == NOBODY:
                if not self.peers and (not self._links or now >= self._next_broker):
                    self._connect_to_anyone(brokers, now)
            elif node in brokers:
                link = self._links.get(node)
                if link is None:
                    self._connect(node, brokers[node], now)
                    self.refused = self._attempt(node).refused or self.refused
                elif (link.address.host, link.address.port) != brokers[node]:
                    self._end(link, now)

    def adopt(self, brokers: Mapping[int, tuple[str, int]]) -> None:
        """A bootstrap connection is that of the broker with its address, as the brokers are known now."""
        for node in [node for node in self._links if node <= _BOOTSTRAP]:
            link = self._links[node]
            place = link.address.host, link.address.port
            known = next((each for each, address in brokers.items() if address == place), None)
            if known is not None and known not in self._links:
                self._links[known] = self._links.pop(node)
                link.node = known
                if node in self.peers:
                    self.peers[known] = self.peers.pop(node)

    def send(self, request: Request, now: float) -> None:
        link = self.peers.get(request.node)
        if link is None:
            request.lost(now)
            return
        link.send(request.key, request.version, request.pieces, flexible=True, token=request, now=now)
        self._settle(link, now)

    def handle(self, events: Iterable[tuple[int, int]], now: float) -> None:
        """What the poller has found."""
        for fd, mask in events:
            link = self._by_fd.get(fd)
            if link is not None:
                self._advance(
                    link, readable=bool(mask & ~select.EPOLLOUT), writable=bool(mask & ~select.EPOLLIN), now=now
                )

    def tick(self, now: float) -> None:
        """Time has passed."""
        for link in [link for link in self._links.values() if link.deadline <= now]:
            self._advance(link, readable=False, writable=False, now=now)

    def advance_all(self, now: float) -> None:
        """Something may have happened that no socket shows."""
        for link in list(self._links.values()):
            self._advance(link, readable=False, writable=False, now=now)

    def deadline(self, now: float) -> float:
        """Monotonic time after `now` at which `tick` or `want` has something to do."""
        soon = [link.deadline for link in self._links.values()]
        soon += [attempt.not_before for attempt in self._attempts.values() if attempt.not_before > now]
        if not self.peers and self._next_broker > now:
            soon.append(self._next_broker)
        return min(soon, default=float("inf"))

    def close(self, now: float) -> None:
        for link in list(self._links.values()):
            self._end(link, now)

    def _connect_to_anyone(self, brokers: Mapping[int, tuple[str, int]], now: float) -> None:
        """The one that has failed least often, brokers before bootstrap addresses."""
        candidates = {**brokers, **self._bootstrap}
        free = [node for node in candidates if node not in self._links]
        if free:
            self._next_broker = now + _PARALLEL_SECONDS
            node = min(free, key=lambda each: self._attempt(each).failures)
            self._connect(node, candidates[node], now)

    def _attempt(self, node: int) -> Attempt:
        return self._attempts.setdefault(node, Attempt())

    def _connect(self, node: int, place: tuple[str, int], now: float) -> None:
        attempt = self._attempt(node)
        if now < attempt.not_before or attempt.resolving:
            return
        addresses = [each for each in attempt.addresses if (each.host, each.port) == place]
        if not addresses:
            self._resolve(attempt, place, now)
            addresses = attempt.addresses
        if not addresses:
            return
        address = addresses[attempt.failures % len(addresses)]
        link = Link(address, self._security, client_id=self._client_id, now=now, wake=self._wake)
        link.node, link.generation = node, next(_generations)
        self._links[node] = link
        if link.failure is None:
            self._by_fd[link.fd] = link
        self._settle(link, now)

    def _resolve(self, attempt: Attempt, place: tuple[str, int], now: float) -> None:
        """Here where it is an address already; else in a thread of its own, as the system's resolver takes its time."""
        attempt.addresses = []

        def look_up() -> None:
            try:
                attempt.addresses, attempt.refused = resolve(*place), None
            except ConnectionFailure as failure:
                self.failure = failure
                attempt.refused = failure if failure.kind == "outgoing" else None
                attempt.failures += 1
                attempt.not_before = now + _MOST_SECONDS

        def run() -> None:
            look_up()
            attempt.resolving = False
            self._wake()

        with contextlib.suppress(ValueError):
            ipaddress.ip_address(place[0])
            look_up()
            return
        attempt.resolving = True
        threading.Thread(target=run, name="kafka-resolve", daemon=True).start()

    def _advance(self, link: Link, *, readable: bool, writable: bool, now: float) -> None:
        for reply in link.advance(readable=readable, writable=writable, now=now):
            self._reply(link, reply, now)
        self._settle(link, now)

    def _reply(self, link: Link, reply: Reply, now: float) -> None:
        request: Request = reply.token
        try:
            request.replied(Reader(reply.body), now)
        except MalformedMessage as error:
            request.lost(now)
            self.failure = ConnectionFailure("protocol", f"{link.address}, message {request.key}: {error}")
            link.close()

    def _settle(self, link: Link, now: float) -> None:
        """After each call: what it waits for, whether it takes requests, whether it has ended."""
        if link.failure is not None or link.fd < 0:
            self._end(link, now)
            return
        mask = select.EPOLLIN | (select.EPOLLOUT if link.wants_write else 0)
        if mask != link.mask:
            change = self._poller.modify if link.mask else self._poller.register
            change(link.fd, mask)
            link.mask = mask
        if link.ready:
            if link.node not in self.peers:
                self.peers[link.node] = link
                self.failure = None
                attempt = self._attempt(link.node)
                attempt.failures, attempt.not_before = 0, 0.0
        elif link.node in self.peers:
            del self.peers[link.node]

    def _end(self, link: Link, now: float) -> None:
        link.close()
        for fd in [fd for fd, each in self._by_fd.items() if each is link]:
            del self._by_fd[fd]
        if self._links.get(link.node) is link:
            del self._links[link.node]
            self.peers.pop(link.node, None)
            self.failure = link.failure or self.failure
            attempt = self._attempt(link.node)
            attempt.not_before = now + min(_FIRST_SECONDS * 2 ** min(attempt.failures, 10), _MOST_SECONDS)
            attempt.failures += 1
            if connections.is_limited() or attempt.failures % max(1, len(attempt.addresses)) == 0:
                attempt.addresses = []  # looked up again, and compared with the list as it is then
        for request in link.abandoned():
            request.lost(now)
