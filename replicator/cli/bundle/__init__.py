"""`replicator bundle`: collects what support needs into one ZIP file."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import click

from replicator.cli import options
from replicator.cli.bundle import host
from replicator.cli.bundle.archive import BundleFile
from replicator.cli.bundle.checks import checked
from replicator.cli.bundle.log_lines import add_log_lines
from replicator.cli.bundle.parts import Parts
from replicator.cli.bundle.server import ServerParts
from replicator.cli.bundle.tree import TreeParts
from replicator.cli.cluster.connection import connected
from replicator.cli.task.client import Client, find_token
from replicator.cli.task.options import server_options
from replicator.cli.terminal import clean
from replicator.coordination.layout import Layout, escape
from replicator.errors import CoordinationError, ProcessError
from replicator.host.addresses import parse_ensemble

_MOST_TASKS = 200
_MOST_CHECKS = 5
_CONNECT_SECONDS = 5.0
_HEAD = """Support bundle of mysql-replicator, {when}.
Secrets of configurations are references; whatever else looks like a secret is replaced by ***."""


@click.command("bundle", short_help="Collect what support needs into a file.")
@click.argument("tasks", nargs=-1, metavar="[TASK]...")
@options.zookeeper(required=False)
@server_options
@click.option(
    "--via-server",
    is_flag=True,
    help="Collect through the API of the Server (--server, or that of the context) instead of from ZooKeeper.",
)
@click.option(
    "--file",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write; default: replicator-bundle-TIME.zip in the current directory.",
)
@click.option("--url", "urls", multiple=True, metavar="URL", help="Address of a Server or Monitor; repeatable.")
@click.option(
    "--log",
    "logs",
    multiple=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Log file of this host, of which the last 512 kB are included; repeatable.",
)
@click.option("--host", "hosts", multiple=True, metavar="HOST", help="Only log lines of this host; repeatable.")
def command(
    tasks: tuple[str, ...],
    zookeeper: str | None,
    root: str,
    session_timeout: float,
    server: str,
    token_file: Path | None,
    via_server: bool,
    path: Path | None,
    urls: tuple[str, ...],
    logs: tuple[Path, ...],
    hosts: tuple[str, ...],
) -> None:
    """Collect versions, configurations, statuses, problems, histories, machine reports, last log lines of all processes
    that are online, sizes of znodes and figures of ZooKeeper, of all tasks or of those that are named, into one ZIP
    file of mode 0600.

    With --via-server, the role of the login decides what is in it: a viewer gets no log lines, a login with a selector
    only its tasks.

    Tasks that are named, up to five, are also checked (`replicator check`), for 10 s each at most.

    What cannot be collected is listed in the README of the file. Nothing is changed, and nothing is sent anywhere. Log
    lines of other hosts pass through ZooKeeper, where they are removed again.
    """
    if zookeeper is None and not via_server:
        raise click.UsageError("Give --zookeeper, or --via-server.")
    bundle = BundleFile()
    bundle.add("versions.json", "Versions of Python and of all packages on this host.", host.versions)
    bundle.add("host.json", "Time, load and limits of this host.", host.host)
    _add_files(bundle, urls, logs)
    if zookeeper is not None:
        _add_ensemble(bundle, zookeeper)
    try:
        if via_server:
            with Client(server, find_token(token_file, server)) as client:
                _add_bus(bundle, ServerParts(client), tasks, hosts)
        elif zookeeper is not None:
            with connected(zookeeper, root, session_timeout, _CONNECT_SECONDS) as coordinator:
                tree = TreeParts(coordinator, Layout(root))
                bundle.add("zookeeper/znodes.tsv", "Size, children and version of each znode.", tree.sizes)
                _add_bus(bundle, tree, tasks, hosts)
    except (CoordinationError, ProcessError) as error:
        bundle.note("tasks", error)
    now = time.gmtime()
    path = path or Path(time.strftime("replicator-bundle-%Y%m%dT%H%M%SZ.zip", now))
    bundle.write(path, _HEAD.format(when=time.strftime("%Y-%m-%d %H:%M:%S UTC", now)))
    for note in bundle.failed:
        click.echo(f"not collected: {clean(note)}", err=True)
    click.echo(clean(str(path)))


def _add_ensemble(bundle: BundleFile, zookeeper: str) -> None:
    for server in parse_ensemble(zookeeper).servers:
        for word in ("srvr", "mntr"):
            name = f"zookeeper/{escape(server.host)}-{server.port}-{word}.txt"
            meaning = f"Answer of the ZooKeeper server to `{word}`."
            bundle.add(name, meaning, partial(host.zookeeper_command, server, word))


def _add_files(bundle: BundleFile, urls: tuple[str, ...], logs: tuple[Path, ...]) -> None:
    for number, log in enumerate(logs, 1):
        name = f"logs/{number}-{escape(log.name)}"
        bundle.add(name, f"The last lines of {log}.", partial(host.log_tail, log))
    for number, url in enumerate(urls, 1):
        for page in ("metrics", "healthz"):
            address = f"{url.rstrip('/')}/{page}"
            bundle.add(f"http/{number}-{page}.txt", f"Answer of {address}.", partial(host.page, address))


def _add_bus(bundle: BundleFile, parts: Parts, tasks: tuple[str, ...], hosts: tuple[str, ...]) -> None:
    bundle.add("machines.json", "Report of each Core: vitals, and the live figures of its tasks.", parts.machines)
    histories: list[Any] = []

    def history(name: str) -> Any:
        histories.append(found := parts.history(name))
        return found

    for name in tasks or parts.names()[:_MOST_TASKS]:  # of one that does not exist, each part is noted
        folder = f"tasks/{escape(name)}"
        for file, meaning, make in (
            ("overview.json", "State, instances, position, problems.", parts.task),
            ("configuration.json", "Configuration.", parts.configuration),
            ("history.json", "What happened, newest last.", history),
            ("positions.json", "Where the task was, newest last.", parts.positions),
        ):
            bundle.add(f"{folder}/{file}", meaning, partial(make, name))
    add_log_lines(bundle, parts, hosts, histories)
    for name in tasks[:_MOST_CHECKS]:
        meaning = "Findings of `replicator check` on this host, with the secrets that it has."
        bundle.add(f"tasks/{escape(name)}/check.json", meaning, partial(_checked, parts, name))


def _checked(parts: Parts, name: str) -> Any:
    return checked(parts.configuration(name))
