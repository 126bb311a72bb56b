"""The idempotent producer against a cluster in memory: replies are lost, batches refused, leaders moved."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from kafka.errors import BrokerResponseError

from replicator.kafka import errors
from replicator.kafka.machine import Settings
from tests.support.model_broker import ModelCluster
from tests.support.model_network import ModelNetwork

PLACES = [("a", 0), ("a", 1), ("b", 0)]
BEFORE = sorted(errors.RETRY_BATCH - {errors.REQUEST_TIMED_OUT, errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND})
AFTER = [errors.REQUEST_TIMED_OUT, errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND, errors.NETWORK_EXCEPTION]


class Faulty(RuleBasedStateMachine):
    """What a network and brokers may do that are only slow, restarted, or moved."""

    def __init__(self) -> None:
        super().__init__()
        self.number = 0
        self.before: dict[Any, int] = {}
        self.after: dict[Any, int] = {}

    @initialize(alone=st.booleans(), known=st.booleans())
    def begin(self, alone: bool, known: bool) -> None:
        """known: leaders are known, and each partition has a batch, so that several may be in flight."""
        self.cluster = ModelCluster(PLACES)
        self.cluster.refuse = lambda place: self.before.pop(place, 0)
        self.cluster.refuse_after = lambda place: self.after.pop(place, 0)
        size = 100 if alone else 1 << 20
        self.network = ModelNetwork(self.cluster, Settings(delivery_seconds=1e6, request_bytes=size))
        if known:
            for place in PLACES:
                self.append(place, 1, False)
            self.network.settle()

    @rule(place=st.sampled_from(PLACES), count=st.integers(1, 3), send=st.booleans())
    def append(self, place: Any, count: int, send: bool) -> None:
        self.number += 1
        self.network.append(place, b"%d" % self.number, count)
        if send:
            self.network.send()

    @rule(node=st.integers(0, 1))
    def connect(self, node: int) -> None:
        self.network.connect(node)

    @rule()
    def send(self) -> None:
        self.network.send()

    @rule(node=st.integers(0, 1))
    def serve(self, node: int) -> None:
        peer = self.network.peers.get(node)
        if peer is not None and peer.sent:
            peer.serve()

    @rule(node=st.integers(0, 1))
    def hear(self, node: int) -> None:
        peer = self.network.peers.get(node)
        if peer is not None and peer.answered:
            peer.hear(self.network.now)

    @rule(node=st.integers(0, 1))
    def disconnect(self, node: int) -> None:
        self.network.disconnect(node)

    @rule(place=st.sampled_from(PLACES), node=st.integers(0, 1))
    def move(self, place: Any, node: int) -> None:
        self.cluster.move(place, node)

    @rule(place=st.sampled_from(PLACES), code=st.sampled_from(BEFORE))
    def refuse(self, place: Any, code: int) -> None:
        self.before[place] = code

    @rule(place=st.sampled_from(PLACES), code=st.sampled_from(AFTER))
    def refuse_after(self, place: Any, code: int) -> None:
        self.after[place] = code

    @rule(seconds=st.sampled_from([0.001, 0.1, 1.0, 400.0]))
    def pass_time(self, seconds: float) -> None:
        self.network.now += seconds

    @rule(milliseconds=st.sampled_from([0, 50]))
    def throttle(self, milliseconds: int) -> None:
        self.cluster.throttle_ms = milliseconds

    @rule()
    def settle(self) -> None:
        self.before.clear()
        self.after.clear()
        self.network.settle()
        for place, written in self.network.written.items():
            assert self.cluster.visible(place) == written

    @invariant()
    def in_order_and_once(self) -> None:
        if not hasattr(self, "network"):
            return
        assert self.network.machine.error is None
        for place, written in self.network.written.items():
            stored = self.cluster.visible(place)
            assert stored == written[: len(stored)]

    def teardown(self) -> None:
        if hasattr(self, "network"):
            self.settle()


TestFaulty = Faulty.TestCase
TestFaulty.settings = settings(max_examples=80, stateful_step_count=50, deadline=None)


@pytest.mark.parametrize("code", [10, 18, 29, 45, 47, 48, 59, 74 + 13, 90])
def test_what_can_not_be_repeated_ends_the_producer(code: int) -> None:
    """Nothing leaves behind the batch that failed; the batch itself is the first that is told."""
    cluster = ModelCluster(PLACES)
    network = ModelNetwork(cluster)
    network.append(("a", 0), b"0")
    network.settle()
    codes = [code]
    cluster.refuse = lambda place: codes.pop() if codes else 0
    for number in range(1, 9):
        network.append(("a", 0), b"%d" % number)
    network.settle()
    assert isinstance(network.machine.error, BrokerResponseError) and network.machine.error.errno == code
    assert cluster.visible(("a", 0)) == [b"0"]
    failed = [records for records, error in network.outcomes.items() if error is not None]
    assert failed == [b"%d" % number for number in range(1, 9)]
    assert network.outcomes[b"1"] is network.machine.error
    network.append(("a", 0), b"9")
    assert network.outcomes[b"9"] is network.machine.error


def test_a_guard_that_refuses_ends_the_producer_before_anything_leaves() -> None:
    cluster, allowed = ModelCluster(PLACES), [True]

    def guard() -> None:
        if not allowed[0]:
            raise PermissionError("the lease is over")

    network = ModelNetwork(cluster, guard=guard)
    network.append(("a", 0), b"0")
    network.settle()
    allowed[0] = False
    network.append(("a", 0), b"1")
    network.settle()
    assert isinstance(network.outcomes[b"1"], PermissionError)
    assert cluster.visible(("a", 0)) == [b"0"]


def test_a_batch_that_waits_too_long_ends_the_producer() -> None:
    network = ModelNetwork(ModelCluster(PLACES), Settings(delivery_seconds=30))
    network.append(("a", 0), b"0")
    network.settle()
    network.disconnect(0)
    network.append(("a", 0), b"1")
    network.now += 31
    network.send()
    assert "waited for 31 s" in str(network.outcomes[b"1"])


def test_partitions_take_turns_where_a_request_holds_one_batch_alone() -> None:
    """What was handed over first leaves first: a position counts when everything before it is written."""
    cluster = ModelCluster([("a", 0), ("a", 1)], nodes=1)
    network = ModelNetwork(cluster, Settings(request_bytes=10))
    network.settle()
    for number in range(6):
        network.append(("a", number % 2), b"%d" % number)
        network.now += 1
    order: list[bytes] = []

    def noted() -> bool:
        order.extend(each for each in network.outcomes if each not in order)
        return network.idle

    network.settle(noted)
    assert order == [b"%d" % number for number in range(6)]
