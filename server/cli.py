"""`replicator server`: starts the Server and serves until it is told to stop."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import click

from replicator.cli import options
from replicator.config.token import default_token_file, ensure_token
from replicator.coordination.layout import Layout
from replicator.telemetry import log
from replicator.telemetry.http import Address, parse_listen, serve
from replicator.zookeeper.client import ZookeeperCoordinator
from server.app import create_app
from server.control import Control
from server.duties import Duties
from server.membership import Membership

DEFAULT_LISTEN = "127.0.0.1:8080"


@click.command("server", short_help="Control: the HTTP API that tasks are made and steered with.")
@options.zookeeper()
@options.listen(DEFAULT_LISTEN)
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="REPLICATOR_TOKEN_FILE",
    show_envvar=True,
    help="Made when missing; default: server.token in ~/.local/state/mysql-replicator.",
)
@click.option(
    "--host", default=socket.gethostname, help="Our name in the register of Servers; default: this machine's."
)
@options.log_format
def command(
    zookeeper: str, listen: str, root: str, token_file: Path | None, host: str, session_timeout: float, log_format: str
) -> None:
    """Create, change and steer tasks over HTTP; `replicator task` talks to it.

    It validates what it is given and writes it to ZooKeeper, where the Cores see it; it never talks to a Core. Every
    request but health needs the token in the token file. It starts without ZooKeeper too, and answers 503 until then.
    """
    log.setup(log_format)
    address = parse_listen(listen)
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
        serve(create_app(coordinator, layout, token), address, "server", ready=ready)
    finally:
        for one in duties:
            one.stop()
        coordinator.close()
