"""`replicator queue`: puts items into queues and takes them out."""

from __future__ import annotations

import os
import sys

import click

from replicator.cli import options
from replicator.cli.durations import wait_option
from replicator.cli.lazy import SuggestingGroup
from replicator.cli.lock.held_command import HeldCommand, require
from replicator.cli.lock.session import owner, session
from replicator.coordination.recipes.keeper import Keeper
from replicator.coordination.recipes.queues import MAX_ITEMS, Item, Queue


@click.group("queue", cls=SuggestingGroup, meanings={"push": "put", "add": "put", "pop": "take", "get": "take"})
def command() -> None:
    """Put items into queues and take them out. Requires the login of a Core, of a Server or of an administrator."""


@command.command(
    "put",
    help=f"""Put VALUE, or each line of stdin, at the end of the queue NAME.

    Prints the number of each item. A queue has at most {MAX_ITEMS} items (exit status 4).""",
)
@click.argument("name")
@click.argument("value", required=False)
@options.zookeeper()
def put(name: str, value: str | None, zookeeper: str, root: str, session_timeout: float) -> None:
    with session(zookeeper, root, session_timeout) as (coordinator, layout):
        queue = Queue(coordinator, layout, name, owner())
        for each in [value] if value is not None else (line.rstrip("\n") for line in sys.stdin):
            click.echo(queue.put(each))


@command.command("take")
@click.argument("name")
@options.zookeeper()
@wait_option
@click.argument("arguments", metavar="[-- COMMAND [ARG]...]", nargs=-1, type=click.UNPROCESSED)
def take(
    name: str,
    zookeeper: str,
    root: str,
    session_timeout: float,
    wait: float | None,
    arguments: tuple[str, ...],
) -> int:
    """Take the oldest item from the queue NAME and print it, or run COMMAND with it.

    COMMAND finds the item in REPLICATOR_QUEUE_ITEM, its number in REPLICATOR_QUEUE_NUMBER and how often it was taken in
    REPLICATOR_QUEUE_ATTEMPT. The item is removed when COMMAND ends with status 0. It is available again otherwise, also
    when this process ends before: each item is processed at least once. Exit status 7: no item within --wait.
    """
    if arguments:
        require(arguments)
    with session(zookeeper, root, session_timeout) as (coordinator, layout):
        queue = Queue(coordinator, layout, name, owner())
        with Keeper(queue.keep, coordinator.session_timeout):
            item = queue.take(wait)
        if arguments:
            return _run(queue, item, coordinator.session_timeout, arguments)
        click.echo(item.record.value)
        sys.stdout.flush()
        queue.complete(item)
        return 0


def _run(queue: Queue, item: Item, timeout: float, arguments: tuple[str, ...]) -> int:
    variables = {
        "REPLICATOR_QUEUE_ITEM": item.record.value,
        "REPLICATOR_QUEUE_NUMBER": item.number,
        "REPLICATOR_QUEUE_ATTEMPT": str(item.attempt),
        "REPLICATOR_LOCK_TOKEN": str(item.hold.token),
    }
    status = HeldCommand(item.hold, queue.keep, timeout).run(arguments, variables)
    if status == os.EX_OK:
        queue.complete(item)
    else:
        queue.give_back(item)
    return status
