"""Which machines are missing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from replicator.coordination.machines.expected import Expectation, ExpectedRecord
from replicator.coordination.machines.known import SHOWN_STOPPED_MS, KnownMachine, all_online, known
from replicator.coordination.machines.machines import MachineNode
from replicator.coordination.records import StoppedRecord

NOW = 1_800_000_000_000
NAMES = st.sampled_from(["a", "b", "c", "d"])


def learned(name: str) -> Expectation:
    return Expectation(name, ExpectedRecord(learned=True))


def ordered(name: str) -> Expectation:
    return Expectation(name, ExpectedRecord(by="me"))


def one(
    *, online: bool = False, expected: Expectation | None = None, ended_ms: int | None = None
) -> KnownMachine | None:
    nodes = [MachineNode("a", 1, None)] if online else []
    stopped = {"a": StoppedRecord(process="p", time_ms=ended_ms)} if ended_ms is not None else {}
    found = known(nodes, {"a": expected} if expected else {}, stopped, NOW)
    return found[0] if found else None


def state(machine: KnownMachine | None) -> str:
    return machine.state if machine is not None else ""


def test_states() -> None:
    assert state(one(expected=ordered("a"))) == "offline", "it never came"
    assert state(one(expected=learned("a"))) == "offline"
    assert state(one(expected=learned("a"), ended_ms=NOW - 1000)) == "stopped"
    assert state(one(online=True, expected=learned("a"))) == "online"
    assert state(one(online=True, ended_ms=NOW - 1000)) == "online", "the record is of an earlier process"
    assert state(one()) == ""


def test_one_that_ended_long_ago_is_shown_where_an_operator_expects_it() -> None:
    long_ago = NOW - SHOWN_STOPPED_MS - 1
    assert state(one(expected=learned("a"), ended_ms=long_ago)) == ""
    assert state(one(ended_ms=long_ago)) == ""
    assert state(one(expected=ordered("a"), ended_ms=long_ago)) == "stopped"


def test_a_machine_that_does_not_report_is_silent() -> None:
    (found,) = known([MachineNode("a", 1, None, age_s=6.0)], {}, {}, NOW)
    assert found.state == "silent"


def test_a_host_with_a_core_and_an_agent_is_shown_once() -> None:
    (found,) = all_online([MachineNode("a", 1, None)], [MachineNode("a", 2, None)])
    assert found.owner == 1


@given(st.sets(NAMES), st.sets(NAMES), st.sets(NAMES))
def test_offline_is_exactly_what_is_expected_and_neither_there_nor_ended(
    online: set[str], expected: set[str], ended: set[str]
) -> None:
    found = known(
        [MachineNode(name, 1, None) for name in online],
        {name: learned(name) for name in expected},
        {name: StoppedRecord(process="p", time_ms=NOW) for name in ended},
        NOW,
    )
    assert {machine.name for machine in found if machine.state == "offline"} == expected - online - ended
    assert {machine.name for machine in found if machine.state == "online"} == online
    assert [machine.name for machine in found] == sorted(online | expected | ended)
