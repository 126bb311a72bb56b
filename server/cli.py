"""`replicator server`: starts the Server and serves until it is told to stop."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING

import click

from replicator.cli import options
from replicator.cli.loading import loading

if TYPE_CHECKING:
    from server.table_definitions import OpenDefinitions

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
@click.pass_obj
def command(
    open_definitions: OpenDefinitions,
    zookeeper: str,
    listen: str,
    allowed_host: tuple[str, ...],
    insecure_http: bool,
    root: str,
    token_file: Path | None,
    host: str,
    session_timeout: float,
    log_format: str,
) -> None:
    """Create, change and steer tasks over HTTP; `replicator task` talks to it.

    It validates what it is given and writes it to ZooKeeper, where the Cores see it; it never talks to a Core. Every
    request but health needs the token in the token file. It starts without ZooKeeper too, and answers 503 until then.
    """
    with loading():
        from replicator.telemetry.http import Listen
        from server.process import run  # half a second, for which no help has to wait

    where = Listen(listen, allowed_host, insecure_http)
    run(zookeeper, where, root, token_file, host, session_timeout, log_format, open_definitions)
