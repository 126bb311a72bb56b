"""`replicator cluster new-key`: adds a key that seals secrets to a cluster key file."""

from __future__ import annotations

from pathlib import Path

import click

from replicator.config.cluster_keys import add


@click.command("new-key")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def command(file: Path) -> None:
    """Put a new key in front of those of FILE, or make FILE with one key.

    Copy the file to every Core and Server, mode 0600, and start them with --cluster-key-file. To replace a key: add the
    new one, copy the file to all hosts, run `replicator cluster rotate-key`, then remove the line of the old key.
    """
    number, count = add(file)
    click.echo(f"key {number} added to {file}, which has {count} key{'s' if count > 1 else ''} now")
