"""The proof that the session of the last term has ended: what counts as one and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from replicator.coordination.leadership.election import Contender, Field
from replicator.coordination.leadership.grace import LEASE, Memory, grace_until, margin, remember
from replicator.coordination.leadership.view import TaskView
from replicator.coordination.ports import Stat
from replicator.coordination.records import CommitRecord
from replicator.coordination.tasks.commits import Commit

EPOCH, T, NOW = 1003, 6.0, 500.0
PARENT, BEFORE, END = 900, 1500, 2000
"""Transactions: the election node's making, the last change of its children before, and the end of a session."""


def contender(sequence: int) -> Contender:
    guid = f"{sequence:032x}"
    return Contender(f"h{sequence}-{guid}-{sequence:010d}", "h", guid, sequence, 1000 + sequence, 70 + sequence, None)


LAST, OWN, THIRD = contender(3), contender(4), contender(5)


def seen(*standing: Contender, cversion: int = 9, pzxid: int = BEFORE, machines: int = BEFORE, **more: Any) -> TaskView:
    """A view of OWN. `more`: names, czxid (of the election node), record."""
    names = tuple(entry.name for entry in more.get("names", standing))
    czxid = more.get("czxid", PARENT)
    parent = Stat(version=0, czxid=czxid, mzxid=czxid, owner=0, cversion=cversion, pzxid=pzxid)
    record = more.get("record", CommitRecord(epoch=EPOCH, session=LAST.owner, timeout_s=T))
    field = Field(standing, (), names, parent)
    own = next((entry for entry in standing if entry is OWN), None)
    commit = Commit(record, 1, 1)
    return TaskView(
        task="t", session=OWN.owner, timeout=T, exists=True, field=field, own=own, machines=machines, commit=commit
    )


def waits(*views: TaskView) -> float:
    """Seconds of grace after these views."""
    memory = Memory()
    for view in views:
        memory = remember(memory, view, NOW)
    return grace_until(memory, views[-1], NOW) - NOW


STOOD = seen(LAST, OWN)
GONE = seen(OWN, cversion=10, pzxid=END, machines=END)
GRACE = pytest.approx(LEASE * T + margin(T))


def test_a_session_that_ended_takes_its_nodes_everywhere_at_once():
    assert waits(STOOD, GONE) == 0


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(seen(OWN, cversion=10, pzxid=END, machines=END + 1), id="its machine node was deleted apart"),
        pytest.param(seen(OWN, cversion=10, pzxid=END, machines=BEFORE), id="its machine node stands"),
        pytest.param(seen(OWN, cversion=10, pzxid=END, machines=0), id="machines not read"),
        pytest.param(seen(OWN, THIRD, cversion=11, pzxid=END, machines=END), id="another joined meanwhile"),
        pytest.param(
            seen(OWN, cversion=11, pzxid=END, machines=END), id="another left meanwhile, perhaps with the end"
        ),
        pytest.param(seen(OWN, cversion=10, pzxid=END, machines=END, czxid=1900), id="another election node"),
        pytest.param(
            seen(OWN, cversion=10, pzxid=END, machines=END, names=(LAST, OWN)), id="a standby died, then it was deleted"
        ),
    ],
)
def test_everything_else_is_waited_for(after: TaskView):
    assert waits(STOOD, after) == GRACE


def test_whoever_never_saw_it_standing_waits():
    assert waits(GONE) == GRACE
    assert waits(GONE, GONE) == GRACE


def test_who_joined_is_known_after_the_next_reading():
    joined = seen(LAST, OWN, THIRD, cversion=10, pzxid=1600)
    assert waits(STOOD, joined, seen(OWN, THIRD, cversion=11, pzxid=END, machines=END)) == 0


def test_a_reading_between_the_removals_proves_nothing_and_hinders_nothing():
    early = seen(OWN, cversion=10, pzxid=END, machines=BEFORE)
    assert waits(STOOD, early, GONE) == 0


def test_what_was_proven_stays_proven():
    later = seen(OWN, THIRD, cversion=13, pzxid=2500, machines=2600)
    assert waits(STOOD, GONE, later) == 0


def test_a_proof_is_of_one_term_only():
    foreign = CommitRecord(epoch=THIRD.czxid, session=THIRD.owner, timeout_s=T)
    assert waits(STOOD, GONE, seen(OWN, cversion=12, pzxid=2500, machines=2600, record=foreign)) == GRACE


def test_a_term_opened_since_the_last_reading_is_known_by_its_node():
    earlier = CommitRecord(epoch=1001, session=1, timeout_s=T)
    assert waits(seen(LAST, OWN, record=earlier), GONE) == 0


def test_our_own_term_under_an_earlier_session_is_over():
    ours = CommitRecord(epoch=OWN.czxid, session=1, timeout_s=T)
    assert waits(seen(OWN, record=ours), seen(THIRD, cversion=11, pzxid=END, machines=END + 1, record=ours)) == 0
