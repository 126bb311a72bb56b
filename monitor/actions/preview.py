"""What an action would do, in words, from what the Server says of the task and of a dry run. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from monitor.actions.catalog import Action
from monitor.actions.plan import split
from monitor.formatting import duration

_SHOWN: Final = 10


class Line(msgspec.Struct, frozen=True):
    """`label`: "" for a sentence. tone: of what is repeated or lost."""

    text: str
    label: str = ""
    tone: Literal["", "warn", "bad"] = ""


def of_task(action: Action, task: Mapping[str, Any], dry_run: Mapping[str, Any]) -> list[Line]:
    """dry_run: the answer of the Server, {} where there is none for the action."""
    made = {
        "pause": _pause,
        "resume": _resume,
        "switchover": _switchover,
        "retry": _retry,
        "restart": _restart,
        "check": _check,
        "position": _position,
        "lift-quarantine": _lift,
    }[action.name]
    return made(task, dry_run)


def of_machine(action: Action, machine: Mapping[str, Any]) -> list[Line]:
    if action.name == "undrain":
        return [Line("Its Core takes tasks again. Tasks stay where they are, unless they are pinned to it.")]
    running, others = split(machine)
    lines = [Line(f"Hands over {_listed(running)}.") if running else Line("It runs no task.")]
    if others:
        lines.append(Line(f"Is no standby any more of {_listed(others)}, where another Core can be."))
    return [*lines, Line("A task that no other Core can take stays, and runs on.")]


def _pause(task: Mapping[str, Any], _: Mapping[str, Any]) -> list[Line]:
    if task.get("desired") == "paused":
        return [Line(f"Nothing would change: it was paused already{_ordered(task)}.")]
    lines = [Line(f"It is {_where(task)}. It stops at a transaction boundary and keeps its position.")]
    lines.append(Line("Consumers get no rows until it is resumed. No standby takes over."))
    headroom = task.get("retention_headroom_s")
    if headroom is not None:
        text = f"The source keeps the binlog that the task needs for {duration(headroom)} at least: resume it before."
        lines.append(Line(text, tone="warn" if headroom < 86_400 else ""))
    return lines


def _resume(task: Mapping[str, Any], _: Mapping[str, Any]) -> list[Line]:
    if task.get("desired") == "running":
        return [Line(f"Nothing would change: it is {_where(task)}, and running is wanted{_ordered(task)}.")]
    lines = [Line(f"It was paused{_ordered(task)}.")]
    where = f" on {task['host']}" if task.get("host") else " on the first Core that takes part in its election"
    lines.append(Line(f"It continues at {task.get('position') or 'the start of its configuration'}{where}."))
    return lines


def _switchover(task: Mapping[str, Any], dry_run: Mapping[str, Any]) -> list[Line]:
    to = dry_run.get("to") or "the next standby"
    return [
        Line(f"It is {_where(task)}. It is drained to a transaction boundary, and {to} takes over."),
        Line("No row is lost or sent twice. Rows wait for about as long as the present transaction takes."),
    ]


def _retry(task: Mapping[str, Any], _: Mapping[str, Any]) -> list[Line]:
    lines = [
        Line(f"{one.get('code', '')} {one.get('what', '')}. {one.get('found', '')}".strip(), "Failed with", "bad")
        for one in task.get("problems", [])[:3]
    ]
    lines.append(Line(f"It starts again at {task.get('position') or 'its beginning'}. If the cause remains, it fails."))
    return lines


def _restart(task: Mapping[str, Any], _: Mapping[str, Any]) -> list[Line]:
    return [
        Line(f"It is {_where(task)}. Its worker ends at a transaction boundary; another one continues from there."),
        Line("It stays on the same Core. No row is lost or sent twice."),
    ]


def _check(task: Mapping[str, Any], _: Mapping[str, Any]) -> list[Line]:
    if not task.get("host"):
        return [Line("No Core leads the task: nothing can check it from there.", tone="warn")]
    return [
        Line(f"The Core on {task['host']} checks it, with its network and its secrets. The task continues meanwhile.")
    ]


def _position(task: Mapping[str, Any], dry_run: Mapping[str, Any]) -> list[Line]:
    before, after = dry_run.get("before") or {}, dry_run.get("after") or {}
    lines = [Line(str(before.get("position") or "no position yet"), "From")]
    gtid = f", {after['gtid']}" if after.get("gtid") else ""
    lines.append(Line(f"{after.get('position', '')}{gtid}", "To"))
    if dry_run.get("direction") == "unknown" and after.get("position") != "earliest":
        lines.append(Line("The two positions can't be compared.", tone="warn"))
    if dry_run.get("repeats"):
        lines.append(Line(str(dry_run["repeats"]), "Sent again", "warn"))
    if dry_run.get("skips"):
        lines.append(Line(str(dry_run["skips"]), "NEVER sent", "bad"))
    text = "The Server does not ask the source whether it has the position. A wrong one stops the task when it resumes."
    return [*lines, Line(text, "Not checked")]


def _lift(task: Mapping[str, Any], _: Mapping[str, Any]) -> list[Line]:
    return [
        Line(f"Rows of the table are delivered again from {task.get('position') or 'the position of the task'} on."),
        Line(
            "Rows that the quarantine has left out stay missing: `replicator task replay` delivers them.", tone="warn"
        ),
    ]


def _where(task: Mapping[str, Any]) -> str:
    where = f" on {task['host']}" if task.get("host") else ""
    at = f" at {task['position']}" if task.get("position") else ""
    return f"{str(task.get('state', '')).upper()}{where}{at}"


def _ordered(task: Mapping[str, Any]) -> str:
    by, reason = task.get("desired_by"), task.get("desired_reason")
    return (f" by {by}" if by else "") + (f" ({reason})" if reason else "")


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    count = f"{len(names)} task{'' if len(names) == 1 else 's'}"
    return f"{count}: {shown}" + (f", and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
