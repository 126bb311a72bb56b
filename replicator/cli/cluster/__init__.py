"""`replicator cluster`: the state of all tasks in ZooKeeper. One command per module."""

from __future__ import annotations

import click

from replicator.cli.lazy import LazyGroup

_TEXTS: dict[str, str] = {
    "backup": "Write the state of all tasks into a file.",
    "restore": "Write a backup into ZooKeeper.",
    "new-key": "Add a key that seals secrets to a key file.",
    "rotate-key": "Seal the secrets of all tasks under the new key.",
    "init": "Create the root znode, its id and ACLs.",
    "secure": "Bring existing znodes under ACLs.",
    "rotate": "Change an identity that ACLs name.",
    "outgoing": "Show or change the list of addresses that tasks may connect to.",
    "identities": "List the identities that ACLs name.",
}
LAZY = {name: (text, f"replicator.cli.cluster.{name.replace('-', '_')}") for name, text in _TEXTS.items()}


@click.group("cluster", cls=LazyGroup, lazy=LAZY)
def command() -> None:
    """Manage the state of all tasks in ZooKeeper."""
