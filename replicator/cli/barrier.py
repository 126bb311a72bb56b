"""`replicator barrier`: waits for other processes."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence
from typing import Any, Final

import click

from replicator.cli import options
from replicator.cli.durations import wait_option
from replicator.cli.lazy import SuggestingGroup
from replicator.cli.lock.held_command import require
from replicator.cli.lock.session import owner, session
from replicator.coordination.recipes.barriers import MAX_PARTIES, Barrier
from replicator.coordination.recipes.hold import lost


@click.group("barrier", cls=SuggestingGroup, meanings={"enter": "wait", "join": "wait"})
def command() -> None:
    """Wait for other processes. Requires the login of a Core, of a Server or of an administrator."""


@command.command("wait")
@click.argument("name")
@options.zookeeper()
@click.option("--parties", type=click.IntRange(1, MAX_PARTIES), required=True, help="How many pass together.")
@wait_option
@click.option("--double", is_flag=True, help="Run COMMAND, and wait at its end until those of all parties have ended.")
@click.argument("arguments", metavar="[-- COMMAND [ARG]...]", nargs=-1, type=click.UNPROCESSED)
def wait_for_parties(
    name: str,
    zookeeper: str,
    root: str,
    session_timeout: float,
    parties: int,
    wait: float | None,
    double: bool,
    arguments: tuple[str, ...],
) -> int:
    """Wait until as many processes as --parties wait at the barrier NAME, and end together with them.

    A process that ends before is not counted any more. More processes than --parties form the next round. Exit status
    7: too few within --wait.

    With --double, all run COMMAND when they have passed, and end together: each waits until the commands of all parties
    have ended, or their processes are gone, and exits with the status of its COMMAND. Exit status 4: the session was
    lost meanwhile, so that the others did not wait for this one; 7: others had not ended within --wait.
    """
    if double != bool(arguments):
        raise click.UsageError("--double requires -- COMMAND, and a COMMAND requires --double.")
    if arguments:
        require(arguments)
    with session(zookeeper, root, session_timeout) as (coordinator, layout):
        barrier = Barrier(coordinator, layout, name, parties, owner())
        barrier.enter(wait)
        if not arguments:
            barrier.withdraw()
            return 0
        try:
            status = _run(arguments)
        except BaseException:
            barrier.withdraw()
            raise
        present = barrier.is_present()
        barrier.leave(wait)
    if not present:
        raise lost(f"the place at the barrier '{name}'")
    return status


_FORWARDED: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def _run(command: Sequence[str]) -> int:
    """Exit status of the command, which gets the signals that this process gets."""
    process = subprocess.Popen(list(command))

    def forward(number: int, _: object) -> None:
        process.send_signal(number)

    before: dict[int, Any] = {number: signal.signal(number, forward) for number in _FORWARDED}
    try:
        status = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status
