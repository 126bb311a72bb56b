"""`replicator core`: starts a Core and runs it until SIGTERM or Ctrl-C."""

from __future__ import annotations

import socket
from pathlib import Path

import click

from replicator.cli import host_options, options
from replicator.cli.loading import loading
from replicator.cli.stop import ProcessCommand, add_stop, pid_file_option


@add_stop("core", named=True)
@click.command(
    "core",
    cls=ProcessCommand,
    short_help="Run a replication host: take part in elections and run the tasks that it leads.",
)
@options.zookeeper("Requested session timeout in seconds. A standby takes over this long after the leader has failed.")
@click.option(
    "--task", "tasks", multiple=True, metavar="NAME", help="Take part only in the election of this task; repeatable."
)
@click.option("--host", default=socket.gethostname, help="Name of this Core; default: the host name.")
@pid_file_option
@host_options.host_access()
@options.log_format
def command(
    zookeeper: str,
    tasks: tuple[str, ...],
    host: str,
    root: str,
    session_timeout: float,
    pid_file: Path | None,
    log_format: str,
) -> None:
    """Run a replication host: take part in elections, run the tasks that it leads, and take over from hosts that fail.

    Without --task it takes part in the election of every task, also of those created later. `replicator core stop`,
    SIGTERM or Ctrl-C hands over all tasks and stops the process; a second signal stops it at once.
    """
    with loading():
        from core.process import run  # half a second, for which no help has to wait

    run(zookeeper, tasks, host, root, session_timeout, pid_file, log_format)
