"""A site whose Cores belong to groups, over the coordinator in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from replicator.coordination.groups.drained import Drained
from replicator.coordination.groups.groups import Groups
from replicator.coordination.in_memory.coordinator import MemoryCoordinator, MemoryEnsemble
from tests.support.agents import RunningAgent
from tests.support.site import Site
from tests.support.waiting import eventually

TIMEOUT = 1.0
GROUP = "blue"


class GroupSite(Site):
    def __init__(self) -> None:
        self.ensemble = MemoryEnsemble()
        super().__init__(lambda: self.ensemble.session(TIMEOUT))
        self.killed: list[RunningAgent] = []
        self.groups, self.drained = Groups(self.admin, self.layout), Drained(self.admin, self.layout)

    def core(self, host: str, capacity: int = 10, group: str = GROUP) -> RunningAgent:
        return self.start(host, group=group, capacity=capacity)

    def add(self, *names: str, group: str = GROUP, **keys: Any) -> None:
        for name in names:
            self.registry.create(name, {"name": name, "group": group, "standbys": 0} | keys, "test")

    def change(self, name: str, **keys: Any) -> None:
        node = self.registry.read(name)
        self.registry.configure(name, {**(node.record.config or {}), **keys}, "test", node.version)

    def placed(self, group: str = GROUP) -> dict[str, tuple[str, ...]]:
        return self.groups.read(group).record.placed

    def where(self, *names: str) -> dict[str, str]:
        """The host that each task runs on, "" for none."""
        views = {name: self.task(name) for name in names}
        return {name: view.host if view.state == "running" else "" for name, view in views.items()}

    def until(self, wanted: Callable[[dict[str, str]], bool], *names: str) -> dict[str, str]:
        def there() -> dict[str, str] | None:
            found = self.where(*names)
            return found if wanted(found) else None

        return eventually(there, 20)

    def kill(self, agent: RunningAgent) -> None:
        """Nothing of it reaches the servers any more, until its session has expired."""
        session = agent.coordinator.session_id
        coordinator(agent).silence()

        def expired() -> bool:
            self.ensemble.expire_overdue()
            return not self.ensemble.alive(session)

        eventually(expired)
        self.killed.append(agent)

    def close(self) -> None:
        for agent in self.killed:
            coordinator(agent).hear()
        super().close()


def coordinator(agent: RunningAgent) -> MemoryCoordinator:
    assert isinstance(agent.coordinator, MemoryCoordinator)
    return agent.coordinator


def spread(found: dict[str, str]) -> bool:
    """Every task runs."""
    return all(found.values())
