"""`replicator schema`."""

from __future__ import annotations

import click

from replicator.config import json_schema


@click.command("schema")
def command() -> None:
    """Print the JSON Schema of a task, for editors: with it they complete and check while one types.

    \b
    replicator schema > task.schema.json
    # first line of the task's file:
    # yaml-language-server: $schema=task.schema.json
    """
    click.echo(json_schema.text(), nl=False)
