"""A Server from start to end: what `replicator server` runs."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from replicator.config.token import default_token_file, ensure_token
from replicator.coordination.layout import Layout
from replicator.telemetry import log
from replicator.telemetry.http import Address, Listen, parse_listen, serve
from replicator.zookeeper.client import ZookeeperCoordinator
from server.app import create_app
from server.control import Control
from server.duties import Duties
from server.membership import Membership


def run(
    zookeeper: str,
    listen: Listen,
    root: str,
    token_file: Path | None,
    host: str,
    session_timeout: float,
    log_format: str,
) -> None:
    """Returns when it was told to stop."""
    log.setup(log_format)
    parse_listen(listen.where)  # what is wrong with it is said before a token is made
    path = token_file or default_token_file()
    token, made = ensure_token(path)
    print(f"server: token file {path}{' (made now)' if made else ''}", file=sys.stderr, flush=True)
    coordinator = ZookeeperCoordinator(zookeeper, session_timeout)
    layout = Layout(root)
    duties: list[Duties] = []

    def ready(real: Address) -> None:
        membership = Membership(coordinator, layout, host, real.url)
        duties.append(Duties(coordinator, Control(coordinator, layout), membership))
        duties[0].start()
        click.echo(real.url)

    try:
        serve(create_app(coordinator, layout, token), listen, "server", ready=ready)
    finally:
        for one in duties:
            one.stop()
        coordinator.close()
