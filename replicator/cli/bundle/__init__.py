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
from replicator.cli.bundle.tree import TreeParts
from replicator.cli.cluster.connection import connected
from replicator.cli.terminal import clean
from replicator.coordination.layout import Layout, escape
from replicator.coordination.ports import Coordinator
from replicator.errors import CoordinationError
from replicator.host.addresses import parse_ensemble

_MOST_TASKS = 200
_MOST_CHECKS = 5
_CONNECT_SECONDS = 5.0
_HEAD = """Support bundle of mysql-replicator, {when}.
Secrets of configurations are references; whatever else looks like a secret is replaced by ***."""


@click.command("bundle", short_help="Collect what support needs into a file.")
@click.argument("tasks", nargs=-1, metavar="[TASK]...")
@options.zookeeper()
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
    help="Log file, of which the last 512 kB are included; repeatable.",
)
def command(
    tasks: tuple[str, ...],
    zookeeper: str,
    root: str,
    session_timeout: float,
    path: Path | None,
    urls: tuple[str, ...],
    logs: tuple[Path, ...],
) -> None:
    """Collect versions, configurations, statuses, problems, histories, machine reports, sizes of znodes and figures of
    ZooKeeper, of all tasks or of those that are named, into one ZIP file of mode 0600.

    Tasks that are named, up to five, are also checked (`replicator check`), for 10 s each at most.

    What cannot be collected is listed in the README of the file. Nothing is changed, and nothing is sent anywhere.
    """
    bundle = BundleFile()
    bundle.add("versions.json", "Versions of Python and of all packages on this host.", host.versions)
    bundle.add("host.json", "Time, load and limits of this host.", host.host)
    _add_files(bundle, urls, logs)
    for server in parse_ensemble(zookeeper).servers:
        for word in ("srvr", "mntr"):
            name = f"zookeeper/{escape(server.host)}-{server.port}-{word}.txt"
            meaning = f"Answer of the ZooKeeper server to `{word}`."
            bundle.add(name, meaning, partial(host.zookeeper_command, server, word))
    try:
        with connected(zookeeper, root, session_timeout, _CONNECT_SECONDS) as coordinator:
            _add_tree(bundle, coordinator, Layout(root), tasks)
    except CoordinationError as error:
        bundle.note("tasks", error)
    now = time.gmtime()
    path = path or Path(time.strftime("replicator-bundle-%Y%m%dT%H%M%SZ.zip", now))
    bundle.write(path, _HEAD.format(when=time.strftime("%Y-%m-%d %H:%M:%S UTC", now)))
    for note in bundle.failed:
        click.echo(f"not collected: {clean(note)}", err=True)
    click.echo(clean(str(path)))


def _add_files(bundle: BundleFile, urls: tuple[str, ...], logs: tuple[Path, ...]) -> None:
    for number, log in enumerate(logs, 1):
        name = f"logs/{number}-{escape(log.name)}"
        bundle.add(name, f"The last lines of {log}.", partial(host.log_tail, log))
    for number, url in enumerate(urls, 1):
        for page in ("metrics", "healthz"):
            address = f"{url.rstrip('/')}/{page}"
            bundle.add(f"http/{number}-{page}.txt", f"Answer of {address}.", partial(host.page, address))


def _add_tree(bundle: BundleFile, coordinator: Coordinator, layout: Layout, tasks: tuple[str, ...]) -> None:
    tree = TreeParts(coordinator, layout)
    bundle.add("machines.json", "Report of each Core: vitals, and the live figures of its tasks.", tree.machines)
    bundle.add("zookeeper/znodes.tsv", "Size, children and version of each znode.", tree.sizes)
    for name in tasks or tree.names()[:_MOST_TASKS]:  # of one that does not exist, each part is noted
        folder = f"tasks/{escape(name)}"
        for file, meaning, make in (
            ("overview.json", "State, instances, position, problems.", tree.task),
            ("configuration.json", "Configuration.", tree.configuration),
            ("history.json", "What happened, newest last.", tree.history),
            ("positions.json", "Where the task was, newest last.", tree.positions),
        ):
            bundle.add(f"{folder}/{file}", meaning, partial(make, name))
    for name in tasks[:_MOST_CHECKS]:
        meaning = "Findings of `replicator check` on this host, with the secrets that it has."
        bundle.add(f"tasks/{escape(name)}/check.json", meaning, partial(_checked, tree, name))


def _checked(tree: TreeParts, name: str) -> Any:
    return checked(tree.configuration(name))
