"""Reads groups and drained hosts for those who show them: each group once, and only where it is asked for."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from replicator.coordination.groups.drained import Drained
from replicator.coordination.groups.groups import GroupNode, Groups
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import GroupRecord
from replicator.errors import CoordinationError, NodeMissing


class KnownGroups:
    """Groups at one time."""

    def __init__(self, read: Callable[[str], GroupNode], drained: Callable[[], frozenset[str]]) -> None:
        self._read, self._read_drained = read, drained
        self._nodes: dict[str, GroupNode] = {}
        self._drained: frozenset[str] | None = None

    @property
    def drained(self) -> frozenset[str]:
        if self._drained is None:
            self._drained = self._read_drained()
        return self._drained

    def of(self, group: str) -> GroupNode | None:
        """None for no group. Raises NotConnected, and CoordinationError E4009/E4010 where it can't be read."""
        if group and group not in self._nodes:
            self._nodes[group] = self._read(group)
        return self._nodes.get(group)


class GroupReader:
    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._groups, self._drained = Groups(coordinator, layout), Drained(coordinator, layout)

    def names(self) -> list[str]:
        return self._groups.names()

    def read(self, group: str) -> GroupNode:
        """Raises CoordinationError E4009/E4010 where it can't be read."""
        return self._groups.read(group)

    def find(self, group: str) -> GroupNode:
        """Without places where it can't be read: the Cores and the tasks say why."""
        try:
            return self.read(group)
        except CoordinationError as error:
            if error.transient:
                raise
            return GroupNode(group, GroupRecord(), -1, {})

    def drained(self) -> frozenset[str]:
        with contextlib.suppress(NodeMissing):
            return self._drained.hosts()
        return frozenset()
