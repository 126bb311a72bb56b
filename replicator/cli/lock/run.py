"""`replicator lock run`: runs a command while this process has a lock."""

from __future__ import annotations

import os
import signal
from typing import NoReturn

import click

from replicator.cli import options
from replicator.cli.durations import wait_option
from replicator.cli.lock.held_command import HeldCommand, require
from replicator.cli.lock.session import owner, session
from replicator.coordination.layout import Layout, parse_claim
from replicator.coordination.ports import Coordinator
from replicator.coordination.recipes import fencing
from replicator.coordination.recipes.claims import Kind
from replicator.coordination.recipes.locks import Locks
from replicator.coordination.recipes.names import checked
from replicator.errors import CoordinationError

PATHS = "REPLICATOR_LOCK_PATHS"
"""Claims of the commands that this one runs under, for `lock run` inside of `lock run`."""


@click.command("run", context_settings={"allow_interspersed_args": True})
@click.argument("name")
@options.zookeeper("Requested session timeout in seconds; outages of up to two thirds of it are tolerated.")
@click.option("--shared", is_flag=True, help="Share the lock with others that have it shared.")
@wait_option
@click.argument("arguments", metavar="-- COMMAND [ARG]...", nargs=-1, type=click.UNPROCESSED, required=True)
def command(
    name: str,
    zookeeper: str,
    root: str,
    session_timeout: float,
    shared: bool,
    wait: float | None,
    arguments: tuple[str, ...],
) -> int:
    """Run COMMAND while this process has the lock NAME, and exit with its status.

    COMMAND finds the fencing token in REPLICATOR_LOCK_TOKEN: it is higher than the one of each holder before. When the
    lease ends, COMMAND and all processes that it has started get SIGTERM, and SIGKILL after a sixth of the session
    timeout. Exit status 7: not free within --wait; 4: the lock was lost. See `replicator docs operations`.
    """
    checked(name, "lock")
    require(arguments)
    kind: Kind = "shared" if shared else "exclusive"
    with session(zookeeper, root, session_timeout) as (coordinator, layout):
        token = _inherited(coordinator, layout, name, kind)
        if not token:
            locks = Locks(coordinator, layout, owner())
            hold = locks.acquire(name, kind, wait)
            paths = ":".join(filter(None, [os.environ.get(PATHS), hold.paths[0]]))
            variables = {PATHS: paths, **named(name, hold.token)}
            try:
                return HeldCommand(hold, locks.keep, coordinator.session_timeout).run(arguments, variables)
            finally:
                locks.release(hold)
    return _become(arguments, named(name, token))


def _become(arguments: tuple[str, ...], variables: dict[str, str]) -> NoReturn:
    """The outer command ends this one with its lease."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.execvpe(arguments[0], arguments, {**os.environ, **variables})  # noqa: S606 - what the user has typed


def named(name: str, token: int) -> dict[str, str]:
    return {"REPLICATOR_LOCK_NAME": name, "REPLICATOR_LOCK_TOKEN": str(token)}


def _inherited(coordinator: Coordinator, layout: Layout, name: str, kind: Kind) -> int:
    """Fencing token of the claim to the same lock that this process runs under, 0 without. Raises E4072."""
    for path in os.environ.get(PATHS, "").split(":"):
        above, _, child = path.rpartition("/")
        claim = parse_claim(child)
        if above != layout.lock(name) or claim is None:
            continue
        stat = coordinator.confirm([path])[0]
        if stat is None:
            continue
        if claim.kind == "shared" and kind == "exclusive":
            raise CoordinationError("E4072", f"this command runs under the lock '{name}', which is shared")
        return fencing.base(coordinator, layout) + stat.czxid
    return 0
