"""What a sink asks before it writes: of its own topics alone, and committed records."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kafka import KafkaProducer, TopicPartition
from kafka.errors import (
    KafkaTimeoutError,
    NotLeaderForPartitionError,
    OffsetOutOfRangeError,
)

from replicator.config.task import KafkaSink
from replicator.kafka.admin_client import AdminClient
from replicator.kafka.failure import ConnectionFailure
from replicator.kafka.messages import metadata
from replicator.model.term import Term
from replicator.sink import open_sink
from replicator.sink.kafka.admin import connect_admin
from tests.conformance.sinks import at, batch
from tests.support.present import present
from tests.support.waiting import eventually

Put = Callable[..., None]


@pytest.fixture
def admin(kafka: Any) -> Iterator[AdminClient]:
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


def values(admin: AdminClient, place: TopicPartition) -> list[str]:
    return [present(record.value).decode() for record in admin.read(place, *admin.ends(place, soon()), soon())]


def test_an_empty_partition(admin: AdminClient, place: TopicPartition) -> None:
    assert admin.ends(place, soon()) == (0, 0)
    assert values(admin, place) == []


def test_committed_records_alone(admin: AdminClient, producer: Any, place: TopicPartition) -> None:
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
    admin: AdminClient, producer: Any, place: TopicPartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("replicator.kafka.admin_client._FETCH_BYTES", 100)
    for number in range(20):
        write(producer, place, str(number))
        producer.commit_transaction()
    found = [record.offset for record in admin.read(place, 5, 31, soon())]
    assert found == list(range(6, 31, 2))


@pytest.mark.parametrize("compression", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_records(kafka: Any, admin: AdminClient, place: TopicPartition, compression: str) -> None:
    """As kafka-python writes them, and as the broker does, which gives back what a topic's own setting says."""
    with contextlib.closing(KafkaProducer(bootstrap_servers=kafka.bootstrap, compression_type=compression)) as made:
        for number in range(100):
            made.send(place.topic, key=b"k", value=b"%d" % number * 20, partition=0)
        made.flush(20)
    assert values(admin, place) == [str(number) * 20 for number in range(100)]


@pytest.mark.parametrize(
    "passing", [NotLeaderForPartitionError(), ConnectionFailure("closed", "a broker is going down")]
)
@pytest.mark.parametrize("asked", ["_fetch", "_offsets", "_metadata"])
def test_what_passes_is_waited_for(
    admin: AdminClient,
    producer: Any,
    place: TopicPartition,
    monkeypatch: pytest.MonkeyPatch,
    asked: str,
    passing: Exception,
) -> None:
    write(producer, place, "a")
    producer.commit_transaction()
    ask, tries = getattr(admin, asked), []

    def moving(*where: Any) -> Any:
        tries.append(where)
        if len(tries) < 3:
            raise passing
        return ask(*where)

    monkeypatch.setattr(admin, asked, moving)
    eventually(lambda: values(admin, place) == ["a"])  # a transaction is visible a moment after its commit
    assert len(tries) >= 3


def test_what_is_final_is_not_waited_for(
    admin: AdminClient, place: TopicPartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any) -> Any:
        raise ConnectionFailure("authentication", "no", final=True)

    monkeypatch.setattr(admin, "_metadata", refused)
    with pytest.raises(ConnectionFailure):
        admin.ends(place, soon())


def test_a_partition_without_a_leader_is_waited_for(
    admin: AdminClient, place: TopicPartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply, tries = metadata.reply, []

    def nobody(*arguments: Any) -> Any:
        found = reply(*arguments)
        tries.append(found)
        if len(tries) < 3:
            led = [
                topic._replace(partitions=[each._replace(leader=-1) for each in topic.partitions])
                for topic in found.topics
            ]
            return found._replace(topics=led)
        return found

    monkeypatch.setattr(metadata, "reply", nobody)
    assert values(admin, place) == []
    assert len(tries) >= 3


def test_the_wait_has_an_end(admin: AdminClient, place: TopicPartition, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> Any:
        raise NotLeaderForPartitionError

    def nothing(_: Any, start: int, committed: bool) -> Any:
        return [], start

    for way, error in ((never, NotLeaderForPartitionError), (nothing, KafkaTimeoutError)):
        monkeypatch.setattr(admin, "_fetch", way)
        with pytest.raises(error):
            list(admin.read(place, 0, 1, time.monotonic() + 0.2))


def test_a_coordinator_that_has_moved_is_looked_up_again(
    admin: AdminClient, producer: Any, place: TopicPartition
) -> None:
    write(producer, place, "a")
    assert admin.transaction_state(place.topic, soon()) == "Ongoing"
    producer.commit_transaction()
    admin._coordinators[place.topic] = 77
    states = ("CompleteCommit", "PrepareCommit")
    assert admin.transaction_state(place.topic, soon()) in states
    assert admin.transaction_state(place.topic + ".unknown", soon()) is None


def test_where_transactions_are_open(admin: AdminClient, producer: Any, place: TopicPartition) -> None:
    missing = place.topic + ".missing"
    assert admin.undecided([place.topic, missing], soon()) == []
    write(producer, place, "a")
    assert admin.undecided([place.topic, missing], soon()) == [place]
    producer.abort_transaction()
    eventually(lambda: admin.undecided([place.topic], soon()) == [])


def test_topics_are_made_once(admin: AdminClient, topic_prefix: str) -> None:
    name = topic_prefix + "made"
    assert [topic.error for topic in admin.describe([name])] == [3]
    for partitions in (3, 5):
        admin.create(name, partitions, -1, {"cleanup.policy": "compact", "max.message.bytes": "4711"})
    (topic,) = admin.describe([name])
    assert (topic.name, topic.error, len(topic.partitions)) == (name, 0, 3)
    assert admin.settings(name, ("max.message.bytes", "cleanup.policy")) == {
        "max.message.bytes": "4711",
        "cleanup.policy": "compact",
    }
    assert name in admin.topics()


def test_what_is_not_there_is_an_error(admin: AdminClient, place: TopicPartition) -> None:
    with pytest.raises(OffsetOutOfRangeError):
        list(admin.read(place, 7, 8, soon()))


def test_a_first_start_asks_for_no_topics_but_its_own(
    kafka: Any, topic_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster has thousands, which would all be held by each worker."""
    asked: list[Any] = []
    request = metadata.request

    def noted(topics: Any, version: int) -> bytes:
        asked.append(topics)
        return request(topics, version)

    monkeypatch.setattr(metadata, "request", noted)
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
    assert all(name.startswith((topic_prefix, "replicator.")) for names in asked for name in names)


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
    """msgspec looks types up by their names, which is done in the template, for a successor's start, too, which reads
    what was left; no library writes code for the messages that it meets."""
    command = [sys.executable, "-c", _COMPILED, kafka.bootstrap, topic_prefix + "copy"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
