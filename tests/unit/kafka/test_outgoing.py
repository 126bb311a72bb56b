"""Brokers that are not allowed, named by the configuration or by the cluster: nothing connects to them."""

from __future__ import annotations

import time

import pytest
from kafka import TopicPartition
from kafka.errors import KafkaConnectionError
from kafka.net import KafkaNetSocket

from replicator.config.load import parse_task
from replicator.config.task import KafkaSink
from replicator.errors import ConfigError
from replicator.host import access
from replicator.kafka import wire
from replicator.kafka.admin_client import AdminClient
from replicator.kafka.failure import ConnectionFailure
from replicator.kafka.machine import Settings
from replicator.kafka.messages import find_coordinator, metadata
from replicator.kafka.producer import Producer
from replicator.kafka.security import PLAINTEXT
from replicator.sink.kafka import checked_socket
from replicator.sink.kafka.admin import connect_library_admin
from replicator.sink.kafka.connect import connect_producer
from replicator.sink.kafka.errors import translate
from replicator.sink.kafka.security import library_settings
from replicator.source.kafka.client import translated
from tests.support.scripted_broker import Conversation, ScriptedBroker
from tests.unit.kafka.test_admin_client import VERSIONS, answered, described
from tests.unit.net.test_connections import Listener, listener

__all__ = ["listener"]


def code(error: BaseException) -> str:
    return translate(error, "a test").code


def test_a_leader_elsewhere_is_refused(monkeypatch: pytest.MonkeyPatch, listener: Listener) -> None:
    def play(client: Conversation) -> None:
        client.greet(VERSIONS)
        for _ in range(2):
            known = described((broker.host, broker.port), ("127.0.0.1", listener.port), leader=1)
            client.reply(client.request(flexible=True), known, flexible=True)
        client.closed_by()

    with ScriptedBroker(play) as broker:
        monkeypatch.setenv(access.ALLOW_OUTGOING, f"127.0.0.1:{broker.port}")
        admin = AdminClient([(broker.host, broker.port)], PLAINTEXT)
        with pytest.raises(ConnectionFailure) as refused:
            admin.ends(TopicPartition("t", 0), time.monotonic() + 30)
        admin.close()
    assert (refused.value.kind, refused.value.final) == ("outgoing", True)
    assert code(refused.value) == translated(refused.value, "a test").code == "E1050"
    assert listener.count() == 0


def kafka_sink(bootstrap: str) -> KafkaSink:
    source = {"type": "mysql", "user": "u", "password": "env:REPL_P", "tables": ["a.b"]}
    sink = parse_task({"name": "t", "source": source, "sink": {"type": "kafka", "bootstrap_servers": [bootstrap]}}).sink
    assert isinstance(sink, KafkaSink)
    return sink


def test_kafka_python_is_not_begun_where_a_broker_is_elsewhere(
    monkeypatch: pytest.MonkeyPatch, listener: Listener
) -> None:
    """It would say after its time-out that no broker answers."""

    def play(client: Conversation) -> None:
        client.greet(VERSIONS)
        for _ in range(2):
            known = answered([(broker.host, broker.port), ("127.0.0.1", listener.port)])
            client.reply(client.request(flexible=True), known, flexible=True)
        client.closed_by()

    with ScriptedBroker(play) as broker:
        monkeypatch.setenv(access.ALLOW_OUTGOING, f"127.0.0.1:{broker.port}")
        with pytest.raises(ConfigError) as refused:
            connect_library_admin(kafka_sink(broker.address))
    assert refused.value.code == "E1050"
    assert listener.count() == 0


def test_a_coordinator_elsewhere_ends_the_producer(monkeypatch: pytest.MonkeyPatch, listener: Listener) -> None:
    """It does not wait for its time-out, as for a broker that is away."""

    def play(client: Conversation) -> None:
        client.greet(VERSIONS)
        while True:
            request = client.request(flexible=True)
            if request.key == metadata.KEY:
                client.reply(request, answered([(broker.host, broker.port)]), flexible=True)
            elif request.key == find_coordinator.KEY:
                found = wire.array_length(1) + wire.compact_string("id") + wire.int32(7)
                found += wire.compact_string("127.0.0.1") + wire.int32(listener.port)
                found += wire.int16(0) + wire.NULL + wire.NO_TAGS
                client.reply(request, wire.int32(0) + found + wire.NO_TAGS, flexible=True)

    with ScriptedBroker(play) as broker:
        monkeypatch.setenv(access.ALLOW_OUTGOING, f"127.0.0.1:{broker.port}")
        producer = Producer([(broker.host, broker.port)], Settings("id"), lambda: None, PLAINTEXT)
        producer.connect(20)
        with pytest.raises(KafkaConnectionError) as refused:
            producer.identify(60)
        producer.close(5)
    assert code(refused.value) == "E1050"
    assert listener.count() == 0


def test_bootstrap_servers_are_refused(monkeypatch: pytest.MonkeyPatch, listener: Listener) -> None:
    monkeypatch.setenv(access.ALLOW_OUTGOING, "10.0.0.0/8")
    config = kafka_sink(f"127.0.0.1:{listener.port}")
    with pytest.raises(ConfigError) as refused:
        connect_producer(config, None, lambda: None)
    assert refused.value.code == "E1050"
    assert library_settings(config)["proxy_url"] == checked_socket.URL
    assert listener.count() == 0


def test_kafka_python_takes_the_addresses_that_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = KafkaNetSocket(checked_socket.URL)
    assert isinstance(made, checked_socket.CheckedSocket)
    assert made.dns_lookup("127.0.0.1", 9092)[0][4] == ("127.0.0.1", 9092)
    monkeypatch.setenv(access.ALLOW_OUTGOING, "127.0.0.1")
    assert made.dns_lookup("127.0.0.1", 9092)[0][4] == ("127.0.0.1", 9092)
    with pytest.raises(KafkaConnectionError, match="E1050"):
        made.dns_lookup("127.0.0.2", 9092)
