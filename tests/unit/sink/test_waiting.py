"""The accumulator is shown the partitions only that have something to send."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.producer.producer_batch import ProducerBatch
from kafka.producer.record_accumulator import RecordAccumulator
from kafka.structs import TopicPartition

from replicator.sink.kafka.prebuilt import Prebuilt
from replicator.sink.kafka.requests import framed
from replicator.sink.kafka.waiting import Waiting

NODES = 3


class Cluster:
    """Partition n is led by node n modulo `NODES`; counts how often it is asked."""

    def __init__(self) -> None:
        self.asked: Counter[TopicPartition] = Counter()

    def leader_for_partition(self, place: TopicPartition) -> int:
        self.asked[place] += 1
        return int(place.partition % NODES)

    def partitions_for_broker(self, broker_id: int) -> Any:
        raise AssertionError("of all that the broker leads")


class Fixture:
    def __init__(self) -> None:
        self.accumulator: Any = RecordAccumulator(linger_ms=0)
        self.cluster = Cluster()
        Waiting(self.accumulator, self.cluster)

    def append(self, place: TopicPartition, size: int = 10) -> Any:
        batch = ProducerBatch(place, Prebuilt(1, framed(bytes(size)), 0))
        with self.accumulator._tp_lock(place):
            self.accumulator._batches[place].append(batch)
        return batch

    def drain(self, most: int = 1 << 20) -> list[Any]:
        """As the sender does."""
        nodes, _, _ = self.accumulator.ready(self.cluster)
        drained = self.accumulator.drain(self.cluster, nodes, most)
        return [batch for batches in drained.values() for batch in batches]


@pytest.fixture
def fixture() -> Iterator[Fixture]:
    yield Fixture()


def test_what_was_written_to_before_is_not_looked_at(fixture: Fixture) -> None:
    for number in range(1000):
        fixture.append(TopicPartition("t", number))
    assert len(fixture.drain()) == 1000
    fixture.cluster.asked.clear()
    batch = fixture.append(TopicPartition("t", 7))
    assert fixture.drain() == [batch]
    assert set(fixture.cluster.asked) == {TopicPartition("t", 7)}


def test_what_does_not_fit_goes_on_waiting(fixture: Fixture) -> None:
    first = [fixture.append(TopicPartition("t", NODES * number), 400) for number in range(4)]
    found = []
    while batches := fixture.drain(most=1100):
        assert len(batches) == 2
        found += batches
    assert sorted(map(id, found)) == sorted(map(id, first))


@given(st.lists(st.lists(st.integers(0, 8), max_size=6), max_size=12), st.integers(1, 2000))
def test_everything_leaves_once_and_in_order(rounds: list[list[int]], most: int) -> None:
    fixture = Fixture()
    wanted: dict[int, list[Any]] = {}
    found: dict[int, list[Any]] = {}

    def drain() -> bool:
        batches = fixture.drain(most)
        for batch in batches:
            found.setdefault(batch.topic_partition.partition, []).append(batch)
        return bool(batches)

    for places in rounds:
        for number in places:
            wanted.setdefault(number, []).append(fixture.append(TopicPartition("t", number), 300))
        drain()
    while drain():
        pass
    assert found == wanted
    assert not fixture.accumulator._batches


def test_what_comes_while_the_last_one_leaves_is_not_forgotten(fixture: Fixture) -> None:
    """From another thread, as a Core's worker hands over while the sender drains."""
    place, count = TopicPartition("t", 0), 3000
    given: list[Any] = []

    def hand_over() -> None:
        given.extend(fixture.append(place) for _ in range(count))

    thread = threading.Thread(target=hand_over)
    thread.start()
    found = []
    while thread.is_alive() or fixture.accumulator._batches:
        found += fixture.drain()
    thread.join()
    assert found == given
