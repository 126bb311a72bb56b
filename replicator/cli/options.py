"""Options that several commands share, with the same name and help text."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

import click

from replicator.cli.address_types import ZOOKEEPER
from replicator.coordination.layout import DEFAULT_ROOT
from replicator.coordination.ports import DEFAULT_SESSION_TIMEOUT
from replicator.telemetry.listen import (
    MAX_CONNECTIONS,
    MAX_CONNECTIONS_PER_ADDRESS,
    ClientCertificates,
    Limits,
    Listen,
    TlsFiles,
)

F = TypeVar("F", bound=Callable[..., Any])


def zookeeper(meaning: str = "Requested session timeout in seconds.", *, required: bool = True) -> Callable[[F], F]:
    """--zookeeper, its login, --root and --session-timeout of a process; `meaning`: of the timeout."""

    def add(command: F) -> F:
        command = zookeeper_access(command)
        for option in (
            click.option(
                "--session-timeout",
                default=DEFAULT_SESSION_TIMEOUT,
                show_default=True,
                type=click.FloatRange(1, 300),
                help=meaning,
            ),
            click.option("--root", default=DEFAULT_ROOT, show_default=True, help="Root znode of the bus."),
            click.option(
                "--zookeeper",
                required=required,
                type=ZOOKEEPER,
                envvar="REPLICATOR_ZOOKEEPER",
                show_envvar=True,
            ),
        ):
            command = option(command)
        return command

    return add


def zookeeper_access(command: F) -> F:
    """Login and TLS. They go into the environment, where the process finds them (`zookeeper.access`)."""
    for name, meaning, kind in reversed(_ACCESS):
        command = click.option(
            f"--zookeeper-{name}",
            envvar=f"REPLICATOR_ZOOKEEPER_{name.replace('-', '_').upper()}",
            show_envvar=True,
            expose_value=False,
            callback=_keep,
            type=kind,
            help=meaning,
        )(command)
    return click.option(
        "--insecure-zookeeper",
        is_flag=True,
        envvar="REPLICATOR_ZOOKEEPER_INSECURE",
        show_envvar=True,
        expose_value=False,
        callback=_keep,
        help="Connect to other machines without TLS and login, and to a root without identities.",
    )(command)


_FILE = click.Path(dir_okay=False, path_type=Path)
_ACCESS: list[tuple[str, str, click.ParamType[Any]]] = [
    ("config", "File with login and TLS of ZooKeeper, mode 0600.", _FILE),
    ("login", "Kind of login.", click.Choice(["digest", "sasl"])),
    ("user", "User of the login.", click.STRING),
    ("password-file", "File with the password, mode 0600; or REPLICATOR_ZOOKEEPER_PASSWORD.", _FILE),
    ("ca", "PEM file with the authorities that sign ZooKeeper's certificates; switches TLS on.", _FILE),
    ("cert", "PEM file with the certificate of this client.", _FILE),
    ("key", "PEM file with its key, mode 0600.", _FILE),
]


def _keep(context: click.Context, option: click.Parameter, value: Any) -> None:
    variable = str(option.envvar)
    if value is True:
        os.environ[variable] = "1"
    elif isinstance(value, Path):
        os.environ[variable] = str(value.absolute())
    elif value:
        os.environ[variable] = str(value)


_PEM = click.Path(dir_okay=False, path_type=Path)


def listen(default: str) -> Callable[[F], F]:
    """--listen, --allowed-host, --insecure-http, --tls-... and --max-connections... of a process that answers HTTP. The
    command gets them as one `listen`."""

    def add(command: F) -> F:
        @functools.wraps(command)
        def gathered(*args: Any, **kwargs: Any) -> Any:
            return command(*args, listen=_listen(kwargs), **kwargs)

        for option in (
            _of_process(
                "--max-connections-per-address",
                f"Maximum number of connections of one client address; default: {MAX_CONNECTIONS_PER_ADDRESS}. "
                "This machine's own address is not limited.",
                type=click.IntRange(1, 100_000),
            ),
            _of_process(
                "--max-connections",
                f"Maximum number of connections; default: {MAX_CONNECTIONS}.",
                type=click.IntRange(1, 100_000),
            ),
            _of_process(
                "--tls-client-certificates",
                "With --tls-client-ca: whether clients need a certificate; default: required.",
                type=click.Choice(get_args(ClientCertificates)),
            ),
            _of_process(
                "--tls-client-ca", "Authorities (PEM) that the certificates of clients are verified with.", type=_PEM
            ),
            _of_process("--tls-key", "Key of --tls-certificate (PEM), mode 600.", type=_PEM),
            _of_process(
                "--tls-certificate",
                "Certificate (PEM) with its chain: listen with HTTPS. Changed files are read without a restart.",
                type=_PEM,
            ),
            click.option(
                "--insecure-http",
                is_flag=True,
                envvar="REPLICATOR_INSECURE_HTTP",
                show_envvar=True,
                help="Allow other addresses than loopback although traffic is not encrypted.",
            ),
            click.option(
                "--allowed-host",
                multiple=True,
                metavar="NAME",
                envvar="REPLICATOR_ALLOWED_HOST",
                show_envvar=True,
                help="Additional name accepted in the Host header, such as that of a proxy; repeatable.",
            ),
            click.option(
                "--listen",
                default=default,
                show_default=True,
                metavar="HOST:PORT",
                help="Address to listen on; port 0 selects a free port.",
            ),
        ):
            gathered = option(gathered)
        return cast(F, gathered)

    return add


def _of_process(name: str, meaning: str, **more: Any) -> Callable[[F], F]:
    variable = f"REPLICATOR_{name.lstrip('-').replace('-', '_').upper()}"
    return click.option(name, envvar=variable, show_envvar=True, help=meaning, **more)


def _listen(given: dict[str, Any]) -> Listen:
    """Takes its options out of `given`."""
    where, allowed, insecure = (given.pop(name) for name in ("listen", "allowed_host", "insecure_http"))
    names = ("tls_certificate", "tls_key", "tls_client_ca", "tls_client_certificates")
    certificate, key, client_ca, wanted = (given.pop(name) for name in names)
    most, most_per_address = given.pop("max_connections"), given.pop("max_connections_per_address")
    limits = Limits(most or MAX_CONNECTIONS, most_per_address or MAX_CONNECTIONS_PER_ADDRESS)
    if (certificate is None) != (key is None):
        raise click.UsageError("--tls-certificate and --tls-key are given together.")
    if client_ca is not None and certificate is None:
        raise click.UsageError("--tls-client-ca requires --tls-certificate and --tls-key.")
    if wanted is not None and client_ca is None:
        raise click.UsageError("--tls-client-certificates requires --tls-client-ca.")
    tls = TlsFiles(certificate, key, client_ca, wanted or "required") if certificate is not None else None
    return Listen(where, allowed, insecure, tls, limits)


log_format = click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
