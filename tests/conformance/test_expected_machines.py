"""Expected machines over both coordinators."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest

from replicator.coordination.layout import Layout
from replicator.coordination.machines.expected import ExpectedMachines
from replicator.coordination.ports import Coordinator
from replicator.errors import VersionConflict


@pytest.fixture
def layout() -> Layout:
    return Layout(f"/expected-{uuid.uuid4().hex}")


def test_learned_ordered_and_forgotten(session: Callable[[], Coordinator], layout: Layout) -> None:
    machines, other = ExpectedMachines(session(), layout), ExpectedMachines(session(), layout)
    assert machines.list() == {} and machines.read("a") is None and not machines.forget("a")
    assert machines.learn("a/b") and not other.learn("a/b")
    assert not machines.learn("a~1234"), "the name of a second process of a host"
    assert other.list()["a/b"].record.learned and other.list()["a/b"].version == 0

    done = other.expect("a/b", "me", "rack b")
    assert (done.record.learned, done.record.by, done.record.reason, done.version) == (False, "me", "rack b", 1)
    assert not machines.learn("a/b") and machines.list()["a/b"].record.by == "me", "an order stays an order"

    for stale in (lambda: machines.expect("a/b", "", "", 0), lambda: machines.forget("a/b", 0)):
        with pytest.raises(VersionConflict) as refused:
            stale()
        assert refused.value.code == "E4006"
    assert machines.forget("a/b", 1) and other.list() == {}
    with pytest.raises(VersionConflict):
        machines.expect("a/b", "", "", 1)
    assert machines.expect("a/b", "me", "").version == 0 and machines.learn("c")
    assert sorted(other.list()) == ["a/b", "c"]


def test_a_record_that_is_not_understood_is_an_expectation(session: Callable[[], Coordinator], layout: Layout) -> None:
    coordinator = session()
    coordinator.create(layout.expected_machine("a"), b"{", parents=True)
    machines = ExpectedMachines(coordinator, layout)
    assert list(machines.list()) == ["a"]
    assert machines.expect("a", "me", "").record.by == "me"
