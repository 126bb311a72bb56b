"""The progress lease: a leader that cannot work hands the task to a standby that can.

A session says that a process lives, not that it reaches anything. A leader that has not reached its source or its sink
for `hand_over_after_s`, and still does not, hands over to a standby that does. Where nobody does, all stay where they
are: the fault is the server's. A worker that waits for its own host (E2311: a full disk) is handed over likewise, to a
standby that reaches both: whether that one has room is not known beforehand.

That it does not go back and forth: each time in an hour doubles the patience, and after MOST times the task stays.
"""

from __future__ import annotations

from typing import Final

from replicator.codes import scope_of
from replicator.coordination.leadership.actions import Action, DrainWorker, Hold, KillWorker, Release
from replicator.coordination.leadership.facts import Facts, Side, Stuck
from replicator.coordination.leadership.view import TaskView

PATIENCE: Final = 30.0
"""Seconds, where the configuration does not say."""
MOST: Final = 3
"""Hand-overs of this kind in an hour."""
_TARGET: Final = frozenset({"E3401", "E3402"})
"""A target server is not reachable. Others of its errors are the same from all hosts: read-only, a deadlock."""


def give_up(facts: Facts, view: TaskView, now: float) -> list[Action]:
    """[] while there is no reason to."""
    stuck, record = facts.stuck, view.commit.record
    if stuck is None or record is None or record.epoch != facts.czxid:
        return []
    if view.desired != "running" or view.maintenance or view.gave_up >= MOST or facts.guid in view.reaching:
        return []
    seconds = patience(facts)
    successor = next((one for one in view.field.contenders if one != view.own and one.guid in view.reaching), None)
    if not seconds or successor is None or now < stuck.since + seconds * 2**view.gave_up:
        return []
    worker = facts.worker
    if worker is None:
        return [Release(_reason(stuck), successor.guid, successor.host)]
    if worker.drain_reason is None:
        return [DrainWorker("progress")]
    if now >= worker.drain_until:
        return [KillWorker("it did not reach a transaction boundary in time")]
    return [Hold(worker.drain_until)]


def side_of(code: str) -> Side | None:
    """What keeps a worker that waits with this error from its work; None for what would be the same on all hosts."""
    if code.startswith("E20"):
        return "source"
    if code.startswith("E30") or code in _TARGET:
        return "sink"
    if code == "E3301":
        return "registry"
    return "host" if scope_of(code) == "host" else None


def _reason(stuck: Stuck) -> str:
    if stuck.side == "host":
        return f"{stuck.code} on this host"
    side = "schema registry" if stuck.side == "registry" else stuck.side
    return f"the {side} can't be reached from this host"


def patience(facts: Facts) -> float:
    """Seconds; 0: the task is never handed over for a fault."""
    value = facts.good.data.get("hand_over_after_s", PATIENCE) if facts.good else PATIENCE
    return float(value) if isinstance(value, int | float) else PATIENCE
