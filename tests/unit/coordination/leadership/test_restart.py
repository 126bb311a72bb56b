"""Decisions about the command `restart`."""

from __future__ import annotations

import msgspec

from replicator.coordination.leadership.actions import Complete, DrainWorker, Hold, StartWorker
from replicator.coordination.leadership.decision import decide
from replicator.coordination.leadership.facts import Failure
from replicator.coordination.leadership.state import State
from tests.unit.coordination.leadership.test_decision import (
    NOW,
    RUNS,
    command,
    commit,
    contender,
    facts,
    leading,
    view,
)


def test_restart_drains_and_starts_again_in_the_same_term():
    seen = view(contender(), commit=commit(), commands=command("restart"))
    assert decide(leading(State.RUNNING, RUNS), seen, NOW) == [DrainWorker("restart")]
    draining = msgspec.structs.replace(RUNS, drain_reason="restart", drain_until=NOW + 9)
    assert decide(leading(State.DRAINING, draining), seen, NOW) == [Hold(NOW + 9)]
    [done] = decide(leading(State.IDLE), seen, NOW)
    assert isinstance(done, Complete) and done.kind == "restart" and done.by == "me"
    [started] = decide(leading(State.IDLE), view(contender(), commit=commit()), NOW)
    assert isinstance(started, StartWorker)


def test_restart_is_refused_without_a_worker_and_by_a_later_term():
    seen = view(contender(), commit=commit(), commands=command("restart"))
    for state in (State.PAUSED, State.FAILED, State.UNCONFIGURED):
        action = decide(leading(state, failure=Failure({}, 3)), seen, NOW)[0]
        assert isinstance(action, Complete) and action.kind == "refused", state
    [action] = decide(facts(State.RUNNING, worker=RUNS, opened_zxid=10**9), seen, NOW)
    assert isinstance(action, Complete) and action.kind == "refused"
