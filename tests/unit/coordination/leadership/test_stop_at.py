"""A task that is to be paused at a position, for a cut-over, runs until there; one whose source is locked pauses."""

from __future__ import annotations

from typing import Any

import msgspec

from replicator.coordination.leadership.actions import DrainWorker, Hold, Pause, Retry, Save, StartWorker
from replicator.coordination.leadership.decision import decide
from replicator.coordination.leadership.facts import WorkerFacts
from replicator.coordination.leadership.state import State
from replicator.coordination.leadership.view import TaskView
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from tests.unit.coordination.leadership.test_decision import CONFIG, NOW, commit, contender, leading, view

GOAL = Position("binlog.000001", 300)
BOUNDED = msgspec.structs.replace(CONFIG, until=GOAL)


def seen_at(at: int = 100, **changes: Any) -> TaskView:
    known = commit(checkpoint=Checkpoint(Position("binlog.000001", at)))
    return view(contender(), commit=known, **({"desired": "paused", "stop_at": GOAL} | changes))


def test_a_paused_task_goes_on_until_there() -> None:
    assert decide(leading(State.PAUSED), seen_at(), NOW) == [Retry("resumed")]
    [action] = decide(leading(State.IDLE), seen_at(), NOW)
    assert isinstance(action, StartWorker) and action.config.until == GOAL


def test_it_rests_while_its_worker_is_on_the_way() -> None:
    assert decide(leading(State.RUNNING, WorkerFacts(BOUNDED)), seen_at(), NOW) == []
    assert decide(leading(State.STARTING, restart_at=NOW + 3), seen_at(), NOW) == [Hold(NOW + 3)]


def test_it_stays_paused_there() -> None:
    assert decide(leading(State.PAUSED), seen_at(300), NOW) == []
    assert decide(leading(State.IDLE), seen_at(300), NOW) == [Pause()]
    further = leading(State.IDLE, checkpoint=Checkpoint(GOAL))
    assert decide(further, seen_at(100), NOW) == [Save(Checkpoint(GOAL))]


def test_a_worker_without_that_end_is_replaced() -> None:
    assert decide(leading(State.RUNNING, WorkerFacts(CONFIG)), seen_at(), NOW) == [DrainWorker("configure")]


def test_a_worker_with_an_end_is_replaced_when_the_task_may_run() -> None:
    seen = seen_at(desired="running", stop_at=None)
    assert decide(leading(State.RUNNING, WorkerFacts(BOUNDED)), seen, NOW) == [DrainWorker("configure")]


def test_a_task_whose_source_is_locked_pauses_and_continues_by_itself() -> None:
    held = view(contender(), commit=commit(), held="db1:3306")
    assert decide(leading(State.RUNNING, WorkerFacts(CONFIG)), held, NOW) == [DrainWorker("pause")]
    assert decide(leading(State.IDLE), held, NOW) == [Pause()]
    assert decide(leading(State.STARTING, restart_at=NOW + 3), held, NOW) == [DrainWorker("pause")]
    assert decide(leading(State.PAUSED), held, NOW) == []
    assert decide(leading(State.PAUSED), view(contender(), commit=commit()), NOW) == [Retry("resumed")]
    assert decide(leading(State.PAUSED), seen_at(held="db1:3306"), NOW) == [], "a cut-over waits, too"
