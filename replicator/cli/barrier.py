"""`replicator barrier`: waits for other processes."""

from __future__ import annotations

import click

from replicator.cli import options
from replicator.cli.durations import wait_option
from replicator.cli.lazy import SuggestingGroup
from replicator.cli.lock.session import owner, session
from replicator.coordination.recipes.barriers import MAX_PARTIES, Barrier


@click.group("barrier", cls=SuggestingGroup, meanings={"enter": "wait", "join": "wait"})
def command() -> None:
    """Wait for other processes. Requires the login of a Core, of a Server or of an administrator."""


@command.command("wait")
@click.argument("name")
@options.zookeeper()
@click.option("--parties", type=click.IntRange(1, MAX_PARTIES), required=True, help="How many pass together.")
@wait_option
def wait_for_parties(
    name: str, zookeeper: str, root: str, session_timeout: float, parties: int, wait: float | None
) -> None:
    """Wait until as many processes as --parties wait at the barrier NAME, and end together with them.

    A process that ends before is not counted any more. More processes than --parties form the next round. Exit status
    7: too few within --wait.
    """
    with session(zookeeper, root, session_timeout) as (coordinator, layout):
        barrier = Barrier(coordinator, layout, name, parties, owner())
        barrier.enter(wait)
        barrier.withdraw()
