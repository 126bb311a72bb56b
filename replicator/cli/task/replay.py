"""`replicator task replay`."""

from __future__ import annotations

import click

from replicator.cli.task.client import Client
from replicator.cli.task.options import name_argument, with_client
from replicator.cli.terminal import clean


@click.command("replay")
@name_argument
@click.argument("which", metavar="DATABASE.TABLE")
@click.option("--name", "new", default="", metavar="NEW", help="Of the task that does it; default: NAME.replay-TABLE.")
@click.option("--dry-run", is_flag=True, help="Check everything, write nothing.")
@with_client
def command(name: str, which: str, new: str, dry_run: bool, client: Client) -> None:
    """Deliver what was left out of a table of NAME.

    While it is in quarantine, NAME does that itself: it stops with all tables, delivers what it left out of this one,
    in order, up to where it stands, and goes on with all of them.

    After its release a new task does it, to the same topics. Those rows are older than what NAME has delivered since.
    The new task stops with E5015 when it is done; delete it then.
    """
    answer = client.act(name, "replay", dry_run=dry_run, table=which, name=new)
    if dry_run:
        click.echo("nothing is in the way (dry run)")
    elif answer["name"] == name:
        click.echo(f"{clean(name)} delivers what it left out of {clean(which)}, and then goes on with it")
    else:
        click.echo(f"{clean(answer['name'])} created")
