"""Asks a cluster about topics, offsets and transactions, and reads records: what a sink needs besides its producer.

One request at a time, over one connection to each broker that is asked. kafka-python's consumer takes 200 ms and a
thread for each of the few records that a sink begins with; this client takes 3 ms.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, Final, TypeVar

from kafka import TopicPartition
from kafka.errors import (
    KafkaTimeoutError,
    LeaderNotAvailableError,
    RetriableError,
    TopicAlreadyExistsError,
    TransactionalIdNotFoundError,
    UnsupportedVersionError,
)

from replicator.kafka import errors
from replicator.kafka.blocking import BlockingConnection
from replicator.kafka.failure import ConnectionFailure
from replicator.kafka.messages import (
    create_topics,
    describe_configs,
    describe_transactions,
    fetch,
    find_coordinator,
    list_offsets,
    metadata,
)
from replicator.kafka.record_reader import Record
from replicator.kafka.record_reader import read as read_batches
from replicator.kafka.security import Security
from replicator.kafka.wire import MalformedMessage, Reader

SECONDS: Final = 5.0
"""For a question; also to connect to one broker, and for one reply."""

_AGAIN_SECONDS: Final = 0.05
_LEADERS_SECONDS: Final = 0.5  # for which an answer about leaders is believed
_FETCH_BYTES: Final = 1 << 20
_STARTING_SECONDS: Final = 3.0
"""After connecting, for which a broker that knows no topic at all may not have been told of them. Less than SECONDS."""
_UPDATE_METADATA: Final = 6
"""The request by which a controller tells brokers of topics where the cluster uses ZooKeeper."""
_NOBODY: Final = -1

T = TypeVar("T")


class AdminClient:
    """Connected to one of the brokers. Not thread-safe.

    Its methods raise KafkaError, and ConnectionFailure where no broker answers. What passes (a leader moves, a broker
    is away) is waited for until `deadline`, monotonic seconds; without one for SECONDS.

    Args:
        bootstrap: hosts and ports.

    Raises:
        ConnectionFailure: that of the last broker, or the first that is final.
    """

    def __init__(self, bootstrap: Sequence[tuple[str, int]], security: Security) -> None:
        self._bootstrap = list(bootstrap)
        self._security = security
        self._brokers: dict[int, tuple[str, int]] = {}
        self._connections: dict[tuple[str, int], BlockingConnection] = {}
        self._informed_at: dict[BlockingConnection, float] = {}  # when the broker knows all topics, at the latest
        self._leaders: dict[TopicPartition, int] = {}
        self._leaders_until = 0.0
        self._coordinators: dict[str, int] = {}
        self._controller = _NOBODY
        self.cluster = ""
        """Id of the cluster, "" where the broker does not say."""
        try:
            self._metadata([])  # a broker that wants a login ends the connection at the first question, not before
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """May be called again."""
        while self._connections:
            self._connections.popitem()[1].close()

    def topics(self) -> list[str]:
        """The names of all topics."""
        return [topic.name for topic in self._until(None, self._metadata, None).topics]

    def describe(self, names: Sequence[str]) -> list[metadata.Topic]:
        """Of those topics, with an error code each."""
        return self._until(None, self._metadata, names).topics

    def create(self, name: str, partitions: int, replicas: int, settings: Mapping[str, str]) -> None:
        """Creates a topic, and waits until it has leaders. Nothing happens where there is one of that name.

        Args:
            replicas: -1: the broker's default.
        """
        deadline = time.monotonic() + 2 * SECONDS
        self._until(deadline, self._create, name, partitions, replicas, settings)
        while not all(topic.error == 0 and _led(topic) for topic in self.describe([name])):
            if time.monotonic() > deadline:
                raise LeaderNotAvailableError(f"the new topic '{name}' has no partition leaders yet")
            time.sleep(_AGAIN_SECONDS)

    def settings(self, topic: str, names: Sequence[str]) -> dict[str, str | None]:
        """Of a topic; {} where they may not be read."""
        return self._until(None, self._settings, topic, names).values

    def ends(self, place: TopicPartition, deadline: float, *, committed: bool = True) -> tuple[int, int]:
        """The first offset of a partition, and the one behind its last record; committed: behind the last that is
        decided, where the first transaction begins that is still open."""
        first, last = (
            self._until(deadline, self._offsets, [place], which, committed)[place]
            for which in (list_offsets.FIRST, list_offsets.LAST)
        )
        return first, last

    def offsets(
        self, places: Sequence[TopicPartition], which: int, deadline: float, *, committed: bool = True
    ) -> dict[TopicPartition, int]:
        """Of many partitions at once; which: `list_offsets.FIRST` or LAST. As `ends`."""
        return self._until(deadline, self._offsets, places, which, committed) if places else {}

    def fetch(self, place: TopicPartition, start: int, deadline: float) -> tuple[list[Record], int]:
        """Committed records from offset `start` on, at most 1 MB or one batch, and the offset to continue at. Raises
        OffsetOutOfRangeError: the partition does not have it."""
        return self._until(deadline, self._fetch, place, start, True)

    def undecided(self, topics: Iterable[str], deadline: float) -> list[TopicPartition]:
        """The partitions of those topics, where they exist, that have a transaction in them without an end, of
        whichever producer."""
        described = self._until(deadline, self._metadata, list(topics)).topics
        asked = [TopicPartition(topic.name, each.number) for topic in described for each in topic.partitions]
        # What is decided is asked for last: what comes meanwhile can't look undecided then.
        everything, decided = (
            self._until(deadline, self._offsets, asked, list_offsets.LAST, committed) for committed in (False, True)
        )
        return [place for place in asked if decided[place] < everything[place]]

    def transaction_state(self, transactional_id: str, deadline: float) -> str | None:
        """How far the last transaction of a transactional id has come, as Kafka writes it (CompleteCommit, Ongoing,
        ...); None: its coordinator does not know the id. Raises UnsupportedVersionError: brokers before 3.0."""
        try:
            return self._until(deadline, self._transaction_state, transactional_id)
        except TransactionalIdNotFoundError:
            return None

    def read(
        self, place: TopicPartition, start: int, until: int, deadline: float, *, committed: bool = True
    ) -> Iterator[Record]:
        """The records of offsets [start, until), where `until` is not behind the end; committed: without those of
        aborted transactions. Raises KafkaTimeoutError: not all of it was read by `deadline`."""
        while start < until:
            records, start = self._until(deadline, self._fetch, place, start, committed)
            yield from (record for record in records if record.offset < until)
            if start < until and time.monotonic() > deadline:
                raise KafkaTimeoutError(f"offset {start} of {place.topic} was not reached in time")

    def _until(self, deadline: float | None, ask: Callable[..., T], *arguments: Any) -> T:
        """The answer, asked for again while a leader moves or a broker is away."""
        end = time.monotonic() + SECONDS if deadline is None else deadline
        while True:
            try:
                return ask(*arguments)
            except MalformedMessage as error:
                raise ConnectionFailure("protocol", f"not a valid Kafka reply: {error}") from None
            except (RetriableError, ConnectionFailure) as error:
                if time.monotonic() > end or (isinstance(error, ConnectionFailure) and error.final):
                    raise
            self._leaders.clear()
            self._coordinators.clear()
            self._controller = _NOBODY
            time.sleep(_AGAIN_SECONDS)

    def _metadata(self, names: Sequence[str] | None) -> metadata.Metadata:
        connection = self._any()
        version = _version(connection, metadata)
        body = self._ask(connection, metadata.KEY, version, metadata.request(names, version))
        found = metadata.reply(body, version)
        if found.error:
            raise errors.cause(found.error)
        if not self._informed(connection, found):
            raise LeaderNotAvailableError("a broker that has just started does not know the topics of the cluster yet")
        self._brokers = {broker.node: (broker.host, broker.port) for broker in found.brokers}
        self._controller, self.cluster = found.controller, found.cluster or self.cluster
        return found

    def _informed(self, connection: BlockingConnection, found: metadata.Metadata) -> bool:
        """Whether topics that the answer calls unknown do not exist. Where the cluster uses ZooKeeper, a broker that
        has just started calls all of them unknown until the controller has told it of them, of all at once. A
        cluster without any topic looks the same for as long as `_STARTING_SECONDS`."""
        if any(topic.partitions for topic in found.topics):
            self._informed_at[connection] = 0.0
        elif any(topic.error == errors.UNKNOWN_TOPIC_OR_PARTITION for topic in found.topics):
            return time.monotonic() >= self._informed_at[connection] or bool(self._metadata(None).topics)
        return True

    def _create(self, name: str, partitions: int, replicas: int, settings: Mapping[str, str]) -> None:
        if self._controller == _NOBODY:
            self._metadata([])
        connection = self._broker(self._controller) if self._controller in self._brokers else self._any()
        version = _version(connection, create_topics)
        body = create_topics.request(name, partitions, replicas, settings, int(SECONDS * 1000))
        found = create_topics.reply(self._ask(connection, create_topics.KEY, version, body), version)
        if found.error and not isinstance(errors.cause(found.error), TopicAlreadyExistsError):
            raise errors.cause(found.error, found.message)

    def _settings(self, topic: str, names: Sequence[str]) -> describe_configs.Settings:
        connection = self._any()
        version = _version(connection, describe_configs)
        body = describe_configs.request(topic, names)
        found = describe_configs.reply(self._ask(connection, describe_configs.KEY, version, body))
        if found.error and isinstance(errors.cause(found.error), RetriableError):
            raise errors.cause(found.error, found.message)
        return found

    def _offsets(self, places: Sequence[TopicPartition], which: int, committed: bool) -> dict[TopicPartition, int]:
        found = {}
        for leader, theirs in self._by_leader(places).items():
            connection = self._broker(leader)
            version = _version(connection, list_offsets)
            body = list_offsets.request(theirs, which, committed=committed)
            for each in list_offsets.reply(self._ask(connection, list_offsets.KEY, version, body)):
                if each.error:
                    raise errors.cause(each.error, f"{each.topic} {each.partition}")
                found[TopicPartition(each.topic, each.partition)] = each.offset
        return found

    def _fetch(self, place: TopicPartition, start: int, committed: bool) -> tuple[list[Record], int]:
        (leader,) = self._by_leader([place])
        connection = self._broker(leader)
        version = _version(connection, fetch)
        body = fetch.request(place.topic, place.partition, start, _FETCH_BYTES, committed=committed)
        found = fetch.reply(self._ask(connection, fetch.KEY, version, body))
        if found.error:
            raise errors.cause(found.error, f"{place.topic} {place.partition} could not be read at {start}")
        return read_batches(found.records, start, found.aborted if committed else None)

    def _transaction_state(self, transactional_id: str) -> str:
        connection = self._broker(self._coordinator(transactional_id))
        version = _version(connection, describe_transactions)
        body = describe_transactions.request(transactional_id)
        found = describe_transactions.reply(self._ask(connection, describe_transactions.KEY, version, body))
        if found.error:
            raise errors.cause(found.error)
        return found.state

    def _coordinator(self, transactional_id: str) -> int:
        node = self._coordinators.get(transactional_id, _NOBODY)
        if node == _NOBODY:
            connection = self._any()
            version = _version(connection, find_coordinator)
            body = find_coordinator.request(transactional_id, version)
            found = find_coordinator.reply(self._ask(connection, find_coordinator.KEY, version, body), version)
            if found.error:
                raise errors.cause(found.error, found.message)
            node = self._coordinators[transactional_id] = found.node
            self._brokers[node] = found.host, found.port
        return node

    def _by_leader(self, places: Sequence[TopicPartition]) -> dict[int, list[TopicPartition]]:
        if time.monotonic() > self._leaders_until or not self._leaders.keys() >= set(places):
            found = self._metadata(list(dict.fromkeys(place.topic for place in places)))
            self._leaders = {
                TopicPartition(topic.name, each.number): each.leader
                for topic in found.topics
                for each in topic.partitions
            }
            self._leaders_until = time.monotonic() + _LEADERS_SECONDS
        groups: dict[int, list[TopicPartition]] = {}
        for place in places:
            leader = self._leaders.get(place, _NOBODY)
            if leader not in self._brokers:
                raise LeaderNotAvailableError(f"{place.topic} {place.partition}")
            groups.setdefault(leader, []).append(place)
        return groups

    def _any(self) -> BlockingConnection:
        """To whichever broker there is a connection to, or answers first."""
        for known in self._connections.values():
            return known
        failure: ConnectionFailure | None = None
        for address in dict.fromkeys((*self._brokers.values(), *self._bootstrap)):
            try:
                return self._connect(address)
            except ConnectionFailure as error:
                failure = error
                if error.final:
                    break
        raise failure or ConnectionFailure("resolve", "no broker is given")

    def _broker(self, node: int) -> BlockingConnection:
        address = self._brokers.get(node)
        if address is None:
            raise LeaderNotAvailableError(f"broker {node} is unknown")
        return self._connections.get(address) or self._connect(address)

    def _connect(self, address: tuple[str, int]) -> BlockingConnection:
        made = BlockingConnection(*address, self._security, timeout=SECONDS, request_timeout=SECONDS)
        self._connections[address] = made
        by_controller = made.version(_UPDATE_METADATA, 0, 99) is not None
        self._informed_at[made] = time.monotonic() + _STARTING_SECONDS if by_controller else 0.0
        return made

    def _ask(self, connection: BlockingConnection, key: int, version: int, body: bytes) -> Reader:
        try:
            return connection.ask(key, version, (body,), flexible=True)
        except ConnectionFailure:
            for address, each in list(self._connections.items()):
                if each is connection:
                    del self._connections[address]
            self._informed_at.pop(connection, None)
            connection.close()
            raise


def _version(connection: BlockingConnection, message: ModuleType) -> int:
    """message: a module of `messages`."""
    found = connection.version(message.KEY, *message.VERSIONS)
    if found is None:
        name = message.__name__.rpartition(".")[2].replace("_", " ").title().replace(" ", "")
        raise UnsupportedVersionError(f"the broker does not support {name}, version {message.VERSIONS[0]}")
    return found


def _led(topic: metadata.Topic) -> bool:
    return bool(topic.partitions) and all(each.leader != _NOBODY and each.error == 0 for each in topic.partitions)
