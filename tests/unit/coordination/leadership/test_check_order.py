"""Decisions about the command `check`: it disturbs nothing, and is obeyed in every state of a leader."""

from __future__ import annotations

import pytest

from replicator.coordination.leadership.actions import OrderCheck
from replicator.coordination.leadership.decision import decide
from replicator.coordination.leadership.facts import Failure
from replicator.coordination.leadership.state import State
from tests.unit.coordination.leadership.test_decision import NOW, RUNS, command, commit, contender, leading, view


@pytest.mark.parametrize("state", [State.RUNNING, State.PAUSED, State.FAILED, State.UNCONFIGURED])
def test_it_is_done_at_once(state: State) -> None:
    seen = view(contender(), commit=commit(), commands=command("check"))
    worker = RUNS if state is State.RUNNING else None
    failure = Failure({}, 3) if state is State.FAILED else None
    [action] = decide(leading(state, worker, failure=failure), seen, NOW)
    assert isinstance(action, OrderCheck) and action.id and action.by == "me"
