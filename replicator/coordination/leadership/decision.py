"""Decides what a Core does about a task, from the view of the coordinator and its own facts. Pure: no clock, no I/O.

`decide` gives the next step or steps, not a plan: the caller carries them out, reads again and asks again until there
is nothing to do. Each decision stands on one view alone, so a view that is late is harmless: every write is checked by
the coordinator against the facts that it was decided on.
"""

from __future__ import annotations

from replicator.coordination.leadership import moving
from replicator.coordination.leadership.actions import (
    Action,
    ConfirmFencing,
    DrainReason,
    DrainWorker,
    Fail,
    Hold,
    Lose,
    OpenTerm,
    Release,
    RemoveTask,
    Stand,
    Stood,
    Sweep,
    WatchPredecessor,
    Win,
    Withdraw,
    problem,
)
from replicator.coordination.leadership.election import Contender
from replicator.coordination.leadership.facts import Facts
from replicator.coordination.leadership.grace import grace_until
from replicator.coordination.leadership.leading import await_drained, lead
from replicator.coordination.leadership.state import LEADING, State
from replicator.coordination.leadership.view import TaskView

Actions = list[Action]


def decide(facts: Facts, view: TaskView, now: float) -> Actions:
    """The next steps; [] when there are none.

    Args:
        facts: with a memory that includes `view`.
        now: monotonic seconds, taken after the view was read.
    """
    if not view.exists:
        return [] if facts.state is State.ABSENT else [Lose("the task was deleted")]
    ghosts = tuple(entry.name for entry in view.field.contenders if entry.owner == view.session and entry != view.own)
    if ghosts:
        return [Sweep(ghosts)]
    own = view.own
    if own is None:
        return _outside(facts, view)
    if facts.state is State.ABSENT:
        return [Stood()]
    if own.czxid != facts.czxid:
        return [Lose("another znode of this process is in the election")]
    if facts.stopping or view.desired == "deleted":
        return _leave(facts, view, now)
    if facts.fenced is not None:
        return [ConfirmFencing()]
    withdrawn = moving.withdraw(facts, view)
    if withdrawn:
        return withdrawn
    predecessor = view.field.before(own)
    if predecessor is not None:
        return _stand_by(facts, predecessor)
    return _first_in_line(facts, view, own, now)


def _outside(facts: Facts, view: TaskView) -> Actions:
    """No node of ours stands."""
    if facts.state is not State.ABSENT:
        return [Lose("the election znode of this process is gone")]
    if view.desired == "deleted":
        return [] if view.field.contenders else [RemoveTask()]
    return [Stand()] if moving.stands(facts, view) and not (facts.stopping or view.restoring) else []


def _leave(facts: Facts, view: TaskView, now: float) -> Actions:
    reason: DrainReason = "stop" if facts.stopping else "delete"
    worker = facts.worker
    if worker is None:
        return [end_term(facts, view, "the process ends" if facts.stopping else "the task is deleted")]
    if worker.drain_reason != reason:
        return [DrainWorker(reason)]
    return await_drained(facts, now)


def end_term(facts: Facts, view: TaskView, reason: str) -> Action:
    """Only a term that was opened is released. Saying "released" without, would speak for a term of somebody else."""
    record = view.commit.record
    if facts.state in LEADING and record is not None and record.epoch == facts.czxid:
        return Release(reason)
    return Withdraw(reason)


def _stand_by(facts: Facts, predecessor: Contender) -> Actions:
    if facts.state is not State.STANDBY:
        return [Withdraw("a new contender has a lower sequence number")]
    return [WatchPredecessor(predecessor.name)]


def _first_in_line(facts: Facts, view: TaskView, own: Contender, now: float) -> Actions:
    if view.maintenance and facts.state in (State.STANDBY, State.WAITING):
        return []  # nobody is promoted; the end of it wakes us
    if facts.state is State.STANDBY:
        return [Withdraw("the chosen successor comes first")] if _is_passed_over(facts, view) else [Win()]
    if facts.state is State.WAITING:
        return _wait(facts, view, own, now)
    return lead(facts, view, now)


def _is_passed_over(facts: Facts, view: TaskView) -> bool:
    """The last term named a successor, it still stands, and it is not us."""
    record = view.commit.record
    if record is None or not record.released or record.successor in ("", facts.guid):
        return False
    return any(entry.guid == record.successor for entry in view.field.contenders)


def _wait(facts: Facts, view: TaskView, own: Contender, now: float) -> Actions:
    if view.commit_error is not None:
        return [Fail(view.commit_error)]
    record = view.commit.record
    if record is not None and record.uid and view.uid and record.uid != view.uid:
        return [Fail(_other_incarnation(view.task))]
    if record is not None and record.epoch > own.czxid:
        return [Fail(_epoch_would_fall(record.epoch, own.czxid))]
    if record is None and (facts.memory.checkpoint is not None or view.delivered):
        return [Fail(_position_lost(view.task))]
    until = grace_until(facts.memory, view, now)
    return [OpenTerm()] if now >= until else [Hold(until)]


def _epoch_would_fall(recorded: int, own: int) -> dict[str, str]:
    return problem(
        "E4009",
        "lastCommit is from a later term: ZooKeeper was restored to an earlier state, or replaced",
        found=f"epoch {recorded}",
        wanted=f"below {own}",
        fix="Create a new task with `source.start` set to the position in lastCommit.",
    )


def _other_incarnation(task: str) -> dict[str, str]:
    return problem(
        "E4009",
        f"lastCommit belongs to an earlier task named '{task}'",
        found="the uid of another task",
        wanted="the uid of this task, or no lastCommit",
        fix=f"`replicator task delete {task}`, then create the task again.",
    )


def _position_lost(task: str) -> dict[str, str]:
    return problem(
        "E4004",
        f"the position of '{task}' is lost: lastCommit was deleted",
        found="no lastCommit",
        wanted="the position up to which all transactions are delivered",
        fix="`replicator task position history NAME` shows earlier positions; `replicator task position set NAME --at "
        "TIME` (or --gtid, or --file and --offset) and `replicator task retry NAME` continue there.",
    )
