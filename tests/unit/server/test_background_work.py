"""The register of Servers, its master, and what the master finishes."""

from __future__ import annotations

from replicator.config.load import load_task
from replicator.coordination.in_memory.coordinator import MemoryCoordinator, MemoryEnsemble
from replicator.coordination.layout import Layout
from server.background_work import BackgroundWork
from server.membership import Membership
from server.task_operations import TaskOperations
from tests.support.api import TASK, FakeCore

LAYOUT = Layout()


def member(ensemble: MemoryEnsemble, host: str) -> tuple[MemoryCoordinator, Membership]:
    coordinator = ensemble.session()
    return coordinator, Membership(coordinator, LAYOUT, host, "http://127.0.0.1:1")


def test_the_smallest_sequence_is_master_and_the_next_follows() -> None:
    ensemble = MemoryEnsemble()
    (first_session, first), (_, second) = member(ensemble, "a"), member(ensemble, "b")
    for one in (first, second, first):
        one.keep()
    assert (first.is_master, second.is_master) == (True, False)
    first_session.close()
    second.keep()
    assert second.is_master


def test_a_lost_session_registers_again_at_the_back() -> None:
    ensemble = MemoryEnsemble()
    (session, first), (_, second) = member(ensemble, "a"), member(ensemble, "b")
    first.keep()
    second.keep()
    session.expire()
    for one in (first, second, first):
        one.keep()
    assert (first.is_master, second.is_master) == (False, True)
    assert len(ensemble.session().children(LAYOUT.servers)) == 2


def test_nobody_is_master_without_zookeeper() -> None:
    ensemble = MemoryEnsemble()
    session, only = member(ensemble, "a")
    only.keep()
    session.suspend()
    only.keep()
    assert not only.is_master
    session.resume()
    only.keep()
    assert only.is_master


def test_a_create_whose_answer_was_lost_leaves_one_node() -> None:
    ensemble = MemoryEnsemble()
    session, only = member(ensemble, "a")
    session.lose_reply()
    only.keep()
    only.keep()
    assert len(session.children(LAYOUT.servers)) == 1 and only.is_master


def test_the_master_finishes_a_deletion_that_was_left_behind() -> None:
    ensemble = MemoryEnsemble()
    session, membership = member(ensemble, "a")
    control = TaskOperations(session, LAYOUT)
    config = load_task(TASK)
    control.create(config, "test")
    core = FakeCore(ensemble.session(), LAYOUT, "host-a").stand(config.name, "running")
    assert control.delete(config.name, "test", wait=0) is False
    background_work = BackgroundWork(control, membership)
    background_work.run_once()
    assert [view.name for view in control.tasks()] == [config.name]
    core.leave(config.name)
    background_work.run_once()
    assert control.tasks() == []


def test_a_turn_without_zookeeper_harms_nobody() -> None:
    ensemble = MemoryEnsemble()
    session, membership = member(ensemble, "a")
    background_work = BackgroundWork(TaskOperations(session, LAYOUT), membership)
    session.suspend()
    background_work.run_once()
    session.resume()
    background_work.run_once()
    assert membership.is_master
