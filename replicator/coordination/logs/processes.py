"""Processes that are online, of every kind, with the ids by which they are asked for their log lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from replicator.coordination.layout import Layout, parse_contender
from replicator.coordination.machines.machines import Machines
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import ListenerRecord, MonitorRecord, ServerRecord, load
from replicator.errors import CoordinationError, NodeMissing

Kind: TypeAlias = Literal["core", "server", "monitor"]


class Process(NamedTuple):
    """`id`: of this process, "" for one whose node can't be read; `name`: of the machine, `HOST~xxxx` for a second Core
    of a host; `address`: where it listens, "" for a Core."""

    kind: Kind
    name: str
    pid: int
    id: str
    address: str = ""


class Listener(NamedTuple):
    process: Process
    record: ListenerRecord


def processes(coordinator: Coordinator, layout: Layout) -> list[Process]:
    found = [_core(coordinator, layout, name) for name in _names(coordinator, layout.machines)]
    found += [each.process for each in listeners(coordinator, layout)]
    return sorted(process for process in found if process is not None)


def _core(coordinator: Coordinator, layout: Layout, child: str) -> Process | None:
    node = Machines(coordinator, layout).read(layout.task_name(child))
    if node is None:
        return None
    record = node.record
    return Process("core", node.name, record.pid if record else 0, record.process if record else "")


def listeners(coordinator: Coordinator, layout: Layout) -> Iterator[Listener]:
    """Servers and Monitors. Nodes that can't be read are left out."""
    kinds: tuple[tuple[Kind, str, type[ListenerRecord]], ...] = (
        ("server", layout.servers, ServerRecord),
        ("monitor", layout.monitors, MonitorRecord),
    )
    for kind, parent, form in kinds:
        for child in _names(coordinator, parent):
            contender, path = parse_contender(child), f"{parent}/{child}"
            if contender is None:
                continue
            try:
                record = load(form, coordinator.get(path).data, path)
            except CoordinationError as error:
                if error.transient:
                    raise
                continue
            process = Process(kind, record.host, record.pid, contender.guid, record.address)
            yield Listener(process, record)


def _names(coordinator: Coordinator, path: str) -> list[str]:
    try:
        return coordinator.children(path)
    except NodeMissing:
        return []
