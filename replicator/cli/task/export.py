"""`replicator task export`: writes the configurations of tasks as YAML that `apply` reads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from replicator.cli.task.client import Client
from replicator.cli.task.options import choice_options, with_client
from replicator.cli.task.selection import Choice, is_one, matching
from replicator.cli.terminal import clean
from replicator.coordination.layout import escape
from replicator.errors import ConfigError, ProcessError


@click.command("export")
@choice_options
@click.option("--all", "everything", is_flag=True, help="Export all tasks.")
@click.option("--without-defaults", is_flag=True, help="Leave out keys that have their default.")
@click.option(
    "-d",
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write NAME.yaml for each task into this directory, which is created. Files of the same name are replaced.",
)
@with_client
def command(choice: Choice, everything: bool, without_defaults: bool, directory: Path | None, client: Client) -> None:
    """Print the configurations of tasks as YAML documents, from which `replicator task apply -f FILE` makes equal
    tasks.

    Positions, tables in quarantine and whether a task is paused are not part of a configuration.
    """
    if bool(choice) == everything:
        raise click.UsageError("Give the NAME of each task, --state, --selector, or --all.")
    items = [client.task(choice.names[0])] if is_one(choice) else matching(client.tasks()["items"], choice)
    configured = [item for item in items if item["config"] is not None]
    for item in items:
        if item["config"] is None:
            click.echo(f"{clean(item['name'])}: not exported; it has no readable configuration", err=True)
    if items and not configured and not everything:
        raise ProcessError("E5007", "no task was exported", found="no configuration", wanted="a configured task")
    documents = [(str(item["name"]), _text(item, defaults=not without_defaults)) for item in configured]
    if directory is not None:
        _write(directory, documents)
        return
    click.echo("---\n".join(text for _, text in documents), nl=False)


def _text(item: dict[str, Any], *, defaults: bool) -> str:
    from replicator.config.export import exported  # here: pydantic would double the start of every command

    return exported(item["config"], defaults=defaults)


def _write(directory: Path, documents: list[tuple[str, str]]) -> None:
    """Each file is replaced as a whole. A name that no file can have is escaped, as its znode's is."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in documents:
            path = directory / f"{escape(name)}.yaml"
            fresh = path.with_name(f".{path.name}.{os.getpid()}")
            fresh.write_text(text, encoding="utf-8")
            fresh.replace(path)
            click.echo(clean(path))
    except OSError as error:
        raise ConfigError(
            "E1014",
            f"{directory} can't be written",
            found=error.strerror or str(error),
            fix="Check the path given with --directory, and its permissions.",
        ) from None
