"""What a task has accepted, and what the book says now."""

from __future__ import annotations

import pytest

from replicator.config.ddns import Name
from replicator.coordination.addresses.book import AddressBook
from replicator.coordination.addresses.task_addresses import TaskAddresses
from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.records import AcceptedAddress
from replicator.coordination.watches import Watches
from replicator.errors import LeadershipLost

LAYOUT = Layout()
NAME = Name("shop", "orders")
CONFIG = {"source": {"type": "mysql", "address": f"ddns:{NAME}"}, "sink": {"type": "stdout"}}
A = AcceptedAddress(str(NAME), "a:1", 7)


class World:
    def __init__(self) -> None:
        self.coordinator = MemoryEnsemble().session()
        self.book = AddressBook(self.coordinator, LAYOUT)
        self.store = TaskAddresses(self.coordinator, LAYOUT)
        self.woken = 0
        self.watches = Watches(self._wake)
        self.coordinator.create(LAYOUT.contender("t", "me"), parents=True)

    def _wake(self) -> None:
        self.woken += 1

    def read(self, uid: str = "u") -> tuple[str, str, str]:
        (found,) = self.store.read("t", uid, CONFIG, self.watches)
        code = found.problem["code"] if found.problem else ""
        return found.wanted, found.accepted.address if found.accepted else "", code


@pytest.fixture
def world() -> World:
    return World()


def test_a_task_without_addresses_reads_nothing(world: World) -> None:
    assert world.store.read("t", "u", {"source": {"host": "h"}}, world.watches) == ()


def test_a_missing_name_is_waited_for(world: World) -> None:
    assert world.read() == ("", "", "E4101") and world.read() == ("", "", "E4101")
    world.book.set(NAME, "a:1", "primary", "ann")
    assert world.woken == 1 and world.read() == ("a:1", "", "")
    world.book.set(NAME, "b:1", "primary", "ann")
    assert world.woken == 2 and world.read() == ("b:1", "", "")
    world.book.delete(NAME)
    assert world.woken == 3 and world.read() == ("", "", "E4101")
    world.book.set(NAME, "c:1", "primary", "ann")
    assert world.woken == 4 and world.read() == ("c:1", "", "")


def test_accepted_beside_what_is_wanted(world: World) -> None:
    world.book.set(NAME, "b:1", "primary", "ann")
    world.store.accept("t", "u", "me", "source", A)
    world.store.accept("t", "u", "me", "sink", A)
    assert world.read() == ("b:1", "a:1", "")
    world.coordinator.set(LAYOUT.address(*NAME), b"junk")
    assert world.read() == ("", "a:1", "E4102")


def test_not_of_another_incarnation_or_name(world: World) -> None:
    world.book.set(NAME, "b:1", "primary", "ann")
    world.store.accept("t", "u", "me", "source", A)
    assert world.read("other")[1] == ""
    world.store.accept("t", "u", "me", "source", AcceptedAddress("shop/other", "a:1"))
    assert world.read()[1] == ""


def test_a_damaged_record_accepts_nothing_and_is_replaced(world: World) -> None:
    world.coordinator.create(LAYOUT.task_addresses("t"), b"junk")
    assert world.read()[1] == ""
    world.store.accept("t", "u", "me", "source", A)
    assert world.read()[1] == "a:1"


def test_who_is_no_longer_in_the_election_writes_nothing(world: World) -> None:
    world.coordinator.delete(LAYOUT.contender("t", "me"))
    with pytest.raises(LeadershipLost):
        world.store.accept("t", "u", "me", "source", A)
    assert world.read()[1] == ""
