"""`replicator ddns watch`: prints what changes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import click

from replicator.cli.task import render
from replicator.cli.task.client import Client
from replicator.cli.terminal import clean
from replicator.errors import ReplicatorError

_AWAY = ("E4001", "E4002", "E5005")
"""The Server or ZooKeeper is away: the next request may be answered."""
_MISSING = "E4101"


def watch_changes(
    client: Client, name: str, interval: float, wait: Callable[[float], None] = time.sleep, rounds: int = 0
) -> None:
    """`rounds`: after which it returns; 0: never."""
    told: dict[str, str] = {}
    count = 0
    while True:
        for key, line in described(client, name).items():
            if told.get(key) != line:
                told[key] = line
                click.echo(f"{render.moment(int(time.time() * 1000))} {line}")
        count += 1
        if rounds and count >= rounds:
            return
        wait(interval)


def described(client: Client, name: str) -> dict[str, str]:
    """What is to be told of the address and of each of its tasks, by a key for each. Raises what repeating does not
    remove."""
    try:
        item = client.address(name)
        lines = _of_address(item)
        for task in item["tasks"]:
            lines |= _of_task(client.task(task), item["name"])
        return lines
    except ReplicatorError as error:
        if error.code == _MISSING:
            return {"address": f"{error.code} {clean(error.what)}"}
        if error.code in _AWAY:
            return {"server": f"{error.code} {clean(error.what)}"}
        if error.code == "E5003":
            return {}  # a task that was deleted between the two requests
        raise


def _of_address(item: dict[str, Any]) -> dict[str, str]:
    if item["problem"]:
        return {"address": f"{clean(item['problem']['code'])} {clean(item['problem']['what'])}"}
    by = f", set by {clean(item['by'])}" if item["by"] else ""
    lines = {"address": f"{clean(item['name'])} is {clean(item['address'])} ({clean(item['role'])}){by}", "server": ""}
    probe = item["probe"]
    if probe:
        said = "answers" if probe["answers"] else f"does not answer: {clean(probe['found'])}"
        lines["probe"] = f"{clean(probe['address'])} {said}"
    return {key: line for key, line in lines.items() if line}


def _of_task(task: dict[str, Any], name: str) -> dict[str, str]:
    lines = {}
    for one in task.get("addresses") or ():
        if one["name"] != name:
            continue
        where = f"{clean(task['name'])} {one['section']} is connected to {clean(one['in_use']) or 'nothing'}"
        error = one["error"]
        refused = f", {clean(error['code'])} {clean(error['what'])}: {clean(error['found'])}" if error else ""
        lines[f"task {task['name']} {one['section']}"] = f"{where}{refused}"
    return lines
