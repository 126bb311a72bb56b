"""Cut-overs by Servers and Core agents, over the memory twin and over a real ZooKeeper; workers are plain objects."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from replicator.coordination.cutovers.store import CutoverNode
from replicator.coordination.ports import Coordinator
from replicator.coordination.recipes.claim_nodes import Owner
from replicator.errors import NodeMissing, ProcessError
from replicator.model.principal import Principal
from server.cutovers import CutoverDriver, CutoverOperations, Wanted
from server.task_operations import TaskOperations
from tests.support.agents import FakeWorker
from tests.support.site import Site, end_session, sessions_of
from tests.support.waiting import eventually

ADMIN = Principal(kind="token", name="server", role="admin")
SOURCE = {"type": "mysql", "host": "db1", "port": 3306}
TASKS = ("one", "two")


class Servers:
    """Servers of a site: each with its session, and a driver that turns when the test says so."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.session = site.session()
        self.tasks = TaskOperations(self.session, site.layout)
        self.operations = CutoverOperations(self.session, site.layout, self.tasks)
        self.drivers: list[CutoverDriver] = []
        self.sessions: list[Coordinator] = [self.session]

    def driver(self) -> tuple[CutoverDriver, Coordinator]:
        session = self._site.session()
        self.sessions.append(session)
        tasks = TaskOperations(session, self._site.layout)
        owner = Owner(by="server", host=f"s{len(self.drivers)}", pid=1)
        self.drivers.append(CutoverDriver(session, self._site.layout, tasks, owner))
        return self.drivers[-1], session

    def begin(self, **changes: Any) -> CutoverNode:
        given: dict[str, Any] = {"tasks": TASKS, "timeout_s": 60.0, "resume": False, "keep": False, "reason": "move"}
        return self.operations.begin(Wanted(**given | changes), "ann", ADMIN, dry_run=False)

    def read(self, id_: str) -> CutoverNode:
        return self.operations.read(id_, ADMIN)

    def until(self, id_: str, phase: str, *drivers: CutoverDriver) -> CutoverNode:
        def turned() -> CutoverNode | None:
            for driver in drivers:
                driver.turn()
            found = self.read(id_)
            return found if found.record.phase == phase else None

        return eventually(turned)


@pytest.fixture(params=["memory", pytest.param("zookeeper", marks=pytest.mark.servers)])
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    site = Site(sessions_of(request))
    for name in TASKS:
        site.registry.create(name, {"name": name, "source": SOURCE}, "test")
    yield site
    site.close()


@pytest.fixture
def servers(site: Site) -> Iterator[Servers]:
    found = Servers(site)
    yield found
    for session in found.sessions:
        session.close()


@pytest.fixture
def core(site: Site) -> Any:
    """A Core whose tasks are at 5 and at 9."""
    agent = site.start("host-a", *TASKS)
    for name, offset in zip(TASKS, (5, 9), strict=True):
        site.wait("host-a", name=name)
        worker = site.worker(agent, name)
        worker.deliver(offset)
        eventually(partial(_is_saved, worker))
    return agent


def until_of(worker: FakeWorker) -> int:
    return worker.spec.until.offset if worker.spec.until is not None else -1


def _is_saved(worker: FakeWorker) -> bool:
    return worker.saved == 1


def test_all_stop_where_the_furthest_is(site: Site, servers: Servers, core: Any) -> None:
    driver, _ = servers.driver()
    begun = servers.begin()
    node = servers.until(begun.id, "aligning", driver)
    assert {party.task: party.goal.offset for party in node.record.parties if party.goal} == {"one": 9, "two": 9}
    worker = site.worker(core, "one")
    assert until_of(worker) == 9 and core.launcher.of("two") is None
    worker.deliver(2)
    worker.deliver(2)
    node = servers.until(begun.id, "reached", driver)
    assert [party.reached.offset for party in node.record.parties if party.reached] == [9, 9]
    for name in TASKS:
        assert site.task(name).desired == "paused"
        checkpoint = site.wait("host-a", "paused", name).checkpoint
        assert checkpoint is not None and checkpoint.position.offset == 9
        assert site.kinds(name).count("cutover") >= 2
    servers.tasks.resume("one", "ann", "")
    assert eventually(lambda: core.launcher.of("one")).spec.until is None


def test_they_go_on_at_once_when_told_so(site: Site, servers: Servers, core: Any) -> None:
    driver, _ = servers.driver()
    site.worker(core, "one").deliver(4)
    begun = servers.begin(resume=True)
    servers.until(begun.id, "reached", driver)
    for name in TASKS:
        site.wait("host-a", "running", name)
        assert site.task(name).desired == "running"


def test_another_server_continues(site: Site, servers: Servers, core: Any) -> None:
    """The Server that carries it out ends while one task is on its way to the others."""
    (first, session), (second, _) = servers.driver(), servers.driver()
    begun = servers.begin()
    servers.until(begun.id, "aligning", first)
    assert second.turn() is False, "the other one has it"
    end_session(session)
    eventually(lambda: second.turn())
    site.worker(core, "one").deliver(4)
    servers.until(begun.id, "reached", second)


def test_a_core_that_dies_in_between_is_replaced(site: Site, servers: Servers, core: Any) -> None:
    driver, _ = servers.driver()
    other = site.start("host-b", *TASKS)
    begun = servers.begin()
    servers.until(begun.id, "aligning", driver)
    end_session(core.coordinator)
    worker = eventually(lambda: other.launcher.of("one"))
    assert until_of(worker) == 9
    worker.deliver(4)
    node = servers.until(begun.id, "reached", driver)
    assert {party.reached.offset for party in node.record.parties if party.reached} == {9}


def test_one_that_fails_lets_the_others_go_on(site: Site, servers: Servers, core: Any) -> None:
    driver, _ = servers.driver()
    begun = servers.begin()
    servers.until(begun.id, "aligning", driver)
    site.worker(core, "one").fail("E2201")
    node = servers.until(begun.id, "failed", driver)
    assert node.record.code == "E5151" and "one: E2201" in node.record.found
    site.wait("host-a", "running", "two")


def test_not_in_time(site: Site, servers: Servers, core: Any) -> None:
    driver, _ = servers.driver()
    begun = servers.begin(timeout_s=0.001)
    site.wait("host-a", "paused", "two")
    node = servers.until(begun.id, "failed", driver)
    assert node.record.code == "E5152" and "one" in node.record.found
    for name in TASKS:
        site.wait("host-a", "running", name)


def test_what_an_operator_orders_meanwhile_stays(site: Site, servers: Servers, core: Any) -> None:
    driver, _ = servers.driver()
    begun = servers.begin()
    servers.until(begun.id, "aligning", driver)
    servers.tasks.pause("two", "bea", "maintenance")
    node = servers.until(begun.id, "failed", driver)
    assert "two: it was ordered otherwise by bea" in node.record.found
    site.wait("host-a", "running", "one")
    assert (site.task("two").desired, site.task("two").desired_by) == ("paused", "bea")


def test_cancelled(site: Site, servers: Servers, core: Any) -> None:
    driver, _ = servers.driver()
    begun = servers.begin(keep=True)
    servers.until(begun.id, "aligning", driver)
    servers.operations.cancel(begun.id, "bea", ADMIN)
    servers.until(begun.id, "failed", driver)
    site.wait("host-a", "paused", "one")
    with pytest.raises(ProcessError) as over:
        servers.operations.cancel(begun.id, "bea", ADMIN)
    assert over.value.code == "E5154"


def test_tasks_that_can_not_stop_together_are_left_alone(site: Site, servers: Servers, core: Any) -> None:
    servers.tasks.pause("two", "bea", "")
    site.wait("host-a", "paused", "two")
    with pytest.raises(ProcessError) as error:
        servers.begin()
    assert error.value.code == "E5150" and "two: it is to be paused, by bea" in error.value.found
    assert "one" not in error.value.found and site.task("one").desired == "running"
    wanted = Wanted(tasks=TASKS, timeout_s=60, resume=False, keep=False, reason="")
    shown = servers.operations.begin(wanted, "ann", ADMIN, dry_run=True)
    assert [bool(party.problem) for party in shown.record.parties] == [False, True]
    with pytest.raises(NodeMissing):
        servers.begin(tasks=("one", "missing"))
    assert servers.operations.list(ADMIN) == []


def test_the_thread_carries_it_out(site: Site, servers: Servers, core: Any) -> None:
    session = site.session()
    servers.sessions.append(session)
    tasks = TaskOperations(session, site.layout)
    begun = threading.Event()
    driver = CutoverDriver(session, site.layout, tasks, Owner(by="server", host="s", pid=1), begun)
    driver.start()
    try:
        site.worker(core, "one").deliver(4)
        node = servers.begin()
        begun.set()
        eventually(lambda: servers.read(node.id).record.phase == "reached")
    finally:
        driver.stop()
