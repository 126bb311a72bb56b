"""`replicator task diff`: compares two versions of a task's configuration."""

from __future__ import annotations

import click

from replicator.cli.task import render
from replicator.cli.task.client import Client
from replicator.cli.task.completion import complete_version
from replicator.cli.task.options import name_argument, output_option, with_client
from replicator.cli.terminal import clean

_NUMBER = click.IntRange(0, 10**10 - 1)


@click.command("diff")
@name_argument
@click.argument("before", type=_NUMBER, required=False, metavar="[FROM]", shell_complete=complete_version)
@click.argument("after", type=_NUMBER, required=False, metavar="[TO]", shell_complete=complete_version)
@output_option("text", "json", "yaml")
@with_client
def command(name: str, before: int | None, after: int | None, output: str, client: Client) -> None:
    """Compare two versions of a task's configuration as a unified diff of their YAML, with every default written out.

    Without FROM: the present version with the one before it. Without TO: FROM with the present version. `replicator
    task versions NAME` lists them.
    """
    answer = client.compare(name, before, after)
    if output != "text":
        click.echo(render.structured(answer, output), nl=False)
        return
    click.echo(coloured(answer["diff"]), nl=False)
    if not answer["diff"]:
        click.echo(f"Versions {answer['from']} and {answer['to']} of {clean(name)} are equal.", err=True)


def coloured(diff: str) -> str:
    return "".join(f"{_line(line)}\n" for line in diff.splitlines())


def _line(line: str) -> str:
    shown = clean(line)
    if line.startswith(("---", "+++")):
        return click.style(shown, bold=True)
    colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
    return click.style(shown, fg=colour) if colour else shown
