"""The progress lease: who gives a task up, to whom, and when not."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from replicator.coordination.leadership.actions import Action, DrainWorker, Hold, KillWorker, Release
from replicator.coordination.leadership.facts import Facts, Stuck
from replicator.coordination.leadership.progress_lease import MOST, PATIENCE, give_up, side_of
from replicator.coordination.leadership.state import State
from replicator.coordination.leadership.view import TaskView
from tests.support.cores import World
from tests.support.present import present
from tests.unit.coordination.leadership.test_decision import NOW, RIVAL, RUNS, THIRD, commit, contender, leading, view

SINCE = NOW - PATIENCE - 1


def decided(seen: TaskView | None = None, *, since: float = SINCE, **changes: Any) -> list[Action]:
    known = leading(State.RUNNING, RUNS, stuck=Stuck("sink", since))
    return give_up(msgspec.structs.replace(known, **changes), seen or reached(), NOW)


def reached(*guids: str, **changes: Any) -> TaskView:
    others = (contender(), contender(RIVAL, 8, 2), contender(THIRD, 9, 3))
    return view(*others, **{"commit": commit(), "reaching": frozenset(guids or (THIRD,)), **changes})


def test_drains_then_hands_over_to_whoever_reaches_it() -> None:
    assert decided() == [DrainWorker("progress")]
    draining = msgspec.structs.replace(RUNS, drain_reason="progress", drain_until=NOW + 5)
    assert decided(worker=draining) == [Hold(NOW + 5)]
    assert isinstance(decided(worker=msgspec.structs.replace(draining, drain_until=NOW))[0], KillWorker)
    assert decided(worker=None, state=State.IDLE) == [
        Release("the sink can't be reached from this host", THIRD, "third")
    ]


@pytest.mark.parametrize(
    "seen",
    [
        reached("x" * 32),
        reached(THIRD, maintenance=True),
        reached(THIRD, gave_up=MOST),
        reached(THIRD, commit=commit(999)),
        reached("a" * 32, THIRD),
    ],
    ids=["nobody reaches it", "maintenance", "often enough", "not our term", "we do"],
)
def test_stays(seen: TaskView) -> None:
    assert decided(seen) == []


def test_patience_doubles_with_each_time() -> None:
    assert decided(since=NOW - PATIENCE + 1) == []
    assert decided(reached(THIRD, gave_up=1)) == []
    assert decided(reached(THIRD, gave_up=1), since=NOW - 2 * PATIENCE) == [DrainWorker("progress")]


def test_never_when_told_so() -> None:
    good = msgspec.structs.replace(present(leading(State.RUNNING).good), data={"hand_over_after_s": 0})
    assert decided(good=good) == []


def test_nothing_to_do_for_a_worker_that_works() -> None:
    assert give_up(Facts(guid="a" * 32), reached(), NOW) == []


def test_a_host_that_lacks_something_hands_over_to_one_that_reaches_both() -> None:
    stuck = Stuck("host", SINCE, "E2311")
    assert decided(stuck=stuck) == [DrainWorker("progress")]
    released = decided(stuck=stuck, worker=None, state=State.IDLE)
    assert released == [Release("E2311 on this host", THIRD, "third")]
    assert decided(reached("x" * 32), stuck=stuck) == []


@pytest.mark.parametrize(
    ("code", "side"),
    [
        ("E2001", "source"),
        ("E2002", "source"),
        ("E3001", "sink"),
        ("E3301", "registry"),
        ("E3401", "sink"),
        ("E3402", "sink"),
        ("E3408", None),
        ("E2311", "host"),
        ("E2216", None),
        ("E3107", None),
    ],
)
def test_what_keeps_a_worker_from_its_work(code: str, side: str | None) -> None:
    assert side_of(code) == side


def test_a_host_without_the_schema_registry_hands_over_to_one_that_reaches_it() -> None:
    stuck = Stuck("registry", SINCE, "E3301")
    assert decided(stuck=stuck) == [DrainWorker("progress")]
    released = decided(stuck=stuck, worker=None, state=State.IDLE)
    assert released == [Release("the schema registry can't be reached from this host", THIRD, "third")]
    assert decided(reached("a" * 32, THIRD), stuck=stuck) == []


@pytest.mark.parametrize(("code", "side"), [("E2311", "host"), ("E3301", "registry")])
def test_what_a_stream_that_opens_does_not_end(code: str, side: str) -> None:
    world = World()
    core = world.core()
    world.settle(1)
    participant = core.participant
    participant.on_waiting({"code": code, "what": ""})
    first = participant.facts.stuck
    assert first is not None and first.side == side
    world.clock.now += 5
    participant.on_streaming("binlog.000001:4")
    participant.on_waiting({"code": code, "what": ""})
    assert participant.facts.stuck == first
    participant.on_acknowledged()
    assert participant.facts.stuck is None
    participant.on_waiting({"code": "E2001", "what": "not reached"})
    participant.on_streaming("binlog.000001:4")
    assert participant.facts.stuck is None


def test_workers_that_die_before_anything_is_delivered_count_against_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    core = world.core()
    world.settle(1)
    participant = core.participant
    monkeypatch.setattr(core.workers, "emit", lambda: None)

    def die() -> None:
        assert world.settle_until(lambda: core.workers.streaming and core.workers.lease is not None, 40)
        core.workers.kill()
        participant.on_died()

    die()
    die()
    participant.on_acknowledged()
    die()
    die()
    assert participant.facts.stuck is None
    die()
    stuck = participant.facts.stuck
    assert stuck is not None and (stuck.side, stuck.code) == ("host", "E5008")
    participant.on_acknowledged()
    assert participant.facts.stuck is None
