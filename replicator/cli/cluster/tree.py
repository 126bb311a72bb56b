"""What the commands of ZooKeeper's identities share: their options, and a connection as an administrator."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from replicator.cli import options
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Identity
from replicator.coordination.records import SecurityRecord
from replicator.coordination.rights import Guard
from replicator.coordination.secured_tree import SecuredTree, Walked
from replicator.errors import CoordinationError
from replicator.zookeeper import access
from replicator.zookeeper.client import connect


class IdentityType(click.ParamType[Identity]):
    """`digest:USER:HASH`, `sasl:USER`, `x509:SUBJECT`, or `@FILE`: the first one of a --zookeeper-config."""

    name = "IDENTITY"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Identity:
        if isinstance(value, Identity):
            return value
        text = str(value)
        if text.startswith("@"):
            found = access.of_file(str(Path(text[1:]).absolute())).identities()
            if not found:
                self.fail(f"{text[1:]} has no login", param, ctx)
            return found[0]
        scheme, colon, name = text.partition(":")
        if not (colon and name) or scheme not in ("digest", "sasl", "x509") or (scheme == "digest") > (":" in name):
            self.fail(f"{text[:60]!r}. Wanted: digest:USER:HASH, sasl:USER, x509:SUBJECT or @FILE", param, ctx)
        return Identity(scheme, name)


IDENTITY = IdentityType()


def identities(command: options.F) -> options.F:
    """--core, --server, --monitor, --agent: repeatable."""
    for role in ("agent", "monitor", "server", "core"):
        command = click.option(
            f"--{role}",
            type=IDENTITY,
            multiple=True,
            help=f"Identity of the {role.capitalize()} processes, or @FILE for that of a login file; repeatable.",
        )(command)
    return command


@contextmanager
def tree(zookeeper: str, root: str, session_timeout: float) -> Iterator[tuple[SecuredTree, list[Identity]]]:
    """The tree, and the identity of this login: of its user, and only without one of its certificate, which others may
    share. Raises ConfigError E4034, E4036; NotConnected."""
    login = access.of_environment()
    access.require_secured(zookeeper, login)
    guard = Guard(Layout(root), "admin")
    coordinator = connect(zookeeper, session_timeout, access=login, guard=guard)
    try:
        yield SecuredTree(coordinator, guard), list(login.identities()[:1])
    finally:
        coordinator.close()


def record_of(
    core: tuple[Identity, ...],
    server: tuple[Identity, ...],
    monitor: tuple[Identity, ...],
    agent: tuple[Identity, ...],
    own: list[Identity],
) -> SecurityRecord:
    if not own:
        fix = "Give --zookeeper-config with the login of an administrator."
        raise CoordinationError("E4038", "this command has no login, which would become the administrator's", fix=fix)
    return SecurityRecord(core=list(core), server=list(server), monitor=list(monitor), agent=list(agent), admin=own)


def progress() -> Callable[[Walked], None]:
    def show(done: Walked) -> None:
        if sys.stderr.isatty():
            click.echo(f"\r{done.nodes} nodes, {done.changed} ACLs set", err=True, nl=False)

    return show


def outcome(done: Walked) -> int:
    """Prints it; exit status."""
    if sys.stderr.isatty():
        click.echo(err=True)
    click.echo(f"{done.nodes} nodes, {done.changed} ACLs set")
    for path in done.refused:
        click.echo(f"refused: {path}", err=True)
    if done.refused:
        click.echo("Another login has these nodes: run the command with it, or as ZooKeeper's superuser.", err=True)
    return 1 if done.refused else 0
