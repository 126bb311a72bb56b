"""`replicator cluster rotate`: changes an identity while the processes run."""

from __future__ import annotations

from typing import cast

import click

from replicator.cli import options
from replicator.cli.cluster import tree
from replicator.coordination.ports import Identity
from replicator.coordination.rights import ROLES, Role
from replicator.errors import CoordinationError


@click.command("rotate")
@click.argument("role", type=click.Choice(ROLES))
@click.option("--add", type=tree.IDENTITY, help="Give this identity the rights of ROLE, or @FILE.")
@click.option("--remove", type=tree.IDENTITY, help="Take the rights of ROLE from this identity, or @FILE.")
@options.zookeeper()
def command(
    role: str, add: Identity | None, remove: Identity | None, zookeeper: str, root: str, session_timeout: float
) -> int:
    """Add an identity to ROLE, or remove one.

    Add the new identity, write the new login into the files of the processes, and remove the old identity. Processes
    read changed files within seconds and connect again with the new login: their sessions and leases continue.
    """
    if (add is None) == (remove is None):
        raise click.UsageError("Give either --add or --remove.")
    with tree.tree(zookeeper, root, session_timeout) as (secured, own):
        if remove is not None and role == "admin" and remove in own:
            raise CoordinationError(
                "E4038", "an administrator does not remove itself", fix="Run the command with the new login."
            )
        identity = cast("Identity", add or remove)
        return tree.outcome(secured.change(cast("Role", role), identity, tree.progress(), add=add is not None))
