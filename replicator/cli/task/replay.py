"""`replicator task replay`: delivers the rows that a quarantine has left out."""

from __future__ import annotations

import click

from replicator.cli.task.client import Client
from replicator.cli.task.options import name_argument, reason_option, with_client
from replicator.cli.terminal import clean


@click.command("replay")
@name_argument
@click.argument("which", metavar="DATABASE.TABLE")
@click.option("--name", "new", default="", metavar="NEW", help="Name of the new task; default: NAME.replay-TABLE.")
@click.option("--dry-run", is_flag=True, help="Check everything, but write nothing.")
@reason_option
@with_client
def command(name: str, which: str, new: str, dry_run: bool, reason: str, client: Client) -> None:
    """Deliver the rows of a table of NAME that a quarantine has left out.

    During the quarantine, NAME delivers them itself: it stops all tables, delivers the rows of this table in order, up
    to its current position, and continues with all tables.

    After the release, a new task delivers them to the same topics. These rows are older than those that NAME has
    delivered since. The new task stops with E5015 when it has finished; delete it then.
    """
    answer = client.act(name, "replay", dry_run=dry_run, table=which, name=new, reason=reason)
    if dry_run:
        click.echo("the replay is possible (dry run)")
    elif answer["name"] == name:
        click.echo(f"{clean(name)} delivers what it left out of {clean(which)}, and then continues with it")
    else:
        click.echo(f"{clean(answer['name'])} created")
