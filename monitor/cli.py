"""`replicator monitor`: starts the Monitor and serves until SIGTERM or Ctrl-C."""

from __future__ import annotations

from pathlib import Path

import click

from replicator.cli import options
from replicator.cli.loading import loading
from replicator.cli.stop import ProcessCommand, add_stop, pid_file_option

DEFAULT_LISTEN = "127.0.0.1:8081"


@add_stop("monitor", named=False)
@click.command(name="monitor", cls=ProcessCommand)
@options.zookeeper()
@options.listen(DEFAULT_LISTEN)
@click.option(
    "--interval",
    default=1.0,
    show_default=True,
    type=click.FloatRange(0.1, 60),
    help="Seconds between reads of ZooKeeper.",
)
@click.option(
    "--max-streams",
    default=100,
    show_default=True,
    type=click.IntRange(0, 10_000),
    help="Maximum number of event streams; further browsers poll.",
)
@pid_file_option
@options.log_format
def command(
    zookeeper: str,
    listen: str,
    allowed_host: tuple[str, ...],
    insecure_http: bool,
    root: str,
    interval: float,
    max_streams: int,
    session_timeout: float,
    pid_file: Path | None,
    log_format: str,
) -> None:
    """Run the Monitor: dashboard, Prometheus metrics, health check.

    The Monitor only reads ZooKeeper. It has no authentication and listens on the loopback address by default. It also
    starts while ZooKeeper is unavailable, and shows that.
    """
    with loading():
        from monitor.process import run  # half a second, for which no help has to wait
        from replicator.telemetry.http import Listen

    where = Listen(listen, allowed_host, insecure_http)
    run(zookeeper, where, root, interval, max_streams, session_timeout, pid_file, log_format)
