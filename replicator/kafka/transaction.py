"""The producer's identity and its transactions: coordinator, partitions, commit and abort.

Two protocols. With the first the coordinator is told of a partition before the first batch for it; with the second
(KIP-890, where the cluster has the feature `transaction.version` 2) the partition's leader tells it, and every end of a
transaction gives the producer a new epoch. Where the leader would be told to wait, we tell the coordinator ourselves
also with the second. One request at a time is on its way to the coordinator.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import Final

from kafka.errors import KafkaError, UnsupportedVersionError

from replicator.kafka import errors, wire
from replicator.kafka.batch import Place
from replicator.kafka.messages import add_partitions, end_transaction, find_coordinator, init_producer_id, produce
from replicator.kafka.request import Peer, Peers, Request
from replicator.kafka.wire import Reader

_FEATURE: Final = "transaction.version"
_SECOND: Final = 2
_BUSY_SECONDS: Final = 0.0008
"""Until the next attempt while the broker still writes the markers of the last transaction, which takes it about as
long. `epoll` waits for whole milliseconds, rounded up."""
_MARKERS_SECONDS: Final = 0.005
"""After the end of a transaction, for which its markers may not be written yet."""
_RETRY_SECONDS: Final = 0.02
_NOBODY: Final = -1


class State(Enum):
    NEW = auto()
    IDENTIFYING = auto()
    READY = auto()
    OPEN = auto()
    ENDING = auto()


class Transactions:
    """
    Args:
        transactional_id: None: batches are idempotent, and there are no transactions.
        timeout_ms: after which the coordinator aborts a transaction.
        fail: called with what can't be tried again.
        renewed: called when the producer has a new id or epoch: sequence numbers begin again.

    Attributes:
        coordinator: its node, -1 while it is unknown.
        second: the open transaction, or the last one, is of the second protocol.
    """

    def __init__(
        self,
        transactional_id: str | None,
        timeout_ms: int,
        *,
        fail: Callable[[BaseException], None],
        renewed: Callable[[], None],
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = self.epoch = -1
        self.state = State.NEW
        self.coordinator = _NOBODY
        self.address: tuple[str, int] | None = None
        self.second = False
        self._timeout_ms = timeout_ms
        self._fail = fail
        self._renewed = renewed
        self._asking = False
        self._retry_at = 0.0
        self._added: set[Place] = set()
        self._to_add: dict[Place, None] = {}
        self._commit = False
        self._sent = False  # a batch of the transaction has left
        self._started = False  # the coordinator has confirmed that the transaction has begun
        self._asks: bool | None = True  # the coordinator is told of partitions by us; None: not decided yet
        self._ended_at = -_MARKERS_SECONDS
        self._over: int | None = None  # the connection over which a transaction may begin, by its generation

    # What the producer asks for.

    def identify(self) -> None:
        """Gets a producer id. With a transactional id this fences earlier producers, so it is not done by itself."""
        if self.state is State.NEW:
            self.state = State.IDENTIFYING

    @property
    def identified(self) -> bool:
        return self.state not in (State.NEW, State.IDENTIFYING)

    def begin(self, peers: Peers, *, second: bool = True) -> None:
        """Begins a transaction; the broker learns of it with the first partition. second: the second protocol may be
        used."""
        peer = peers.get(self.coordinator)
        if peer is not None:
            self.second = second and self._knows_second(peer) and all(map(_takes_second, peers.values()))
        elif not second:
            self.second = False
        self.state = State.OPEN
        self._sent = self._started = False
        self._asks = None if self.second else True

    def add(self, place: Place) -> None:
        """The partition takes part in the transaction."""
        if self.transactional_id is not None and self._asks is not False and place not in self._added:
            self._to_add[place] = None

    def leaving(self, now: float) -> None:
        """Batches are about to leave. With the second protocol a leader whose question to the coordinator meets the
        markers of the last transaction asks again after 20 ms (`add.partitions.to.txn.retry.backoff.ms`). So the
        coordinator is asked by us where they may not be written yet."""
        if self._asks is None:
            self._asks = now < self._ended_at + _MARKERS_SECONDS
            if not self._asks:
                self._to_add.clear()

    def end(self, *, commit: bool, empty: bool) -> None:
        """Ends the transaction, once everything in it is written. Of one without any partition the broker is not told.
        empty: no batch waits to be sent."""
        self._commit = commit
        if empty and self._asks is None:
            self._to_add.clear()  # no batch has left, so no leader has told the coordinator
        if self._added or self._to_add or self._sent or not empty:
            self.state = State.ENDING
        else:
            self.state = State.READY

    def sending(self) -> None:
        """A batch leaves."""
        self._sent = True

    def wrote(self) -> None:
        """A batch is written."""
        self._started = True

    def may_send(self, place: Place, peers: Peers) -> bool:
        """Whether a batch of the partition may leave."""
        if self.transactional_id is None:
            return self.producer_id >= 0
        if self.state not in (State.OPEN, State.ENDING):
            return False
        return place in self._added if self._asks else self._started or self._may_start(peers)

    @property
    def ending(self) -> bool | None:
        """True: a commit is wanted, False: an abort, None: neither."""
        return self._commit if self.state is State.ENDING else None

    def coordinator_lost(self, peers: Peers) -> bool:
        """Whether the connection is gone over which the last transaction ended. The coordinator may have been away, and
        have left that one without an end in some partition, which the next one would end in its own way."""
        peer = peers.get(self.coordinator)
        return self._over is not None and (peer is None or peer.generation != self._over)

    def take_another(self) -> None:
        """The next transaction begins over any connection: no transaction was left without an end."""
        self._over = None

    def _may_start(self, peers: Peers) -> bool:
        """Raises through `fail` when the connection is gone over which the transaction would have to begin."""
        peer = peers.get(self.coordinator)
        if self._over is None and peer is not None:
            self._over = peer.generation
        if peer is None and self._over is None:
            return False
        if peer is None or peer.generation != self._over:
            self._fail(KafkaError("the transaction coordinator was not available"))
            return False
        return True

    @staticmethod
    def _knows_second(peer: Peer) -> bool:
        lowest = end_transaction.SECOND_PROTOCOL
        return (
            peer.features.get(_FEATURE, 0) >= _SECOND and peer.version(end_transaction.KEY, lowest, lowest) is not None
        )

    # What is asked of the brokers.

    @property
    def retry_at(self) -> float:
        """Monotonic time of the next request, if there is one; inf while one is on its way."""
        return float("inf") if self._asking else self._retry_at

    def next(self, peers: Peers, now: float, *, settled: bool, anyone: int | None) -> Request | None:
        """The next request.

        Args:
            settled: every batch of the transaction is written.
            anyone: a broker that is connected, None: there is none.
        """
        wanted = self._wanted(settled)
        if wanted is None or self._asking or now < self._retry_at:
            return None
        if self.transactional_id is None:
            return self._init(anyone, peers) if anyone is not None else None
        if self.coordinator == _NOBODY:
            return self._find(anyone, peers) if anyone is not None else None
        return wanted(self.coordinator, peers) if self.coordinator in peers else None

    def _wanted(self, settled: bool) -> Callable[[int, Peers], Request | None] | None:
        if self.state is State.NEW:
            return None
        if self.state is State.IDENTIFYING:
            return self._init
        if self._to_add and self._asks:
            return self._add
        if self.state is State.ENDING and settled:
            return self._end
        if self.transactional_id is not None and self.coordinator == _NOBODY:
            return self._init  # not sent: the coordinator is looked up
        return None

    def _find(self, node: int, peers: Peers) -> Request | None:
        assert self.transactional_id is not None, "transactions have a coordinator"  # noqa: S101
        version = self._version(peers[node], find_coordinator.KEY, find_coordinator.VERSIONS)
        if version is None:
            return None
        body = find_coordinator.request(self.transactional_id, version)

        def replied(reader: Reader, now: float) -> None:
            found = find_coordinator.reply(reader, version)
            self._asking = False
            if not found.error:
                self.coordinator, self.address = found.node, (found.host, found.port)
            elif found.error in errors.FIND_COORDINATOR | errors.RETRY_COORDINATOR:
                self._retry_at = now + _RETRY_SECONDS
            else:
                self._fail(errors.cause(found.error, found.message))

        return self._request(node, find_coordinator.KEY, version, body, replied)

    def _init(self, node: int, peers: Peers) -> Request | None:
        peer = peers[node]
        version = self._version(peer, init_producer_id.KEY, init_producer_id.VERSIONS)
        if version is None:
            return None
        body = init_producer_id.request(self.transactional_id, self._timeout_ms)

        def replied(reader: Reader, now: float) -> None:
            found = init_producer_id.reply(reader)
            if self._succeeded(found.error, now):
                self.producer_id, self.epoch = found.producer_id, found.epoch
                self.state = State.READY
                self._over = peer.generation
                self._renewed()

        return self._request(node, init_producer_id.KEY, version, body, replied)

    def _add(self, node: int, peers: Peers) -> Request | None:
        if not self._started and not self._may_start(peers):
            return None
        assert self.transactional_id is not None, "a transaction is open"  # noqa: S101
        version = self._version(peers[node], add_partitions.KEY, add_partitions.VERSIONS)
        if version is None:
            return None
        places = list(self._to_add)
        body = add_partitions.request(self.transactional_id, self.producer_id, self.epoch, places)

        def replied(reader: Reader, now: float) -> None:
            found = add_partitions.reply(reader).errors
            if any(place not in found for place in places):
                raise wire.MalformedMessage("the reply lacks a partition")
            codes = [found[place] for place in places]
            worst = next((code for code in codes if code not in (errors.NONE, errors.OPERATION_NOT_ATTEMPTED)), 0)
            if self._succeeded(worst or max(codes), now):
                self._started = True
                for place in places:
                    self._to_add.pop(place, None)
                    self._added.add(place)

        return self._request(node, add_partitions.KEY, version, body, replied)

    def _end(self, node: int, peers: Peers) -> Request | None:
        assert self.transactional_id is not None, "a transaction is open"  # noqa: S101
        lowest, highest = end_transaction.VERSIONS
        second = end_transaction.SECOND_PROTOCOL
        limits = (second, second) if self.second else (lowest, min(highest, second - 1))
        version = self._version(peers[node], end_transaction.KEY, limits)
        if version is None:
            return None
        identity = self.transactional_id, self.producer_id, self.epoch
        body = end_transaction.request(*identity, commit=self._commit)

        def replied(reader: Reader, now: float) -> None:
            found = end_transaction.reply(reader, version)
            if self._succeeded(found.error, now):
                self.state = State.READY
                self._ended_at = now
                self._added.clear()
                if found.producer_id >= 0 and (found.producer_id, found.epoch) != (self.producer_id, self.epoch):
                    self.producer_id, self.epoch = found.producer_id, found.epoch
                    self._renewed()

        return self._request(node, end_transaction.KEY, version, body, replied)

    def _request(
        self, node: int, key: int, version: int, body: bytes, replied: Callable[[Reader, float], None]
    ) -> Request:
        self._asking = True
        return Request(node, key, version, [body], replied, self._lost)

    def _lost(self, now: float) -> None:
        self._asking = False
        self.coordinator = _NOBODY
        self._retry_at = now + _RETRY_SECONDS

    def _succeeded(self, code: int, now: float) -> bool:
        """False: it is tried again, or has failed for good."""
        self._asking = False
        if not code:
            return True
        if code in errors.FIND_COORDINATOR:
            self.coordinator = _NOBODY
            self._retry_at = now + _RETRY_SECONDS
        elif code in errors.RETRY_COORDINATOR:
            self._retry_at = now + (_BUSY_SECONDS if code == errors.CONCURRENT_TRANSACTIONS else _RETRY_SECONDS)
        else:
            self._fail(errors.cause(code))
        return False

    def _version(self, peer: Peer, key: int, versions: tuple[int, int]) -> int | None:
        found = peer.version(key, *versions)
        if found is None:
            self._fail(
                UnsupportedVersionError(f"message {key}, versions {versions[0]} to {versions[1]}: Kafka 2.8 or later")
            )
        return found


def _takes_second(peer: Peer) -> bool:
    lowest = produce.SECOND_PROTOCOL
    return peer.version(produce.KEY, lowest, lowest) is not None
