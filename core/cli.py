"""`replicator core`: starts a Core and runs it until SIGTERM or Ctrl-C."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import click

from replicator.cli import host_options, options
from replicator.cli.loading import loading
from replicator.cli.stop import ProcessCommand, add_stop, pid_file_option
from replicator.config.labels import VALUE_PATTERN


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
@click.option(
    "--group",
    default="",
    metavar="NAME",
    help="Join this group of Cores and take part only in tasks with `group: NAME`; default: in tasks without a group.",
)
@click.option(
    "--capacity",
    type=click.IntRange(min=0),
    help="With --group: the sum of the weights of tasks that this Core takes; default: 100.",
)
@click.option("--host", default=socket.gethostname, help="Name of this Core; default: the host name.")
@pid_file_option
@host_options.host_access()
@options.log_format
def command(
    zookeeper: str,
    tasks: tuple[str, ...],
    group: str,
    capacity: int | None,
    host: str,
    root: str,
    session_timeout: float,
    pid_file: Path | None,
    log_format: str,
) -> None:
    """Run a replication host: take part in elections, run the tasks that it leads, and take over from hosts that fail.

    Without --task and --group it takes part in the election of every task without a group, also of those created later.
    `replicator docs operations` explains groups. `replicator core stop`,
    SIGTERM or Ctrl-C hands over all tasks and stops the process; a second signal stops it at once.
    """
    if group and tasks:
        raise click.UsageError("--task and --group exclude each other: the group says which tasks its Cores run.")
    if capacity is not None and not group:
        raise click.UsageError("--capacity requires --group.")
    if not re.match(VALUE_PATTERN, group):
        raise click.BadParameter("up to 63 letters, digits, - _ and .", param_hint="--group")
    with loading():
        # half a second, for which no help has to wait
        from core.process import Part, run
        from replicator.coordination.groups.membership import DEFAULT_CAPACITY

    part = Part(tasks, group, DEFAULT_CAPACITY if capacity is None else capacity)
    run(zookeeper, part, host, root, session_timeout, pid_file, log_format)
