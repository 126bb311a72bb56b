"""A login that is refused waits for its new secret, if it has worked before."""

from __future__ import annotations

import pytest

from core.secret_renewal import SECONDS, renewed
from replicator.config import secrets
from replicator.errors import LeadershipLost, ReplicatorError, SinkError, SourceError

REFUSED = SourceError("E2101", "the login was refused")


class World:
    def __init__(self, changes_at: float | None = None) -> None:
        self.now, self.changes_at, self.ends_at, self.lease = 0.0, changes_at, 1e9, 1e9

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def check(self) -> None:
        if self.now >= self.lease:
            raise LeadershipLost("E4008", "over")

    def renewed(self, error: ReplicatorError = REFUSED, *, worked: bool = True) -> bool:
        return renewed(
            error,
            worked=worked,
            check=self.check,
            ended=lambda: self.now >= self.ends_at,
            wait=self.wait,
            clock=lambda: self.now,
        )


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()
    monkeypatch.setattr(secrets, "changed", lambda: made.changes_at is not None and made.now >= made.changes_at)
    return made


def test_one_that_has_changed_already_is_read_at_once(world: World) -> None:
    world.changes_at = 0.0
    assert world.renewed(worked=False) and world.now == 0


def test_one_that_has_worked_is_waited_for(world: World) -> None:
    world.changes_at = 12.0
    assert world.renewed() and 12 <= world.now < 13


def test_a_wrong_one_is_not_waited_for_and_a_former_one_not_for_ever(world: World) -> None:
    assert not world.renewed(worked=False) and world.now == 0
    assert not world.renewed() and SECONDS <= world.now < SECONDS + 1


def test_other_errors_have_nothing_to_do_with_it(world: World) -> None:
    world.changes_at = 0.0
    assert not world.renewed(SinkError("E3105", "no"))


def test_it_ends_with_the_term_and_with_the_worker(world: World) -> None:
    world.ends_at = 2.0
    assert not world.renewed() and world.now <= 3
    world.ends_at, world.lease = 1e9, world.now + 2
    with pytest.raises(LeadershipLost):
        world.renewed()
