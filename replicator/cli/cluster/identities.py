"""`replicator cluster identities`: lists the identities that ACLs name, and that of a login."""

from __future__ import annotations

from pathlib import Path

import click

from replicator.cli import options
from replicator.cli.address_types import ZOOKEEPER
from replicator.cli.terminal import clean
from replicator.coordination.layout import DEFAULT_ROOT
from replicator.coordination.rights import ROLES
from replicator.zookeeper import access


@click.command("identities")
@click.option(
    "--of", "file", type=click.Path(dir_okay=False, path_type=Path), help="Print only that of this login file."
)
@click.option("--zookeeper", type=ZOOKEEPER, envvar="REPLICATOR_ZOOKEEPER", show_envvar=True)
@click.option("--root", default=DEFAULT_ROOT, show_default=True, help="Root znode of the bus.")
@options.zookeeper_access
def command(file: Path | None, zookeeper: str | None, root: str) -> int:
    """List the identities of Core, Server, Monitor and administrators. They contain no secrets."""
    if file is not None:
        for identity in access.of_file(str(file.absolute())).identities():
            click.echo(clean(str(identity)))
        return 0
    if zookeeper is None:
        raise click.UsageError("Give --zookeeper or --of.")
    from replicator.cli.cluster.tree import tree

    with tree(zookeeper, root, 10.0) as (secured, _):
        record, _ = secured.read()
        if record is None:
            click.echo("no identities: every znode is open", err=True)
            return 1
        for role in ROLES:
            for identity in record.of(role):
                click.echo(f"{role:8} {clean(str(identity))}")
    return 0
