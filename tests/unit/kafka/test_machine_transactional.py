"""The transactional producer against a cluster in memory, with both transaction protocols."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from kafka.errors import BrokerResponseError

from replicator.kafka import errors
from replicator.kafka.machine import Machine, Settings
from replicator.kafka.messages import add_partitions, end_transaction, find_coordinator, init_producer_id, metadata
from replicator.kafka.transaction import State
from tests.support.model_broker import ModelCluster
from tests.support.model_network import ModelNetwork

PLACES = [("a", 0), ("a", 1), ("b", 0)]
KEYS = [find_coordinator.KEY, init_producer_id.KEY, add_partitions.KEY, end_transaction.KEY]
PASSING = [
    errors.COORDINATOR_LOAD_IN_PROGRESS,
    errors.COORDINATOR_NOT_AVAILABLE,
    errors.NOT_COORDINATOR,
    errors.CONCURRENT_TRANSACTIONS,
]
SETTINGS = Settings(transactional_id="t", delivery_seconds=1e6)


class Faulty(RuleBasedStateMachine):
    """Sessions of one transactional id. Whatever happens: what is visible are whole transactions, each once, in order,
    and every one whose commit was confirmed."""

    def __init__(self) -> None:
        super().__init__()
        self.number = 0
        self.refused: dict[int, int] = {}
        self.batches: dict[Any, int] = {}

    @initialize(second=st.booleans(), slow=st.booleans(), known=st.booleans())
    def begin_with(self, second: bool, slow: bool, known: bool) -> None:
        """known: leaders are known, and each partition has a transaction behind it."""
        self.cluster = ModelCluster(PLACES, second=second)
        self.cluster.slow_markers = slow
        self.cluster.refuse_transaction = lambda key: self.refused.pop(key, 0)
        self.cluster.refuse = lambda place: self.batches.pop(place, 0)
        self.committed: dict[Any, list[bytes]] = {place: [] for place in PLACES}
        self.session()
        if known:
            self.begin()
            for place in PLACES:
                self.append(place, 1, False)
            self.end(True, False)
            self.network.settle()
            self.look()

    def session(self) -> None:
        self.network = ModelNetwork(self.cluster, SETTINGS)
        self.open: dict[Any, list[bytes]] | None = None
        self.decision: bool | None = None  # of the open transaction: commit, abort
        self.network.settle(lambda: self.network.machine.transactions.state is State.READY)

    @property
    def state(self) -> State:
        return self.network.machine.transactions.state

    @precondition(lambda self: self.state is State.READY and self.network.machine.error is None)
    @rule()
    def begin(self) -> None:
        transactions = self.network.machine.transactions
        if transactions.coordinator_lost(self.network.peers):
            self.cluster.write_markers()  # as the sink looks for transactions without an end
            transactions.take_another()
        transactions.begin(self.network.peers)
        self.open = {place: [] for place in PLACES}

    @precondition(lambda self: self.state is State.OPEN)
    @rule(place=st.sampled_from(PLACES), count=st.integers(1, 3), send=st.booleans())
    def append(self, place: Any, count: int, send: bool) -> None:
        assert self.open is not None
        self.number += 1
        if self.network.machine.error is None:
            self.open[place].append(b"%d" % self.number)
        self.network.append(place, b"%d" % self.number, count)
        if send:
            self.network.send()

    @precondition(lambda self: self.state is State.OPEN and self.network.machine.error is None)
    @rule(commit=st.booleans(), send=st.booleans())
    def end(self, commit: bool, send: bool) -> None:
        self.decision = commit
        self.network.machine.end(commit=commit)
        if send:
            self.network.send()

    @rule()
    def send(self) -> None:
        self.network.send()

    @rule(node=st.integers(0, 1))
    def connect(self, node: int) -> None:
        self.network.connect(node)

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

    @rule(node=st.integers(0, 1))
    def move_coordinator(self, node: int) -> None:
        self.cluster.coordinator = node

    @rule()
    def write_markers(self) -> None:
        self.cluster.write_markers()

    @rule(key=st.sampled_from(KEYS), code=st.sampled_from(PASSING))
    def refuse(self, key: int, code: int) -> None:
        self.refused[key] = code

    @rule(place=st.sampled_from(PLACES), code=st.sampled_from(sorted(errors.STALE_METADATA)))
    def refuse_batch(self, place: Any, code: int) -> None:
        self.batches[place] = code

    @rule(seconds=st.sampled_from([0.001, 0.1, 1.0, 400.0]))
    def pass_time(self, seconds: float) -> None:
        self.network.now += seconds

    @rule(fence=st.booleans())
    def next_session(self, fence: bool) -> None:
        """The next term: it fences this one, or this one settles first."""
        self.refused.clear()
        self.batches.clear()
        if not fence:
            self.network.settle(lambda: self.network.idle and self.state is not State.ENDING)
        self.look()
        open_, decision = self.open, self.decision
        self.session()
        if open_ is not None and decision:
            places = [place for place in PLACES if open_[place]]
            done = {self.cluster.visible(place) == self.committed[place] + open_[place] for place in places}
            assert len(done) <= 1, "a transaction is visible as a whole or not at all"
            if True in done:
                for place in places:
                    self.committed[place] += open_[place]
        self.compare()

    @invariant()
    def look(self) -> None:
        if not hasattr(self, "network"):
            return
        error = self.network.machine.error
        assert error is None or "was not available" in str(error), error
        if self.open is not None and self.decision is not None and self.state is State.READY and error is None:
            if self.decision:
                for place, records in self.open.items():
                    self.committed[place] += records
            self.open = self.decision = None

    def compare(self) -> None:
        self.cluster.write_markers()
        for place in PLACES:
            assert self.cluster.visible(place) == self.committed[place]

    def teardown(self) -> None:
        if hasattr(self, "network"):
            self.next_session(fence=False)


TestFaulty = Faulty.TestCase
TestFaulty.settings = settings(max_examples=60, stateful_step_count=50, deadline=None)


def network(second: bool = False, places: Any = PLACES) -> ModelNetwork:
    found = ModelNetwork(ModelCluster(places, second=second), SETTINGS)
    found.settle()
    return found


def commit(net: ModelNetwork, *records: bytes, commit: bool = True) -> None:
    transactions = net.machine.transactions
    transactions.begin(net.peers)
    for each in records:
        net.append(("a", 0), each)
    net.settle()
    net.machine.end(commit=commit)
    net.settle()


@pytest.mark.parametrize("second", [False, True])
def test_a_transaction_is_visible_after_its_commit_alone(second: bool) -> None:
    net = network(second)
    commit(net, b"1", b"2")
    commit(net, b"3", commit=False)
    commit(net, b"4")
    assert net.machine.error is None
    assert net.cluster.visible(("a", 0)) == [b"1", b"2", b"4"]


def test_the_second_protocol_gives_an_epoch_to_each_transaction_and_asks_no_coordinator_before_it() -> None:
    net = network(second=True)
    keys: list[int] = []

    def note(key: int) -> int:
        keys.append(key)
        return 0

    net.cluster.refuse_transaction = note
    epoch = net.machine.transactions.epoch
    for number in range(3):
        commit(net, b"%d" % number)
    assert net.machine.transactions.epoch == epoch + 3
    assert keys == [end_transaction.KEY] * 3


def test_one_that_follows_at_once_asks_the_coordinator_also_with_the_second_protocol() -> None:
    """A leader that meets the markers of the last transaction would ask again after 20 ms."""
    net = network(second=True)
    commit(net, b"1")
    net.now -= 0.01  # of the last step, so that the end of the transaction is just now
    keys: list[int] = []
    codes = iter([errors.CONCURRENT_TRANSACTIONS, 0, 0])

    def asked(key: int) -> int:
        keys.append(key)
        return next(codes)

    net.cluster.refuse_transaction = asked
    epoch = net.machine.transactions.epoch
    commit(net, b"2")
    assert keys == [add_partitions.KEY, add_partitions.KEY, end_transaction.KEY]
    assert net.machine.transactions.epoch == epoch + 1, "the end is of the second protocol"
    assert net.cluster.visible(("a", 0)) == [b"1", b"2"]


def test_of_a_transaction_from_which_nothing_has_left_no_broker_is_told_by_the_second_protocol() -> None:
    net = network(second=True)
    keys: list[int] = []

    def asked(key: int) -> int:
        keys.append(key)
        return 0

    net.cluster.refuse_transaction = asked
    transactions = net.machine.transactions
    transactions.begin(net.peers)
    transactions.add(("b", 0))
    net.append(("a", 0), b"1")
    net.machine.end(commit=False)
    net.settle()
    assert transactions.state is State.READY and keys == []
    commit(net, b"2")
    assert net.cluster.visible(("a", 0)) == [b"2"] and net.cluster.transactions["t"].partitions == set()


def test_nobody_is_fenced_before_it_is_asked_for() -> None:
    net = network()
    later = Machine(SETTINGS, lambda: None)
    for _ in range(20):
        assert not [each for each in later.requests(net.peers, net.now) if each.key != metadata.KEY]
    commit(net, b"1")
    assert net.cluster.visible(("a", 0)) == [b"1"]


@pytest.mark.parametrize("second", [False, True])
def test_no_commit_leaves_without_the_guard(second: bool) -> None:
    allowed = [True]

    def guard() -> None:
        if not allowed[0]:
            raise PermissionError("the lease is over")

    net = ModelNetwork(ModelCluster(PLACES, second=second), SETTINGS, guard)
    net.settle()
    net.machine.transactions.begin(net.peers)
    net.append(("a", 0), b"1")
    net.settle()
    allowed[0] = False
    net.machine.end(commit=True)
    net.settle()
    assert isinstance(net.machine.error, PermissionError)
    assert net.cluster.visible(("a", 0)) == []


@pytest.mark.parametrize("commit", [False, True])
@pytest.mark.parametrize("second", [False, True])
def test_no_end_leaves_before_everything_in_the_transaction_is_written(second: bool, commit: bool) -> None:
    """Neither while a batch is in flight nor while one waits to be sent again."""
    net = network(second)
    net.machine.transactions.begin(net.peers)
    net.append(("a", 0), b"1")
    net.settle()
    codes = [errors.NOT_ENOUGH_REPLICAS]
    net.cluster.refuse = lambda place: codes.pop() if codes else 0
    net.append(("a", 0), b"2")
    net.send()
    net.machine.end(commit=commit)
    peer = net.peers[net.cluster.leaders["a", 0]]
    for _ in range(2):
        net.send()
        assert end_transaction.KEY not in [request.key for each in net.peers.values() for request in each.sent]
        while peer.sent:
            peer.serve()
        while peer.answered:
            peer.hear(net.now)
    net.settle()
    assert net.machine.error is None
    assert net.cluster.visible(("a", 0)) == ([b"1", b"2"] if commit else [])


@pytest.mark.parametrize("second", [False, True])
def test_a_producer_that_is_fenced_ends(second: bool) -> None:
    earlier = network(second)
    later = ModelNetwork(earlier.cluster, SETTINGS)
    later.settle()
    earlier.machine.transactions.begin(earlier.peers)
    earlier.append(("a", 0), b"1")
    earlier.settle()
    assert isinstance(earlier.machine.error, BrokerResponseError) and earlier.machine.error.errno in (
        errors.PRODUCER_FENCED,
        errors.INVALID_PRODUCER_EPOCH,
    )
    commit(later, b"2")
    assert later.cluster.visible(("a", 0)) == [b"2"]


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("key", [add_partitions.KEY, end_transaction.KEY])
@pytest.mark.parametrize("code", [29, 47, 48, 49, 53, 90, 120])
def test_what_the_coordinator_refuses_for_good_ends_the_producer(second: bool, key: int, code: int) -> None:
    net = network(second)
    codes = {key: code}
    net.cluster.refuse_transaction = lambda key: codes.pop(key, 0)
    if second and key == add_partitions.KEY:
        return  # is not asked
    commit(net, b"1")
    assert isinstance(net.machine.error, BrokerResponseError) and net.machine.error.errno == code
    assert net.cluster.visible(("a", 0)) == []


@pytest.mark.parametrize("arrived", [False, True])
@pytest.mark.parametrize("second", [False, True])
def test_a_commit_whose_reply_is_lost_is_asked_again(second: bool, arrived: bool) -> None:
    net = network(second)
    transactions = net.machine.transactions
    transactions.begin(net.peers)
    net.append(("a", 0), b"1")
    net.settle()
    net.machine.end(commit=True)
    net.send()
    peer = net.peers[net.cluster.coordinator]
    while arrived and peer.sent:
        peer.serve()
    net.disconnect(net.cluster.coordinator)
    assert transactions.ending
    net.settle()
    assert transactions.state is State.READY and net.machine.error is None
    assert net.cluster.visible(("a", 0)) == [b"1"]
    assert transactions.coordinator_lost(net.peers), "the next transaction may meet one without an end"


@pytest.mark.parametrize("second", [False, True])
def test_no_transaction_begins_over_another_connection(second: bool) -> None:
    net = network(second)
    commit(net, b"1")
    net.disconnect(net.cluster.coordinator)
    net.connect(net.cluster.coordinator)
    net.machine.transactions.begin(net.peers)
    net.append(("a", 0), b"2")
    net.settle()
    assert "was not available" in str(net.machine.error)
    assert [each.records for each in net.cluster.logs["a", 0].stored] == [b"1"]


def test_an_exhausted_epoch_gives_a_new_producer_id() -> None:
    """The coordinator gives it with the end of a transaction; sequence numbers begin again."""
    net = network(second=True)
    commit(net, b"1")
    found = net.cluster.transactions["t"]
    transactions = net.machine.transactions
    transactions.begin(net.peers)
    net.append(("a", 0), b"2")
    net.settle()
    net.machine.end(commit=True)
    net.send()
    peer = net.peers[net.cluster.coordinator]
    while peer.sent:
        peer.serve()
    found.producer_id, found.epoch = 999, 0
    request, body = peer.answered.popleft()
    peer.answered.append((request, body[:6] + (999).to_bytes(8, "big") + (0).to_bytes(2, "big") + b"\0"))
    net.settle()
    assert (transactions.producer_id, transactions.epoch) == (999, 0)
    commit(net, b"3")
    assert net.cluster.visible(("a", 0)) == [b"1", b"2", b"3"]


def test_an_abort_between_the_answers_of_two_batches() -> None:
    """The first is refused and would be sent again; the second is then refused because of the first."""
    place = PLACES[0]
    machine = Faulty()
    machine.begin_with(second=True, slow=False, known=True)
    machine.begin()
    machine.refuse_batch(code=3, place=place)
    machine.append(count=1, place=place, send=False)
    machine.append(count=1, place=place, send=False)
    machine.send()
    machine.serve(node=0)
    machine.hear(node=0)
    machine.end(commit=False, send=False)
    machine.next_session(fence=False)
    machine.look()
    machine.teardown()
