"""A task that failed by a fault of its host: who gets it, and when nobody does."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from replicator.codes import CODES, scope_of
from replicator.coordination.leadership.actions import Action, Release
from replicator.coordination.leadership.facts import Failure
from replicator.coordination.leadership.host_faults import due, pass_on, told
from replicator.coordination.leadership.leading import lead
from replicator.coordination.leadership.progress_lease import MOST, PATIENCE
from replicator.coordination.leadership.state import State
from replicator.coordination.leadership.view import TaskView, Tried
from replicator.coordination.records import InstanceRecord
from tests.support.cores import World
from tests.unit.coordination.leadership.test_decision import CONFIG, NOW, RIVAL, THIRD, commit, contender, leading, view

MISSING = {"code": "E1006", "what": "the environment variable PW is not set", "found": ""}
SINCE = NOW - PATIENCE - 1


def stands(guid: str, sequence: int) -> Any:
    record = InstanceRecord(host="", pid=1, process=f"process-{guid[0]}", since_ms=1, state="standby")
    return msgspec.structs.replace(contender(guid, sequence, sequence), record=record)


def seen(**changes: Any) -> TaskView:
    others = (contender(), stands(RIVAL, 8), stands(THIRD, 9))
    return view(*others, **{"commit": commit(), "healthy": frozenset((RIVAL, THIRD)), **changes})


def decided(at: TaskView, error: dict[str, str] = MISSING, since: float = SINCE, **changes: Any) -> list[Action]:
    return pass_on(leading(State.FAILED, failure=Failure(error, 3, since), **changes), at, NOW)


def test_it_goes_to_the_first_healthy_standby() -> None:
    assert decided(seen()) == [Release("E1006 on this host", RIVAL, "rival")]
    assert decided(seen(healthy=frozenset((THIRD,)))) == [Release("E1006 on this host", THIRD, "third")]
    failed = leading(State.FAILED, failure=Failure(MISSING, CONFIG.version, SINCE))
    assert lead(failed, seen(), NOW) == [Release("E1006 on this host", RIVAL, "rival")]


def test_to_each_once() -> None:
    tried = (Tried("process-b", "rival", "E1006 the same"),)
    assert decided(seen(tried=tried)) == [Release("E1006 on this host", THIRD, "third")]
    assert decided(seen(tried=(*tried, Tried("process-c", "third", "E2101 refused")))) == []


@pytest.mark.parametrize(
    "at",
    [
        seen(healthy=frozenset()),
        seen(maintenance=True),
        seen(gave_up=MOST),
        seen(commit=commit(999)),
        seen(desired="paused"),
        seen(desired="unknown"),
    ],
    ids=["nobody is healthy", "maintenance", "often enough", "not our term", "paused", "unknown status"],
)
def test_stays(at: TaskView) -> None:
    assert decided(at) == []


def test_a_fault_of_the_task_would_only_travel() -> None:
    assert decided(seen(), {**MISSING, "code": "E2303"}) == []
    assert decided(seen(), {**MISSING, "code": "E2101"}), "accounts are bound to hosts"


@pytest.mark.parametrize(
    "code", ["E1006", "E1012", "E2101", "E2102", "E2105", "E2311", "E3103", "E3110", "E3201", "E3202", "E3304", "E5018"]
)
def test_what_another_host_may_have(code: str) -> None:
    """A variable, a file, an account, room, a directory that the host's operator has set aside."""
    assert decided(seen(), {**MISSING, "code": code})


def test_patience_doubles_and_can_be_switched_off() -> None:
    assert decided(seen(), since=NOW - PATIENCE + 1) == []
    assert decided(seen(gave_up=1)) == []
    assert decided(seen(gave_up=1), since=NOW - 2 * PATIENCE)
    assert decided(seen(), good=msgspec.structs.replace(CONFIG, data={"hand_over_after_s": 0})) == []


def test_others_are_looked_at_now_and_then() -> None:
    failed = leading(State.FAILED, failure=Failure(MISSING, 3, SINCE))
    assert due(failed, 0.0, NOW)
    assert not due(failed, NOW - 1, NOW)
    assert not due(leading(State.FAILED, failure=Failure(MISSING, 3, NOW)), 0.0, NOW)
    assert not due(leading(State.RUNNING), 0.0, NOW)


def test_what_the_others_failed_with_is_told() -> None:
    tried = (Tried("own", "own", "E1006 x"), Tried("process-b", "rival", "E2101 refused"))
    assert told(MISSING, tried, "own")["found"] == "other hosts failed, too: rival: E2101 refused"
    assert told(MISSING, tried[:1], "own") == MISSING


def test_every_code_has_a_scope() -> None:
    assert {scope_of(code) for code in CODES} == {"host", "either", "task"}


def test_over_the_bench_it_ends_where_it_works_or_stays_failed() -> None:
    world = World(config={"hand_over_after_s": 1})
    cores = [world.core() for _ in range(3)]
    faulty = {core.host for core in cores}
    handed: list[str] = []

    def live(seconds: float) -> None:
        for _ in range(int(seconds * 4)):
            world.step(0.25)
            for core in cores:
                if core.host in faulty and core.workers.lease is not None:
                    handed.append(core.host)
                    core.participant.on_failed({**MISSING, "what": f"not set on {core.host}"})

    live(60)
    assert handed == [core.host for core in cores], "each once, in the order of the line"
    [last] = [core for core in cores if core.participant.state is State.FAILED]
    assert last.participant.problem is not None
    assert all(f"not set on {host}" in str(last.participant.problem) for host in faulty)
    live(60)
    assert len(handed) == 3
    newcomer = world.core("another")
    assert world.settle_until(lambda: newcomer.participant.state is State.RUNNING, 30), "who has not tried yet gets it"
