"""Determines the state of a task, its severity, and short notes that explain it. Checks are in order of severity."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from monitor.formatting import count, duration
from monitor.view import Error, Tone
from replicator.coordination.groups.wishes import wish_of
from replicator.coordination.machines.machines import MachineNode
from replicator.coordination.overview import TaskOverview
from replicator.coordination.records import AddressFigures, TaskFigures

LAG_WARN_S = 30.0
LAG_BAD_S = 300.0
CHECKPOINT_WARN_S = 60.0
RETENTION_WARN_S = 86_400.0
CERTIFICATE_WARN_S = 14 * 86_400.0

SOURCE_LOCKED = "E5160"
"""Of tasks that wait until their source is unlocked."""
OFF = frozenset({"NO RUNNING", "PAUSED", "FAILED", "UNCONFIGURED", "DELETED", "UNREADABLE"})
"""States in which no data can flow."""

TROUBLE = {
    "rivals": 100,
    "UNREADABLE": 95,
    "FAILED": 90,
    "NO RUNNING": 80,
    "lag bad": 60,
    "no report": 55,
    "on the way": 50,
    "address refused": 47,
    "config refused": 45,
    "lag": 40,
    "certificate ended": 44,
    "target differs": 43,
    "retention": 42,
    "late consumers": 41,
    "certificate": 30,
    "checkpoint": 35,
    "retrying": 46,
    "unplaced": 47,
    "maintenance": 25,
    "no standby": 20,
    "PAUSED": 10,
    "UNCONFIGURED": 5,
}
"""How bad, for sorting. What is not here is 0: fine."""


class Condition(msgspec.Struct, frozen=True):
    """running: how many Cores say that they run the task; lasting: the notes that do not change from second to
    second."""

    state: str
    tone: Tone
    trouble: int
    running: int = 0
    notes: tuple[str, ...] = ()
    lasting: tuple[str, ...] = ()
    errors: tuple[Error, ...] = ()
    config_invalid: bool = False


def state_of(task: TaskOverview) -> str:
    """The task's state in one word; see `TaskRow.state`."""
    state = task.state.upper()
    if not task.uid and state in ("ABSENT", "UNCONFIGURED"):
        return "UNREADABLE"
    if task.desired == "deleted":
        return "DELETED" if state == "ABSENT" else "DELETING"
    if state == "FAILED":
        return "FAILED"
    if task.desired == "paused":
        return "PAUSED" if state in ("ABSENT", "PAUSED", "UNCONFIGURED") else "PAUSING"
    if task.uid and task.config is None:
        return "UNCONFIGURED"
    if state == "STANDBY":
        return "WAITING"  # first in line, and has not noticed yet
    return "NO RUNNING" if state == "ABSENT" else state


def condition(task: TaskOverview, machines: Iterable[MachineNode], now_ms: int) -> Condition:
    """State, trouble and the reasons."""
    state = state_of(task)
    running = _running(task, machines)
    noted = sorted(_notes(task, state, running, now_ms), key=lambda note: -note[0])
    worst = max((trouble for trouble, _ in noted), default=0)
    passing = {text for _, text in (*_lag(task), *_retrying(task), *_age(task))}
    reported = [instance.figures for instance in task.instances if instance.figures]
    return Condition(
        state=state,
        tone=_tone(state, worst),
        trouble=max(worst, TROUBLE.get(state, 0)),
        running=running,
        notes=tuple(dict.fromkeys(text for _, text in noted)),
        lasting=tuple(dict.fromkeys(text for _, text in noted if text not in passing)),
        errors=_errors(task, reported),
        config_invalid=any(figures.config_error for figures in reported) or state == "UNREADABLE",
    )


def _running(task: TaskOverview, machines: Iterable[MachineNode]) -> int:
    """Also counts a Core that does not stand (any more) and still says that it runs the task: that must be seen."""
    standing = {instance.process for instance in task.instances}
    strays = [
        machine.record.tasks[task.name]
        for machine in machines
        if machine.record and machine.record.process not in standing and task.name in machine.record.tasks
    ]
    states = [instance.state for instance in task.instances] + [figures.state for figures in strays]
    return sum(state.upper() == "RUNNING" for state in states)


def _tone(state: str, trouble: int) -> Tone:
    if state in ("FAILED", "UNREADABLE", "NO RUNNING") or trouble >= TROUBLE["lag bad"]:
        return "bad"
    if state in OFF:
        return "idle"
    if state != "RUNNING":
        return "busy"
    return "warn" if trouble > TROUBLE["no standby"] else "ok"


def _notes(task: TaskOverview, state: str, running: int, now_ms: int) -> list[tuple[int, str]]:
    notes: list[tuple[int, str]] = []
    if running > 1:
        notes.append((TROUBLE["rivals"], f"{running} Cores report RUNNING"))
    locked = next((one for one in task.problems if one.get("code") == SOURCE_LOCKED), None)
    if locked is not None:
        notes.append((TROUBLE["PAUSED"], f"{locked['what']} {locked['found']}"))
    elif state in ("PAUSED", "PAUSING"):
        notes.append((TROUBLE["PAUSED"], _because("paused", task.desired_by, task.desired_reason)))
    if state not in OFF and state not in ("RUNNING", "PAUSING", "DELETING"):
        notes.append((TROUBLE["on the way"], "not yet RUNNING"))
    if task.figures and state == "RUNNING":
        notes += [*_lag(task), *_figures(task.figures), *_outlook(task.figures, now_ms)]
    notes += [*_retrying(task), *_age(task)]
    notes += [(TROUBLE["address refused"], _refused(one)) for one in task.addresses if one.error is not None]
    if any(instance.figures and instance.figures.config_error for instance in task.instances):
        notes.append((TROUBLE["config refused"], "new configuration refused, the previous one is in use"))
    if task.maintenance == "task":  # that of all tasks stands above them all
        why = _because("maintenance: no standby is promoted", task.maintenance_by, task.maintenance_reason)
        notes.append((TROUBLE["maintenance"], why))
    if task.verification and task.verification.result == "differs":
        notes.append((TROUBLE["target differs"], "target differs from source"))
    if task.checkpoint and task.checkpoint.dead_letters:
        notes.append((0, f"dead letters: {count(task.checkpoint.dead_letters)}"))
    if task.checkpoint and task.checkpoint.conflicts:
        notes.append((0, f"conflicts: {count(task.checkpoint.conflicts)}"))
    if is_unplaced(task):
        notes.append((TROUBLE["unplaced"], f"no Core of group {task.group} takes the task"))
    elif state not in OFF and len(task.standbys) < wanted_standbys(task):
        notes.append((TROUBLE["no standby"], "no standby" if not task.standbys else "standbys missing"))
    return notes


def is_unplaced(task: TaskOverview) -> bool:
    return bool(task.group) and not task.placed


def wanted_standbys(task: TaskOverview) -> int:
    """Of a task without a group: one, to take over."""
    return wish_of(task.config).standbys if task.group else 1


def _refused(one: AddressFigures) -> str:
    code = one.error.get("code", "") if one.error is not None else ""
    if not one.wanted:
        return f"ddns:{one.name} can't be used ({code})"
    return f"{one.section} address {one.wanted} refused ({code}), {one.in_use or 'nothing'} is in use"


def _figures(figures: TaskFigures) -> list[tuple[int, str]]:
    notes = []
    if figures.last_event_ms - figures.checkpoint_ms > CHECKPOINT_WARN_S * 1000:
        notes.append((TROUBLE["checkpoint"], "checkpoint overdue"))
    if figures.retention_headroom_s is not None and figures.retention_headroom_s < RETENTION_WARN_S:
        notes.append((TROUBLE["retention"], f"required binlog is purged in {duration(figures.retention_headroom_s)}"))
    return notes


def _lag(task: TaskOverview) -> list[tuple[int, str]]:
    lag_s = task.lag_s
    if lag_s is None:
        return [(0, f"lag unknown: {task.lag_note}")] if task.lag_note and task.retrying is None else []
    if lag_s <= LAG_WARN_S:
        return []
    how = "at most " if task.lag_at_most else ""
    return [(TROUBLE["lag bad" if lag_s > LAG_BAD_S else "lag"], f"{how}{duration(lag_s)} behind the source")]


def _retrying(task: TaskOverview) -> list[tuple[int, str]]:
    """Also of a task that is not RUNNING yet."""
    retrying = task.retrying
    if retrying is None:
        return []
    what = {"registry": "schema registry"}.get(retrying.side, retrying.side)
    code = f" ({retrying.code})" if retrying.code else ""
    return [(TROUBLE["retrying"], f"retrying{' the ' + what if what else ''} for {duration(retrying.seconds)}{code}")]


def _age(task: TaskOverview) -> list[tuple[int, str]]:
    if not task.figures_old or task.figures_age_s is None:
        return []
    return [(TROUBLE["no report"], f"no report for {duration(task.figures_age_s)}")]


def _outlook(figures: TaskFigures, now_ms: int) -> list[tuple[int, str]]:
    """What will go wrong if nobody does anything."""
    notes = []
    left = (figures.certificate_ms - now_ms) / 1000
    if figures.certificate_ms and left <= 0:
        notes.append((TROUBLE["certificate ended"], f"the certificate of {figures.certificate} has expired"))
    elif figures.certificate_ms and left < CERTIFICATE_WARN_S:
        text = f"the certificate of {figures.certificate} expires in {duration(left)}"
        notes.append((TROUBLE["certificate"], text))
    late = figures.late_consumers
    if late:
        more = f", and {len(late) - 1} more" if len(late) > 1 else ""
        notes.append((TROUBLE["late consumers"], f"consumer {next(iter(late.values()))}{more}"))
    return notes


def _because(what: str, by: str, reason: str) -> str:
    return what + (f" by {by}" if by else "") + (f": {reason}" if reason else "")


def _errors(task: TaskOverview, reported: list[TaskFigures]) -> tuple[Error, ...]:
    """Each once, whoever reports it."""
    errors = list(task.problems)
    for figures in reported:
        errors += [error for error in (figures.error, figures.config_error) if error]
    distinct: dict[tuple[str, str, str], Error] = {}
    for error in errors:
        distinct.setdefault((error.get("code", ""), error.get("what", ""), error.get("found", "")), error)
    return tuple(distinct.values())
