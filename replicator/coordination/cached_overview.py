"""The overview from a cache, for processes that show it again and again: what does not change is neither asked for nor
decoded again."""

from __future__ import annotations

import contextlib
from functools import partial

from replicator.coordination.groups.groups import GroupNode
from replicator.coordination.layout import Layout, escape
from replicator.coordination.machines.machines import MachineNode, Machines
from replicator.coordination.overview import Overview, Stored, TaskOverview
from replicator.coordination.ports import Coordinator, Watcher
from replicator.coordination.tree_cache import TreeCache
from replicator.errors import NodeMissing


class _CachedMachines(Machines):
    def __init__(self, cache: TreeCache, layout: Layout, *, agents: bool = False) -> None:
        super().__init__(cache, layout, agents=agents)
        self._cache = cache
        self._kind = "agent" if agents else "machine"

    def read(self, name: str, watch: Watcher | None = None) -> MachineNode | None:
        """A record is decoded once: with 1,000 tasks that takes milliseconds."""
        if watch is not None:
            return super().read(name, watch)
        return self._cache.derived((self._kind, name), lambda: super(_CachedMachines, self).read(name))


class CachedOverview(Overview):
    """Call `catch_up` before the reads of one answer: they then return nothing that is older."""

    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self.cache = TreeCache(coordinator, layout.root)
        super().__init__(self.cache, layout)
        self._layout = layout
        self._uncached = Machines(coordinator, layout)
        self._uncached_agents = Machines(coordinator, layout, agents=True)
        self._machines = _CachedMachines(self.cache, layout)
        self._agents = _CachedMachines(self.cache, layout, agents=True)
        self._names: list[str] = []

    def catch_up(self, max_age_s: float = 0.0) -> None:
        """Raises NotConnected."""
        self.cache.catch_up(max_age_s=max_age_s)

    def watch_reports(self) -> None:
        """Without the records, of which a cache would read each one again."""
        self._ages.see(self._uncached.stats())
        self._agent_ages.see(self._uncached_agents.stats())

    def names(self) -> list[str]:
        """All tasks, sorted. Nothing is created where there is none, as a Monitor may not."""
        with contextlib.suppress(NodeMissing):
            return self._kept(self._registry.present_names())
        return self._kept([])

    def _kept(self, names: list[str]) -> list[str]:
        if names != self._names:
            self._names = names
            self.cache.keep_below(self._layout.tasks, {escape(name) for name in names})
        return names

    def tasks(self, machines: list[MachineNode] | None = None) -> list[TaskOverview]:
        self.cache.warm({("task", name): partial(self._read_stored, name) for name in self.names()})
        return super().tasks(machines)

    def deleted(self, name: str) -> bool:
        """Whether the task is to be removed, see `Registry.is_deleted`."""
        return self.cache.derived(("deleted", name), lambda: self._registry.is_deleted(name))

    def _stored(self, name: str) -> Stored:
        return self.cache.derived(("task", name), lambda: self._read_stored(name))

    def _group(self, name: str) -> GroupNode:
        return self.cache.derived(("group", name), lambda: super(CachedOverview, self)._group(name))

    def _read_stored(self, name: str) -> Stored:
        return super()._stored(name)
