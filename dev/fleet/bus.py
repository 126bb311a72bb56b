"""The bus that is measured: ZooKeepers, Cores without data path, a Server, a Monitor."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dev.cluster import Cluster, wait_for
from dev.paths import TREE
from dev.servers import ZooKeeper
from dev.servers.ensembles import ZooKeeperEnsemble
from dev.servers.launch import launch
from replicator.config.load import parse_task, to_data
from replicator.coordination.cached_overview import CachedOverview
from replicator.coordination.layout import Layout
from replicator.coordination.tasks.registry import Registry
from replicator.zookeeper.client import connect

SESSION_SECONDS = 10.0
ROOT = "/fleet"


class FleetBus:
    """`blocks`: the names of the tasks that each Core leads; the next Core stands by for them."""

    def __init__(self, tasks: int, cores: int, zookeepers: int) -> None:
        self._open = contextlib.ExitStack()
        names = [f"task_{number:04d}" for number in range(tasks)]
        size = -(-tasks // cores)
        self.blocks = [names[at : at + size] for at in range(0, tasks, size)]
        self.ensemble = self._open.enter_context(ZooKeeperEnsemble(zookeepers))
        self.folder = Path(self._open.enter_context(tempfile.TemporaryDirectory(prefix="mysql-replicator-fleet-")))
        self.layout = Layout(ROOT)
        self.coordinator = connect(self.ensemble.address, session_timeout=SESSION_SECONDS, wait=60)
        self._open.callback(self.coordinator.close)
        self.cluster = Cluster(self.ensemble.address, self.folder, session_timeout=SESSION_SECONDS, root=ROOT)
        self._open.callback(self.cluster.close)
        self.overview = CachedOverview(self.coordinator, self.layout)
        self.cores: list[subprocess.Popen[bytes]] = []
        self._open.callback(self._end_cores)

    @property
    def members(self) -> Sequence[ZooKeeper]:
        return self.ensemble.members

    def create_tasks(self) -> None:
        registry = Registry(self.coordinator, self.layout)
        for block in self.blocks:
            for name in block:
                registry.create(name, to_data(parse_task(_config(name))), "fleet")

    def start_core(self, number: int) -> None:
        """Leads its block, as it is the first to stand for it; the one before it has done so already."""
        own = self.blocks[number]
        standby = self.blocks[number - 1] if number else []
        command = [sys.executable, "-m", "dev.fleet.core", "--zookeeper", self.ensemble.address, "--root", ROOT]
        command += ["--host", f"host-{number}", "--session-timeout", str(SESSION_SECONDS), *own, *standby]
        self.cores.append(launch(command, self.folder / f"core-{number}.log", TREE))
        self.wait_running(own, f"host-{number}")

    def running(self, names: Sequence[str], host: str) -> int:
        """How many of the tasks run there."""
        self.overview.catch_up()
        wanted = set(names)
        views = self.overview.tasks() if len(wanted) > 1 else [self.overview.task(name) for name in wanted]
        return sum(view.name in wanted and (view.state, view.host) == ("running", host) for view in views)

    def wait_running(self, names: Sequence[str], host: str, timeout: float = 240) -> None:
        def all_run() -> bool:
            return self.running(names, host) == len(names)

        wait_for(all_run, lambda: f"{len(names)} tasks on {host}; {self.running(names, host)} run", timeout, every=0.2)

    def _end_cores(self) -> None:
        for core in self.cores:
            core.kill()
        for core in self.cores:
            core.wait(10)

    def close(self) -> None:
        self._open.close()


def _config(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "labels": {"app": f"app-{name[-1]}"},
        "source": {
            "type": "mysql",
            "host": "127.0.0.1",
            "port": 1,
            "user": "replicator",
            "password": "env:FLEET_PASSWORD",
            "tables": ["shop.*"],
        },
        "sink": {"type": "kafka", "bootstrap_servers": ["127.0.0.1:1"]},
    }
