"""`replicator monitor`: starts the Monitor and serves until SIGTERM or Ctrl-C."""

from __future__ import annotations

import re
from pathlib import Path

import click

from replicator.cli import host_options, options
from replicator.cli.address_types import SERVER_URL
from replicator.cli.loading import loading
from replicator.cli.stop import ProcessCommand, add_stop, pid_file_option
from replicator.cli.task.client_tls import tls_options
from replicator.config.labels import check_labels
from replicator.telemetry.listen import Listen

DEFAULT_LISTEN = "127.0.0.1:8081"


def _metric_labels(_ctx: click.Context, _param: click.Parameter, keys: tuple[str, ...]) -> tuple[str, ...]:
    check_labels(dict.fromkeys(keys, ""))
    names = {re.sub(r"[^A-Za-z0-9_]", "_", key) for key in keys}
    if len(names) < len(set(keys)):
        raise click.BadParameter("Two of the keys have the same name as labels of a metric.")
    return tuple(dict.fromkeys(keys))


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
@click.option(
    "--metric-label",
    "metric_labels",
    multiple=True,
    metavar="KEY",
    callback=_metric_labels,
    help="Key of a label of tasks that the metric bus_task_labels_info has. May be repeated; without it there is none.",
)
@click.option(
    "--require-login/--no-require-login",
    default=None,
    envvar="REPLICATOR_REQUIRE_LOGIN",
    show_envvar=True,
    help="Require a token, or user and password; default: except on loopback addresses.",
)
@click.option(
    "--server",
    envvar="REPLICATOR_MONITOR_SERVER",
    show_envvar=True,
    type=SERVER_URL,
    help="Server for actions of people who log in, with their own login; without it the Monitor only shows.",
)
@tls_options
@click.option(
    "--history",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="REPLICATOR_MONITOR_HISTORY",
    show_envvar=True,
    help="SQLite file with the figures of the charts; default: one in ~/.local/state/mysql-replicator.",
)
@click.option("--no-history", is_flag=True, help="Keep figures in memory, until the Monitor is stopped.")
@click.option(
    "--history-size",
    default=2000,
    show_default=True,
    type=click.IntRange(10, 1_000_000),
    metavar="MB",
    help="Maximum size of that file; the oldest figures are deleted.",
)
@click.option(
    "--alert-rules",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="REPLICATOR_ALERT_RULES",
    show_envvar=True,
    help="YAML file with alert rules, which replaces, changes or disables the shipped ones.",
)
@click.option(
    "--alert-routes",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="REPLICATOR_ALERT_ROUTES",
    show_envvar=True,
    help="YAML file with routes of alerts: webhooks, e-mail, Slack, PagerDuty. Without it nothing is sent.",
)
@host_options.allow_outgoing
@pid_file_option
@options.log_format
def command(
    zookeeper: str,
    listen: Listen,
    root: str,
    interval: float,
    max_streams: int,
    metric_labels: tuple[str, ...],
    require_login: bool | None,
    session_timeout: float,
    pid_file: Path | None,
    log_format: str,
    history: Path | None,
    no_history: bool,
    history_size: int,
    server: str | None,
    alert_rules: Path | None,
    alert_routes: Path | None,
) -> None:
    """Run the Monitor: dashboard, Prometheus metrics, health check.

    The Monitor reads ZooKeeper; of several with routes of alerts one is elected there to send. It listens on the
    loopback address by default; on any other address it requires the logins of the Server (`replicator user`,
    `replicator token`). It also starts while ZooKeeper is unavailable, and shows that.
    """
    with loading():
        from monitor.alerts.alerting import Alerting
        from monitor.alerts.store import beside
        from monitor.history.kept import Kept, own_file
        from monitor.process import Settings, run  # half a second, for which no help has to wait

    if history is not None and no_history:
        raise click.UsageError("--history and --no-history exclude each other.")
    port_is_known = not listen.where.endswith(":0")
    path = None if no_history else history or (own_file(root, listen.where) if port_is_known else None)

    settings = Settings(
        zookeeper=zookeeper,
        listen=listen,
        root=root,
        interval=interval,
        max_streams=max_streams,
        metric_labels=metric_labels,
        require_login=require_login,
        session_timeout=session_timeout,
        server=server or "",
        kept=Kept(path, history_size * 1_000_000, chosen=history is not None),
        alerting=Alerting(rules=alert_rules, history=beside(path), routes=alert_routes),
    )
    run(settings, pid_file, log_format)
