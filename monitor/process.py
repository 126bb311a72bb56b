"""Lifecycle of a Monitor process, as run by `replicator monitor`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import click
import msgspec

from monitor.access import Access
from monitor.alerts.alerting import Alerting
from monitor.app import create_app
from monitor.history.kept import Kept
from monitor.registration import Registration
from monitor.server_api import ServerApi, check_way
from replicator.cli.task import client_tls
from replicator.coordination.access.logins import Logins
from replicator.coordination.layout import Layout
from replicator.coordination.logs.answers import LogAnswers
from replicator.host.network import is_loopback
from replicator.host.pid_file import held
from replicator.host.process_record import ProcessRecord
from replicator.telemetry import log
from replicator.telemetry.http import Address, parse_listen, serve
from replicator.telemetry.listen import Listen
from replicator.telemetry.server_certificate import ServerCertificate
from replicator.zookeeper.client import for_process
from replicator.zookeeper.log_service import LogService
from replicator.zookeeper.outage_log import OutageLog


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What the options of the command say; see there. `kept`: where the figures of the charts are; `server`: "" for a
    Monitor that only shows; `alerting`: rules of alerts, and where alerts are kept."""

    zookeeper: str
    listen: Listen
    root: str
    interval: float
    max_streams: int
    metric_labels: Sequence[str]
    require_login: bool | None
    session_timeout: float
    kept: Kept
    alerting: Alerting
    server: str = ""


def run(settings: Settings, pid_file: Path | None, log_format: str) -> None:
    """Returns when it was told to stop."""
    log.setup(log_format)
    listen = settings.listen
    parse_listen(listen.where)
    record = ProcessRecord.of("monitor", settings.zookeeper, settings.root, listen=listen.where)
    with held(pid_file, record, log.get_logger("monitor")) as stopping:
        _run(settings, stopping)


def _run(settings: Settings, stopping: Callable[[], None]) -> None:
    listen, zookeeper, require_login = settings.listen, settings.zookeeper, settings.require_login
    certificate = ServerCertificate(listen.tls) if listen.tls is not None else None
    loopback = is_loopback(parse_listen(listen.where).host)
    required = not loopback if require_login is None else require_login
    if not required and not loopback:
        log.get_logger("monitor").warning("no login is required on a network address", option="--no-require-login")
    api = _api(settings.server) if settings.server else None
    layout = Layout(settings.root)
    coordinator = for_process(zookeeper, settings.session_timeout, layout, "monitor")
    outages = OutageLog(coordinator, log.get_logger("monitor")).start()
    registration = Registration(coordinator, layout, required=required, certificate=certificate)
    answers = LogAnswers(coordinator, layout, lambda: registration.process, log.recent.text)
    lines = LogService(coordinator, answers, log.get_logger("monitor")).start()

    def ready(address: Address) -> None:
        """The address is on stdout, for whoever started us with port 0."""
        registration.start(address.url)
        click.echo(address.url)

    try:
        app = create_app(
            coordinator,
            layout,
            interval=settings.interval,
            max_streams=settings.max_streams,
            zookeeper=zookeeper,
            warnings=tuple(coordinator.warnings),
            metric_labels=settings.metric_labels,
            access=Access(Logins(coordinator, layout), required=required, offered=api is not None),
            certificate=certificate,
            history=settings.kept.opened(),
            api=api,
            process=registration.process,
            alerting=msgspec.structs.replace(settings.alerting, address=lambda: registration.address),
        )

        def end() -> None:
            stopping()
            app.state.feed.close()

        serve(app, listen, "monitor", certificate=certificate, ready=ready, stopping=end)
    finally:
        outages.stop()
        lines.stop()
        registration.stop()
        coordinator.close()


def _api(server: str) -> ServerApi:
    """Raises ProcessError E5021, E5080, E5081, E5093."""
    check_way(server, insecure=os.environ.get("REPLICATOR_INSECURE_HTTP") in ("1", "true"))
    return ServerApi(server, client_tls.context(server) if server.startswith("https:") else None)
