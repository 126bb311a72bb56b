"""Handles fencing at the sink while our election znode exists: the producer that fenced us is outside this election.

A successor leads only when our node is gone. Who fences us out while it stands does not come by the election: a copy
of this ZooKeeper, or a producer of somebody else with our transactional id. Giving the term up would only send the task
round and round: whoever wins next fences, and is fenced. So the worker is started again, later and later, and after
MOST times within WINDOW the task fails.
"""

from __future__ import annotations

from typing import Final

from replicator.coordination.leadership.actions import problem
from replicator.coordination.leadership.view import Problem

MOST: Final = 3
WINDOW: Final = 600.0
"""Seconds in which so many fencings count."""
_FIRST: Final = 1.0


def counted(times: tuple[float, ...], now: float) -> tuple[float, ...]:
    """The fencings that count, with the one of now."""
    return (*(time for time in times if now - time < WINDOW), now)


def pause(times: tuple[float, ...]) -> float | None:
    """Seconds until the worker is started again after the last of these; None: the task fails."""
    return None if len(times) >= MOST else _FIRST * 4 ** (len(times) - 1)


def fenced_for_ever(task: str, error: Problem) -> Problem:
    return problem(
        "E3113",
        f"'{task}' was fenced at the sink {MOST} times although it was first in its election",
        found=f"{error.get('code', '')} {error.get('what', '')}: {error.get('found', '')}",
        wanted="a single producer with the transactional id of the task",
        fix="Find the other producer (`kafka-transactions.sh list`) and stop it: a copy of this installation, or a "
        f"program that uses the same transactional id. Then `replicator task retry {task}`.",
    )
