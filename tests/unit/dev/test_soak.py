from __future__ import annotations

import itertools

from dev.soak.administrator import Administrator
from dev.soak.faults import FAULTS, schedule
from dev.soak.hands import Hands


def first(seed: int, count: int = 60) -> list[object]:
    return list(itertools.islice(schedule(seed, 2), count))


def test_a_seed_gives_the_same_faults_at_the_same_moments() -> None:
    assert first(7) == first(7)
    assert first(7) != first(8)


def test_every_fault_comes_before_any_comes_again() -> None:
    planned = itertools.islice(schedule(3, 2), len(FAULTS))
    assert {one.fault.name for one in planned} == {fault.name for fault in FAULTS}


def test_names_tell_faults_apart() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)


def test_every_verb_of_the_table_exists() -> None:
    verbs = {str(step[0]) for fault in FAULTS for step in fault.steps}
    assert [verb for verb in verbs if not callable(getattr(Hands, verb, None))] == []


def test_everything_done_by_hand_exists() -> None:
    done = {str(step[1]) for fault in FAULTS for step in fault.steps if step[0] == "by_hand"}
    assert [what for what in done if not callable(getattr(Administrator, what, None))] == []
