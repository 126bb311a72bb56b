"""`replicator schema`: prints the JSON Schema of a task."""

from __future__ import annotations

import click

from replicator.config import json_schema


@click.command("schema")
def command() -> None:
    """Print the JSON Schema of a task, with which editors complete and check task files.

    \b
    replicator schema > task.schema.json
    # first line of the task's file:
    # yaml-language-server: $schema=task.schema.json
    """
    click.echo(json_schema.text(), nl=False)
