from __future__ import annotations

import threading

import pytest

from replicator.errors import LeadershipLost
from replicator.model.term import Term


def test_a_term_holds_until_its_deadline_and_follows_it() -> None:
    now, deadline = 100.0, 105.0
    term = Term("task", "uid", 7, lambda: deadline, lambda: now)
    term.check()
    assert term.remaining() == 5.0
    now = 105.0
    with pytest.raises(LeadershipLost, match="epoch 7"):
        term.check()
    deadline = 110.0
    term.check()
    deadline = 0.0
    with pytest.raises(LeadershipLost):
        term.check()


class StoodStill:
    """The host was suspended for ten minutes, and its lease clock stood still: five seconds seem to be left."""

    def __init__(self, confirm_after: int, to: tuple[float, float]) -> None:
        self.deadline, self.wall_deadline = 105.0, 1_005.0
        self.left, self.to = confirm_after, to
        self.now = 100.0

    def wall(self) -> float:
        """Each look may be the one after which the agent's answer is there."""
        self.left -= 1
        if self.left == 0:
            self.deadline, self.wall_deadline = self.to
        return 1_600.0

    def term(self) -> Term:
        return Term(
            "task", "uid", 7, lambda: self.deadline, lambda: self.now, wall_deadline=lambda: self.wall_deadline,
            wall=self.wall,
        )  # fmt: skip


def test_a_lease_clock_that_stood_still_is_not_believed() -> None:
    """Somebody else leads by now: our node is gone."""
    clock = StoodStill(3, (0.0, 1_005.0))
    with pytest.raises(LeadershipLost):
        clock.term().check()


def test_confirmed_anew_the_lease_goes_on() -> None:
    """The date was set; nobody was away."""
    clock = StoodStill(3, (106.0, 1_606.0))
    clock.term().check()
    assert clock.left <= 0


def test_without_an_answer_the_lease_ends_by_its_own_clock() -> None:
    clock = StoodStill(-1, (0.0, 0.0))
    term = clock.term()
    threading.Timer(0.05, lambda: setattr(clock, "now", 105.0)).start()
    with pytest.raises(LeadershipLost):
        term.check()


def test_a_wall_clock_that_is_set_back_gives_nothing() -> None:
    clock = StoodStill(-1, (0.0, 0.0))
    clock.wall_deadline, clock.now = 9_999.0, 105.0
    with pytest.raises(LeadershipLost):
        clock.term().check()


def test_a_process_without_rivals_has_no_deadline() -> None:
    Term.unlimited("task").check()


def test_what_a_restored_task_has_left_counts_although_it_was_purged() -> None:
    """A backup brings a task back under the id that a deletion with --purge has listed."""
    term = Term("task", "uid", 7, lambda: 105.0, purged=frozenset({"uid", "former"}))
    assert term.purged == {"former"}
