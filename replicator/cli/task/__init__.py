"""`replicator task`: tasks through the Server's HTTP API. One command per module."""

from __future__ import annotations

import click

from replicator.cli.lazy import LazyGroup

LAZY = {
    name: (text, f"replicator.cli.task.{name}")
    for name, text in {
        "apply": "Create or change a task from its file.",
        "get": "List all tasks, or show one.",
        "describe": "Show one task in detail.",
        "pause": "Stop a task at a transaction boundary.",
        "resume": "Resume a paused task.",
        "switchover": "Hand a task over to a standby.",
        "cutover": "Stop several tasks at one position.",
        "move": "Move a task to another Core of its group.",
        "pin": "Keep a task on one Core of its group.",
        "unpin": "Let a task run on any Core of its group.",
        "position": "Show or set the position of a task.",
        "skip": "Skip the transaction that a task has failed at.",
        "fork": "Create a task that starts at a position of another task.",
        "quarantine": "Stop replicating one table until it is released.",
        "snapshot": "Deliver the rows that tables have now.",
        "replay": "Deliver the rows that a quarantine has left out.",
        "restart": "Restart the worker of a task on the same host.",
        "retry": "Retry a failed task.",
        "secret": "Seal secrets of a task.",
        "delete": "Delete a task and its position.",
        "edit": "Edit a task's configuration in an editor.",
        "export": "Print configurations as YAML that applies again.",
        "versions": "List the versions of a task's configuration.",
        "diff": "Compare two versions of a task's configuration.",
        "rollback": "Replace a task's configuration by an earlier version.",
        "history": "Show the history of a task.",
        "schema": "Show or set the table definitions of a task.",
        "wait": "Wait until a task is running, paused, failed or deleted.",
    }.items()
}


MEANINGS = {
    "list": "get",
    "ls": "get",
    "ps": "get",
    "top": "get --watch",
    "watch": "get --watch",
    "rm": "delete",
    "remove": "delete",
    "drop": "delete",
    "status": "describe",
    "show": "describe",
    "info": "describe",
    "inspect": "describe",
    "stop": "pause",
    "suspend": "pause",
    "start": "resume",
    "continue": "resume",
    "unpause": "resume",
    "bounce": "restart",
    "reload": "restart",
    "failover": "switchover",
    "create": "apply",
    "add": "apply",
    "update": "apply",
    "modify": "edit",
    "configure": "edit",
    "clone": "fork",
    "copy": "fork",
    "log": "history",
    "logs": "history",
    "events": "history",
    "dump": "export",
    "save": "export",
    "revisions": "versions",
    "compare": "diff",
    "undo": "rollback",
    "revert": "rollback",
    "offset": "position",
    "reset": "position set",
}


@click.group("task", cls=LazyGroup, lazy=LAZY, meanings=MEANINGS)
def command() -> None:
    """Create, monitor and control tasks through the Server.

    The address of the Server is taken from --server, REPLICATOR_SERVER or the context (`replicator config`). The token
    is taken from --token-file, REPLICATOR_TOKEN, REPLICATOR_TOKEN_FILE, the context, or the file that a Server of the
    same user has created.
    """
