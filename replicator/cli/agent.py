"""`replicator agent`: reports the vitals of a host without a Core until SIGTERM or Ctrl-C."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import click

from replicator.cli import options
from replicator.cli.loading import loading
from replicator.cli.stop import ProcessCommand, add_stop, pid_file_option
from replicator.config.labels import VALUE_PATTERN


def _role(_ctx: click.Context, _param: click.Parameter, value: str) -> str:
    if not value or not re.match(VALUE_PATTERN, value):
        raise click.BadParameter("1 to 63 letters, digits, - _ and .")
    if value in ("core", "server", "monitor"):
        raise click.BadParameter(f"{value!r} is what processes of the bus report.")
    return value


@add_stop("agent", named=True)
@click.command("agent", cls=ProcessCommand, short_help="Report the vitals of a host without a Core.")
@options.zookeeper("Requested session timeout in seconds. The host is offline this long after it has failed.")
@click.option(
    "--role",
    default="host",
    show_default=True,
    callback=_role,
    help="What the host is for, such as mysql, kafka or zookeeper; shown in lists of machines.",
)
@click.option("--host", default=socket.gethostname, help="Name of this machine; default: the host name.")
@pid_file_option
@options.log_format
def command(
    zookeeper: str,
    role: str,
    host: str,
    root: str,
    session_timeout: float,
    pid_file: Path | None,
    log_format: str,
) -> None:
    """Report CPU, load, memory, disks, network and uptime of this host once a second, as each Core does.

    For hosts of MySQL, Kafka or ZooKeeper. The host appears in `replicator machine get`, on the Monitor and in its
    metrics, and is offline when it fails. It needs no configuration, secrets or rights to tasks. A host with a Core
    needs no agent. `replicator agent stop`, SIGTERM or Ctrl-C ends it; the host is shown as stopped then.
    """
    with loading():
        from replicator.agent.process import run

    run(zookeeper, host, role, root, session_timeout, pid_file, log_format)
