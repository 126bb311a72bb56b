"""Addresses of the book in decisions: a missing name, a change after a failure, a worker that is outdated."""

from __future__ import annotations

from replicator.config.ddns import Name
from replicator.coordination.addresses.book import AddressBook
from replicator.coordination.addresses.task_addresses import TaskAddress, TaskAddresses
from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.leadership.actions import DrainWorker, Retry
from replicator.coordination.leadership.decision import decide
from replicator.coordination.leadership.facts import Failure, WorkerFacts
from replicator.coordination.leadership.state import State
from replicator.coordination.leadership.view import ViewReader
from replicator.coordination.records import AcceptedAddress
from replicator.coordination.tasks.registry import Registry
from replicator.coordination.watches import Watches
from tests.unit.coordination.leadership.test_decision import CONFIG, NOW, OWN, contender, leading, view
from tests.unit.coordination.leadership.test_decision import commit as opened

NAME = Name("shop", "orders")
B = (TaskAddress("source", str(NAME), "b:1"),)


def test_an_outdated_worker_ends_at_a_transaction_boundary() -> None:
    worker = WorkerFacts(CONFIG, streaming=True, outdated=True)
    seen = view(contender(), commit=opened(1005))
    assert decide(leading(State.RUNNING, worker), seen, NOW) == [DrainWorker("configure")]


def test_a_failed_task_starts_again_at_another_address() -> None:
    seen = view(contender(), commit=opened(1005), addresses=B)
    failed = Failure({"code": "E2209"}, 3, addresses=("a:1",))
    assert decide(leading(State.FAILED, failure=failed), seen, NOW) == [Retry("configured")]
    same = Failure({"code": "E2209"}, 3, addresses=("b:1",))
    assert decide(leading(State.FAILED, failure=same), seen, NOW) == []


def test_a_missing_name_is_no_configuration_until_it_is_there() -> None:
    """Also one whose task has not accepted anything yet; one that has goes on there."""
    coordinator, layout = MemoryEnsemble().session(), Layout()
    config = {"name": "copy", "source": {"type": "mysql", "address": f"ddns:{NAME}"}}
    Registry(coordinator, layout).create("copy", config, "test")
    uid = Registry(coordinator, layout).read("copy").record.uid
    reader, woken = ViewReader(coordinator, layout, "copy", lambda data: data), list[int]()
    watches, book = Watches(lambda: woken.append(1)), AddressBook(coordinator, layout)
    seen = reader.read(OWN, watches, True, False)
    assert seen.config is None and seen.config_error is not None and seen.config_error["code"] == "E4101"
    book.set(NAME, "a:1", "primary", "ann")
    assert woken
    seen = reader.read(OWN, watches, True, False)
    assert seen.config is not None and seen.wanted_addresses == ("a:1",)
    coordinator.create(layout.contender("copy", "me"), parents=True)
    TaskAddresses(coordinator, layout).accept("copy", uid, "me", "source", AcceptedAddress(str(NAME), "a:1"))
    book.delete(NAME)
    seen = reader.read(OWN, watches, True, False)
    assert seen.config is not None and seen.addresses[0].accepted is not None and not seen.addresses[0].wanted
