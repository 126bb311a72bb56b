"""In which state a task is, how bad that is, and the few words that say why. The order of the checks is the order of
what an operator must hear first."""

from __future__ import annotations

import msgspec

from monitor.reader import TaskNode
from monitor.view import Error, Tone
from replicator.coordination.records import TaskFigures

LAG_WARN_S = 30.0
LAG_BAD_S = 300.0
CHECKPOINT_WARN_S = 60.0

OFF = frozenset({"NO RUNNING", "PAUSED", "FAILED", "UNCONFIGURED", "DELETED", "UNREADABLE"})
"""States in which nobody leads."""

TROUBLE = {
    "rivals": 100,
    "UNREADABLE": 95,
    "FAILED": 90,
    "NO RUNNING": 80,
    "lag bad": 60,
    "on the way": 50,
    "config refused": 45,
    "lag": 40,
    "checkpoint": 35,
    "no standby": 20,
    "PAUSED": 10,
    "UNCONFIGURED": 5,
}
"""How bad, for sorting. What is not here is 0: fine."""


class Live(msgspec.Struct, frozen=True):
    """What the Cores report of a task. figures: by contender's name; leader: of the first contender; strays: by host,
    of Cores that do not stand; running: how many say RUNNING."""

    figures: dict[str, TaskFigures] = {}
    leader: TaskFigures | None = None
    strays: dict[str, TaskFigures] = {}
    running: int = 0

    @property
    def all(self) -> tuple[TaskFigures, ...]:
        return (*self.figures.values(), *self.strays.values())


class Condition(msgspec.Struct, frozen=True):
    state: str
    tone: Tone
    trouble: int
    notes: tuple[str, ...] = ()
    errors: tuple[Error, ...] = ()
    config_invalid: bool = False


def state_of(task: TaskNode, found: Live) -> str:
    """The task's state in one word; see `TaskView.state`."""
    leader = found.leader.state.upper() if found.leader else ""
    if task.task is None and leader != "RUNNING":
        return "UNREADABLE"
    if task.status.desired == "deleted":
        return "DELETED"
    if leader == "FAILED" or (not leader and any(figures.state.upper() == "FAILED" for figures in found.all)):
        return "FAILED"
    if task.status.desired == "paused":
        return "PAUSING" if found.running else "PAUSED"
    if task.task is not None and task.task.config is None:
        return "UNCONFIGURED"
    if leader in ("", "STANDBY"):
        return "NO RUNNING"
    return leader


def condition(task: TaskNode, found: Live) -> Condition:
    """State, trouble and the reasons."""
    state = state_of(task, found)
    noted = sorted(_notes(task, found, state), key=lambda note: -note[0])
    worst = max((trouble for trouble, _ in noted), default=0)
    refused = [figures.config_error for figures in found.all if figures.config_error]
    return Condition(
        state=state,
        tone=_tone(state, worst),
        trouble=max(worst, TROUBLE.get(state, 0)),
        notes=tuple(dict.fromkeys(text for _, text in noted)),
        errors=_errors(task, found, state),
        config_invalid=bool(refused) or bool(task.problems),
    )


def _tone(state: str, trouble: int) -> Tone:
    if state in ("FAILED", "UNREADABLE", "NO RUNNING") or trouble >= TROUBLE["lag bad"]:
        return "bad"
    if state in OFF:
        return "idle"
    if state != "RUNNING":
        return "busy"
    return "warn" if trouble > TROUBLE["no standby"] else "ok"


def _notes(task: TaskNode, found: Live, state: str) -> list[tuple[int, str]]:
    notes: list[tuple[int, str]] = []
    leader = found.leader
    if found.running > 1:
        notes.append((TROUBLE["rivals"], f"{found.running} Cores say RUNNING"))
    if state == "PAUSED":
        notes.append((TROUBLE["PAUSED"], _because("paused", task.status.by, task.status.reason)))
    if state not in OFF and state not in ("RUNNING", "PAUSING"):
        notes.append((TROUBLE["on the way"], f"{state.lower().replace('_', ' ')}, not yet RUNNING"))
    if leader and state == "RUNNING" and leader.lag_s > LAG_WARN_S:
        notes.append((TROUBLE["lag bad" if leader.lag_s > LAG_BAD_S else "lag"], "behind the source"))
    if any(figures.config_error for figures in found.all):
        notes.append((TROUBLE["config refused"], "new configuration refused, the old one runs"))
    if leader and state == "RUNNING" and leader.last_event_ms - leader.checkpoint_ms > CHECKPOINT_WARN_S * 1000:
        notes.append((TROUBLE["checkpoint"], "checkpoint is old"))
    if state not in OFF and len(task.contenders) == 1:
        notes.append((TROUBLE["no standby"], "no standby"))
    if task.strangers:
        notes.append((TROUBLE["no standby"], f"{len(task.strangers)} foreign znodes in the election"))
    return notes


def _because(what: str, by: str, reason: str) -> str:
    return what + (f" by {by}" if by else "") + (f": {reason}" if reason else "")


def _errors(task: TaskNode, found: Live, state: str) -> tuple[Error, ...]:
    """Each once, whoever reports it; those of a task that runs again are history."""
    errors = list(task.problems)
    for figures in found.all:
        if figures.error and state != "RUNNING":
            errors.append(figures.error)
        if figures.config_error:
            errors.append(figures.config_error)
    distinct: dict[tuple[str, str], Error] = {}
    for error in errors:
        distinct.setdefault((error.get("code", ""), error.get("what", "")), error)
    return tuple(distinct.values())
