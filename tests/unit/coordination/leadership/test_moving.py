"""Groups in the decision: who joins, who withdraws, and to whom a leader hands over, and when not."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from replicator.coordination.groups.candidacy import Candidacy
from replicator.coordination.leadership.actions import (
    Action,
    DrainWorker,
    Hold,
    KillWorker,
    Release,
    Stand,
    WatchPredecessor,
    Withdraw,
)
from replicator.coordination.leadership.decision import decide
from replicator.coordination.leadership.facts import Stuck
from replicator.coordination.leadership.leading import lead
from replicator.coordination.leadership.moving import hand_over
from replicator.coordination.leadership.state import State
from replicator.coordination.leadership.view import Config, TaskView
from replicator.coordination.records import InstanceRecord
from replicator.coordination.tasks.status import UNKNOWN
from tests.unit.coordination.leadership.test_decision import NOW, RIVAL, RUNS, THIRD, commit, contender, facts, view
from tests.unit.coordination.leadership.test_decision import leading as leading_facts

GROUP = "blue"
AWAY = Candidacy(group=GROUP, hosts=("rival",), may_move=True)
HERE = Candidacy(group=GROUP, hosts=("own", "rival"), own=True)


def of(group: str, guid: str = RIVAL, host: str = "rival", sequence: int = 8) -> Any:
    record = InstanceRecord(host=host, pid=1, process="p", since_ms=0, state="standby", group=group)
    return msgspec.structs.replace(contender(guid, sequence, 2), host=host, record=record)


def seen(*others: Any, **changes: Any) -> TaskView:
    base: dict[str, Any] = {"commit": commit(), "group": GROUP, "healthy": frozenset({RIVAL, THIRD})}
    return view(contender(), *(others or (of(GROUP),)), **{**base, **changes})


def moved(found: TaskView | None = None, candidacy: Candidacy = AWAY, **changes: Any) -> list[Action]:
    known = leading_facts(State.RUNNING, RUNS, candidacy=candidacy)
    return hand_over(msgspec.structs.replace(known, **changes), found or seen(), NOW)


def test_drains_then_hands_over_to_where_it_is_placed() -> None:
    assert moved() == [DrainWorker("move")]
    draining = msgspec.structs.replace(RUNS, drain_reason="move", drain_until=NOW + 5)
    assert moved(worker=draining) == [Hold(NOW + 5)]
    assert isinstance(moved(worker=msgspec.structs.replace(draining, drain_until=NOW))[0], KillWorker)
    assert moved(worker=None, state=State.IDLE) == [Release("placed there", RIVAL, "rival", moved=True)]
    assert lead(leading_facts(State.RUNNING, RUNS, candidacy=AWAY), seen(), NOW) == [DrainWorker("move")]


@pytest.mark.parametrize(
    ("found", "candidacy"),
    [
        (seen(), msgspec.structs.replace(AWAY, may_move=False)),
        (seen(), msgspec.structs.replace(AWAY, hosts=())),
        (seen(), msgspec.structs.replace(AWAY, hosts=("third", "rival"))),
        (seen(), msgspec.structs.replace(HERE, may_move=True)),
        (seen(healthy=frozenset()), AWAY),
        (seen(maintenance=True), AWAY),
        (seen(desired=UNKNOWN), AWAY),
        (seen(commit=commit(999)), AWAY),
        (seen(group="green"), AWAY),
    ],
    ids=[
        "not its turn",
        "no place",
        "the preferred one is not there yet",
        "placed here",
        "not healthy",
        "maintenance",
        "status not understood",
        "not our term",
        "nobody of the other group",
    ],
)
def test_stays(found: TaskView, candidacy: Candidacy) -> None:
    assert moved(found, candidacy) == []


def test_unhealthy_successor_is_as_good_as_a_host_that_can_not_work() -> None:
    assert moved(seen(healthy=frozenset()), stuck=Stuck("source", NOW)) == [DrainWorker("move")]


def test_task_of_another_group_goes_to_a_core_of_that_group() -> None:
    found = seen(of(GROUP), of("green", THIRD, "third", 9), group="green")
    assert moved(found, state=State.IDLE, worker=None) == [Release("placed there", THIRD, "third", moved=True)]
    plain = Candidacy(draining=True, may_move=True)
    assert moved(seen(of(GROUP), of("", THIRD, "third", 9), group=""), plain, state=State.IDLE, worker=None) == [
        Release("placed there", THIRD, "third", moved=True)
    ]


def test_pinned_task_leaves_a_core_that_it_is_placed_on() -> None:
    pinned = Candidacy(group=GROUP, hosts=("rival", "own"), own=True, pinned=True, may_move=True)
    assert moved(candidacy=pinned) == [DrainWorker("move")]
    assert moved(candidacy=msgspec.structs.replace(pinned, pinned=False)) == []


@pytest.mark.parametrize(
    ("candidacy", "group", "joins"),
    [
        (Candidacy(), "", True),
        (Candidacy(), None, True),
        (Candidacy(), GROUP, False),
        (Candidacy(draining=True), "", False),
        (HERE, GROUP, True),
        (HERE, None, True),
        (HERE, "green", False),
        (HERE, "", False),
        (AWAY, GROUP, False),
    ],
)
def test_who_joins_and_who_withdraws(candidacy: Candidacy, group: str | None, joins: bool) -> None:
    absent = facts(State.ABSENT, opened=False, candidacy=candidacy, good=None)
    assert decide(absent, view(of(GROUP), group=group), NOW) == ([Stand()] if joins else [])
    found = view(contender(sequence=5), of(GROUP, sequence=2), group=group)
    standby = facts(State.STANDBY, opened=False, candidacy=candidacy, good=None)
    [action] = decide(standby, found, NOW)
    assert isinstance(action, WatchPredecessor if joins else Withdraw)


def test_configuration_that_can_not_be_read_keeps_its_group() -> None:
    good = Config(3, {"name": "copy", "group": GROUP})
    absent = facts(State.ABSENT, opened=False, good=good)
    assert decide(absent, view(group=None), NOW) == []


def test_change_of_group_weight_and_standbys_restarts_no_worker() -> None:
    known = Config(3, {"name": "copy"})
    worker = msgspec.structs.replace(RUNS, config=known)
    changed = Config(4, {"name": "copy", "group": GROUP, "weight": 2, "standbys": 0})
    running = leading_facts(State.RUNNING, worker)
    assert not isinstance(lead(running, seen(config=changed), NOW)[0], DrainWorker)
    other = Config(4, {"name": "copy", "group": GROUP, "max_batch_bytes": 1})
    assert lead(running, seen(config=other), NOW) == [DrainWorker("configure")]
