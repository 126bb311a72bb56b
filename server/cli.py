"""`replicator server`: starts the Server and serves until SIGTERM or Ctrl-C."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING

import click

from replicator.cli import host_options, options
from replicator.cli.loading import loading
from replicator.cli.stop import ProcessCommand, add_stop, pid_file_option
from replicator.telemetry.listen import Listen

if TYPE_CHECKING:
    from server.table_definitions import OpenDefinitions

DEFAULT_LISTEN = "127.0.0.1:8080"


@add_stop("server", named=True)
@click.command("server", cls=ProcessCommand, short_help="Run the Server: the HTTP API that creates and controls tasks.")
@options.zookeeper()
@options.listen(DEFAULT_LISTEN)
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="REPLICATOR_TOKEN_FILE",
    show_envvar=True,
    help=("File with the token, created if missing; default: server.token in ~/.local/state/mysql-replicator."),
)
@click.option(
    "--audit-file",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="REPLICATOR_AUDIT_FILE",
    show_envvar=True,
    help="Also append the audit to this file, as JSON lines; created with mode 0600.",
)
@click.option(
    "--oidc",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="REPLICATOR_OIDC",
    show_envvar=True,
    help="File with the identity provider whose tokens are accepted; see `replicator docs security`.",
)
@click.option(
    "--certificate-logins",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="REPLICATOR_CERTIFICATE_LOGINS",
    show_envvar=True,
    help="File with the client certificates that are logins (with --tls-client-ca); see `replicator docs security`.",
)
@click.option("--host", default=socket.gethostname, help="Name of this Server in ZooKeeper; default: the host name.")
@pid_file_option
@host_options.cluster_key
@host_options.allow_outgoing
@options.log_format
@click.pass_obj
def command(
    open_definitions: OpenDefinitions,
    zookeeper: str,
    listen: Listen,
    root: str,
    token_file: Path | None,
    audit_file: Path | None,
    oidc: Path | None,
    certificate_logins: Path | None,
    host: str,
    session_timeout: float,
    pid_file: Path | None,
    log_format: str,
) -> None:
    """Run the HTTP API that creates and controls tasks. `replicator task` is its client.

    The Server validates configurations and commands and writes them to ZooKeeper, where the Cores read them; it never
    connects to a Core. Every request except the health check requires the token in the token file. The Server also
    starts while ZooKeeper is unavailable, and answers 503 until it is available.
    """
    if certificate_logins is not None and (listen.tls is None or listen.tls.client_ca is None):
        raise click.UsageError("--certificate-logins requires --tls-client-ca.")
    with loading():
        from server.process import run  # half a second, for which no help has to wait

    run(
        zookeeper,
        listen,
        root,
        token_file,
        audit_file,
        oidc,
        certificate_logins,
        host,
        session_timeout,
        pid_file,
        log_format,
        open_definitions,
    )
