"""Restores what does not belong to a task: the installation id, replica ids, maintenance, the audit and the like."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Final

import msgspec

from replicator.backup.archive import Backup
from replicator.backup.nodes import SavedNode, in_order, prefix
from replicator.backup.tree_backup import installation_of
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.recipes.fencing import raise_base
from replicator.coordination.recipes.records import FencingRecord, SequenceRecord
from replicator.coordination.recipes.sequences import restored
from replicator.coordination.records import GroupRecord, ReplicaIdRecord, dump, load
from replicator.errors import CoordinationError, NodeExists, VersionConflict

_GROUPS: Final = "task-groups/"
_TRIES: Final = 5


class SharedNodes:
    """A node that exists is never replaced, except the id of an installation without tasks."""

    def __init__(self, coordinator: Coordinator, layout: Layout, backup: Backup) -> None:
        self._coordinator = coordinator
        self._layout = layout
        self._part = backup.part("")
        self._zxid = backup.manifest.zxid

    def installation(self, present: str) -> None:
        """Before any task: names in Kafka have it. `present`: the tree's."""
        wanted, path = installation_of(self._part, self._layout), self._layout.installation
        if not wanted or wanted == present:
            return
        node = self._part.find(path[len(self._layout.root) + 1 :])
        assert node is not None  # noqa: S101 - it has the id
        if not present:
            with contextlib.suppress(NodeExists):
                self._coordinator.create(path, node.data, parents=True)
                return
        self._coordinator.set(path, node.data, self._coordinator.get(path).stat.version)

    def write(self, tasks: Sequence[str]) -> None:
        """`tasks`: if any, only their replica ids and pins. Ids and fencing tokens rise in any case."""
        names: dict[str, str] = {}
        known: dict[str, set[bytes]] = {}
        for node in in_order(self._part.nodes):
            path = f"{self._layout.root}/{node.path}"
            if path.startswith(f"{self._layout.sequences}/"):
                self._raise_sequence(path, node)
            elif node.path.startswith(_GROUPS) and node.path.count("/") == 1:
                self._pins(path, node, tasks)
            elif path != self._layout.fencing and (not tasks or self._is_of(node, tasks)):
                self._create(node, names, known)
        self._raise_fencing()

    def _pins(self, path: str, node: SavedNode, tasks: Sequence[str]) -> None:
        """Cores that run already have written the group's node: the pins of the backup are added to it. Those that were
        set since stay, and the Cores place the tasks again."""
        try:
            wanted = load(GroupRecord, node.data, path)
        except CoordinationError:
            return  # the Cores make another one
        pins = {task: host for task, host in wanted.pins.items() if not tasks or task in tasks}
        if tasks:
            wanted = GroupRecord(pins=pins)
        for _ in range(_TRIES if pins or not tasks else 0):
            with contextlib.suppress(NodeExists):
                self._coordinator.create(path, dump(wanted), parents=True)
                return
            present = self._coordinator.get(path)
            try:
                record = load(GroupRecord, present.data, path)
            except CoordinationError:
                return
            if not pins.keys() - record.pins.keys():
                return
            merged = msgspec.structs.replace(record, pins={**pins, **record.pins})
            with contextlib.suppress(VersionConflict):
                self._coordinator.set(path, dump(merged), present.stat.version)
                return

    def _raise_sequence(self, path: str, node: SavedNode) -> None:
        """Above all ids that were given out after the backup. Repeated, it leaves the counter as it is."""
        try:
            wanted = restored(load(SequenceRecord, node.data, path))
        except CoordinationError:
            return  # it had given out nothing
        with contextlib.suppress(NodeExists):
            self._coordinator.create(path, dump(wanted), parents=True)
            return
        present = self._coordinator.get(path)
        given = load(SequenceRecord, present.data, path).next if present.data else 0
        if given < wanted.next:
            self._coordinator.set(path, dump(wanted), present.stat.version)

    def _raise_fencing(self) -> None:
        node = self._part.find(self._layout.fencing.removeprefix(f"{self._layout.root}/"))
        before = load(FencingRecord, node.data, self._layout.fencing).above if node is not None and node.data else 0
        raise_base(self._coordinator, self._layout, self._zxid, before)

    def _create(self, node: SavedNode, names: dict[str, str], known: dict[str, set[bytes]]) -> None:
        """`names`: paths in the backup -> in the tree, as sequential nodes get new numbers. `known`: contents of
        sequential nodes, by their parents: an earlier run has written some of them."""
        parent = node.path.rpartition("/")[0]
        above = names.get(parent, f"{self._layout.root}/{parent}".rstrip("/"))
        path = f"{above}/{prefix(node)}"
        if not node.sequential:
            with contextlib.suppress(NodeExists):
                self._coordinator.create(path, node.data, parents=True)
            return
        if above not in known:
            children = [f"{above}/{child}" for child in self._coordinator.children(above)]
            known[above] = {found.data for found in self._coordinator.get_many(children) if found is not None}
        if node.data not in known[above]:
            made = self._coordinator.create(path, node.data, sequential=True)
            names[node.path] = made

    def _is_of(self, node: SavedNode, tasks: Sequence[str]) -> bool:
        path = f"{self._layout.root}/{node.path}"
        if not path.startswith(f"{self._layout.replica_ids}/"):
            return False
        try:
            return load(ReplicaIdRecord, node.data, path).task in tasks
        except CoordinationError:
            return False
