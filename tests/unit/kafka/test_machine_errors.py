"""The producer's state machine and each line of the error table in replicator/kafka/DESIGN.md, one error at a time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from kafka.errors import BrokerResponseError, KafkaTimeoutError

import replicator.kafka
from replicator.kafka import errors
from replicator.kafka.machine import Settings
from replicator.kafka.messages import add_partitions, end_transaction, find_coordinator, init_producer_id, metadata
from replicator.kafka.messages.metadata import Broker, Metadata, Topic
from replicator.kafka.transaction import State
from replicator.kafka.wire import MalformedMessage, Reader
from tests.support.model_broker import ModelCluster
from tests.support.model_network import ModelNetwork

PLACE = ("a", 0)
PLACES = [PLACE, ("a", 1), ("b", 0)]
COORDINATOR_KEYS = [init_producer_id.KEY, add_partitions.KEY, end_transaction.KEY]
FATAL = [-1, 10, 18, 29, 31, 35, 45, 47, 48, 49, 53, 59, 87, 90, 120]


def idempotent() -> ModelNetwork:
    network = ModelNetwork(ModelCluster(PLACES))
    network.append(PLACE, b"0")
    network.settle()
    return network


def refuse_once(network: ModelNetwork, code: int) -> None:
    codes = [code]
    network.cluster.refuse = lambda place: codes.pop() if codes else 0


def keys_of(network: ModelNetwork) -> list[int]:
    """The keys of the requests that leave from now on."""
    keys: list[int] = []
    answer = network.cluster.answer

    def noted(node: int, key: int, version: int, body: bytes) -> bytes:
        keys.append(key)
        return answer(node, key, version, body)

    network.cluster.answer = noted  # type: ignore[method-assign]
    return keys


def test_every_error_that_is_retried_is_in_the_table() -> None:
    table = (Path(replicator.kafka.__file__).parent / "DESIGN.md").read_text().partition("## Errors")[2]
    rows = " ".join(line for line in table.partition("## Threads")[0].splitlines() if line.startswith("|"))
    named = set(re.findall(r"[A-Z][A-Z_]{6,}", rows))
    treated = {name for name, code in vars(errors).items() if isinstance(code, int) and code}
    spelled = {
        "OUT_OF_ORDER_SEQUENCE": "OUT_OF_ORDER_SEQUENCE_NUMBER",
        "DUPLICATE_SEQUENCE": "DUPLICATE_SEQUENCE_NUMBER",
    }
    assert {spelled.get(name, name) for name in treated} <= named


@pytest.mark.parametrize("code", sorted(errors.RETRY_BATCH))
def test_batch_is_sent_again(code: int) -> None:
    """In order, with its number; Metadata is asked where another broker may lead."""
    network = idempotent()
    keys = keys_of(network)
    refuse_once(network, code)
    for number in range(1, 4):
        network.append(PLACE, b"%d" % number)
    network.settle()
    assert network.machine.error is None
    assert network.cluster.visible(PLACE) == [b"0", b"1", b"2", b"3"]
    assert (metadata.KEY in keys) == (code in errors.STALE_METADATA)


@pytest.mark.parametrize("code", FATAL)
def test_batch_that_fails_ends_the_producer(code: int) -> None:
    network = idempotent()
    refuse_once(network, code)
    network.append(PLACE, b"1")
    network.append(("b", 0), b"2")
    network.settle()
    assert isinstance(network.machine.error, BrokerResponseError) and network.machine.error.errno == code
    assert network.outcomes[b"1"] is network.machine.error


def test_duplicate_sequence_number_is_success() -> None:
    network = idempotent()
    refuse_once(network, errors.DUPLICATE_SEQUENCE)
    network.append(PLACE, b"1")
    network.settle()
    assert network.machine.error is None and network.outcomes[b"1"] is None


def test_batch_without_an_answer_is_sent_again() -> None:
    network = idempotent()
    network.append(PLACE, b"1")
    network.send()
    (peer,) = (peer for peer in network.peers.values() if peer.sent)
    request = peer.sent.popleft()
    no_partition = b"\1" + (0).to_bytes(4, "big") + b"\0"
    peer.answered.append((request, no_partition))
    peer.hear(network.now)
    assert b"1" not in network.outcomes
    network.settle()
    assert network.cluster.visible(PLACE) == [b"0", b"1"]


@pytest.mark.parametrize("arrived", [False, True])
def test_batches_of_a_lost_connection_are_sent_again(arrived: bool) -> None:
    """In order, and once where the broker had them already."""
    network = idempotent()
    node = network.cluster.leaders[PLACE]
    for number in range(1, 4):
        network.append(PLACE, b"%d" % number)
        network.send()
    while arrived and network.peers[node].sent:
        network.peers[node].serve()
    network.disconnect(node)
    assert network.machine.outstanding == 3
    network.settle()
    assert network.machine.error is None
    assert network.cluster.visible(PLACE) == [b"0", b"1", b"2", b"3"]


def test_throttled_broker_gets_nothing_meanwhile() -> None:
    network = idempotent()
    network.cluster.throttle_ms = 500
    network.append(PLACE, b"1")
    network.settle()
    node, until = network.cluster.leaders[PLACE], network.now - 0.01 + 0.5
    network.append(PLACE, b"2")
    network.send()
    assert not network.peers[node].sent
    network.now = until + 0.01
    network.send()
    assert network.peers[node].sent


@pytest.mark.parametrize("code", [17, errors.TOPIC_AUTHORIZATION_FAILED])
def test_topic_that_metadata_refuses_ends_the_producer_once_a_batch_waits_for_it(code: int) -> None:
    network = idempotent()
    cluster = network.machine.cluster
    cluster.want("c")
    network.settle()
    cluster.learn(Metadata(0, [Broker(0, "host0", 9092)], [Topic("c", code, bytes(16), [])]), network.now)
    network.send()
    assert network.machine.error is None
    network.append(("c", 0), b"1")
    cluster.learn(Metadata(0, [Broker(0, "host0", 9092)], [Topic("c", code, bytes(16), [])]), network.now)
    network.send()
    assert isinstance(network.machine.error, BrokerResponseError) and network.machine.error.errno == code


def test_unknown_topic_is_waited_for_until_the_delivery_time_out() -> None:
    network = ModelNetwork(ModelCluster(PLACES), Settings(delivery_seconds=5.0))
    network.append(("c", 0), b"1")
    with pytest.raises(AssertionError, match="nothing goes on"):
        network.settle(steps=400)
    network.settle()
    assert isinstance(network.outcomes[b"1"], KafkaTimeoutError)


# Requests to the coordinator.


def transactional() -> ModelNetwork:
    return ModelNetwork(ModelCluster(PLACES), Settings(transactional_id="t", delivery_seconds=1e6))


def commit(network: ModelNetwork) -> None:
    network.settle()
    network.machine.transactions.begin(network.peers)
    network.append(PLACE, b"1")
    network.machine.end(commit=True)
    network.settle()


@pytest.mark.parametrize("key", COORDINATOR_KEYS)
@pytest.mark.parametrize("code", sorted(errors.FIND_COORDINATOR | errors.RETRY_COORDINATOR))
def test_coordinator_is_asked_again(key: int, code: int) -> None:
    """Another one is looked up where it may have moved."""
    network = transactional()
    codes = {key: code}
    network.cluster.refuse_transaction = lambda key: codes.pop(key, 0)
    keys = keys_of(network)
    commit(network)
    assert network.machine.error is None and network.cluster.visible(PLACE) == [b"1"]
    assert keys.count(key) == 2
    assert keys.count(find_coordinator.KEY) == 1 + (code in errors.FIND_COORDINATOR)


@pytest.mark.parametrize("key", [*COORDINATOR_KEYS, find_coordinator.KEY])
@pytest.mark.parametrize("code", [-1, 29, 31, 35, 42, 47, 48, 49, 53, 90, 120])
def test_coordinator_that_refuses_ends_the_producer(key: int, code: int) -> None:
    network = transactional()
    codes = {key: code}
    network.cluster.refuse_transaction = lambda key: codes.pop(key, 0)
    network.settle()
    if network.machine.error is None:
        commit(network)
    assert isinstance(network.machine.error, BrokerResponseError) and network.machine.error.errno == code
    assert network.cluster.visible(PLACE) == []


@pytest.mark.parametrize("code", [errors.COORDINATOR_LOAD_IN_PROGRESS, errors.COORDINATOR_NOT_AVAILABLE])
def test_coordinator_that_is_not_elected_yet_is_looked_up_again(code: int) -> None:
    network = transactional()
    codes = {find_coordinator.KEY: code}
    network.cluster.refuse_transaction = lambda key: codes.pop(key, 0)
    commit(network)
    assert network.machine.error is None and network.cluster.visible(PLACE) == [b"1"]


@pytest.mark.parametrize("code", [errors.CONCURRENT_TRANSACTIONS, errors.TOPIC_AUTHORIZATION_FAILED])
def test_partition_that_was_not_tried_for_the_sake_of_another(code: int) -> None:
    """OPERATION_NOT_ATTEMPTED: what another partition was refused for decides."""
    network = transactional()
    network.settle()
    refused = {("b", 0): code}
    network.cluster.refuse_partition = lambda place: refused.pop(place, 0)
    network.machine.transactions.begin(network.peers)
    for place in (PLACE, ("b", 0)):
        network.append(place, str(place).encode())
    network.machine.end(commit=True)
    network.settle()
    if code == errors.CONCURRENT_TRANSACTIONS:
        assert network.machine.transactions.state is State.READY and network.machine.error is None
        assert network.cluster.visible(PLACE) and network.cluster.visible(("b", 0))
    else:
        assert isinstance(network.machine.error, BrokerResponseError) and network.machine.error.errno == code


def test_partition_without_an_answer_is_in_no_transaction() -> None:
    network = transactional()
    network.settle()
    network.machine.transactions.begin(network.peers)
    network.append(PLACE, b"1")
    network.send()
    peer = network.peers[network.cluster.coordinator]
    (request,) = (each for each in peer.sent if each.key == add_partitions.KEY)
    peer.sent.remove(request)
    no_topics = (0).to_bytes(4, "big") + b"\1\0"
    with pytest.raises(MalformedMessage):
        request.replied(Reader(no_topics), network.now)
    request.lost(network.now)
    keys = keys_of(network)
    network.machine.end(commit=True)
    network.settle()
    assert add_partitions.KEY in keys
    assert network.cluster.visible(PLACE) == [b"1"]
