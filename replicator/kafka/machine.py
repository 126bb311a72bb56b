"""The producer's state machine: batches and replies go in, requests and outcomes come out. No socket, no clock.

The first batch that fails for good ends the producer: nothing leaves any more, and every unfinished batch is reported
as failed. Going on behind a gap would change the order of a partition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, NamedTuple

from kafka.errors import KafkaError, KafkaTimeoutError, UnsupportedVersionError

from replicator.kafka import errors
from replicator.kafka.batch import OVERHEAD, Batch, Place
from replicator.kafka.cluster import NOBODY, Cluster
from replicator.kafka.lane import Lane
from replicator.kafka.messages import metadata, produce
from replicator.kafka.request import Peers, Request
from replicator.kafka.transaction import Transactions
from replicator.kafka.wire import Reader

_REQUESTS: Final = 5
"""Produce requests in flight to one broker."""

_RETRY_SECONDS, _MOST_SECONDS = 0.02, 0.5
_BUSY_SECONDS: Final = 0.0008


def _age(lane: Lane) -> float:
    return lane.waiting[0].created


class Settings(NamedTuple):
    """transaction_timeout_ms: after which the broker aborts a transaction; delivery_seconds: after which a batch that
    was not sent has failed; replica_timeout_ms: for which a leader waits for its replicas; request_bytes: at which a
    request is full, with one batch at least."""

    transactional_id: str | None = None
    transaction_timeout_ms: int = 60_000
    delivery_seconds: float = 30.0
    replica_timeout_ms: int = 10_000
    request_bytes: int = 1 << 20


class Machine:
    """
    Args:
        guard: raises when nothing may be sent any more; asked each time while a batch is unfinished, and before each
            commit.

    Attributes:
        error: what has ended the producer.
        outstanding: the number of batches that are not finished.
        muted: until when nothing is sent to a node that is over its quota.
    """

    def __init__(self, settings: Settings, guard: Callable[[], None]) -> None:
        self.cluster = Cluster()
        self.error: BaseException | None = None
        self.outstanding = 0
        self._settings = settings
        self._guard = guard
        self.transactions = Transactions(
            settings.transactional_id, settings.transaction_timeout_ms, fail=self.fail, renewed=self._renewed
        )
        self._lanes: dict[Place, Lane] = {}
        self._waiting: dict[Place, Lane] = {}  # those with batches to send
        self._in_flight: dict[int, int] = {}  # Produce requests by node
        self.muted: dict[int, float] = {}

    def append(self, batch: Batch, now: float) -> None:
        """The batch leaves as soon as it may. After an error it fails at once."""
        if self.error is not None:
            batch.done(self.error)
            return
        lane = self._lanes.get(batch.place)
        if lane is None:
            lane = self._lanes[batch.place] = Lane(batch.place)
            self.cluster.want(batch.place[0])
        lane.append(batch, now)
        self._waiting[batch.place] = lane
        self.outstanding += 1
        self.transactions.add(batch.place)

    def end(self, *, commit: bool) -> None:
        """Ends the transaction. An abort drops the batches that have not left; nothing can be sent after it, as the
        sequence numbers of those that were to be sent again are missing."""
        if not commit:
            self._drop_waiting()
        self.transactions.end(commit=commit, empty=not self.outstanding)

    def _drop_waiting(self) -> None:
        for lane in list(self._waiting.values()):
            self.outstanding -= lane.drop_waiting()
        self._waiting.clear()

    def check(self) -> None:
        """Asks the guard while a batch is unfinished; bytes of it may wait in a connection."""
        if self.error is None and self.outstanding:
            self._allowed()

    def fail(self, cause: BaseException, others: BaseException | None = None) -> None:
        """Ends the producer. others: the error of the unfinished batches, where that is another one."""
        if self.error is not None:
            return
        self.error = cause
        self._waiting.clear()
        for lane in self._lanes.values():
            for batch in lane.drop():
                batch.done(others or cause)
        self.outstanding = 0

    # Requests.

    def wanted(self, now: float) -> set[int]:
        """The nodes that are needed, `NOBODY` for any."""
        found = {self.cluster.leader(place) for place in self._waiting}
        if self.cluster.topics_to_ask(now) is not None or not self.transactions.identified:
            found.add(NOBODY)
        if self.transactions.transactional_id is not None:
            found.add(self.transactions.coordinator)
        return found

    def requests(self, peers: Peers, now: float) -> list[Request]:
        """What leaves now, at most one Produce request for each broker. To be asked again until there is nothing."""
        if self.error is not None or (self.outstanding and not self._allowed()):
            return []
        self._expire(now)
        found: list[Request] = []
        free = [node for node in peers if self.muted.get(node, 0.0) <= now]
        anyone = min(free, key=lambda node: peers[node].unanswered, default=None)
        if anyone is not None and (request := self._look_up(anyone, peers, now)):
            found.append(request)
        if self._waiting:
            self.transactions.leaving(now)
        if self._may_ask() and (
            request := self.transactions.next(peers, now, settled=not self.outstanding, anyone=anyone)
        ):
            found.append(request)
        if self._waiting:
            found += self._produce(peers, now)
        return found if self.error is None else []

    def deadline(self, now: float) -> float:
        """Monotonic time after `now` at which `requests` has to be asked again, whatever happens."""
        transactions = self.transactions
        soon = [self.cluster.due, *self.muted.values(), *(lane.retry_at for lane in self._waiting.values())]
        soon.append(transactions.retry_at)
        return min((moment for moment in soon if moment > now), default=float("inf"))

    def _may_ask(self) -> bool:
        """Whether the lease allows a commit; other questions it always does."""
        if not self.transactions.ending or self.outstanding:
            return True
        return self._allowed()

    def _allowed(self) -> bool:
        try:
            self._guard()
        except Exception as error:
            self.fail(error)
            return False
        return True

    def _expire(self, now: float) -> None:
        for lane in self._waiting.values():
            age = now - lane.waiting[0].created
            if age > self._settings.delivery_seconds:
                topic, number = lane.place
                self.fail(KafkaTimeoutError(f"a batch for partition {number} of {topic} waited for {age:.0f} s"))
                return

    def _look_up(self, node: int, peers: Peers, now: float) -> Request | None:
        topics = self.cluster.topics_to_ask(now)
        if topics is None:
            return None
        version = peers[node].version(metadata.KEY, *metadata.VERSIONS)
        if version is None:
            self.fail(UnsupportedVersionError("Metadata: Kafka 2.8 or later"))
            return None
        self.cluster.asked()

        def replied(reader: Reader, now: float) -> None:
            found = metadata.reply(reader, version)
            self._throttle(node, found.throttle_ms, now)
            self.cluster.learn(found, now)

        body = metadata.request(topics, version)
        return Request(node, metadata.KEY, version, [body], replied, self.cluster.unanswered)

    def _produce(self, peers: Peers, now: float) -> Iterable[Request]:
        lanes: dict[int, list[Lane]] = {}
        for place, lane in self._waiting.items():
            node = self.cluster.leader(place)
            if node == NOBODY:
                self._no_leader(place, now)
            elif self._free(node, peers, now) and lane.may_send(node, now) and self.transactions.may_send(place, peers):
                lanes.setdefault(node, []).append(lane)
            if self.error is not None:
                return []
        return [request for node, each in lanes.items() if (request := self._batches(node, each, peers, now))]

    def _no_leader(self, place: Place, now: float) -> None:
        code = self.cluster.error(place[0])
        if code and code not in errors.STALE_METADATA:
            self.fail(errors.cause(code, place[0]))
        self.cluster.stale(now)

    def _free(self, node: int, peers: Peers, now: float) -> bool:
        peer = peers.get(node)
        if peer is None or peer.unsent or self._in_flight.get(node, 0) >= _REQUESTS:
            return False
        until = self.muted.get(node)
        if until is not None and until <= now:
            del self.muted[node]
        return until is None or until <= now

    def _batches(self, node: int, lanes: list[Lane], peers: Peers, now: float) -> Request | None:
        transactions, settings = self.transactions, self._settings
        lowest, highest = produce.VERSIONS
        if transactions.transactional_id is not None:
            lowest, highest = (highest, highest) if transactions.second else (lowest, produce.SECOND_PROTOCOL - 1)
        version = peers[node].version(produce.KEY, lowest, highest)
        if version is None:
            self.fail(UnsupportedVersionError(f"Produce, versions {lowest} to {highest}: Kafka 2.8 or later"))
            return None
        batches: list[Batch] = []
        size = 0
        lanes.sort(key=_age)  # else a partition that always has more would hold up the others
        for lane in lanes:
            more = lane.waiting[0].size
            if batches and size + more > settings.request_bytes + OVERHEAD:
                continue
            size += more
            batches.append(
                lane.take(
                    node,
                    transactions.producer_id,
                    transactions.epoch,
                    transactional=transactions.transactional_id is not None,
                )
            )
            if not lane.waiting:
                del self._waiting[lane.place]
        self._in_flight[node] = self._in_flight.get(node, 0) + 1
        transactions.sending()
        pieces = produce.request(
            transactions.transactional_id,
            settings.replica_timeout_ms,
            [(each.place, (each.data, *each.rest)) for each in batches],
        )
        return Request(
            node,
            produce.KEY,
            version,
            pieces,
            partial(self._produced, node, batches),
            partial(self._lost, node, batches),
        )

    # Outcomes.

    def _produced(self, node: int, batches: list[Batch], reader: Reader, now: float) -> None:
        found = produce.reply(reader)
        self._in_flight[node] -= 1
        self._throttle(node, found.throttle_ms, now)
        for batch in batches:
            written = found.written.get(batch.place)
            if self.error is not None:
                return
            if written is None:
                self._again(batch, errors.NETWORK_EXCEPTION, now)
            elif written.error in (errors.NONE, errors.DUPLICATE_SEQUENCE):
                self._written(batch, now)
            elif self._repeats(batch, written.error):
                self._again(batch, written.error, now)
            elif written.error == errors.OUT_OF_ORDER_SEQUENCE and self._lanes[batch.place].lacks_earlier(batch):
                self._aborted(batch, errors.cause(written.error, written.message))
            else:
                self._failed(batch, errors.cause(written.error, written.message))

    def _lost(self, node: int, batches: list[Batch], now: float) -> None:
        self._in_flight[node] -= 1
        if self.error is None:
            for batch in batches:
                self._again(batch, errors.NETWORK_EXCEPTION, now)

    def _written(self, batch: Batch, now: float) -> None:
        self._lanes[batch.place].written(batch, now)
        self.transactions.wrote()
        self.outstanding -= 1
        batch.done(None)

    def _repeats(self, batch: Batch, code: int) -> bool:
        """Also one that was refused because an earlier one is missing, which is to be sent again."""
        if code == errors.OUT_OF_ORDER_SEQUENCE:
            return self._lanes[batch.place].follows(batch)
        return code in errors.RETRY_BATCH

    def _again(self, batch: Batch, code: int, now: float) -> None:
        lane = self._lanes[batch.place]
        if code in errors.STALE_METADATA:
            self.cluster.stale(now)
        wait = min(_RETRY_SECONDS * 2 ** min(lane.failures, 8), _MOST_SECONDS)
        lane.again(batch, now + (_BUSY_SECONDS if code == errors.CONCURRENT_TRANSACTIONS else wait))
        self._waiting[batch.place] = lane

    def _aborted(self, batch: Batch, cause: BaseException) -> None:
        """An abort has dropped an earlier one, without which the broker does not take it: nobody misses it."""
        self._lanes[batch.place].away.remove(batch)
        self.outstanding -= 1
        batch.done(cause)

    def _failed(self, batch: Batch, cause: BaseException) -> None:
        """The batch that is the cause comes first."""
        self._lanes[batch.place].away.remove(batch)
        batch.done(cause)
        self.fail(cause, KafkaError("another batch has failed"))

    def _throttle(self, node: int, milliseconds: int, now: float) -> None:
        if milliseconds > 0:
            self.muted[node] = now + milliseconds / 1000

    def _renewed(self) -> None:
        for lane in self._lanes.values():
            lane.new_epoch()
