"""A site under test: servers, an operator's session, and Core agents with plain objects for workers."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from kazoo.client import KazooClient

from replicator.coordination.in_memory.coordinator import MemoryCoordinator, MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.machines.machines import Machines
from replicator.coordination.overview import Overview, TaskOverview
from replicator.coordination.ports import Coordinator
from replicator.coordination.tasks.commands import Commands
from replicator.coordination.tasks.history import History
from replicator.coordination.tasks.registry import Registry
from replicator.coordination.tasks.status import Status
from replicator.errors import NotConnected
from replicator.zookeeper.client import ZookeeperCoordinator, connect
from tests.support.agents import FakeWorker, RunningAgent
from tests.support.waiting import eventually

TASK = "copy"
TIMEOUT = 2.0


def end_session(coordinator: Coordinator) -> None:
    """The servers end this session and the client finds out."""
    if isinstance(coordinator, MemoryCoordinator):
        coordinator.expire()
        return
    assert isinstance(coordinator, ZookeeperCoordinator)
    twin = KazooClient(coordinator.hosts, client_id=coordinator._client.client_id, timeout=TIMEOUT)
    twin.start()
    twin.stop()
    twin.close()


def sessions_of(request: pytest.FixtureRequest) -> Callable[[], Coordinator]:
    """Makes sessions of the parameter of a fixture: "memory", or "zookeeper" with a real one."""
    if request.param == "memory":
        ensemble = MemoryEnsemble()
        return lambda: ensemble.session(TIMEOUT)
    hosts = request.getfixturevalue("zookeeper").hosts
    return lambda: connect(hosts, TIMEOUT)


class Site:
    """Servers, an operator's session, and the Cores that a test starts."""

    def __init__(self, session: Callable[[], Coordinator]) -> None:
        self.session = session
        self.layout = Layout(f"/core-{uuid.uuid4().hex}")
        self.admin = session()
        self.registry = Registry(self.admin, self.layout)
        self.status = Status(self.admin, self.layout)
        self.commands = Commands(self.admin, self.layout)
        self.history = History(self.admin, self.layout)
        self.overview = Overview(self.admin, self.layout)
        self.machines = Machines(self.admin, self.layout)
        self.agents: list[RunningAgent] = []

    def start(self, host: str, *tasks: str, **part: Any) -> RunningAgent:
        return self.begin(host, *tasks, **part).up()

    def begin(self, host: str, *tasks: str, **part: Any) -> RunningAgent:
        """`part`: group and capacity."""
        agent = RunningAgent(self.session(), self.layout, host, tasks, **part)
        self.agents.append(agent)
        return agent

    def task(self, name: str = TASK) -> TaskOverview:
        return self.overview.task(name)

    def wait(self, host: str, state: str = "running", name: str = TASK, seconds: float = 15.0) -> TaskOverview:
        def there() -> TaskOverview | None:
            try:
                view = self.task(name)
            except NotConnected:
                return None
            return view if view.host == host and view.state == state else None

        return eventually(there, seconds)

    def worker(self, agent: RunningAgent, name: str = TASK) -> FakeWorker:
        return eventually(lambda: agent.launcher.of(name))

    def standing_by(self, count: int, name: str = TASK) -> list[str]:
        return eventually(
            lambda: (
                [entry.host for entry in self.task(name).standbys]
                if sum(entry.state == "standby" for entry in self.task(name).standbys) == count
                else None
            )
        )

    def kinds(self, name: str = TASK) -> list[str]:
        return [entry.record.kind for entry in self.history.read(name)]

    def fenced(self, host: str = "host-a") -> dict[str, int]:
        """What the Core of this host has counted."""
        machine = self.machines.read(host)
        return machine.record.counts.fenced if machine is not None and machine.record is not None else {}

    def close(self) -> None:
        for agent in self.agents:
            agent.agent.stop()
        for agent in self.agents:
            agent.stop()
        self.admin.close()
