"""The conformance suite of the Kafka sinks on older Kafka brokers, and the protocol versions that those negotiate."""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from dev.fetch.jars import OLDER_KAFKA
from dev.servers import Kafka, ZooKeeper
from dev.servers.older_kafka import OlderKafka
from replicator.errors import SinkUnavailable
from replicator.kafka.admin_client import AdminClient
from replicator.kafka.messages import end_transaction, produce
from replicator.kafka.security import PLAINTEXT
from replicator.pipeline.ports import Sink
from tests.conformance import test_sink as suite
from tests.conformance.sinks import KafkaSubject, Lease, at, batch, values
from tests.servers import started

pytestmark = pytest.mark.servers

globals().update({name: test for name, test in vars(suite).items() if name.startswith("test_")})
globals().update({name: getattr(suite, name) for name in ("lease", "make", "sink")})

BEFORE_KRAFT = ("2.8.2",)
HIGHEST = {"2.8.2": (9, 3), "3.9.1": (11, 4)}
"""The versions of Produce and EndTxn that are used with each release."""


@pytest.fixture(scope="module", params=OLDER_KAFKA)
def broker(request: pytest.FixtureRequest) -> Iterator[OlderKafka]:
    """One release at a time, by ZooKeeper where its KRaft mode has no transactions."""
    place = ""
    if request.param in BEFORE_KRAFT:
        zookeeper: ZooKeeper = request.getfixturevalue("zookeeper")
        place = f"{zookeeper.hosts}/kafka-{uuid.uuid4().hex[:8]}"
    server = started(OlderKafka(request.param, place, fast=True, modest=True))
    try:
        yield server
    finally:
        server.close()


@pytest.fixture(params=["exactly_once", "at_least_once"])
def subject(request: pytest.FixtureRequest, broker: OlderKafka) -> KafkaSubject:
    return KafkaSubject(broker.bootstrap, request.param)


@pytest.fixture
def once(broker: OlderKafka) -> KafkaSubject:
    return KafkaSubject(broker.bootstrap, "exactly_once")


def test_highest_common_versions_and_transaction_protocol_1(
    broker: OlderKafka, once: KafkaSubject, lease: Lease
) -> None:
    sink: Any = once.make()
    try:
        sink.open(lease.term(once.task))
        sink.write(batch(100, (once.topic("orders"), b"k", b"1")))
        sink.commit(at(100))
        producer = sink._session.producer._producer
        (peer,) = producer._links.peers.values()
        assert not producer._machine.transactions.second
        found = (
            peer.version(produce.KEY, *produce.VERSIONS),
            peer.version(end_transaction.KEY, *end_transaction.VERSIONS),
        )
        assert found == HIGHEST[broker.version]
    finally:
        sink.close()
    assert values(once.seen()) == [b"1"]


def test_created_topics_are_as_configured(broker: OlderKafka, once: KafkaSubject, lease: Lease) -> None:
    topic, position = once.topic("orders"), f"replicator.position.{once.task}"
    sink = once.make()
    try:
        sink.open(lease.term(once.task))
        sink.write(batch(100, (topic, b"k", b"1")))
        sink.commit(at(100))
    finally:
        sink.close()
    with contextlib.closing(AdminClient([(broker.host, broker.port)], PLAINTEXT)) as admin:
        assert {each.name: len(each.partitions) for each in admin.describe([topic, position])} == {
            topic: 3,
            position: 1,
        }
        assert admin.settings(position, ["cleanup.policy"]) == {"cleanup.policy": "compact"}


def test_commit_with_unknown_outcome(broker: Kafka, once: KafkaSubject, lease: Lease) -> None:
    """The broker dies while commits are on their way: whatever became of the last one, the position tells."""
    topic = once.topic("orders")
    once.config = once.config.model_copy(update={"delivery_timeout_ms": 2000})
    sink = once.make()
    try:
        _commit_until_it_dies(sink, broker, topic, lease.term(once.task))
        broker.start()
        held = sink.open(lease.term(once.task))
        assert held is not None
        assert [int(value or b"") for value in values(once.seen())] == list(range(held.offset + 1))
    finally:
        sink.close()
        broker.start()


def _commit_until_it_dies(sink: Sink, broker: Kafka, topic: str, term: Any) -> None:
    sink.open(term)
    killer: threading.Timer | None = None
    with pytest.raises(SinkUnavailable):
        for number in range(20_000):
            sink.write(batch(number, (topic, b"k", b"%d" % number)))
            if number == 20:
                killer = threading.Timer(0.003, broker.kill)
                killer.start()
            sink.commit(at(number))
    assert killer is not None
    killer.join()
