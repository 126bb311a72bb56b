"""Hands a task over to the Core that its group has placed it on, and leaves elections that a Core is not placed in.

A leader gives way only to a healthy contender that is wanted, at a transaction boundary, and in its turn; until there
is one it continues. So a task that no member has room for, or whose group has no Core, is not stopped.
"""

from __future__ import annotations

from replicator.coordination.leadership.actions import Action, DrainWorker, Hold, KillWorker, Release, Withdraw
from replicator.coordination.leadership.election import Contender
from replicator.coordination.leadership.facts import Facts
from replicator.coordination.leadership.view import TaskView
from replicator.coordination.tasks.status import UNKNOWN


def stands(facts: Facts, view: TaskView) -> bool:
    """Whether this Core is to take part in the election."""
    return facts.candidacy.stands(group_of(facts, view))


def group_of(facts: Facts, view: TaskView) -> str | None:
    """Of the task; None where its configuration can't be read, and never could."""
    if view.group is not None or facts.good is None:
        return view.group
    return str(facts.good.data.get("group") or "")


def leaves(facts: Facts, view: TaskView) -> bool:
    """Whether a leader is to give way to another one."""
    return not stands(facts, view) or (facts.candidacy.pinned and not _is_first(facts, view))


def _is_first(facts: Facts, view: TaskView) -> bool:
    return view.own is not None and facts.candidacy.hosts[:1] == (view.own.host,)


def withdraw(facts: Facts, view: TaskView) -> list[Action]:
    """Of one that has not opened a term. A term that it opened is handed over, see `hand_over`."""
    return [] if facts.opened or stands(facts, view) else [Withdraw("the task is placed on other Cores")]


def hand_over(facts: Facts, view: TaskView, now: float) -> list[Action]:
    """Of a leader; [] while there is no reason to, or nobody to hand over to."""
    record = view.commit.record
    if record is None or record.epoch != facts.czxid or view.maintenance or view.desired == UNKNOWN:
        return []
    if not facts.candidacy.may_move or not leaves(facts, view):
        return []
    worker, found = facts.worker, successor(facts, view)
    if found is None:
        return []
    if worker is None:
        return [Release("placed there", found.guid, found.host, moved=True)]
    if worker.drain_reason is None:
        return [DrainWorker("move")] if _is_fit(facts, view, found) else []
    if now >= worker.drain_until:
        return [KillWorker("it did not reach a transaction boundary in time")]
    return [Hold(worker.drain_until)]


def _is_fit(facts: Facts, view: TaskView, contender: Contender) -> bool:
    """Where this host does not reach source and sink either, nothing is lost."""
    return facts.stuck is not None or contender.guid in view.healthy


def successor(facts: Facts, view: TaskView) -> Contender | None:
    """Whom the task is placed on: only the first of them, which joins the election by itself when it is not there yet.
    Of a task of another group: the first of the contenders of that group."""
    candidacy, group = facts.candidacy, group_of(facts, view)
    others = [entry for entry in view.field.contenders if entry != view.own]
    if candidacy.group and group == candidacy.group:
        return next((entry for entry in others if candidacy.hosts[:1] == (entry.host,)), None)
    return next((entry for entry in others if entry.record is not None and entry.record.group == (group or "")), None)
