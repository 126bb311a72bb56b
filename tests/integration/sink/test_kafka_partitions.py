"""The number of partitions of a topic, recorded when the task first writes to it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kafka.admin import KafkaAdminClient

from replicator.config.task import KafkaSink
from replicator.errors import SinkError
from replicator.model.term import Term
from replicator.pipeline.ports import Sink
from replicator.sink import open_sink
from tests.conformance.sinks import at, batch
from tests.support.consume import read_all

pytestmark = pytest.mark.servers
HERE = "a" * 12
KEYS = [b"key%d" % number for number in range(40)]


@pytest.fixture(params=["exactly_once", "at_least_once"])
def make(kafka: Any, topic_prefix: str, request: pytest.FixtureRequest) -> Iterator[Callable[..., Sink]]:
    """A sink of a process of its own each, one term after the other."""
    made: list[Sink] = []

    def one(**options: Any) -> Sink:
        if made:
            made[-1].close()
        settings = {"partitions": 3, "delivery": request.param, **options}
        config = KafkaSink(type="kafka", bootstrap_servers=(kafka.bootstrap,), **settings)
        made.append(open_sink(config, topic_prefix + "copy"))
        made[-1].open(Term(topic_prefix + "copy", "u1", len(made), lambda: float("inf")))
        return made[-1]

    yield one
    for sink in made:
        sink.close()


@pytest.fixture
def topic(topic_prefix: str) -> str:
    return topic_prefix + "orders"


@pytest.fixture
def admin(kafka: Any) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    yield client
    client.close()


def deliver(sink: Sink, topic: str, offset: int) -> None:
    sink.write(batch(offset, *[(topic, key, b"%d" % offset) for key in KEYS]))
    sink.commit(at(offset))
    sink.flush(20)


def places(kafka: Any, topic: str) -> dict[bytes | None, set[int]]:
    found: dict[bytes | None, set[int]] = {}
    for record in read_all(kafka.bootstrap, topic):
        found.setdefault(record.key, set()).add(record.partition)
    return found


def test_a_later_term_refuses_another_number(
    kafka: Any, make: Callable[..., Sink], topic: str, admin: KafkaAdminClient
) -> None:
    deliver(make(), topic, 100)
    admin.create_partitions({topic: 7})
    sink = make()
    with pytest.raises(SinkError) as raised:
        deliver(sink, topic, 200)
    assert (raised.value.code, raised.value.found, raised.value.wanted) == ("E3106", "7", "3")
    assert "sink.partitions_changed" in raised.value.fix
    assert {record.value for record in read_all(kafka.bootstrap, topic)} == {b"100"}


def test_keep_goes_on_with_the_first_ones(
    kafka: Any, make: Callable[..., Sink], topic: str, admin: KafkaAdminClient
) -> None:
    deliver(make(), topic, 100)
    admin.create_partitions({topic: 7})
    deliver(make(partitions_changed="keep"), topic, 200)
    assert all(len(where) == 1 for where in places(kafka, topic).values())
    with pytest.raises(SinkError, match="E3106"):
        deliver(make(), topic, 300)


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
def test_numbers_of_an_earlier_version_keep_each_key_in_order(
    kafka: Any, task: str, topic: str, admin: KafkaAdminClient, delivery: str
) -> None:
    """It recorded them under a name without the installation's id. Partitions are added while the task is stopped."""

    def one(epoch: int, installation: str, policy: str = "fail") -> Sink:
        settings = {"partitions": 3, "delivery": delivery, "partitions_changed": policy}
        sink = open_sink(KafkaSink(type="kafka", bootstrap_servers=(kafka.bootstrap,), **settings), task, installation)
        sink.open(Term(task, "u1", epoch, lambda: float("inf"), previous=epoch - 1, installation=installation))
        return sink

    with contextlib.closing(one(1, "")) as sink:
        deliver(sink, topic, 100)
    admin.create_partitions({topic: 7})
    with contextlib.closing(one(2, HERE)) as sink, pytest.raises(SinkError, match="E3106"):
        deliver(sink, topic, 200)
    for epoch, offset in ((3, 200), (4, 300)):
        with contextlib.closing(one(epoch, HERE, "keep")) as sink:
            deliver(sink, topic, offset)
    admin.delete_topics([f"replicator.partitions.{task}"])
    with contextlib.closing(one(5, HERE)) as sink, pytest.raises(SinkError, match="E3106"):
        deliver(sink, topic, 400)  # the number stands under the new name, too
    found: dict[tuple[bytes | None, int], list[bytes | None]] = {}
    for record in read_all(kafka.bootstrap, topic):
        found.setdefault((record.key, record.partition), []).append(record.value)
    assert len(found) == len(KEYS), "each key in one partition"
    assert set(map(tuple, found.values())) == {(b"100", b"200", b"300")}


def test_accept_takes_the_new_number_and_records_it(
    kafka: Any, make: Callable[..., Sink], topic: str, admin: KafkaAdminClient
) -> None:
    deliver(make(), topic, 100)
    admin.create_partitions({topic: 7})
    deliver(make(partitions_changed="accept"), topic, 200)
    assert max(map(max, places(kafka, topic).values())) > 2
    deliver(make(), topic, 300)
    assert len(read_all(kafka.bootstrap, topic)) == 3 * len(KEYS)


def test_a_topic_that_we_make_again_has_no_past(
    kafka: Any, make: Callable[..., Sink], topic: str, admin: KafkaAdminClient
) -> None:
    deliver(make(), topic, 100)
    admin.delete_topics([topic])
    deliver(make(partitions=5), topic, 200)
    deliver(make(), topic, 300)
    assert {record.value for record in read_all(kafka.bootstrap, topic)} == {b"200", b"300"}


def test_what_was_recorded_in_an_aborted_transaction_is_recorded_again(
    kafka: Any, make: Callable[..., Sink], topic: str, topic_prefix: str
) -> None:
    sink = make()
    sink.write(batch(100, (topic, b"a", b"1")))
    sink.open(Term(topic_prefix + "copy", "u1", 1, lambda: float("inf")))
    deliver(sink, topic, 100)
    counts = read_all(kafka.bootstrap, f"replicator.partitions.{topic_prefix}copy")
    assert {record.key for record in counts} == {topic.encode()}
