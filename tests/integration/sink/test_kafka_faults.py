"""The Kafka sinks against a broker that dies, refuses and forgets."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient

from dev.servers import Kafka
from replicator.errors import LeadershipLost, ReplicatorError, SinkError, SinkFenced, SinkUnavailable
from replicator.kafka.cluster import NOBODY, Cluster
from replicator.kafka.lane import LIMIT
from replicator.pipeline.ports import Sink
from tests.conformance.sinks import Lease, at, batch
from tests.servers import started
from tests.support.consume import read_all
from tests.support.numbered import DELIVERIES, Stream, firsts, per_key, term
from tests.support.waiting import eventually

pytestmark = pytest.mark.servers


@pytest.fixture(scope="module")
def victim_of_module() -> Iterator[Kafka]:
    settings = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": 200}
    broker = started(Kafka(fast=True, modest=True, properties=settings))
    yield broker
    broker.close()


@pytest.fixture
def victim(victim_of_module: Kafka) -> Iterator[Kafka]:
    """A broker of this module's own, to be killed and frozen; it is up again for the next test."""
    yield victim_of_module
    if victim_of_module.running:
        victim_of_module.resume()
    victim_of_module.start()


def in_background(call: Callable[[], None]) -> tuple[threading.Thread, list[BaseException]]:
    caught: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, caught


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_no_broker(make: Callable[..., Sink], task: str, delivery: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replicator.sink.kafka.connect.BOOTSTRAP_SECONDS", 1.0)
    threads = set(threading.enumerate())
    sink = make("127.0.0.1:1", task, delivery=delivery)
    for _ in range(3):
        began = time.monotonic()
        with pytest.raises(SinkUnavailable) as raised:
            sink.open(term(task))
        assert raised.value.code == "E3001"
        assert "127.0.0.1:1" in str(raised.value)
        assert time.monotonic() - began < 5
    assert set(threading.enumerate()) <= threads, "failed connections leave no threads behind"


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_broker_killed_in_flight(make: Callable[..., Sink], victim: Kafka, task: str, delivery: str) -> None:
    """Nothing lost, order kept; nothing doubled with exactly_once."""
    broker, topic, length = victim, task + ".orders", 400
    stream = Stream(make(broker.bootstrap, task, delivery=delivery), task, topic, length)
    thread, caught = in_background(stream.run)

    def done(share: float) -> bool:
        return stream.done > length * share or not thread.is_alive()

    for share in (0.2, 0.5):
        eventually(partial(done, share))
        broker.kill()
        time.sleep(0.5)
        broker.start()
    thread.join(100)
    assert not thread.is_alive()
    assert not caught, caught
    found = per_key(read_all(broker.bootstrap, topic))
    assert len(found) == 5
    for numbers in found.values():
        assert firsts(numbers) == list(range(length))
        if delivery == "exactly_once":
            assert len(numbers) == length


def test_commit_with_unknown_outcome(make: Callable[..., Sink], victim: Kafka, task: str) -> None:
    """The broker dies while a commit is on its way: whatever became of it, the position read back tells."""
    broker, topic, rounds = victim, task + ".orders", 2
    sink: Any = make(broker.bootstrap, task, delivery_timeout_ms=2000)
    for round_ in range(rounds):
        held = sink.open(term(task))
        first = held.offset + 1 if held else 0
        for number in range(first, first + 20):
            sink.write(batch(number, (topic, b"k", b"%d" % number)))
            sink.commit(at(number))
        sink.write(batch(number + 1, (topic, b"k", b"%d" % (number + 1))))
        killer = threading.Timer(0.002 * round_, broker.kill)
        killer.start()
        try:
            with pytest.raises(SinkUnavailable):
                for further in range(number + 1, number + 2000):
                    sink.commit(at(further))
                    sink.write(batch(further + 1, (topic, b"k", b"%d" % (further + 1))))
        finally:
            killer.join()
            broker.start()
    held = sink.open(term(task))
    values = [int(record.value or b"") for record in read_all(broker.bootstrap, topic)]
    assert values == list(range(held.offset + 1))


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_topic_missing_and_not_to_be_created(make: Callable[..., Sink], kafka: Any, task: str, delivery: str) -> None:
    kafka.create_topic(f"replicator.position.{task}", **{"cleanup.policy": "compact"})
    sink = make(kafka.bootstrap, task, delivery=delivery, create_topics=False)
    sink.open(term(task))
    with pytest.raises(SinkError) as raised:
        sink.write(batch(1, (task + ".orders", b"k", b"v")))
    assert raised.value.code == "E3101"
    assert not raised.value.transient
    assert task + ".orders" in str(raised.value)
    sink.close()
    admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    assert task + ".orders" not in admin.list_topics()
    admin.close()


def test_position_topic_missing_and_not_to_be_created(make: Callable[..., Sink], kafka: Any, task: str) -> None:
    with pytest.raises(SinkError, match=r"cleanup\.policy=compact") as raised:
        make(kafka.bootstrap, task, create_topics=False).open(term(task))
    assert raised.value.code == "E3101"


def test_created_topics_are_as_configured(make: Callable[..., Sink], kafka: Any, task: str) -> None:
    sink = make(kafka.bootstrap, task, partitions=5)
    sink.open(term(task))
    sink.write(batch(1, (task + ".orders", b"k", b"v")))
    sink.commit(at(1))
    position = f"replicator.position.{task}"
    admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    found = {t["name"]: len(t["partitions"]) for t in admin.describe_topics([task + ".orders", position])}
    settings = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, position)], config_filter="all")
    admin.close()
    assert found == {task + ".orders": 5, position: 1}
    assert settings["topic"][position]["cleanup.policy"]["value"] == "compact"


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_topic_deleted_in_flight(make: Callable[..., Sink], kafka: Any, task: str, delivery: str) -> None:
    topic = task + ".orders"
    sink = make(kafka.bootstrap, task, delivery=delivery)
    sink.open(term(task))
    sink.write(batch(0, (topic, b"k", b"0")))
    sink.commit(at(0))
    sink.flush(10)
    admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    admin.delete_topics([topic])
    eventually(lambda: topic not in admin.list_topics())
    began = time.monotonic()
    with pytest.raises(SinkError) as raised:
        for number in range(1, 1000):
            sink.write(batch(number, (topic, b"k", b"x" * 1000)))
            sink.commit(at(number))
            sink.flush(15)
    assert raised.value.code == "E3101"
    assert topic in str(raised.value)
    assert time.monotonic() - began < 12
    assert topic not in admin.list_topics(), "never created again silently"
    admin.close()


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_a_leader_that_is_unknown_for_a_moment(
    make: Callable[..., Sink], kafka: Any, task: str, delivery: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches wait for it, and leave as soon as it is known."""
    topic = task + ".orders"
    sink = make(kafka.bootstrap, task, delivery=delivery)
    sink.open(term(task))
    sink.write(batch(0, (topic, b"k", b"0")))
    sink.commit(at(0))
    sink.flush(10)
    known = time.monotonic() + 0.3
    ask = Cluster.leader
    monkeypatch.setattr(Cluster, "leader", lambda self, place: ask(self, place) if time.monotonic() > known else NOBODY)
    began = time.monotonic()
    sink.write(batch(1, (topic, b"k", b"1")))
    sink.commit(at(1))
    sink.flush(15)
    assert time.monotonic() - began < 8


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_record_over_the_topics_limit(make: Callable[..., Sink], kafka: Any, task: str, delivery: str) -> None:
    """The topic's limit is lower than ours: found before anything is sent."""
    topic = task + ".orders"
    kafka.create_topic(topic, partitions=1, **{"max.message.bytes": 20_000})
    sink = make(kafka.bootstrap, task, delivery=delivery)
    sink.open(term(task))
    sink.write(batch(1, *[(topic, b"k", b"v" * 15_000) for _ in range(20)]))
    sink.commit(at(1))
    sink.flush(10)
    with pytest.raises(SinkError) as raised:
        sink.write(batch(2, (topic, b'{"id":2}', b"v" * 21_000)))
    assert raised.value.code == "E3102"
    for part in (topic, '{"id":2}', "binlog.000001:2"):
        assert part in str(raised.value)
    sink.close()
    assert len(read_all(kafka.bootstrap, topic)) == 20


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_limit_lowered_while_running(make: Callable[..., Sink], kafka: Any, task: str, delivery: str) -> None:
    """The broker refuses: a batch of several is tried again in smaller pieces, a single record stops the task."""
    topic = task + ".orders"
    kafka.create_topic(topic, partitions=1)
    sink = make(kafka.bootstrap, task, delivery=delivery)
    sink.open(term(task))
    sink.write(batch(0, (topic, b"k", b"0")))
    sink.commit(at(0))
    sink.flush(10)
    admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, {"max.message.bytes": "20000"})])
    admin.close()
    time.sleep(0.5)
    several = batch(1, *[(topic, b"k", b"v" * 5_000) for _ in range(30)])
    with pytest.raises(SinkUnavailable, match="smaller"):
        sink.write(several)
        sink.commit(at(1))
        sink.flush(10)
    sink.open(term(task))
    sink.write(several)
    sink.commit(at(1))
    sink.flush(10)
    assert sink.acknowledged() == at(1)
    with pytest.raises(SinkError) as raised:
        sink.write(batch(2, (topic, b'{"id":2}', b"v" * 30_000)))
    assert raised.value.code == "E3102"
    sink.close()
    assert len(read_all(kafka.bootstrap, topic)) == 31


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_nothing_leaves_after_a_failed_batch(make: Callable[..., Sink], kafka: Any, task: str, delivery: str) -> None:
    """A batch expires before it was sent; the one behind it must not take its place, and its sequence number."""
    topic = task + ".orders"
    kafka.create_topic(topic, partitions=1)
    sink: Any = make(kafka.bootstrap, task, delivery=delivery)
    sink.open(term(task))
    sink.write(batch(0, (topic, b"k", b"0")))
    sink.commit(at(0))
    sink.flush(10)
    producer = sink._session.producer._producer
    lane = producer._machine._lanes[topic, 0]
    with producer._lock:
        lane.retry_at = float("inf")  # as if its leader were away
    sink.write(batch(1, (topic, b"k", b"1")))
    sink.write(batch(2, (topic, b"k", b"2")))
    with producer._lock:
        lane.waiting[0].created -= 60
    with pytest.raises(SinkUnavailable):
        sink.flush(10)
        sink.commit(at(2))
        sink.flush(10)
    lane.retry_at = 0.0
    producer.push()
    time.sleep(0.5)
    values = [record.value for record in read_all(kafka.bootstrap, topic, "read_uncommitted")]
    assert values == [b"0"]


def test_two_producers_with_one_transactional_id(make: Callable[..., Sink], kafka: Any, task: str) -> None:
    """They take turns; whoever opened last goes on, the other is refused, and nothing of it shows."""
    topic = task + ".orders"
    one, two = make(kafka.bootstrap, task), make(kafka.bootstrap, task)
    one.open(term(task, 1))
    one.write(batch(0, (topic, b"k", b"0")))
    two.open(term(task, 2))
    with pytest.raises(SinkFenced):
        one.commit(at(0))
        one.flush(10)
    two.write(batch(0, (topic, b"k", b"1")))
    two.commit(at(0))
    with pytest.raises(ReplicatorError):
        one.write(batch(1, (topic, b"k", b"2")))
        one.commit(at(1))
    with pytest.raises(SinkFenced):
        one.open(term(task, 1))
    assert [record.value for record in read_all(kafka.bootstrap, topic)] == [b"1"]


def test_open_transaction_does_not_hold_consumers_up_after_close(
    make: Callable[..., Sink], kafka: Any, task: str
) -> None:
    topic = task + ".orders"
    sink = make(kafka.bootstrap, task)
    sink.open(term(task))
    sink.write(batch(0, (topic, b"k", b"0")))
    sink.acknowledged()  # what was held back for the position leaves
    eventually(lambda: len(read_all(kafka.bootstrap, topic, "read_uncommitted")) == 1)
    sink.close()
    other = make(kafka.bootstrap, task + "2")
    other.open(term(task + "2"))
    other.write(batch(0, (topic, b"k", b"1")))
    other.commit(at(0))
    assert [record.value for record in read_all(kafka.bootstrap, topic)] == [b"1"]


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_lease_ends_while_broker_is_away(make: Callable[..., Sink], victim: Kafka, task: str, delivery: str) -> None:
    """What waited in the producer when the lease ended never leaves, also when the broker comes back."""
    broker, topic, lease = victim, task + ".orders", Lease()
    sink = make(broker.bootstrap, task, delivery=delivery)
    sink.open(lease.term(task))
    sink.write(batch(0, (topic, b"k", b"0")))
    sink.commit(at(0))
    sink.flush(10)
    broker.pause()
    for number in range(1, LIMIT + 1):
        sink.write(batch(number, (topic, b"k", b"%d" % number)))  # on its way to the frozen broker
    sink.write(batch(LIMIT + 1, (topic, b"k", b"late")))  # waits behind them
    lease.end()
    broker.resume()
    time.sleep(1)
    with pytest.raises(LeadershipLost):
        sink.acknowledged()
        sink.flush(5)
    sink.close()
    values = [record.value for record in read_all(broker.bootstrap, topic, "read_uncommitted")]
    assert b"late" not in values


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_a_frozen_broker_is_noticed(make: Callable[..., Sink], victim: Kafka, task: str, delivery: str) -> None:
    """Within the delivery timeout, with memory bounded meanwhile, and close does not hang."""
    broker, topic = victim, task + ".orders"
    sink: Any = make(broker.bootstrap, task, delivery=delivery, delivery_timeout_ms=3000, max_in_flight_bytes=1 << 20)
    sink.open(term(task))
    sink.write(batch(0, (topic, b"k", b"0")))
    sink.commit(at(0))
    sink.flush(10)
    broker.pause()
    began = time.monotonic()
    with pytest.raises(SinkUnavailable):
        for number in range(1, 100_000):
            sink.write(batch(number, *[(topic, b"k", b"v" * 1000) for _ in range(100)]))
    assert time.monotonic() - began < 20
    assert sink._session.window.peak <= 1 << 20
    began = time.monotonic()
    sink.close()
    assert time.monotonic() - began < 6
    broker.resume()
    resumed = sink.open(term(task))
    assert resumed == (at(0) if delivery == "exactly_once" else None)


def test_a_transaction_that_stays_open_too_long(make: Callable[..., Sink], victim: Kafka, task: str) -> None:
    """The broker ends it; that is not taken for a rival's fencing, and the position read back is the one before."""
    broker, topic = victim, task + ".orders"
    patient = make(broker.bootstrap, task)  # a broker's first transaction of a topic may take more than a second
    patient.open(term(task))
    patient.write(batch(0, (topic, b"k", b"0")))
    patient.commit(at(0))
    patient.close()
    sink = make(broker.bootstrap, task, transaction_timeout_ms=1000)
    assert sink.open(term(task)) == at(0)
    sink.write(batch(1, (topic, b"k", b"1")))
    time.sleep(3)
    with pytest.raises(SinkUnavailable, match="transaction_timeout_ms"):
        sink.commit(at(1))
    assert sink.open(term(task)) == at(0)
