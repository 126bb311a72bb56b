"""What an action asks of the Server, what it is based on, and the commands that do the same. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from monitor.actions.catalog import Action
from monitor.commands import Command, command, segment

STILL: Final = ("paused", "failed", "unconfigured", "absent")
"""States in which the position does not move."""
TARGETS: Final = {
    "at": "where the task was at a time",
    "file": "a binlog file and offset",
    "gtid": "an executed GTID set",
    "transaction_start": "the start of the transaction at the current position",
    "latest": "the end of the source's log",
    "earliest": "the beginning of what the source still has",
}
"""Kinds of position -> what they mean."""


class Chosen(msgspec.Struct, frozen=True):
    """`arguments`: of the API; `missing`: what has yet to be chosen, in words; "" if nothing."""

    arguments: dict[str, str] = {}
    missing: str = ""


def chosen(action: Action, given: Mapping[str, str]) -> Chosen:
    """Of the fields of a form."""
    if action.choice == "to":
        return Chosen({"to": given["to"]} if given.get("to") else {})
    if action.choice == "table":
        table = given.get("table", "")
        return Chosen({"table": table}) if table else Chosen(missing="Choose the table.")
    if action.choice == "position":
        return _position(given)
    return Chosen()


def _position(given: Mapping[str, str]) -> Chosen:
    target = given.get("target", "")
    if target in ("latest", "earliest"):
        return Chosen({"begin": target})
    if target == "transaction_start":
        return Chosen({"transaction_start": "true"})
    if target == "file":
        file, offset = given.get("file", "").strip(), given.get("offset", "").strip()
        missing = "" if file and offset else "Give the binlog file and the offset at which a transaction starts."
        return Chosen({"file": file, "offset": offset} if not missing else {}, missing)
    if target in ("at", "gtid"):
        text = given.get(target, "").strip()
        what = "Give the time, such as 2026-11-20 03:00." if target == "at" else "Give the executed GTID set."
        return Chosen({target: text}) if text else Chosen(missing=what)
    return Chosen(missing="Choose the position.")


def path_of(action: Action, name: str) -> str:
    """In the API."""
    return f"/{'machines' if action.of_machine else 'tasks'}/{segment(name)}/{action.verb}"


def body_of(action: Action, arguments: Mapping[str, str], reason: str) -> dict[str, str]:
    return {**action.arguments, **arguments} | ({"reason": reason[:200]} if reason and action.reasoned else {})


def commands(
    action: Action, name: str, arguments: Mapping[str, str], reason: str, server: str, version: int | None = None
) -> Command:
    options = {f"--{key}": value for key, value in arguments.items() if key in ("to", "file", "offset", "gtid", "at")}
    if arguments.get("begin"):
        options[f"--{arguments['begin']}"] = ""
    if arguments.get("transaction_start"):
        options["--transaction-start"] = ""
    if action.arguments.get("release"):
        options["--release"] = ""
    options.update(dict.fromkeys(action.flags, ""))
    if reason and action.reasoned:
        options["--reason"] = reason[:200]
    return command(
        action.words,
        name,
        options,
        more=arguments.get("table", ""),
        server=server,
        path=path_of(action, name),
        body=body_of(action, arguments, reason),
        version=version,
    )


def seen_of_task(task: Mapping[str, Any]) -> str:
    """The facts that a decision about a task is based on: whatever of it changes meanwhile, the action is refused."""
    state = str(task.get("state", ""))
    parts = [
        f"{state} on {task.get('host') or 'no host'}",
        f"{task.get('desired', '')} is wanted",
        f"epoch {task.get('epoch', 0)}",
        f"configuration version {task.get('version', -1)}",
        f"task {str(task.get('uid', ''))[:8]}",
    ]
    if state in STILL:
        parts.append(f"at {task.get('position') or 'no position'}")
    if state == "failed":
        parts += [str(one.get("code", "")) for one in task.get("problems", [])[:1]]
    left_out = quarantined(task)
    return ", ".join(parts) + (f", in quarantine: {', '.join(left_out)}" if left_out else "")


def seen_of_machine(machine: Mapping[str, Any]) -> str:
    running, others = split(machine)
    return f"runs {', '.join(running) or 'no task'}; also has {', '.join(others) or 'none'}"


def split(machine: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The tasks that a machine runs, and its others."""
    tasks: Mapping[str, str] = machine.get("tasks", {})
    running = sorted(name for name, state in tasks.items() if state == "running")
    return running, sorted(set(tasks) - set(running))


def quarantined(task: Mapping[str, Any]) -> list[str]:
    """Tables that are in quarantine now."""
    return sorted(str(mark["table"]) for mark in task.get("quarantined", []) if not mark.get("until"))
