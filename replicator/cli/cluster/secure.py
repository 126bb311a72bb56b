"""`replicator cluster secure`: brings existing znodes under ACLs, while the processes run."""

from __future__ import annotations

import click

from replicator.cli import options
from replicator.cli.cluster import tree
from replicator.coordination.ports import Identity


@click.command("secure")
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
    """Set the ACL of every existing znode, one by one, while the processes run.

    Restart all processes with their logins and --insecure-zookeeper first: those without a login are locked out. The
    command can be interrupted and repeated; once identities are recorded it needs none.
    """
    with tree.tree(zookeeper, root, session_timeout) as (secured, own):
        present, _ = secured.read()
        if present is not None and not (core or server or monitor or agent):
            return tree.outcome(secured.establish(present, tree.progress(), existing=True))
        record = tree.record_of(core, server, monitor, agent, own)
        return tree.outcome(secured.establish(record, tree.progress(), existing=True))
