"""`replicator id`: prints ids that are unique in the cluster."""

from __future__ import annotations

import sys

import click

from replicator.cli import options
from replicator.cli.lazy import SuggestingGroup
from replicator.cli.lock.session import session
from replicator.cli.task import render
from replicator.cli.task.options import output_option
from replicator.coordination.recipes.sequences import BLOCK, Sequences

MAX_COUNT = 10_000_000


@click.group("id", cls=SuggestingGroup, meanings={"get": "next", "new": "next", "take": "next"})
def command() -> None:
    """Print ids that are unique in the cluster. Requires the login of a Core, of a Server or of an administrator."""


@command.command("next", short_help="Print the next ids of a series.")
@click.argument("name")
@options.zookeeper()
@click.option("--count", type=click.IntRange(1, MAX_COUNT), default=1, show_default=True, help="How many ids.")
@output_option("text", "json", "yaml")
def next_ids(name: str, zookeeper: str, root: str, session_timeout: float, count: int, output: str) -> None:
    """Print the next ids of the series NAME, one a line. No id is ever printed twice, and each is higher than all that
    were printed before; some may be left out.

    1000 ids cost one write to ZooKeeper. `-o json` prints the first and the last id of each block.
    """
    with session(zookeeper, root, session_timeout) as (coordinator, layout):
        sequences, blocks = Sequences(coordinator, layout), []
        for start in range(0, count, BLOCK):
            block = sequences.take(name, min(BLOCK, count - start))
            if output == "text":
                sys.stdout.write("".join(f"{number}\n" for number in block))
            else:
                blocks.append({"first": block.start, "last": block.stop - 1})
    if output != "text":
        click.echo(render.structured({"kind": "IdList", "name": name, "blocks": blocks}, output), nl=False)
