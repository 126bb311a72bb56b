"""Replica ids over the memory coordinator."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.coordination.ids import ReplicaIds
from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.tasks.registry import Registry
from replicator.coordination.tasks.status import Status
from replicator.errors import ProcessError
from replicator.model.replica_id import derived


def made() -> tuple[Coordinator, ReplicaIds]:
    session = MemoryEnsemble(lambda: 0.0).session()
    return session, ReplicaIds(session, Layout())


def test_a_task_has_one_id_whoever_asks() -> None:
    _, ids = made()
    assert ids.of("copy", "u", None) == derived("copy") == ids.of("copy", "u", None)


def task(session: Coordinator, name: str) -> str:
    """The uid of a new task."""
    return Registry(session, Layout()).create(name, {"name": name}, "test").record.uid


def deleted(session: Coordinator, name: str) -> None:
    Status(session, Layout()).set(name, "deleted", "test")
    Registry(session, Layout()).remove(name)


def test_a_taken_number_is_passed_over_for_good() -> None:
    session, ids = made()
    uid = task(session, "other")
    ids.of("other", uid, derived("copy"))
    assert ids.of("copy", "u", None) == derived("copy") + 1
    assert ids.of("copy", "v", None) == derived("copy") + 1
    session.set(Layout().replica_id(derived("copy")), b"{")
    assert ids.of("copy", "u", None) == derived("copy") + 1


def test_a_configured_id_of_another_task_is_refused_by_name() -> None:
    session, ids = made()
    assert ids.of("first", task(session, "first"), 77) == 77
    with pytest.raises(ProcessError, match="first") as error:
        ids.of("second", "u", 77)
    assert error.value.code == "E2207"


def test_a_deleted_task_gives_its_ids_back() -> None:
    session, ids = made()
    uid = task(session, "first")
    ids.of("first", uid, 77)
    ids.of("first", uid, None)
    deleted(session, "first")
    assert session.children(Layout().replica_ids) == []
    assert ids.of("second", "u", 77) == 77


def test_an_id_that_a_deleted_task_left_behind_is_taken_over() -> None:
    session, ids = made()
    ids.of("first", "gone", 77)
    assert ids.of("second", task(session, "second"), 77) == 77
    with pytest.raises(ProcessError, match="second"):
        ids.of("first", task(session, "first"), 77)


def test_a_late_release_leaves_the_ids_of_the_task_that_was_created_again() -> None:
    session, ids = made()
    before, after = task(session, "first"), "another incarnation"
    ids.of("first", before, None)
    assert ids.of("first", after, None) == derived("first")
    ids.release("first", before)
    assert session.exists(Layout().replica_id(derived("first")))
    ids.release("first", after)
    assert session.children(Layout().replica_ids) == []


@given(st.sets(st.text("abc/_", min_size=1, max_size=4), min_size=1, max_size=12))
def test_no_two_tasks_have_the_same(tasks: set[str]) -> None:
    _, ids = made()
    assert len({ids.of(task, "u", None) for task in tasks}) == len(tasks)
