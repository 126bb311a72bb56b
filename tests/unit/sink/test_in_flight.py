"""Several batches of a partition on their way at once."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka import KafkaProducer
from kafka.errors import NotLeaderForPartitionError, OutOfOrderSequenceNumberError
from kafka.producer.producer_batch import ProducerBatch
from kafka.structs import TopicPartition

from replicator.sink.kafka import bulk
from replicator.sink.kafka.in_flight import LIMIT, InFlight
from replicator.sink.kafka.prebuilt import Prebuilt
from replicator.sink.kafka.records import Stamp
from replicator.sink.kafka.requests import framed
from replicator.sink.kafka.window import Window

PLACE, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)


def test_the_first_batch_of_a_partition_goes_alone() -> None:
    """The broker takes any number from a producer that it does not know, also a second batch without the first."""
    waits = InFlight(lambda place: 0)
    assert PLACE not in waits
    waits.add(PLACE)
    assert PLACE in waits
    assert OTHER not in waits
    waits.acknowledged(PLACE)
    waits.discard(PLACE)
    for _ in range(LIMIT):
        assert PLACE not in waits
        waits.add(PLACE)
    assert PLACE in waits


def test_one_that_has_to_be_repeated_goes_alone_again() -> None:
    waits = InFlight(lambda place: 0)
    waits.acknowledged(PLACE)
    for _ in range(3):
        waits.add(PLACE)
    waits.repeat(PLACE)
    waits.discard(PLACE)
    assert PLACE in waits  # two more are away
    waits.discard(PLACE)
    waits.discard(PLACE)
    assert PLACE not in waits
    waits.add(PLACE)
    assert PLACE in waits


def test_a_broker_with_enough_requests_gets_no_other_partition() -> None:
    requests = {PLACE: LIMIT, OTHER: LIMIT - 1}
    waits = InFlight(requests.__getitem__)
    assert PLACE in waits
    assert OTHER not in waits


@pytest.fixture(scope="module")
def feed() -> Any:
    """With the version given, the constructor needs no broker."""
    producer = KafkaProducer(
        bootstrap_servers="127.0.0.1:1", api_version=(4, 0), enable_idempotence=True, metrics_enabled=False
    )
    producer._sender.force_close()
    producer._sender.join(10)
    producer._unregister_cleanup()
    producer._closed = True
    return bulk.BulkFeed(producer, Stamp("t", 1), Window(1 << 20, 30.0, lambda age: None), lambda: None)


def made(feed: Any, number: int) -> ProducerBatch:
    prebuilt = Prebuilt(1, framed(b""), 0, number=number)
    state = feed._manager.producer_id_and_epoch
    prebuilt.set_producer_state(state.producer_id, state.epoch, number, False)
    return ProducerBatch(PLACE, prebuilt)


@given(st.permutations(range(6)), st.integers(0, 6))
def test_repeated_batches_leave_in_their_first_order(feed: Any, order: list[int], waiting: int) -> None:
    """Whatever the order of the answers is, and whatever has come meanwhile."""
    queue = feed._accumulator._batches[PLACE] = deque(made(feed, 10 + number) for number in range(waiting))
    for number in order:
        feed._accumulator.reenqueue(made(feed, number))
    assert [each.records.number for each in queue] == [*range(6), *range(10, 10 + waiting)]
    queue.clear()


def test_one_that_came_before_its_predecessor_is_sent_again(feed: Any) -> None:
    """And one whose predecessor is nowhere is refused for good."""
    queue = feed._accumulator._batches[PLACE] = deque([made(feed, 1)])
    assert feed._sender._can_retry(made(feed, 2), OutOfOrderSequenceNumberError)
    assert not feed._sender._can_retry(made(feed, 0), OutOfOrderSequenceNumberError)
    queue.clear()
    assert not feed._sender._can_retry(made(feed, 2), OutOfOrderSequenceNumberError)
    assert feed._sender._can_retry(made(feed, 2), NotLeaderForPartitionError)
