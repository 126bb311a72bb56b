"""The machines: one ephemeral znode per Core or agent process, with its status and the figures of all its tasks."""

from __future__ import annotations

import msgspec

from replicator.coordination.layout import Layout, escape, unescape
from replicator.coordination.machines.payload import pack, unpack
from replicator.coordination.ports import Coordinator, Stat, Watcher
from replicator.coordination.records import MachineRecord
from replicator.errors import CoordinationError, NodeExists, NodeMissing


class MachineNode(msgspec.Struct, frozen=True):
    """A process that is online. `name`: its host name, or `HOST~xxxx` for a second process of that name;
    `owner`: its session; `record` None: its content is not understood. `stat`: of the node; `age_s`: seconds since the
    record was written, see `ReportAges`."""

    name: str
    owner: int
    record: MachineRecord | None
    stat: Stat | None = None
    age_s: float = 0.0


class Machines:
    """Of Cores. `agents`: those of agents instead, which are apart: their identity has no rights to nodes by which
    Cores decide, and nothing that they report is used in a decision."""

    def __init__(self, coordinator: Coordinator, layout: Layout, *, agents: bool = False) -> None:
        self._coordinator = coordinator
        self._parent = layout.agents if agents else layout.machines
        self._what = "agent" if agents else "Core"

    def _path(self, name: str) -> str:
        return f"{self._parent}/{escape(name)}"

    def publish(self, name: str, record: MachineRecord) -> None:
        """Writes our own node, and makes it again when somebody deleted it.

        Raises NodeExists E5002 when the name belongs to another session: nothing is written then.
        """
        path = self._path(name)
        stat = self._coordinator.exists(path)
        if stat is None:
            self._create(path, name, record)
        elif stat.owner == self._coordinator.session_id:
            self._set(path, name, record)
        else:
            raise self._taken(name, self.read(name))

    def _create(self, path: str, name: str, record: MachineRecord) -> None:
        try:
            self._coordinator.create(path, pack(record), ephemeral=True, parents=True)
        except NodeExists:
            present = self.read(name)
            if present is None or present.owner != self._coordinator.session_id:
                raise self._taken(name, present) from None
            # another thread of ours was faster

    def _set(self, path: str, name: str, record: MachineRecord) -> None:
        try:
            self._coordinator.set(path, pack(record))
        except NodeMissing:
            self._create(path, name, record)

    def read(self, name: str, watch: Watcher | None = None) -> MachineNode | None:
        path = self._path(name)
        try:
            node = self._coordinator.get(path, watch)
        except NodeMissing:
            return None
        try:
            return MachineNode(name, node.stat.owner, unpack(node.data, path), node.stat)
        except CoordinationError:
            return MachineNode(name, node.stat.owner, None, node.stat)

    def list(self, watch: Watcher | None = None) -> list[MachineNode]:
        """All that are online. `watch` fires when one comes or goes, not at each of their writes."""
        try:
            children = self._coordinator.children(self._parent, watch)
        except NodeMissing:
            return []
        found = [self.read(unescape(child)) for child in children]
        return sorted((machine for machine in found if machine is not None), key=lambda machine: machine.name)

    def stats(self) -> dict[str, Stat]:
        """Of the nodes of all that are online, by name."""
        try:
            names = self._coordinator.children(self._parent)
        except NodeMissing:
            return {}
        found = {name: self._coordinator.exists(f"{self._parent}/{name}") for name in names}
        return {unescape(name): stat for name, stat in found.items() if stat is not None}

    def withdraw(self, name: str) -> None:
        """Deletes our own node. Fine when it is gone."""
        machine = self.read(name)
        if machine is not None and machine.owner == self._coordinator.session_id:
            self._coordinator.delete(self._path(name))

    def _taken(self, name: str, machine: MachineNode | None) -> NodeExists:
        record = machine.record if machine else None
        found = f"process {record.pid} ({record.process[:8]})" if record else "a session of another process"
        return NodeExists("E5002", f"another {self._what} has the name '{name}'", found=found)
