"""A batch that leaves by the short way: all that is known afterwards is what a step of the library's leaves behind."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka import KafkaProducer
from kafka.errors import KafkaConnectionError
from kafka.net.connection import KafkaConnection
from kafka.net.transport import KafkaTCPTransport
from kafka.producer.producer_batch import ProducerBatch
from kafka.producer.sender import Sender
from kafka.producer.transaction_manager import ProducerIdAndEpoch, TransactionState
from kafka.protocol.parser import KafkaProtocol
from kafka.protocol.producer import ProduceResponse
from kafka.structs import TopicPartition

from replicator.errors import LeadershipLost
from replicator.sink.kafka import bulk
from replicator.sink.kafka.in_flight import LIMIT
from replicator.sink.kafka.prebuilt import Prebuilt
from replicator.sink.kafka.records import Stamp
from replicator.sink.kafka.requests import VERSION, adopt, framed
from replicator.sink.kafka.topic import Topic
from replicator.sink.kafka.window import Window

PLACE = TopicPartition("orders", 3)
TOPIC = Topic("orders", 4, 1 << 20)
LONGEST = "t" * 249


class Party:
    """A producer that stands still, and a broker of which only the socket is there."""

    def __init__(self, client_id: str = "us", transactional_id: str | None = None) -> None:
        with mock.patch.object(Sender, "start"):
            self.producer = KafkaProducer(
                bootstrap_servers="127.0.0.1:1",
                api_version=(4, 0),
                client_id=client_id,
                enable_idempotence=True,
                transactional_id=transactional_id,
                metrics_enabled=False,
            )
        self.producer._unregister_cleanup()
        self.producer._closed = True
        self.producer._sender._metadata.leader_for_partition = lambda place: 1
        self.guarded: Exception | None = None
        self.window = Window(1 << 20, 30.0, lambda age: None)
        self.feed: Any = bulk.BulkFeed(self.producer, Stamp("t", 1), self.window, self._guard)
        self.sender: Any = self.producer._sender
        self.accumulator: Any = self.producer._accumulator
        self.manager: Any = self.producer._transaction_manager
        self.manager._current_state = TransactionState.READY
        self.manager.producer_id_and_epoch = ProducerIdAndEpoch(7, 2)
        self.net: Any = self.sender._client._net
        ours, self.theirs = socket.socketpair()
        ours.setblocking(False)
        self.theirs.settimeout(5)
        self.net._scheduled.clear()  # the producer's own
        self.connection = KafkaConnection(self.net, 1, request_timeout_ms=30_000)
        self.connection.connected, self.connection.initializing = True, False
        self.connection.parser = KafkaProtocol(client_id=client_id)
        self.connection.transport = KafkaTCPTransport(self.net, ours)
        self.connection.transport.set_protocol(self.connection)
        adopt(self.connection, None)
        self.connection.parser.agreed = VERSION
        self.sender._client._manager._conns[1] = self.connection

    def _guard(self) -> None:
        if self.guarded is not None:
            raise self.guarded

    def hand_over(self, body: bytes, place: TopicPartition = PLACE) -> ProducerBatch:
        """As the feed does, and nobody is told."""
        number = self.window.admit(len(body))
        batch = ProducerBatch(place, Prebuilt(3, framed(body), 5, number=number))
        batch.produce_future.add_callback(self.feed._finished, number, place, TOPIC, len(body), None)
        self.feed._append(place, batch)
        return batch

    def step(self, batch: ProducerBatch) -> bool:
        """The library's."""
        self.sender._send_producer_data()
        return True

    def express(self, batch: ProducerBatch) -> bool:
        return bool(self.feed._express.send(batch))

    def read(self) -> bytes:
        time.sleep(0)
        self.theirs.setblocking(False)
        try:
            return self.theirs.recv(1 << 20)
        except BlockingIOError:
            return b""

    def answer(self, place: TopicPartition, correlation_id: int, code: int = 0) -> None:
        """What the broker says of a batch."""
        kind = ProduceResponse[VERSION]
        topic, partition = kind.TopicProduceResponse, kind.TopicProduceResponse.PartitionProduceResponse
        said = kind(
            responses=[topic(name=place.topic, partition_responses=[partition(index=place.partition, error_code=code)])]
        )
        said.with_header(correlation_id=correlation_id)
        self.connection.data_received(said.encode(framed=True, header=True))

    def known(self) -> dict[str, Any]:
        connection, parser = self.connection, self.connection.parser
        return {
            "sequences": dict(self.manager._sequence_numbers),
            "away": {
                place: [(each.records.base_sequence, each.drained is not None) for _, each in sorted(batches)]
                for place, batches in self.sender._in_flight_batches.items()
                if batches
            },
            "waiting": {
                place: [(each.records.base_sequence, each.attempts) for each in batches]
                for place, batches in self.accumulator._batches.items()
                if batches
            },
            "muted": PLACE in self.feed._in_flight,
            "incomplete": bool(self.accumulator.has_incomplete),
            "timers": sorted(round(when - time.monotonic()) for when, _ in self.net._scheduled),
            "requests": [(number, round(until - at)) for number, _, at, until, _ in connection.in_flight_requests],
            "headers": [(each.correlation_id, each.get_response_class()) for each in parser.in_flight_requests],
            "in the window": self.window.bytes,
            "state": self.manager._current_state,
        }

    def close(self) -> None:
        self.theirs.close()
        self.connection.transport and self.connection.transport._sock.close()


@pytest.fixture
def both() -> Iterator[tuple[Party, Party]]:
    made = Party(), Party()
    yield made
    for each in made:
        each.close()


def alike(both: tuple[Party, Party]) -> None:
    wanted, found = both[0].known(), both[1].known()
    assert found == wanted


def send(both: tuple[Party, Party], body: bytes, place: TopicPartition = PLACE) -> None:
    library, ours = both
    assert library.step(library.hand_over(body, place))
    assert ours.express(ours.hand_over(body, place))
    assert ours.read() == library.read() != b""


@given(
    st.lists(
        st.tuples(st.binary(max_size=300), st.sampled_from([0, 3, 1 << 20]), st.sampled_from(["t", "名", LONGEST]))
    )
)
def test_the_same_bytes_and_the_same_state(given: list[tuple[bytes, int, str]]) -> None:
    both = Party(), Party()
    try:
        for number, (body, partition, topic) in enumerate(given, 1):
            place = TopicPartition(topic, partition)
            send(both, body, place)
            alike(both)
            for each in both:
                each.answer(place, number)
            alike(both)
            assert not both[1].accumulator.has_incomplete
            assert both[1].window.bytes == 0
    finally:
        for each in both:
            each.close()


def test_several_on_their_way(both: tuple[Party, Party]) -> None:
    """As many as the library's step would let leave; the next one waits, whichever way it came."""
    send(both, b"first")
    for each in both:
        each.answer(PLACE, 1)
    for number in range(LIMIT):
        send(both, b"%d" % number)
        alike(both)
    library, ours = both
    library.step(library.hand_over(b"too many"))
    assert not ours.express(ours.hand_over(b"too many"))
    alike(both)
    assert library.read() == ours.read() == b""
    for number in range(LIMIT):
        for each in both:
            each.answer(PLACE, 2 + number)
    alike(both)


@pytest.mark.parametrize("code", [6, 87, 10], ids=["not the leader", "an invalid record", "too large"])
def test_a_refusal_goes_the_librarys_way(both: tuple[Party, Party], code: int) -> None:
    send(both, b"rows")
    for each in both:
        each.answer(PLACE, 1, code)
    alike(both)
    assert bool(both[1].accumulator._batches.get(PLACE)) is (code == 6)


def test_sequences_begin_again_where_the_librarys_do(both: tuple[Party, Party]) -> None:
    for each in both:
        each.manager._sequence_numbers[PLACE] = 2**31 - 2
    send(both, b"rows")
    alike(both)
    assert both[1].manager._sequence_numbers[PLACE] == 1


def test_a_lost_connection_and_once_more(both: tuple[Party, Party]) -> None:
    """What was on its way leaves again, with its number, in a request of the library's."""
    send(both, b"rows")
    for each in both:
        each.connection.connected = False
        each.connection.fail_in_flight_requests(KafkaConnectionError("lost"))
    alike(both)
    (again,) = both[1].accumulator._batches[PLACE]
    assert (again.attempts, again.records.base_sequence) == (1, 0)
    assert not both[1].express(again), "not as long as there is no connection"


def test_an_answer_that_does_not_come_closes_the_connection(both: tuple[Party, Party]) -> None:
    send(both, b"rows")
    seen = []
    for each in both:
        each.connection._request_timed_out = lambda future, at, until: seen.append(round(until - at))  # type: ignore[method-assign]
        ((_, task),) = each.net._scheduled
        with pytest.raises(StopIteration):
            task()
    assert seen == [30, 30]


def test_a_socket_that_fails_is_the_loops(both: tuple[Party, Party]) -> None:
    ours = both[1]
    ours.theirs.close()
    assert ours.express(ours.hand_over(b"rows"))
    assert ours.net._ready


def _busy_writing(party: Party) -> None:
    party.connection.transport._writing = True


def _another_waits(party: Party) -> None:
    party.hand_over(b"another", TopicPartition("other", 0))


def _one_waits_before_it(party: Party) -> None:
    party.hand_over(b"before")


SPOILED: dict[str, Callable[[Party], Any]] = {
    "another place has one": _another_waits,
    "the same place has one": _one_waits_before_it,
    "not connected": lambda party: setattr(party.connection, "connected", False),
    "paused": lambda party: party.connection.paused.add("throttle"),
    "connecting": lambda party: setattr(party.connection, "initializing", True),
    "logging in again": lambda party: setattr(party.connection._reauth, "_reauthenticating", True),
    "no connection": lambda party: party.sender._client._manager._conns.clear(),
    "another version": lambda party: setattr(party.connection.parser, "agreed", None),
    "the library's protocol": lambda party: setattr(party.connection, "parser", KafkaProtocol(client_id="us")),
    "written and not sent": lambda party: party.connection.parser.bytes_to_send.append(b"x"),
    "requests enough": lambda party: party.connection.in_flight_requests.extend([(0, None, 0, 0, None)] * LIMIT),
    "a question is due": lambda party: party.manager._pending_requests.append((0, 1, None)),
    "a question is asked": lambda party: setattr(party.manager, "_in_flight_request_correlation_id", 4),
    "no producer id": lambda party: setattr(party.manager, "producer_id_and_epoch", ProducerIdAndEpoch(-1, -1)),
    "fatal": lambda party: setattr(party.manager, "_current_state", TransactionState.FATAL_ERROR),
    "a new epoch": lambda party: setattr(party.manager, "_current_state", TransactionState.BUMPING_PRODUCER_EPOCH),
    "the first of its place": lambda party: party.feed._in_flight.add(PLACE),
    "a topic is new": lambda party: party.sender._topics_to_add.add("other"),
}


@pytest.mark.parametrize("spoil", SPOILED.values(), ids=SPOILED.keys())
def test_what_is_not_as_usual_is_left_to_the_library(both: tuple[Party, Party], spoil: Callable[[Party], Any]) -> None:
    ours = both[1]
    spoil(ours)
    batch = ours.hand_over(b"rows")
    before = ours.known()
    assert not ours.express(batch)
    assert ours.known() == before
    assert ours.read() == b""
    assert batch in ours.accumulator._batches[PLACE]


def test_nothing_leaves_behind_the_lease(both: tuple[Party, Party]) -> None:
    ours = both[1]
    batch = ours.hand_over(b"rows")
    ours.guarded = LeadershipLost("E4008", "the lease is over")
    assert not ours.express(batch)
    assert ours.read() == b""
    assert ours.manager._current_state is TransactionState.FATAL_ERROR


def test_one_that_the_loop_has_taken_meanwhile(both: tuple[Party, Party]) -> None:
    ours = both[1]
    batch = ours.hand_over(b"rows")
    ours.step(batch)
    sent = ours.read()
    assert sent
    assert not ours.express(batch)
    assert ours.read() == b""


@pytest.mark.parametrize(("client_id", "taken"), [("c" * 100, True), ("c" * 300, False)])
def test_names_that_have_no_room_in_front_of_a_batch(client_id: str, taken: bool) -> None:
    party = Party(client_id)
    assert party.express(party.hand_over(b"rows", TopicPartition(LONGEST, 0))) is taken
    party.close()


def test_not_for_transactions() -> None:
    party = Party(transactional_id="t")
    assert not party.express(party.hand_over(b"rows"))
    party.close()
