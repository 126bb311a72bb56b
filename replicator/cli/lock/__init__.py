"""`replicator lock`: locks in ZooKeeper. One command per module."""

from __future__ import annotations

import click

from replicator.cli.lazy import LazyGroup

LAZY = {
    "run": ("Run a command while this process has a lock.", "replicator.cli.lock.run"),
    "ls": ("List locks, their holders, and who waits.", "replicator.cli.lock.ls"),
}


@click.group("lock", cls=LazyGroup, lazy=LAZY, meanings={"list": "ls", "get": "ls", "acquire": "run", "exec": "run"})
def command() -> None:
    """Run commands under locks in ZooKeeper. Requires the login of a Core, of a Server or of an administrator."""
