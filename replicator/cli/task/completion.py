"""Shell completion from the Server: bounded in time, and without any error."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem

from replicator.cli import contexts
from replicator.cli.task.client import Client, find_token
from replicator.errors import ReplicatorError

SECONDS = 1.0
"""For connecting, the request and the answer together: a shell waits for it."""


def asked(ctx: click.Context, question: Callable[[Client], dict[str, Any]]) -> dict[str, Any]:
    """The Server's answer, {} without one in time."""
    found: list[dict[str, Any]] = []

    def ask() -> None:
        try:
            server = ctx.params.get("server") or contexts.server()
            with Client(server, find_token(ctx.params.get("token_file"), server), timeout=SECONDS) as client:
                found.append(question(client))
        except ReplicatorError:
            return

    thread = threading.Thread(target=ask, name="completion", daemon=True)
    thread.start()
    thread.join(SECONDS)
    return found[0] if found else {}


def complete_task(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of tasks, without those that are given already."""
    given = ctx.params.get("names") or ()
    names = [item["name"] for item in asked(ctx, Client.tasks).get("items", ())]
    return [CompletionItem(name) for name in names if name.startswith(incomplete) and name not in given]


def complete_selector(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """`KEY=VALUE` of labels that tasks have, behind the last comma."""
    before, comma, begun = incomplete.rpartition(",")
    items = asked(ctx, Client.tasks).get("items", ())
    known = {f"{key}={value}" for item in items for key, value in (item.get("labels") or {}).items()}
    return [CompletionItem(f"{before}{comma}{label}") for label in sorted(known) if label.startswith(begun)]


def complete_version(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Versions of the task's configuration, with the reason of each."""
    name = ctx.params.get("name") or next(iter(ctx.args), "")
    items = asked(ctx, lambda client: client.versions(name)).get("items", ()) if name else ()
    return [
        CompletionItem(str(item["number"]), help=item["reason"] or item["by"])
        for item in items
        if str(item["number"]).startswith(incomplete)
    ]
