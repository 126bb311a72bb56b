"""`replicator task secret`: secrets that the Server seals into the configuration of a task."""

from __future__ import annotations

import sys

import click

from replicator.cli.lazy import SuggestingGroup
from replicator.cli.task import render
from replicator.cli.task.client import Client
from replicator.cli.task.options import name_argument, output_option, reason_option, with_client
from replicator.cli.terminal import clean, interactive, table

_MEANINGS = {"show": "list", "get": "list", "ls": "list", "put": "set", "change": "set"}
_MOST = 64 * 1024


@click.group("secret", cls=SuggestingGroup, meanings=_MEANINGS)
def command() -> None:
    """Seal secrets of a task, or list where its secrets come from."""


@command.command("set")
@name_argument
@click.argument("field", metavar="FIELD")
@reason_option
@with_client
def set_(name: str, field: str, reason: str, client: Client) -> None:
    """Seal a secret into FIELD of NAME, such as source.password.

    It is read without echo in a terminal, else from standard input, of which one trailing newline is not part of it.
    The Server encrypts it under the key of the cluster, for this field of this task; every Core that holds the key can
    use it, and no one can read it back.
    """
    client.set_secret(name, field, _read(field), reason)
    click.echo(f"{clean(name)}: {clean(field)} sealed")


def _read(field: str) -> str:
    if interactive():
        return str(click.prompt(f"Secret for {clean(field)}", hide_input=True, confirmation_prompt=True, err=True))
    text = sys.stdin.buffer.read(_MOST + 1)
    if len(text) > _MOST:
        raise click.UsageError(f"The secret is larger than {_MOST // 1024} kB.")
    try:
        return text.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise click.UsageError("The secret is not UTF-8 text.") from None


@command.command("list")
@name_argument
@output_option("table", "json", "yaml")
@with_client
def list_(name: str, output: str, client: Client) -> None:
    """List the fields of NAME that hold secrets, and where each secret comes from."""
    answer = client.secrets(name)
    if output != "table":
        click.echo(render.structured(answer, output), nl=False)
        return
    click.echo(
        table(["FIELD", "SOURCE"], [[clean(one["field"]), clean(one["source"])] for one in answer["items"]]), nl=False
    )
