"""`replicator cluster init`: creates the root znode, its id, and the ACLs."""

from __future__ import annotations

import click

from replicator.cli import options
from replicator.cli.cluster import tree
from replicator.coordination.ports import Identity


@click.command("init")
@options.zookeeper()
@tree.identities
def command(
    zookeeper: str,
    root: str,
    session_timeout: float,
    core: tuple[Identity, ...],
    server: tuple[Identity, ...],
    monitor: tuple[Identity, ...],
    agent: tuple[Identity, ...],
) -> int:
    """Create the root znode with the identities of Core, Server, Monitor and agents, and the ACLs that follow.

    The login of this command (--zookeeper-config) becomes the administrator's, who alone may change ACLs. Processes
    never need it.
    """
    with tree.tree(zookeeper, root, session_timeout) as (secured, own):
        record = tree.record_of(core, server, monitor, agent, own)
        return tree.outcome(secured.establish(record, tree.progress(), existing=False))
