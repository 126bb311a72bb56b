"""Others that write with a task's name: a ZooKeeper restored from a backup, another installation on the same Kafka."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from dev.checker.verdict import judge
from dev.cluster import Cluster, wait_for
from dev.servers import ZooKeeper
from replicator.config.load import parse_task, to_data
from replicator.coordination.layout import Layout
from replicator.coordination.overview import Overview
from replicator.coordination.tasks.registry import Registry
from tests.failover.bus import Bus
from tests.support.present import present

pytestmark = pytest.mark.timeout(240)
MakeBus = Callable[..., Bus]


def in_later_term(bus: Bus, epoch: int) -> bool:
    return bus.look().epoch > epoch and bus.look().state == "running"


def test_96_zookeeper_is_put_back_to_a_backup(
    make_bus: MakeBus, make_zookeeper: Callable[..., ZooKeeper], tmp_path: Path
) -> None:
    """Of before the last elections: nobody fences, nobody goes round; an operator says that the position is ours."""
    server = make_zookeeper()
    bus = make_bus("host-a", zookeeper=server)
    backup, data = tmp_path / "backup", server.folder / "data"
    server.kill()
    shutil.copytree(data, backup)
    server.start()
    bus.wait_running()
    for number in range(2):
        before = bus.look().epoch
        bus.cluster.cores.pop("host-a").kill()
        bus.cluster.core("host-a")
        wait_for(partial(in_later_term, bus, before), "a new term", 60)
        bus.wait_delivered(20 + number)
    known = bus.epochs()
    bus.cluster.cores.pop("host-a").kill()
    server.kill()
    shutil.rmtree(data)
    shutil.copytree(backup, data)
    server.start()
    bus.reconnect()
    bus.cluster.core("host-a")
    problem = bus.failed(90)
    assert problem["code"] == "E3111" and "host-a" in problem["found"], problem
    quiet = len(bus.seen())
    time.sleep(3)
    assert bus.look().state == "failed" and len(bus.seen()) == quiet
    assert bus.epochs() == known, "nobody has written under another term"
    bus.cluster.cli("task", "retry", bus.name, "--take-over", "-y")
    bus.wait_running()
    bus.wait_delivered(50)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)


def test_97_two_installations_with_a_task_of_one_name(make_bus: MakeBus, zookeeper: ZooKeeper, tmp_path: Path) -> None:
    """On one Kafka, into the same topics: each delivers all of it once, and neither fences the other out."""
    bus = make_bus("host-a")
    before = bus.look()
    folder = tmp_path / "other"
    folder.mkdir()
    layout = Layout(f"/other-{bus.name}")
    other = Cluster(zookeeper.address, folder, session_timeout=2.0, root=layout.root)
    overview = Overview(bus.coordinator, layout)
    task = {**bus.task, "source": {**bus.task["source"], "server_id": 4711}}
    try:
        other.core("host-x")
        registry = Registry(bus.coordinator, layout)
        version = registry.create(bus.name, to_data(parse_task(task)), "test").version
        wait_for(lambda: overview.task(bus.name).problems, "told of the position that is there", 60)
        assert overview.task(bus.name).problems[0]["code"] == "E3109"
        task["source"]["start"] = {"gtid": present(present(bus.look().last_commit).checkpoint).position.gtid}
        registry.configure(bus.name, to_data(parse_task(task)), "test", version)
        wait_for(lambda: overview.task(bus.name).state == "running", f"the other running{other.cores}", 60)
        bus.wait_delivered(300)
        time.sleep(3)
        theirs = overview.task(bus.name)
        assert (theirs.state, theirs.problems, bus.look().problems) == ("running", [], [])
        assert bus.look().epoch == before.epoch
        journal = bus.writer.stop()
        time.sleep(3)
        ours = [record for record in bus.seen() if record.epoch == before.epoch]
        verdict = judge(journal, ours, roles=())
        assert verdict.clean, str(verdict)
        assert {record.epoch for record in bus.seen()} == {before.epoch, theirs.epoch}
    finally:
        other.close()
