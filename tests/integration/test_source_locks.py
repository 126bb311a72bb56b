"""Locks of sources with Core agents, over the memory twin and over a real ZooKeeper; workers are plain objects."""

from __future__ import annotations

from typing import Any

import pytest

from replicator.coordination.sources.source_locks import SourceLocks
from replicator.errors import NodeMissing
from replicator.model.principal import Principal
from server.source_operations import SourceOperations
from server.task_operations import TaskOperations
from tests.integration.test_cutovers import site  # noqa: F401 - a fixture
from tests.support.site import Site, end_session
from tests.support.waiting import eventually

ADMIN = Principal(kind="token", name="server", role="admin")
NAME = "db1:3306"


@pytest.fixture
def locks(site: Site) -> SourceLocks:  # noqa: F811
    return SourceLocks(site.admin, site.layout)


@pytest.fixture
def sources(site: Site) -> SourceOperations:  # noqa: F811
    return SourceOperations(site.admin, site.layout, TaskOperations(site.admin, site.layout))


def codes(site: Site, task: str) -> list[str]:  # noqa: F811
    return [problem["code"] for problem in site.task(task).problems]


def test_its_tasks_pause_and_continue_by_themselves(
    site: Site,  # noqa: F811
    sources: SourceOperations,
) -> None:
    site.registry.create("elsewhere", {"name": "elsewhere", "source": {"type": "mysql", "host": "db2"}}, "test")
    agent = site.start("host-a", "one", "two", "elsewhere")
    for name in ("one", "two", "elsewhere"):
        site.wait("host-a", name=name)
    site.worker(agent, "one").deliver(5)
    epoch = site.task("one").epoch
    locked = sources.lock("DB1", "ann", "new disks", 0, ADMIN)
    assert (locked.name, locked.locked, [each.task for each in locked.tasks]) == (NAME, True, ["one", "two"])
    for name in ("one", "two"):
        assert site.wait("host-a", "paused", name).desired == "running"
        assert codes(site, name) == ["E5160"]
    assert all(each.stopped for each in sources.read(NAME, ADMIN).tasks)
    checkpoint = site.task("one").checkpoint
    assert checkpoint is not None and checkpoint.position.offset == 5, "nothing is lost"
    assert site.task("elsewhere").state == "running"
    assert any(entry.record.reason == f"the source {NAME} is locked" for entry in site.history.read("one"))
    sources.unlock(NAME)
    for name in ("one", "two"):
        assert site.wait("host-a", "running", name).epoch and codes(site, name) == []
    assert site.task("one").epoch == epoch, "the same term"


def test_the_lock_outlives_cores_and_sessions(site: Site, locks: SourceLocks) -> None:  # noqa: F811
    """The Core dies while its task waits; the session of whoever has locked the source ends; another Core waits on."""
    first = site.start("host-a", "one")
    site.wait("host-a", name="one")
    session = site.session()
    SourceLocks(session, site.layout).lock(NAME, "ann", "")
    site.wait("host-a", "paused", "one")
    end_session(session)
    session.close()
    second = site.start("host-b", "one")
    site.standing_by(1, "one")
    end_session(first.coordinator)
    site.wait("host-b", "paused", "one")
    assert second.launcher.workers == []
    locks.unlock(NAME)
    site.wait("host-b", "running", "one")


def test_no_task_begins_to_read_it(site: Site, locks: SourceLocks) -> None:  # noqa: F811
    locks.lock(NAME, "ann", "")
    agent = site.start("host-a", "one")
    site.wait("host-a", "paused", "one")
    assert agent.launcher.workers == []
    site.status.set("one", "paused", "bea")
    locks.unlock(NAME)
    assert site.task("one").state == "paused", "an operator has paused it besides"
    site.status.set("one", "running", "bea")
    site.wait("host-a", "running", "one")


def test_a_task_that_leaves_the_source_continues(site: Site, locks: SourceLocks) -> None:  # noqa: F811
    site.start("host-a", "one")
    site.wait("host-a", name="one")
    locks.lock(NAME, "ann", "")
    site.wait("host-a", "paused", "one")
    moved: dict[str, Any] = {"name": "one", "source": {"type": "mysql", "host": "db2", "port": 3306}}
    site.registry.configure("one", moved, "bea", site.task("one").config_version)
    site.wait("host-a", "running", "one")
    assert codes(site, "one") == []


def test_the_servers_end_it_when_its_time_is_over(site: Site, locks: SourceLocks) -> None:  # noqa: F811
    site.start("host-a", "one")
    site.wait("host-a", name="one")
    locks.lock(NAME, "ann", "", until_ms=1)
    site.wait("host-a", "paused", "one")
    operations = TaskOperations(site.admin, site.layout)
    assert operations.end_source_locks() == [NAME]
    site.wait("host-a", "running", "one")


def test_an_address_that_no_task_reads(sources: SourceOperations) -> None:
    with pytest.raises(NodeMissing) as error:
        sources.lock("db7", "ann", "", 0, ADMIN)
    assert error.value.code == "E5163" and NAME in error.value.found
    eventually(lambda: [entry.name for entry in sources.all(ADMIN)] == [NAME])
