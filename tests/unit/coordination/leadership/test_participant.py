"""Participants over the memory ensemble: whole stories, with a fake clock."""

from __future__ import annotations

import msgspec
import pytest

from replicator.coordination.groups.candidacy import Candidacy
from replicator.coordination.leadership.election import Election
from replicator.coordination.leadership.facts import DRAIN_MOST, Stuck
from replicator.coordination.leadership.lease import Lease
from replicator.coordination.leadership.state import State
from replicator.coordination.ports import Stat
from replicator.coordination.tasks.commands import Commands
from replicator.coordination.tasks.history import History
from replicator.coordination.tasks.registry import Registry
from replicator.coordination.tasks.status import Status
from tests.support.cores import TASK, SimCore, World


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def leader(world: World) -> SimCore:
    core = world.core()
    world.settle(1)
    assert core.participant.state is State.RUNNING
    return core


@pytest.fixture
def standby(world: World, leader: SimCore) -> SimCore:
    core = world.core()
    world.settle(1)
    assert core.participant.state is State.STANDBY
    return core


def delete_node(world: World, core: SimCore) -> None:
    [entry] = [entry for entry in field(world) if entry.host == core.host]
    world.admin.delete(world.layout.contender(TASK, entry.name))


def state(core: SimCore) -> State:
    """Its state now: a call, as a type checker takes an attribute to be the same from one line to the next."""
    return core.participant.state


def field(world: World):
    return Election(world.admin, world.layout).field(TASK).contenders


def test_a_killed_leader_is_replaced_when_its_session_ends_and_not_later(world, leader, standby):
    leader.die()
    died = world.clock()
    while standby.participant.state is not State.RUNNING:
        world.settle(0.25)
    assert world.timeout <= world.clock() - died <= world.timeout + 1


def test_a_deleted_node_is_waited_for_from_when_it_was_missed(world, leader, standby):
    leader.renew()
    lease_end = leader.workers.lease.deadline
    leader.frozen = True  # its process does not see the deletion; the session lives
    delete_node(world, leader)
    standby.turn()
    assert state(standby) is State.WAITING
    assert standby.participant.hold_until >= lease_end
    world.clock.now = standby.participant.hold_until
    standby.turn()
    assert standby.participant.state is State.STARTING


def test_both_nodes_deleted_by_hand_are_waited_for(world, leader, standby):
    leader.renew()
    lease_end = leader.workers.lease.deadline
    leader.frozen = True
    world.admin.delete(world.layout.machine(leader.host))
    delete_node(world, leader)
    standby.turn()
    assert state(standby) is State.WAITING
    assert standby.participant.hold_until >= lease_end


def test_a_leader_that_dies_right_after_somebody_joined_is_replaced_at_once(world, leader, standby):
    leader.die()
    third = world.core()
    died = world.clock()
    while standby.participant.state is not State.RUNNING:
        world.settle(0.25)
    assert world.clock() - died <= world.timeout + 1
    assert third.participant.state is State.STANDBY


def test_a_lone_core_does_not_wait_for_its_own_earlier_session(world, leader):
    leader.coordinator.expire()
    leader.turn()
    leader.turn()
    assert leader.participant.state is State.STARTING


def test_a_slow_reading_does_not_shorten_the_wait(world, leader, standby):
    """The node may have gone at any moment of the reading: only its end is surely after that."""
    leader.frozen = True
    real = standby.coordinator.listing

    def slow(path, watch=None):
        if path == world.layout.election(TASK):
            world.clock.now += 2.0
            leader.frozen = False
            leader.renew()
            leader.frozen = True
            if any(entry.host == leader.host for entry in field(world)):
                delete_node(world, leader)
        return real(path, watch)

    standby.coordinator.listing = slow
    standby.turn()
    standby.coordinator.listing = real
    assert standby.participant.state is State.WAITING
    assert standby.participant.hold_until >= leader.workers.lease.deadline


def test_a_ghost_of_a_lost_reply_does_not_block(world, leader):
    core = world.core()
    core.coordinator.lose_reply(2)
    world.settle(2)
    assert core.participant.state is State.STANDBY
    assert len(field(world)) == 2


def test_a_late_ghost_is_swept(world, leader, standby):
    path = world.layout.contender_prefix(TASK, standby.host, "f" * 32)
    standby.coordinator.create(path, b"", ephemeral=True, sequential=True)
    world.settle(1)
    assert len(field(world)) == 2


def test_a_worker_that_keeps_dying_is_started_less_and_less_often(world, leader):
    gaps, last = [], world.clock()
    for _ in range(5):
        leader.workers.kill()
        leader.participant.on_died()
        while leader.workers.lease is None:
            world.clock.now += 0.05
            leader.renew()
            leader.turn()
        gaps.append(world.clock() - last)
        last = world.clock()
    assert gaps == sorted(gaps)
    assert gaps[-1] >= 3


def test_a_worker_that_streamed_begins_with_the_short_pause_again(world, leader):
    for _ in range(3):
        leader.workers.kill()
        leader.participant.on_died()
        world.settle(10)
    leader.workers.kill()
    leader.participant.on_died()
    assert leader.participant.facts.restart_at - world.clock() == pytest.approx(0.2)


def test_a_drain_that_hangs_is_ended(world, leader, standby):
    leader.workers.drain = lambda: None
    Commands(world.admin, world.layout).submit(TASK, "switchover")
    leader.turn()
    assert state(leader) is State.DRAINING
    leader.work = lambda: None
    world.settle(25)
    assert standby.participant.state is State.RUNNING
    assert leader.participant.state is State.STANDBY


def test_a_drain_that_makes_progress_is_waited_for_but_not_for_ever(world, leader, standby):
    leader.workers.drain = lambda: None  # it goes on delivering
    Commands(world.admin, world.layout).submit(TASK, "switchover")
    world.settle(DRAIN_MOST - 10)
    assert leader.participant.state is State.DRAINING
    world.settle(15)
    assert standby.participant.state is State.RUNNING


def test_a_drain_whose_records_are_acknowledged_is_waited_for(world, leader, standby):
    """Though the position does not move: it may wait for many of them."""
    leader.workers.drain = lambda: None
    Commands(world.admin, world.layout).submit(TASK, "switchover")
    leader.turn()
    leader.work = leader.participant.on_acknowledged
    world.settle(DRAIN_MOST - 10)
    assert leader.participant.state is State.DRAINING
    world.settle(15)
    assert standby.participant.state is State.RUNNING


def test_lost_reply_of_a_release(world, leader, standby):
    Commands(world.admin, world.layout).submit(TASK, "switchover")
    leader.turn()
    leader.work()
    leader.coordinator.lose_reply()
    world.settle(3)
    assert standby.participant.state is State.RUNNING
    assert leader.participant.state is State.STANDBY
    assert Commands(world.admin, world.layout).pending(TASK) == []


def test_a_pause_that_meets_a_fail_over_holds(world, leader, standby):
    Status(world.admin, world.layout).set(TASK, "paused", "me")
    leader.die()
    world.settle(15)
    assert state(standby) is State.PAUSED
    assert world.effective() == []
    Status(world.admin, world.layout).set(TASK, "running", "me")
    world.settle(1)
    assert standby.participant.state is State.RUNNING


def test_a_bad_configuration_after_a_fail_over_runs_with_the_last_good_one(world, leader, standby):
    registry = Registry(world.admin, world.layout)
    registry.configure(TASK, {"name": TASK, "bad": True}, "me", registry.version(TASK))
    leader.die()
    world.settle(15)
    assert standby.participant.state is State.RUNNING
    assert standby.workers.starts[-1][1] == {"name": TASK}
    fresh = world.core()
    standby.die()
    world.settle(15)
    assert fresh.participant.state is State.UNCONFIGURED


def test_a_deleted_task_is_left_and_removed(world, leader, standby):
    Status(world.admin, world.layout).set(TASK, "deleted", "me")
    world.settle(2)
    assert leader.participant.gone
    assert standby.participant.gone
    assert Registry(world.admin, world.layout).names() == []


def test_history_tells_the_story(world, leader, standby):
    Commands(world.admin, world.layout).submit(TASK, "switchover", by="me")
    world.settle(2)
    standby.die()
    world.settle(10)
    entries = [entry.record for entry in History(world.admin, world.layout).read(TASK)]
    assert [entry.kind for entry in entries] == ["running", "switchover", "running", "lost", "running"]
    assert (entries[1].by, entries[1].reason) == ("me", "to host-1")
    assert entries[3].host == "host-1"
    assert entries[3].reason == "its session ended; host-0 takes over"
    epochs = [entry.epoch for entry in entries]
    assert epochs == sorted(epochs)


def test_the_state_stands_in_our_own_node(world, leader, standby):
    assert [entry.record.state for entry in field(world)] == ["running", "standby"]


class TestLease:
    def stat(self, czxid: int = 7, owner: int = 3) -> Stat:
        return Stat(version=0, czxid=czxid, mzxid=czxid, owner=owner)

    def test_runs_from_when_the_question_was_sent(self):
        lease = Lease("/n", 7, 3)
        assert lease.confirm(self.stat(), 100.0, 6.0)
        assert lease.deadline == 104.0
        assert lease.confirm(self.stat(), 99.0, 6.0)
        assert lease.deadline == 104.0

    @pytest.mark.parametrize("stat", [None, (8, 3), (7, 4)])
    def test_is_over_when_the_node_is_not_ours(self, stat):
        lease = Lease("/n", 7, 3)
        lease.confirm(self.stat(), 100.0, 6.0)
        assert not lease.confirm(self.stat(*stat) if stat else None, 101.0, 6.0)
        assert lease.deadline == 0.0
        assert not lease.confirm(self.stat(), 102.0, 6.0)
        assert lease.deadline == 0.0


def test_only_tasks_in_which_nothing_happens_are_calm(world, leader, standby):
    participant = leader.participant
    assert (participant.calm, standby.participant.calm) == (True, True)
    calm = participant.facts
    for change in (
        {"state": State.DRAINING},
        {"state": State.STARTING},
        {"state": State.FAILED},
        {"worker": None},
        {"restart_at": 5.0},
        {"stuck": Stuck("source", 1.0)},
    ):
        participant.facts = msgspec.structs.replace(calm, **change)
        assert not participant.calm, change
    participant.facts = calm
    Status(world.admin, world.layout).set(TASK, "paused", "test", "")
    world.settle(2)
    assert state(leader) is State.PAUSED and participant.calm


def test_task_that_runs_elsewhere_is_read_less_often(world, leader, standby):
    """A leader that is to hand over is not: no watch tells that its successor is there."""
    assert leader.participant.calm and standby.participant.calm
    leader.participant.place(Candidacy(group="blue"))
    standby.participant.place(Candidacy(group="blue"))
    world.settle(1)
    assert state(standby) is State.ABSENT and standby.participant.calm
    assert state(leader) is State.RUNNING and not leader.participant.calm
