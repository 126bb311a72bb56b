"""Tasks deleted while Cores are busy with them: nothing stays behind, and the name can be used again at once."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from kazoo.client import KazooClient

from dev.servers.zookeeper import ZooKeeper
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import dump
from replicator.coordination.tasks.schema_nodes import SchemaPart
from replicator.errors import ReplicatorError
from replicator.zookeeper.client import connect
from server.task_operations import TaskOperations
from tests.support.agents import RunningAgent
from tests.support.site import TASK, TIMEOUT, Site
from tests.support.waiting import eventually

pytestmark = pytest.mark.servers

PATIENT = 30.0
"""Session timeout, s, of a client whose connection ends by what it asks alone, not by a busy machine."""


@pytest.fixture
def site(zookeeper) -> Iterator[Site]:
    session: Callable[[], Coordinator] = lambda: connect(zookeeper.hosts, TIMEOUT)  # noqa: E731
    site = Site(session)
    yield site
    site.close()


def remains(site: Site) -> list[str]:
    return site.admin.children(site.layout.tasks)


def started(agents: list[RunningAgent], task: str) -> bool:
    return any(agent.launcher.of(task) for agent in agents)


def test_93_tasks_deleted_right_after_they_started_leave_nothing(site: Site) -> None:
    agents = [site.start(f"host-{name}") for name in "abc"]
    control = TaskOperations(site.admin, site.layout)
    rng = random.Random(4)
    for number in range(30):
        name = f"copy-{number}"
        site.registry.create(name, {"name": name}, "test")
        if number % 2:
            eventually(partial(started, agents, name))
        time.sleep(rng.random() * 0.05)
        assert control.delete(name, "test", 10.0), name
    time.sleep(1.5)
    assert remains(site) == []


def test_93_a_task_created_again_at_once_is_another_and_runs(site: Site) -> None:
    """Two Servers delete it at once: the slower one must not touch the new one."""
    agents = [site.start("host-a"), site.start("host-b")]
    control = TaskOperations(site.admin, site.layout)
    rival, stop = TaskOperations(site.session(), site.layout), threading.Event()

    def sweep() -> None:
        while not stop.is_set():
            with contextlib.suppress(ReplicatorError):
                rival.sweep()

    sweeper = threading.Thread(target=sweep)
    sweeper.start()
    try:
        uids = set()
        for _ in range(10):
            uids.add(site.registry.create(TASK, {"name": TASK}, "test").record.uid)
            worker = eventually(lambda: next((found for one in agents if (found := one.launcher.of(TASK))), None))
            assert worker.spec.checkpoint is None, "inherited"
            worker.deliver(7)
            eventually(partial(getattr, worker, "saved"))
            assert control.delete(TASK, "test", 10.0)
        assert len(uids) == 10
    finally:
        stop.set()
        sweeper.join()
    eventually(lambda: remains(site) == [])


def test_93_a_task_with_thousands_of_nodes_is_removed_in_steps(site: Site, zookeeper: ZooKeeper) -> None:
    """A request over 1 MB would end the connection, here and in every Core that stands for the task."""
    site.registry.create(TASK, {"name": TASK}, "test")
    site.admin.create(site.layout.schema(TASK))
    part = dump(SchemaPart(group="g", index=0, count=1, kind="change", data=b"x"))
    writer = KazooClient(zookeeper.hosts, timeout=PATIENT)
    writer.start(timeout=PATIENT)
    for _ in range(24):
        pending = [writer.create_async(site.layout.schema_prefix(TASK), part, sequence=True) for _ in range(500)]
        for one in pending:
            one.get(timeout=60)
    writer.stop()
    writer.close()
    operator = connect(zookeeper.hosts, PATIENT)
    lost: list[str] = []
    try:
        operator.on_connection(lambda state: lost.append(state.value))
        assert TaskOperations(operator, site.layout).delete(TASK, "test", 60.0)
        assert remains(site) == []
        assert lost == []
    finally:
        operator.close()


def test_93_what_an_earlier_version_left_of_a_deleted_task_goes(site: Site) -> None:
    """An empty node, made as the parent of a late write; a node with content that we can't read stays."""
    history, junk = site.layout.history("remains"), site.layout.task("junk")
    site.admin.create(f"{history}/entry-", b"{}", sequential=True, parents=True)
    site.admin.create(junk, b"\xff")
    site.start("host-a")
    eventually(lambda: remains(site) == ["junk"])
    time.sleep(1.0)
    assert remains(site) == ["junk"]
