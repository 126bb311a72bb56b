"""ZooKeeper loses everything, and the tasks are restored from a backup of `replicator cluster backup`."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dev.cluster import wait_for
from dev.servers import ZooKeeper
from tests.failover.bus import Bus

pytestmark = pytest.mark.timeout(240)
MakeBus = Callable[..., Bus]


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
def test_15_zookeeper_is_lost_and_restored_from_a_backup(
    make_bus: MakeBus, make_zookeeper: Callable[..., ZooKeeper], tmp_path: Path, delivery: str
) -> None:
    """After the backup a later term delivers rows, and a table is changed. The Cores run on through all of it."""
    server = make_zookeeper()
    bus = make_bus(zookeeper=server, sink={"delivery": delivery})
    file = tmp_path / "backup.zip"
    said = bus.cluster.cli("cluster", "backup", str(file), "--zookeeper", server.address, "--root", bus.layout.root)
    assert "1 task" in said
    bus.wait_delivered(30)
    before = bus.look().epoch
    bus.database.execute(f"ALTER TABLE {bus.name}.hot_item ADD COLUMN later INT DEFAULT 5")
    bus.cluster.cli("task", "switchover", bus.name)
    wait_for(lambda: bus.look().epoch > before and bus.look().state == "running", "a later term", 60)
    bus.wait_delivered(30)
    known = bus.epochs()
    server.kill()
    shutil.rmtree(server.folder / "data" / "version-2")
    server.start()
    bus.reconnect()
    bus.cluster.cli("cluster", "restore", str(file), "--zookeeper", server.address, "--root", bus.layout.root)
    bus.wait_running(timeout=90)
    bus.wait_delivered(50, timeout=90)
    assert not bus.look().problems and bus.epochs()[-1] > known[-1]
    verdict = bus.verdict(timeout=100)
    if delivery == "at_least_once":
        assert verdict.duplicated, "rows since the backup are sent again"
        verdict.duplicated.clear()
    assert verdict.clean, str(verdict)
