"""The client that asks, against scripted brokers: which one it asks, what it waits for, and what ends it."""

from __future__ import annotations

import struct
import time

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
VERSIONS = {**ALL_VERSIONS, metadata.KEY: (0, 12)}


def described(*brokers: tuple[str, int], leader: int = 0, error: int = 0) -> bytes:
    """Metadata 12 of topic t with one partition."""
    nodes = b"".join(
        wire.int32(node) + wire.compact_string(host) + wire.int32(port) + wire.NULL + wire.NO_TAGS
        for node, (host, port) in enumerate(brokers)
    )
    none = wire.array_length(0)
    partition = struct.pack(">hiii", error, 0, leader, 5) + none * 3 + wire.NO_TAGS
    topic = wire.int16(0) + wire.compact_string("t") + bytes(16) + b"\0" + wire.array_length(1) + partition
    topic += wire.int32(0) + wire.NO_TAGS
    head = wire.int32(0) + wire.array_length(len(brokers)) + nodes + wire.NULL + wire.int32(0)
    return head + wire.array_length(1) + topic + wire.NO_TAGS


def offset(value: int, error: int = 0) -> bytes:
    partition = struct.pack(">ihqqi", 0, error, -1, value, -1) + wire.NO_TAGS
    one = wire.array_length(1)
    return wire.int32(0) + one + wire.compact_string("t") + one + partition + wire.NO_TAGS + wire.NO_TAGS


def serve(client: Conversation, *answers: tuple[int, bytes | None]) -> None:
    """Greets, and answers each request, which has to be of that key; None: closes the connection instead."""
    client.greet(VERSIONS)
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
    with pytest.raises(ConnectionFailure, match="no broker is named"):
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
