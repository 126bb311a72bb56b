"""`replicator task`: tasks through the Server's HTTP API. One command per module."""

from __future__ import annotations

import click

from replicator.cli.lazy import LazyGroup

LAZY = {
    name: (text, f"replicator.cli.task.{name}")
    for name, text in {
        "apply": "Create or change a task from its file.",
        "get": "List tasks, or one of them.",
        "describe": "Everything about one task.",
        "pause": "Stop a task at a transaction boundary.",
        "resume": "Let a paused task go on.",
        "switchover": "Hand a task over to a standby.",
        "position": "Positions of a task: the current one, earlier ones, setting another.",
        "skip": "Pass one transaction of a failed task.",
        "fork": "A new task that begins at a position of another one.",
        "quarantine": "Leave one table out for now.",
        "replay": "Deliver what a quarantine left out.",
        "retry": "Try a failed task again.",
        "delete": "Stop a task and forget its position.",
        "history": "What happened to a task.",
        "schema": "What a task knows of its tables.",
        "wait": "Wait until a task is running, paused, ...",
    }.items()
}


@click.group("task", cls=LazyGroup, lazy=LAZY)
def command() -> None:
    """Create, watch and steer tasks through the Server.

    The Server's address comes from --server or REPLICATOR_SERVER, its token from --token-file, REPLICATOR_TOKEN,
    REPLICATOR_TOKEN_FILE, or the file that a Server of the same user made.
    """
