"""Hand-over of a task that FAILED because of a fault of its host.

A missing variable, an unreadable file, a full disk or an account that is bound to another host fails the task here and
not on a standby. Such a task is handed over, to one healthy standby after the other, each once: who has failed likewise
is left out until an operator retries or changes the configuration, or that process is started again. Patience and bound
are those of `stuck`: each hand-over in an hour doubles the patience, and after MOST the task stays FAILED.
"""

from __future__ import annotations

from collections.abc import Iterable

from replicator.codes import scope_of
from replicator.coordination.leadership.actions import Action, Release
from replicator.coordination.leadership.facts import Facts
from replicator.coordination.leadership.progress_lease import MOST, patience
from replicator.coordination.leadership.view import Problem, TaskView, Tried


def pass_on(facts: Facts, view: TaskView, now: float) -> list[Action]:
    """[] while there is no reason to."""
    failure, record = facts.failure, view.commit.record
    if failure is None or facts.worker is not None or not may_be_of_host(failure.error):
        return []
    if record is None or record.epoch != facts.czxid:
        return []  # the term was not opened: nothing to hand over
    if view.desired != "running" or view.maintenance or view.gave_up >= MOST:
        return []
    seconds = patience(facts)
    if not seconds or now < failure.since + seconds * 2**view.gave_up:
        return []
    tried = {one.process for one in view.tried}
    for one in view.field.contenders:
        process = one.record.process if one.record is not None else ""
        if one != view.own and one.guid in view.healthy and process not in tried:
            return [Release(f"{failure.error.get('code', '')} on this host", one.guid, one.host)]
    return []


def due(facts: Facts, asked: float, now: float) -> bool:
    """Whether to look at the other hosts: once patience is over, now and then. A hundred tasks may have failed at once.

    Args:
        asked: when we looked last, monotonic seconds.
    """
    failure, seconds = facts.failure, patience(facts)
    if failure is None or not seconds or not may_be_of_host(failure.error):
        return False
    return now >= failure.since + seconds and now >= asked + min(10.0, max(0.2, seconds / 6))


def may_be_of_host(error: Problem) -> bool:
    return scope_of(error.get("code", "")) != "task"


def told(error: Problem, tried: Iterable[Tried], process: str) -> Problem:
    """The error, with what other hosts that tried the task failed with. `process`: our own."""
    others = [f"{one.host}: {one.reason}" for one in tried if one.process != process]
    if not others:
        return error
    found = "; ".join(
        text for text in (error.get("found", ""), "other hosts failed, too: " + ", ".join(others)) if text
    )
    return {**error, "found": found}
