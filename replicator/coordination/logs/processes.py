"""Processes that are online, of every kind, with the ids by which they are asked for their log lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from replicator.coordination.layout import Layout, parse_contender, unescape
from replicator.coordination.machines.payload import unpack
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import ListenerRecord, MonitorRecord, ServerRecord, load
from replicator.errors import CoordinationError, NodeMissing

Kind: TypeAlias = Literal["core", "agent", "server", "monitor"]


class Process(NamedTuple):
    """`id`: of this process, "" for one whose node can't be read; `name`: of the machine, `HOST~xxxx` for a second Core
    of a host; `address`: where it listens, "" for a Core or an agent."""

    kind: Kind
    name: str
    pid: int
    id: str
    address: str = ""


class Listener(NamedTuple):
    process: Process
    record: ListenerRecord


def processes(coordinator: Coordinator, layout: Layout) -> list[Process]:
    kinds: tuple[tuple[Kind, str], ...] = (("core", layout.machines), ("agent", layout.agents))
    machines = (
        _machine(kind, unescape(child), path, data)
        for kind, parent in kinds
        for child, path, data in _nodes(coordinator, parent)
    )
    return sorted((*machines, *(each.process for each in listeners(coordinator, layout))))


def _machine(kind: Kind, name: str, path: str, data: bytes) -> Process:
    try:
        record = unpack(data, path)
    except CoordinationError:
        return Process(kind, name, 0, "")
    return Process(kind, name, record.pid, record.process)


def listeners(coordinator: Coordinator, layout: Layout) -> Iterator[Listener]:
    """Servers and Monitors. Nodes that can't be read are left out."""
    kinds: tuple[tuple[Kind, str, type[ListenerRecord]], ...] = (
        ("server", layout.servers, ServerRecord),
        ("monitor", layout.monitors, MonitorRecord),
    )
    for kind, parent, form in kinds:
        for child, path, data in _nodes(coordinator, parent):
            contender = parse_contender(child)
            if contender is None:
                continue
            try:
                record = load(form, data, path)
            except CoordinationError:
                continue
            process = Process(kind, record.host, record.pid, contender.guid, record.address)
            yield Listener(process, record)


def _nodes(coordinator: Coordinator, parent: str) -> Iterator[tuple[str, str, bytes]]:
    """Name, path and content of each child; read together, as there may be a thousand machines."""
    try:
        names = coordinator.children(parent)
    except NodeMissing:
        return
    paths = [f"{parent}/{name}" for name in names]
    for name, path, node in zip(names, paths, coordinator.get_many(paths), strict=True):
        if node is not None:
            yield name, path, node.data
