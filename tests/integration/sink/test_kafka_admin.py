"""What a sink asks before it writes: over one connection, of its own topics alone, and committed records."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kafka import KafkaProducer
from kafka.errors import (
    KafkaConnectionError,
    KafkaTimeoutError,
    NotLeaderForPartitionError,
    OffsetOutOfRangeError,
    UnknownBrokerIdError,
)
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.parser import KafkaProtocol
from kafka.structs import TopicPartition

from replicator.config.task import KafkaSink
from replicator.model.term import Term
from replicator.sink import open_sink
from replicator.sink.kafka.admin import Admin
from replicator.sink.kafka.producer import connect_admin
from tests.conformance.sinks import at, batch
from tests.support.waiting import eventually

Put = Callable[..., None]


@pytest.fixture
def admin(kafka: Any) -> Iterator[Admin]:
    made = connect_admin(KafkaSink(type="kafka", bootstrap_servers=(kafka.bootstrap,)))
    yield made
    made.close()


@pytest.fixture
def place(kafka: Any, topic_prefix: str) -> TopicPartition:
    kafka.create_topic(topic_prefix + "read")
    return TopicPartition(topic_prefix + "read", 0)


@pytest.fixture
def producer(kafka: Any, place: TopicPartition) -> Iterator[Any]:
    made = KafkaProducer(bootstrap_servers=kafka.bootstrap, transactional_id=place.topic, linger_ms=0)
    made.init_transactions()
    yield made
    made.close(timeout=5)


def write(producer: Any, place: TopicPartition, *values: str) -> None:
    producer.begin_transaction()
    for value in values:
        producer.send(place.topic, key=b"k", value=value.encode(), partition=0)
    producer.flush(20)


def soon() -> float:
    return time.monotonic() + 20


def values(admin: Admin, place: TopicPartition) -> list[str]:
    return [record.value.decode() for record in admin.read(place, *admin.ends(place, soon()), soon())]


def test_an_empty_partition(admin: Admin, place: TopicPartition) -> None:
    assert admin.ends(place, soon()) == (0, 0)
    assert values(admin, place) == []


def test_committed_records_alone(admin: Admin, producer: Any, place: TopicPartition) -> None:
    write(producer, place, "a", "b")
    producer.commit_transaction()
    write(producer, place, "never")
    producer.abort_transaction()
    write(producer, place, "c")
    producer.commit_transaction()
    write(producer, place, "not yet")
    assert admin.ends(place, soon()) == (0, 7)  # three records and two, one and their three markers; the last is open
    assert values(admin, place) == ["a", "b", "c"]
    producer.commit_transaction()
    eventually(lambda: values(admin, place) == ["a", "b", "c", "not yet"])  # once the marker is written


def test_no_more_than_was_asked_for_over_many_fetches(
    admin: Admin, producer: Any, place: TopicPartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("replicator.sink.kafka.admin._FETCH_BYTES", 100)
    for number in range(20):
        write(producer, place, str(number))
        producer.commit_transaction()
    found = [record.offset for record in admin.read(place, 5, 31, soon())]
    assert found == list(range(6, 31, 2))


@pytest.mark.parametrize("passing", [NotLeaderForPartitionError, UnknownBrokerIdError, KafkaConnectionError])
@pytest.mark.parametrize("asked", ["_fetch", "_async_list_partition_offsets"])
def test_what_passes_is_waited_for(
    admin: Admin,
    producer: Any,
    place: TopicPartition,
    monkeypatch: pytest.MonkeyPatch,
    asked: str,
    passing: type[Exception],
) -> None:
    write(producer, place, "a")
    producer.commit_transaction()
    ask, tries = getattr(admin, asked), []

    async def moving(*where: Any) -> Any:
        tries.append(where)
        if len(tries) < 3:
            raise passing
        return await ask(*where)

    monkeypatch.setattr(admin, asked, moving)
    assert values(admin, place) == ["a"]


def test_a_partition_without_a_leader_is_waited_for(
    admin: Admin, place: TopicPartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask, tries = admin._async_get_leader_for_partitions, []

    async def nobody(places: Any) -> Any:
        tries.append(places)
        return {-1: set(places)} if len(tries) < 3 else await ask(places)

    monkeypatch.setattr(admin, "_async_get_leader_for_partitions", nobody)
    assert values(admin, place) == []
    assert len(tries) > 3


def test_the_wait_has_an_end(admin: Admin, place: TopicPartition, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: Any) -> Any:
        raise NotLeaderForPartitionError

    async def nothing(_: Any, start: int, level: Any) -> Any:
        return [], start

    for way, error in ((never, NotLeaderForPartitionError), (nothing, KafkaTimeoutError)):
        monkeypatch.setattr(admin, "_fetch", way)
        with pytest.raises(error):
            list(admin.read(place, 0, 1, time.monotonic() + 0.2))


def test_what_is_not_there_is_an_error(admin: Admin, place: TopicPartition) -> None:
    with pytest.raises(OffsetOutOfRangeError):
        list(admin.read(place, 7, 8, soon()))


def test_a_first_start_asks_for_no_topics_but_its_own(
    kafka: Any, topic_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster has thousands, which would all stand in each worker."""
    asked: list[Any] = []
    send = KafkaProtocol.send_request

    def noted(self: KafkaProtocol, request: Any, *rest: Any, **others: Any) -> Any:
        if isinstance(request, MetadataRequest):
            asked.append(request.topics)
        return send(self, request, *rest, **others)

    monkeypatch.setattr(KafkaProtocol, "send_request", noted)
    task = topic_prefix + "copy"
    sink = open_sink(KafkaSink(type="kafka", bootstrap_servers=(kafka.bootstrap,)), task)
    try:
        sink.open(Term(task, "u1", 1, lambda: float("inf")))
        sink.write(batch(1, (task + ".t", b"k", b"v")))
        sink.commit(at(1))
    finally:
        sink.close()
    assert asked
    assert None not in asked
    assert all(topic.name.startswith((topic_prefix, "replicator.")) for topics in asked for topic in topics)


_COMPILED = """
import sys
import core.template
compiled, on = [], False

def seen(event, arguments):
    if on and event == "compile":
        compiled.append(arguments[0])

sys.addaudithook(seen)
from replicator.config.task import KafkaSink
from replicator.model.term import Term
from replicator.sink import open_sink
from tests.conformance.sinks import at, batch

bootstrap, task = sys.argv[1:]
on = True
for delivery in ("exactly_once", "at_least_once"):
    for epoch in (1, 2):
        config = KafkaSink(type="kafka", bootstrap_servers=(bootstrap,), delivery=delivery)
        sink = open_sink(config, task)
        sink.open(Term(task, "u1", epoch, lambda: float("inf")))
        sink.write(batch(epoch, (task + ".t", b"k", b"v")))
        sink.commit(at(epoch))
        sink.flush(20)
        sink.close()
assert not compiled, [source[:200] for source in compiled]
"""


def test_a_worker_compiles_nothing(kafka: Any, topic_prefix: str) -> None:
    """The library writes code for each kind of message that it meets, and msgspec looks types up by their names: both
    is done in the template, for a successor's start, too, which reads what was left."""
    command = [sys.executable, "-c", _COMPILED, kafka.bootstrap, topic_prefix + "copy"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
