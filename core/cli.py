"""`replicator core`: starts a Core and keeps it until it is told to stop."""

from __future__ import annotations

import socket

import click

from replicator.cli import host_options, options
from replicator.cli.loading import loading


@click.command("core", short_help="A replication host: a contender for tasks, which runs those that it leads.")
@options.zookeeper("Asked of ZooKeeper, seconds. A standby takes over that long after a leader's death.")
@click.option("--task", "tasks", multiple=True, metavar="NAME", help="Be a contender for this task only; repeatable.")
@click.option("--host", default=socket.gethostname, help="Our name; default: this machine's.")
@host_options.host_access()
@options.log_format
def command(
    zookeeper: str, tasks: tuple[str, ...], host: str, root: str, session_timeout: float, log_format: str
) -> None:
    """Be a contender for tasks, run those that it leads, and take over from hosts that die.

    Without --task it is a contender for every task, and for new ones as they appear. SIGTERM or Ctrl-C hands
    everything over and ends; a second one ends at once.
    """
    with loading():
        from core.process import run  # half a second, for which no help has to wait

    run(zookeeper, tasks, host, root, session_timeout, log_format)
