"""`replicator cluster rotate-key`: seals the secrets of all tasks under the first key of the Server's key file."""

from __future__ import annotations

import click

from replicator.cli.task.client import Client
from replicator.cli.task.options import with_client
from replicator.cli.terminal import clean
from replicator.errors import ProcessError, ReplicatorError


@click.command("rotate-key")
@with_client
def command(client: Client) -> None:
    """Seal the secrets of all tasks again, under the first key of the Server's key file.

    All Cores must have the new key before. Running tasks are not interrupted. The command can be repeated after an
    error: what is sealed under the new key is left alone. It ends with the tasks that could not be changed.
    """
    failed: list[str] = []
    count = 0
    for name in (item["name"] for item in client.tasks()["items"]):
        try:
            changed = client.renew_secrets(name)["fields"]
        except ReplicatorError as error:
            failed.append(f"{name} ({error.code})")
            click.echo(str(error), err=True)
            continue
        count += len(changed)
        for field in changed:
            click.echo(f"{clean(name)}: {clean(field)}")
    click.echo(f"{count} secret{'' if count == 1 else 's'} sealed under the new key", err=True)
    if failed:
        raise ProcessError("E1045", "some secrets are still sealed under an old key", found=clean(", ".join(failed)))
