"""Addresses of the book between a Core and its worker: a state machine over every order of events, with servers that
pass the checks or not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from core import worker_addresses
from core.protocol import AddressAccepted, AddressPassed, AddressRecorded, AddressRefused, ProposeAddress
from core.task_addresses import RunnerAddresses
from core.worker_addresses import AddressRejected, WorkerAddresses
from replicator.assembly.address_checks import Checked
from replicator.coordination.addresses.choice import plan
from replicator.coordination.addresses.task_addresses import TaskAddress
from replicator.coordination.records import AcceptedAddress
from replicator.errors import LeadershipLost, ProcessError, ReplicatorError, SourceError, SourceUnavailable
from replicator.model.position import Position
from replicator.model.term import Term

NAME, SECTIONS, SERVERS = "shop/orders", ("source", "sink"), ("a:1", "b:1", "c:1")
MISSING = {"code": "E4101", "what": "there is no address", "found": ""}


class Stream:
    def close(self) -> None:
        return None


class Server:
    """A source at one address."""

    def __init__(self, passes: Callable[[], bool]) -> None:
        self._passes = passes

    def open(self, position: Position) -> Any:
        if not self._passes():
            raise SourceError("E2209", "the server lacks transactions")
        return Stream()


class Bus:
    """A task with a source and a sink of the book; one process, one thread."""

    def __init__(self) -> None:
        self.book = dict.fromkeys(SECTIONS, "a:1")
        self.accepted: dict[str, AcceptedAddress] = {}
        self.passing = {(section, "a:1") for section in SECTIONS}
        self.connected: dict[str, str] = {}
        self.connections: list[tuple[str, str]] = []
        self.away = False
        self.runner = RunnerAddresses()
        self.worker: WorkerAddresses | None = None
        self.restarts = 0

    def addresses(self) -> tuple[TaskAddress, ...]:
        return tuple(
            TaskAddress(one, NAME, self.book[one], None if self.book[one] else MISSING, self.accepted.get(one))
            for one in SECTIONS
        )

    def check(
        self, config: Any, section: str, address: str, term: Any, known: Any, cluster: str, *, first: bool = False
    ) -> Checked:
        if (section, address) not in self.passing:
            raise SourceUnavailable("E2001", f"{address} is away")
        return Checked("K" if section == "sink" else "")

    def passes(self, section: str, address: str) -> bool:
        return (section, address) in self.passing

    # The Core

    def start(self) -> None:
        """Until a worker delivers, or there is nothing to start."""
        for _ in range(5):
            self.kill()
            try:
                plans = self.runner.begin(self.addresses())
            except ProcessError:
                return None
            self.worker = WorkerAddresses({}, plans, Term.unlimited("t"), self.send, lambda: None)
            self.restarts += 1
            try:
                self.worker.check_sink()
                at = {one.section: one.address for one in plans}
                source: Any = Server(partial(self.passes, "source", at["source"]))
                self.worker.source(source).open(Position("b.1", 4))
            except AddressRejected as rejected:
                self.send(rejected.message)
                continue
            except LeadershipLost:
                return self.kill()
            except ReplicatorError:
                self.runner.failed()
                return self.kill()
            self.connected = at
            self.connections += at.items()
            return None
        raise AssertionError("it never comes to rest")

    def kill(self) -> None:
        self.worker, self.connected = None, {}
        self.runner.end()

    def send(self, message: Any) -> None:
        match message:
            case AddressAccepted():
                self.runner.accepted(message)
                self.record()
            case AddressPassed():
                self.outdated = self.runner.passed(message)
            case AddressRefused():
                self.runner.refused(message)
            case AddressRecorded(section) if self.worker is not None:
                self.worker.recorded(section)
            case ProposeAddress(section, address) if self.worker is not None:
                self.worker.propose(section, address)

    outdated = False

    def record(self) -> None:
        def write(section: str, address: AcceptedAddress) -> None:
            if self.away:
                raise ReplicatorError("E4002", "not connected")
            self.accepted[section] = address

        try:
            self.runner.record(write, self.send)
        except ReplicatorError:
            return

    def turn(self) -> None:
        """What a Core and its worker do by themselves in a while."""
        self.runner.follow(self.addresses(), self.send)
        self.record()
        if self.worker is None or not self.connected:
            self.start()
            return
        due = [one for one in SECTIONS if self.worker._proposals.get(one) and one not in self.worker._passed]
        self.worker.round(due)
        if self.outdated:
            self.outdated = False
            self.start()

    def take_over(self) -> None:
        self.runner = RunnerAddresses()
        self.start()


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_addresses, "_RECORDED_SECONDS", 0.0)


@pytest.fixture
def bus(monkeypatch: pytest.MonkeyPatch) -> Bus:
    made = Bus()
    monkeypatch.setattr(worker_addresses, "check_address", made.check)
    made.start()
    assert made.connected == {"source": "a:1", "sink": "a:1"}
    return made


def error(bus: Bus, section: str = "source") -> str:
    found = next(one for one in bus.runner.figures() if one.section == section)
    return (found.error or {}).get("code", "")


def test_a_change_that_passes(bus: Bus) -> None:
    bus.passing.add(("source", "b:1"))
    bus.book["source"] = "b:1"
    bus.turn()
    assert bus.connected["source"] == "b:1" == bus.accepted["source"].address and bus.restarts == 2
    assert error(bus) == "" and bus.accepted["sink"].cluster == "K"


def test_a_refused_change_costs_no_restart_and_is_followed_later(bus: Bus) -> None:
    bus.book["sink"] = "b:1"
    for _ in range(3):
        bus.turn()
    assert (bus.connected["sink"], bus.restarts, error(bus, "sink")) == ("a:1", 1, "E4105")
    bus.passing.add(("sink", "b:1"))
    bus.turn()
    assert (bus.connected["sink"], bus.restarts, error(bus, "sink")) == ("b:1", 2, "")


def test_a_successor_does_not_use_a_refused_address(bus: Bus) -> None:
    bus.book["source"] = "b:1"
    bus.turn()
    bus.take_over()
    assert bus.connected["source"] == "a:1" == bus.accepted["source"].address and error(bus) == "E4105"


def test_a_change_back_ends_the_refusal(bus: Bus) -> None:
    bus.book["source"] = "b:1"
    bus.turn()
    bus.book["source"] = "a:1"
    bus.turn()
    assert (bus.connected["source"], error(bus), bus.restarts) == ("a:1", "", 1)


def test_a_name_that_is_deleted_and_created_again(bus: Bus) -> None:
    bus.book["source"] = ""
    bus.turn()
    assert bus.connected["source"] == "a:1" and error(bus) == "E4101"
    bus.take_over()
    assert bus.connected["source"] == "a:1"
    bus.book["source"] = "b:1"
    bus.turn()
    assert bus.connected["source"] == "a:1" and error(bus) == "E4105"
    bus.passing.add(("source", "b:1"))
    bus.turn()
    assert bus.connected["source"] == "b:1"


def test_nothing_is_delivered_before_the_address_is_recorded(bus: Bus) -> None:
    bus.passing.add(("source", "b:1"))
    bus.book["source"] = "b:1"
    bus.away = True
    bus.turn()
    assert bus.connected == {} and bus.accepted["source"].address == "a:1"
    bus.away = False
    bus.turn()
    assert bus.connected["source"] == "b:1" == bus.accepted["source"].address


def test_what_passed_beside_the_work_and_fails_at_its_position(bus: Bus) -> None:
    """The server has lost its replication in between: back to the former one, and not at once again."""
    bus.book["source"] = "b:1"
    bus.runner.follow(bus.addresses(), bus.send)
    bus.send(AddressPassed("source", "b:1"))
    bus.start()
    assert bus.connected["source"] == "a:1" and error(bus) == "E4105" and bus.restarts == 3


def test_a_task_that_failed_at_the_former_address_tries_the_other_one_again(bus: Bus) -> None:
    bus.book["source"] = "b:1"
    bus.turn()
    assert error(bus) == "E4105"
    bus.passing.clear()
    bus.start()
    assert bus.connected == {}
    bus.passing |= {("source", "b:1"), ("sink", "a:1")}
    bus.start()
    assert bus.connected["source"] == "b:1" and error(bus) == ""


def test_a_late_answer_about_a_former_value(bus: Bus) -> None:
    bus.book["source"] = "b:1"
    bus.runner.follow(bus.addresses(), bus.send)
    bus.book["source"] = "c:1"
    bus.runner.follow(bus.addresses(), bus.send)
    bus.send(AddressPassed("source", "b:1"))
    assert not bus.outdated


class Orders(RuleBasedStateMachine):
    """Whatever happens in whatever order."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.bus = Bus()
        self.patch.setattr(worker_addresses, "check_address", self.bus.check)
        self.patch.setattr(worker_addresses, "_RECORDED_SECONDS", 0.0)
        self.bus.start()

    def teardown(self) -> None:
        self.patch.undo()

    @rule(section=st.sampled_from(SECTIONS), value=st.sampled_from((*SERVERS, "")))
    def operators_set(self, section: str, value: str) -> None:
        self.bus.book[section] = value

    @rule(section=st.sampled_from(SECTIONS), server=st.sampled_from(SERVERS))
    def a_server_changes(self, section: str, server: str) -> None:
        self.bus.passing ^= {(section, server)}

    @rule()
    def time_passes(self) -> None:
        self.bus.turn()

    @rule()
    def the_worker_dies(self) -> None:
        self.bus.kill()

    @rule()
    def another_core_takes_over(self) -> None:
        self.bus.take_over()

    @rule(away=st.booleans())
    def zookeeper(self, away: bool) -> None:
        self.bus.away = away

    @invariant()
    def only_accepted_addresses_deliver(self) -> None:
        for section, address in self.bus.connected.items():
            assert self.bus.accepted[section].address == address

    @invariant()
    def the_last_value_decides_in_the_end(self) -> None:
        if self.bus.away or not all(self.bus.book.values()):
            return
        wanted = {(section, self.bus.book[section]) for section in SECTIONS}
        if not wanted <= self.bus.passing:
            return
        for _ in range(4):
            self.bus.turn()
        assert self.bus.connected == self.bus.book
        assert not any(one.error for one in self.bus.runner.figures())


Orders.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestOrders = Orders.TestCase


def test_a_plan_without_a_former_address_is_no_trial() -> None:
    assert not plan(TaskAddress("source", NAME, "a:1")).on_trial


def test_a_long_difference_is_shortened() -> None:
    """It is part of the machine's node."""
    told = worker_addresses.refusal("source", "b:1", SourceError("E2209", "lacks " + "1-2:" * 9000, wanted="x" * 9000))
    assert sum(map(len, told.values())) < 3000 and "lacks 1-2" in told["found"]
