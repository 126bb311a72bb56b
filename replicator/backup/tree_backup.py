"""Writes the backup of a tree into a file."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from replicator.backup.archive import Manifest, Writer
from replicator.backup.nodes import SavedPart
from replicator.backup.reading import TreeReader
from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import InstallationRecord, load


def back_up(
    coordinator: Coordinator,
    layout: Layout,
    path: Path,
    *,
    logins: bool = False,
    sleep: Callable[[float], object] = time.sleep,
) -> Manifest:
    """Raises NodeMissing (no such root), ProcessError E5100, E5101, E5105; NotConnected. The file that was there before
    stays unless everything was read."""
    begun, reader = now_ms(), TreeReader(coordinator, layout, sleep)
    with Writer(path) as writer:
        cluster = reader.cluster(logins=logins)
        writer.add(cluster)
        for name in reader.tasks():
            part = reader.task(name)
            if part is not None:
                writer.add(part)
        return writer.finish(
            created_ms=begun,
            version=_version(),
            root=layout.root,
            installation=installation_of(cluster, layout),
            zxid=reader.found.zxid,
            logins=logins,
        )


def installation_of(cluster: SavedPart, layout: Layout) -> str:
    node = cluster.find(layout.installation.removeprefix(f"{layout.root}/"))
    return load(InstallationRecord, node.data, layout.installation).id if node is not None else ""


def _version() -> str:
    try:
        return version("mysql-replicator")
    except PackageNotFoundError:
        return ""
