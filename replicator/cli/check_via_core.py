"""`replicator check NAME --via-core`: lets the Core that leads a task check it."""

from __future__ import annotations

import time
from typing import Any, Final

import click

from replicator.cli.task.client import Client
from replicator.cli.task.render import age
from replicator.cli.terminal import clean
from replicator.errors import ProcessError

_POLL: Final = 0.2
_RECENT: Final = 20
_WORDS: Final = {"ok": "all ok", "warn": "with risks", "fail": "can't run"}


def ordered(client: Client, name: str, timeout: float) -> dict[str, Any]:
    """The result of a check that is ordered now.

    Raises ProcessError: E5007, no Core leads the task, or it can't do this; E5009, no result after `timeout` s.
    """
    deadline = time.monotonic() + timeout
    last = max((entry["number"] for entry in client.history(name, 1)["items"]), default=-1)
    order = client.act(name, "check")["id"]
    click.echo(f"{clean(name)} is checked by its Core", err=True)
    while True:
        found = client.last_check(name)
        if found["order"] == order:
            return found
        _refused(client, name, last)
        if time.monotonic() >= deadline:
            raise ProcessError(
                "E5009",
                f"the check of '{name}' has no result after {timeout:g} s",
                fix=f"`replicator task describe {name}` shows the result once there is one.",
            )
        time.sleep(_POLL)


def _refused(client: Client, name: str, last: int) -> None:
    for entry in client.history(name, _RECENT)["items"]:
        if entry["number"] > last and entry["event"] == "refused" and "'check'" in entry["reason"]:
            raise ProcessError(
                "E5007",
                f"the Core of '{name}' can't check it",
                found=entry["reason"],
                wanted="a Core of this release",
                fix="Update the Core, or check the task from a file: `replicator check -f TASK.yaml`.",
            )


def line(found: dict[str, Any], version: int) -> str:
    """`fail, 3h ago on core-a: 2 fail, 1 warn, 12 ok; source.binlog_format: STATEMENT`. `version`: of the present
    configuration."""
    counts = [f"{sum(one['severity'] == kind for one in found['findings'])} {kind}" for kind in ("fail", "warn", "ok")]
    worst = found["worst"]
    parts = [
        ", ".join(part for part in counts if not part.startswith("0 ")),
        f"{worst['id']}: {worst['found']}" if worst else "",
        f"of configuration version {found['version']}" if found["version"] != version else "",
    ]
    head = f"{_WORDS[found['result']]}, {age(found['ended_ms'])} ago on {found['host']}"
    return f"{head}: {'; '.join(part for part in parts if part)}"
