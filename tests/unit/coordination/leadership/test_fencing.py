"""Fenced out at the sink: by whom, how often, and what an operator may say to it."""

from __future__ import annotations

from typing import Any

import pytest

from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.installation import installation_id
from replicator.coordination.layout import Layout
from replicator.coordination.leadership import fencing
from replicator.coordination.leadership.epochs import opened, sink_epoch, taken_over
from replicator.coordination.leadership.state import State
from replicator.coordination.records import CommitRecord, InstallationRecord, dump
from replicator.coordination.tasks.commands import Commands
from replicator.coordination.tasks.commits import Commits
from replicator.coordination.tasks.history import History
from replicator.errors import CoordinationError
from tests.support.cores import FENCED, TASK, FakeClock, SimCore, World
from tests.support.present import present

UNKNOWN = {"code": "E3111", "what": "a term that ZooKeeper does not know"}


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def leader(world: World) -> SimCore:
    core = world.core()
    world.settle(1)
    world.core()
    world.settle(1)
    assert core.participant.state is State.RUNNING
    return core


def fence(core: SimCore, error: dict[str, str] = FENCED, epoch: int = 0) -> None:
    core.workers.kill()
    core.participant.on_fenced(error, epoch)


def kinds(world: World) -> list[str]:
    return [entry.record.kind for entry in History(world.admin, world.layout).read(TASK)]


class TestCounting:
    def test_later_and_later_then_never(self) -> None:
        times: tuple[float, ...] = ()
        pauses = []
        for now in (10.0, 20.0, 30.0):
            times = fencing.counted(times, now)
            pauses.append(fencing.pause(times))
        assert pauses == [1.0, 4.0, None]

    def test_what_is_long_ago_does_not_count(self) -> None:
        assert fencing.counted((1.0, 2.0), 2.0 + fencing.WINDOW) == (2.0 + fencing.WINDOW,)


class TestEpochs:
    def test_the_first_term_knows_of_none_before(self) -> None:
        assert opened(None, 70) == (0, 0)
        assert opened(CommitRecord(epoch=0), 70) == (0, 0)

    def test_a_later_term_knows_the_one_before(self) -> None:
        assert opened(CommitRecord(epoch=50), 70) == (0, 50)
        assert opened(CommitRecord(epoch=50, above=1000), 70) == (1000, 1050)

    def test_an_opening_whose_answer_was_lost_does_not_hide_the_term_before(self) -> None:
        assert opened(CommitRecord(epoch=70, previous=50), 70) == (0, 50)

    @pytest.mark.parametrize(("found", "czxid", "above"), [(900, 70, 0), (60, 70, 0), (1500, 70, 1000), (5, 70, 1000)])
    def test_take_over_only_rises(self, found: int, czxid: int, above: int) -> None:
        after = sink_epoch(czxid, taken_over(found, czxid, above))
        assert after > found
        assert after > sink_epoch(czxid, above)


def test_fenced_while_its_node_stands_it_keeps_its_place_and_waits(world: World, leader: SimCore) -> None:
    epoch = leader.participant.facts.czxid
    fence(leader)
    leader.turn()
    assert leader.participant.state is State.STARTING
    assert leader.workers.lease is None, "not started at once"
    world.settle(3)
    assert (leader.participant.state, leader.participant.facts.czxid) == (State.RUNNING, epoch)
    assert kinds(world).count("fenced") == 1


def test_fenced_three_times_it_fails_and_names_the_rival(world: World, leader: SimCore) -> None:
    for _ in range(fencing.MOST):
        assert leader.participant.state is State.RUNNING
        fence(leader, {**FENCED, "found": "ProducerFencedError"})
        world.settle(10)
    failure = leader.participant.facts.failure
    assert leader.participant.state is State.FAILED and failure is not None
    assert failure.error["code"] == "E3113" and "ProducerFencedError" in failure.error["found"]
    assert len(leader.workers.starts) == fencing.MOST
    world.settle(60)
    assert leader.participant.state is State.FAILED, "nobody else tries in its place"


def test_a_retry_by_an_operator_counts_anew(world: World, leader: SimCore) -> None:
    for _ in range(fencing.MOST):
        fence(leader)
        world.settle(10)
    Commands(world.admin, world.layout).submit(TASK, "retry", {}, "me")
    world.settle(2)
    fence(leader)
    world.settle(5)
    assert leader.participant.state is State.RUNNING


def test_fenced_by_its_own_successor_it_only_loses(world: World, leader: SimCore) -> None:
    """A later term of this election: nothing fails, nothing is counted."""
    world.admin.delete(world.layout.contender(TASK, present(present(leader.participant.view).own).name))
    for error, epoch in ((FENCED, 0), (UNKNOWN, 4711)):
        if leader.participant.facts.worker is not None:
            fence(leader, error, epoch)
        leader.turn()
        assert leader.participant.state is not State.FAILED
    assert "failed" not in kinds(world) and "fenced" not in kinds(world)


def test_a_position_of_an_unknown_term_fails_at_once(world: World, leader: SimCore) -> None:
    fence(leader, UNKNOWN, 10**9)
    leader.turn()
    assert leader.participant.state is State.FAILED
    world.settle(60)
    assert len(leader.workers.starts) == 1


def test_take_over_raises_the_epoch_for_good(world: World, leader: SimCore) -> None:
    fence(leader, UNKNOWN, 10**9)
    leader.turn()
    Commands(world.admin, world.layout).submit(TASK, "retry", {"take_over": "true"}, "me")
    world.settle(2)
    assert leader.participant.state is State.RUNNING
    term = leader.workers.terms[-1]
    assert term.previous == 10**9
    assert term.epoch == 10**9 + term.czxid
    leader.workers.emit()
    leader.save()  # what the checkpoint writer writes keeps it
    record = Commits(world.admin, world.layout).read(TASK).record
    assert record is not None and (record.above, record.previous) == (10**9, 10**9)
    leader.die()
    world.settle(30)
    second = world.cores[1].workers.terms[-1]
    assert second.epoch > term.epoch and second.previous == term.epoch


def test_a_new_leader_knows_the_term_before(world: World, leader: SimCore) -> None:
    first = leader.workers.terms[-1]
    assert first.previous is None
    leader.die()
    world.settle(30)
    assert world.cores[1].workers.terms[-1].previous == first.epoch


class TestInstallation:
    @pytest.fixture
    def coordinator(self) -> Any:
        return MemoryEnsemble(FakeClock()).session()

    def test_made_once(self, coordinator: Any) -> None:
        layout = Layout()
        first = installation_id(coordinator, layout)
        assert len(first) == 12
        assert installation_id(coordinator, layout) == first
        assert installation_id(coordinator, Layout("/another")) != first

    @pytest.mark.parametrize("data", [b"", b"x", dump(InstallationRecord(id="../../x")), b'{"v":9}'])
    def test_what_is_not_understood_is_refused(self, coordinator: Any, data: bytes) -> None:
        coordinator.create(Layout().installation, data, parents=True)
        with pytest.raises(CoordinationError) as raised:
            installation_id(coordinator, Layout())
        assert raised.value.code in ("E4009", "E4010")
