"""The client that asks, against scripted brokers: which one it asks, what it waits for, and what ends it."""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from typing import Any

import pytest
from kafka import TopicPartition
from kafka.errors import LeaderNotAvailableError, UnsupportedVersionError

from replicator.kafka import admin_client, wire
from replicator.kafka.admin_client import AdminClient
from replicator.kafka.failure import ConnectionFailure
from replicator.kafka.messages import describe_configs, describe_transactions, find_coordinator, list_offsets, metadata
from replicator.kafka.security import PLAINTEXT
from tests.support.scripted_broker import ALL_VERSIONS, Conversation, ScriptedBroker

PLACE = TopicPartition("t", 0)
UPDATE_METADATA = 6  # only brokers of clusters with ZooKeeper name it
WITH_ZOOKEEPER = {**ALL_VERSIONS, metadata.KEY: (0, 12)}
VERSIONS = {key: limits for key, limits in WITH_ZOOKEEPER.items() if key != UPDATE_METADATA}


def described(*brokers: tuple[str, int], leader: int = 0, error: int = 0) -> bytes:
    """Metadata 12 of topic t with one partition."""
    partition = struct.pack(">hiii", error, 0, leader, 5) + wire.array_length(0) * 3 + wire.NO_TAGS
    return answered(brokers, topic("t", 0, partition))


def topic(name: str, error: int, *partitions: bytes) -> bytes:
    found = wire.int16(error) + wire.compact_string(name) + bytes(16) + b"\0"
    return found + wire.array_length(len(partitions)) + b"".join(partitions) + wire.int32(0) + wire.NO_TAGS


def answered(brokers: Sequence[tuple[str, int]], *topics: bytes) -> bytes:
    """Metadata 12."""
    nodes = b"".join(
        wire.int32(node) + wire.compact_string(host) + wire.int32(port) + wire.NULL + wire.NO_TAGS
        for node, (host, port) in enumerate(brokers)
    )
    head = wire.int32(0) + wire.array_length(len(brokers)) + nodes + wire.NULL + wire.int32(0)
    return head + wire.array_length(len(topics)) + b"".join(topics) + wire.NO_TAGS


def offset(value: int, error: int = 0) -> bytes:
    partition = struct.pack(">ihqqi", 0, error, -1, value, -1) + wire.NO_TAGS
    one = wire.array_length(1)
    return wire.int32(0) + one + wire.compact_string("t") + one + partition + wire.NO_TAGS + wire.NO_TAGS


def serve(client: Conversation, *answers: tuple[int, bytes | None], versions: Any = VERSIONS) -> None:
    """Greets, and answers each request, which has to be of that key; None: closes the connection instead."""
    client.greet(versions)
    for key, body in answers:
        request = client.request(flexible=True)
        assert request.key == key, request
        if body is None:
            return
        client.reply(request, body, flexible=True)
    client.closed_by()


def soon() -> float:
    return time.monotonic() + 10


def test_a_leader_is_asked_over_a_connection_of_its_own() -> None:
    asked = (list_offsets.KEY, offset(3)), (list_offsets.KEY, offset(42))
    with ScriptedBroker(lambda client: serve(client, *asked)) as leader:

        def first(client: Conversation) -> None:
            answer = described((broker.host, broker.port), (leader.host, leader.port), leader=1)
            serve(client, (metadata.KEY, answer), (metadata.KEY, answer))

        with ScriptedBroker(first) as broker:
            admin = AdminClient([(broker.host, broker.port)], PLAINTEXT)
            assert admin.ends(PLACE, soon()) == (3, 42)
            admin.close()
            admin.close()


def test_a_broker_that_goes_away_is_asked_again_over_another_connection() -> None:
    def play(client: Conversation) -> None:
        known = metadata.KEY, described((broker.host, broker.port))
        if client.number == 0:
            serve(client, known, known, (list_offsets.KEY, None))
        elif client.number == 1:
            serve(client, known, (list_offsets.KEY, offset(-1, error=6)), known, (list_offsets.KEY, offset(3)))
        else:
            raise AssertionError("two connections are enough")

    with ScriptedBroker(play) as broker:
        admin = AdminClient([(broker.host, broker.port)], PLAINTEXT)
        found = admin._until(soon(), admin._offsets, [PLACE], list_offsets.FIRST, True)
        assert found == {PLACE: 3}
        admin.close()


def test_a_partition_without_a_leader_is_waited_for_until_the_deadline() -> None:
    def play(client: Conversation) -> None:
        serve(client, *[(metadata.KEY, described((broker.host, broker.port), leader=-1, error=5))] * 100)

    with ScriptedBroker(play) as broker:
        admin = AdminClient([(broker.host, broker.port)], PLAINTEXT)
        with pytest.raises(LeaderNotAvailableError):
            admin.ends(PLACE, time.monotonic() + 0.2)
        admin.close()


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedBroker(lambda client: None) as broker:
        with pytest.raises(ConnectionFailure) as caught:
            AdminClient([(broker.host, broker.port), ("127.0.0.1", 1)], PLAINTEXT)
        assert caught.value.kind == "refused"
    monkeypatch.setattr(admin_client, "SECONDS", 0.3)
    with ScriptedBroker(lambda client: client.closed_by()) as broker:
        with pytest.raises(ConnectionFailure) as caught:
            AdminClient([(broker.host, broker.port)], PLAINTEXT)
        assert caught.value.kind == "timeout"
    with pytest.raises(ConnectionFailure, match="no broker is given"):
        AdminClient([], PLAINTEXT)


def test_the_next_bootstrap_server_is_tried() -> None:
    def play(client: Conversation) -> None:
        serve(client, (metadata.KEY, described((broker.host, broker.port))))

    with ScriptedBroker(play) as broker:
        AdminClient([("127.0.0.1", 1), ("no-such-host.invalid", 9), (broker.host, broker.port)], PLAINTEXT).close()


def test_an_old_broker_is_named_as_one() -> None:
    """DescribeTransactions came with Kafka 3.0."""
    versions = {key: limits for key, limits in VERSIONS.items() if key != describe_transactions.KEY}

    def play(client: Conversation) -> None:
        client.greet(versions)
        request = client.request(flexible=True)
        client.reply(request, described((broker.host, broker.port)), flexible=True)
        request = client.request(flexible=True)
        assert request.key == find_coordinator.KEY
        found = wire.array_length(1) + wire.compact_string("id") + wire.int32(0) + wire.compact_string(broker.host)
        found += wire.int32(broker.port) + wire.int16(0) + wire.NULL + wire.NO_TAGS
        client.reply(request, wire.int32(0) + found + wire.NO_TAGS, flexible=True)
        client.closed_by()

    with ScriptedBroker(play) as broker:
        admin = AdminClient([(broker.host, broker.port)], PLAINTEXT)
        with pytest.raises(UnsupportedVersionError, match="DescribeTransactions, version 0"):
            admin.transaction_state("id", soon())
        admin.close()


def starting(*answers: bytes, versions: Any = WITH_ZOOKEEPER) -> metadata.Topic:
    """What is learnt of topic t from a broker that answers so, after the first answer to a connection."""

    def play(client: Conversation) -> None:
        first = answered([(broker.host, broker.port)])
        serve(client, *((metadata.KEY, answer) for answer in (first, *answers)), versions=versions)

    with ScriptedBroker(play) as broker:
        admin = AdminClient([(broker.host, broker.port)], PLAINTEXT)
        try:
            return admin.describe(["t"])[0]
        finally:
            admin.close()


UNKNOWN = answered([], topic("t", 3))
NONE_AT_ALL = answered([])
OTHERS = answered([], topic("other", 0, struct.pack(">hiii", 0, 0, 0, 5) + wire.array_length(0) * 3 + wire.NO_TAGS))


def test_broker_of_zookeeper_that_has_just_started_is_asked_again() -> None:
    """It knows no topics until the controller tells it of them."""
    assert starting(UNKNOWN, NONE_AT_ALL, UNKNOWN, NONE_AT_ALL, described()).partitions


def test_topic_does_not_exist_where_a_broker_of_zookeeper_knows_others() -> None:
    assert starting(UNKNOWN, OTHERS).error == 3


def test_cluster_of_zookeeper_without_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin_client, "_STARTING_SECONDS", 0.0)
    assert starting(UNKNOWN).error == 3


def test_topic_does_not_exist_where_a_broker_of_kraft_does_not_know_it() -> None:
    assert starting(UNKNOWN, versions=VERSIONS).error == 3


def test_settings_that_may_not_be_read_are_none() -> None:
    refused = wire.int16(29) + wire.compact_string("no") + b"\2" + wire.compact_string("t") + wire.array_length(0)
    answer = wire.int32(0) + wire.array_length(1) + refused + wire.NO_TAGS + wire.NO_TAGS

    def play(client: Conversation) -> None:
        serve(client, (metadata.KEY, described((broker.host, broker.port))), (describe_configs.KEY, answer))

    with ScriptedBroker(play) as broker:
        admin = AdminClient([(broker.host, broker.port)], PLAINTEXT)
        assert admin.settings("t", ("max.message.bytes",)) == {}
        admin.close()


def test_what_is_no_reply_is_a_clear_error() -> None:
    def play(client: Conversation) -> None:
        serve(client, (metadata.KEY, described((broker.host, broker.port))), (metadata.KEY, b"\0\0"))

    with ScriptedBroker(play) as broker:
        admin = AdminClient([(broker.host, broker.port)], PLAINTEXT)
        with pytest.raises(ConnectionFailure) as caught:
            admin.topics()
        assert caught.value.kind == "protocol"
        admin.close()
