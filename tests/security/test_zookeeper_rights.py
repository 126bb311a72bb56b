"""What each identity may do to each kind of znode, in memory and on a real ZooKeeper."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from replicator.coordination.ids import ReplicaIds
from replicator.coordination.installation import installation_id
from replicator.coordination.layout import Layout
from replicator.coordination.leadership.election import Election
from replicator.coordination.logs.answers import LogAnswers
from replicator.coordination.logs.collector import LogCollector
from replicator.coordination.logs.nodes import make_parents
from replicator.coordination.machines.expected import ExpectedMachines
from replicator.coordination.machines.machines import Machines
from replicator.coordination.machines.stopped import StoppedCores
from replicator.coordination.ports import Coordinator, Create
from replicator.coordination.recipes.barriers import Barrier
from replicator.coordination.recipes.claim_nodes import Owner
from replicator.coordination.recipes.locks import Locks
from replicator.coordination.recipes.overview import locks as overview
from replicator.coordination.recipes.queues import Queue
from replicator.coordination.recipes.sequences import Sequences
from replicator.coordination.records import (
    CommitRecord,
    HistoryRecord,
    InstanceRecord,
    MachineRecord,
    SecurityRecord,
    dump,
)
from replicator.coordination.rights import grants
from replicator.coordination.tasks.commits import Commit, Commits
from replicator.coordination.tasks.history import History
from replicator.coordination.tasks.maintenance import Maintenance
from replicator.coordination.tasks.orders import OrdersStore
from replicator.coordination.tasks.registry import Registry
from replicator.coordination.tasks.status import Status
from replicator.errors import CoordinationError, NodeExists
from replicator.model.quarantine import TaskOrders
from tests.security.secured import SecuredSite, login, quiet

TASK = "orders"


def of_monitors(layout: Layout) -> tuple[str, ...]:
    return layout.monitors, layout.log_parts, layout.alert_sender, layout.alerts_sent


@pytest.fixture(params=["memory", pytest.param("zookeeper", marks=pytest.mark.servers)])
def site(request: pytest.FixtureRequest) -> Iterator[SecuredSite]:
    if request.param == "memory":
        made = SecuredSite.in_memory()
    else:
        made = SecuredSite.on(request.getfixturevalue("zookeeper").hosts)
    yield made
    made.close()


def live(site: SecuredSite) -> None:
    """What Core and Server write in the life of a task, with their own identities."""
    layout, core, server = site.layout, site.session("core"), site.session("server")
    Registry(server, layout).create(TASK, {"name": TASK}, "server")
    Registry(core, layout).register("own", "core")
    election = Election(core, layout)
    election.stand(TASK, "a" * 32, InstanceRecord(host="h", pid=1, process="p", since_ms=0, state="standby"))
    own = election.field(TASK).contenders[0]
    election.describe(TASK, own.name, InstanceRecord(host="h", pid=1, process="p", since_ms=0, state="running"))
    commit = Commits(core, layout).write(TASK, own.name, Commit(None, -1), CommitRecord(epoch=own.czxid))
    Commits(core, layout).write(TASK, own.name, commit, CommitRecord(epoch=own.czxid, released=True))
    core.create(layout.position_history(TASK))
    core.create(layout.position_history_hour(TASK, 1), b"{}")
    core.create(layout.position_history_hour(TASK, 2), b"{}")
    core.delete(layout.position_history_hour(TASK, 1))
    core.multi([Create(layout.schema(TASK))])
    core.create(layout.schema_prefix(TASK), b"{}", sequential=True)
    for each in (core, server):
        History(each, layout).append(TASK, HistoryRecord(kind="k", time_ms=0))
        History(each, layout).trim(TASK)
    command = server.create(layout.command_prefix(TASK), b"{}", sequential=True)
    core.delete(command)
    server.create(layout.command_prefix(TASK), b"{}", sequential=True)
    Status(server, layout).set(TASK, "paused", "server")
    OrdersStore(server, layout).write(TASK, TaskOrders(), -1)
    for name in (TASK, ""):
        assert Maintenance(server, layout).begin(name, "server", "")
    server.create(layout.verification(TASK), b"{}")
    core.set(layout.verification(TASK), b"{}", 0)
    server.create(layout.verify_order(TASK), b"{}")
    core.set(layout.verify_order(TASK), b"{}", 0)
    server.set(layout.verify_order(TASK), b"{}", 1)
    ReplicaIds(core, layout).of(TASK, "uid", 17)
    Machines(core, layout).publish("h", MachineRecord(host="h", pid=1, process="p", started_ms=0, time_ms=0))
    StoppedCores(core, layout).record("gone", "p")
    ExpectedMachines(core, layout).learn("h")
    ExpectedMachines(server, layout).expect("never", "me", "")
    agent = site.session("agent")
    Machines(agent, layout, agents=True).publish(
        "db", MachineRecord(host="db", pid=1, process="p", started_ms=0, time_ms=0)
    )
    StoppedCores(agent, layout, agents=True).record("other", "p")
    ExpectedMachines(agent, layout).learn("db")
    server.create(layout.server_prefix("h", "b" * 32), b"{}", ephemeral=True, sequential=True, parents=True)
    installation_id(core, layout)
    monitor = site.session("monitor")
    make_parents(server, layout)
    monitor.create(layout.monitor_prefix("h", "c" * 32), b"{}", ephemeral=True, sequential=True)
    request = server.create(layout.log_request_prefix, b"{}", ephemeral=True, sequential=True).rpartition("/")[2]
    for each, process in ((core, "a" * 32), (monitor, "c" * 32)):
        each.create(layout.log_part(request, process, 0, 1), b"{}", ephemeral=True)


def test_processes_do_their_work_with_their_own_identities(site: SecuredSite) -> None:
    site.establish()
    live(site)
    assert list(site.tree.deviating(site.record)) == [], "each node was created with the ACL of the table"
    server, core = site.session("server"), site.session("core")
    for name in (TASK, ""):
        assert Maintenance(server, site.layout).end(name)
    Election(core, site.layout).delete(TASK, core.children(site.layout.election(TASK))[0])
    Status(server, site.layout).set(TASK, "deleted", "server")
    with pytest.raises(CoordinationError, match="E4007"):
        Registry(core, site.layout).remove(TASK)
    assert Registry(server, site.layout).remove(TASK)
    assert Registry(server, site.layout).names() == ["own"]


@pytest.mark.parametrize("who", ["anonymous", "monitor", "stranger"])
def test_nobody_else_changes_or_reads_a_node(site: SecuredSite, who: str) -> None:
    site.establish()
    live(site)
    paths = list(site.tree.paths())
    assert len(paths) > 30
    intruder = {
        "anonymous": site.anonymous,
        "monitor": lambda: site.session("monitor"),
        "stranger": lambda: site.unaware("stranger"),
    }[who]()
    for path in paths:
        if who == "monitor" and (path == site.layout.alerts or path.startswith(of_monitors(site.layout))):
            continue  # below /alerts it creates what it sends
        for attempt in _changes(intruder, path):
            with pytest.raises(CoordinationError, match="E4007"):
                attempt()
        if who != "monitor":
            for read in (intruder.get, intruder.children):
                with pytest.raises(CoordinationError, match="E4007"):
                    read(path)


def test_log_lines_are_asked_for_and_read_by_the_server_and_administrators_alone(site: SecuredSite) -> None:
    site.establish()
    layout, core, monitor, server = site.layout, *(site.session(role) for role in ("core", "monitor", "server"))
    answers = [LogAnswers(each, layout, lambda: "a" * 32, lambda: b"secret\n") for each in (core, monitor)]
    seen: list[str] = []

    def look(_: float) -> None:
        answers[len(seen)].step()
        (name,) = server.children(layout.log_parts)
        seen.append(f"{layout.log_parts}/{name}")
        for intruder in (core, monitor, site.anonymous()):
            for attempt in (intruder.get, lambda path, by=intruder: by.set(path, b"x")):
                with pytest.raises(CoordinationError, match="E4007"):
                    attempt(seen[-1])

    for asking in (server, site.session("admin")):
        assert LogCollector(asking, layout, look).collect(["a" * 32], "me", 60) == {"a" * 32: "secret\n"}
        answers[len(seen) - 1].step()
        assert server.children(layout.log_parts) == []
    for other in (core, monitor):
        with pytest.raises(CoordinationError, match="E4007"):
            LogCollector(other, layout, look).collect(["a" * 32], "me", 60)


def _changes(intruder: Coordinator, path: str) -> list[Callable[[], object]]:
    def delete() -> None:
        try:
            intruder.delete(path)
        except NodeExists:  # with children: ZooKeeper may look at those first
            raise CoordinationError("E4007", "it has children") from None

    return [
        lambda: intruder.create(f"{path}/intruder", b"x"),
        lambda: intruder.set(path, b"x"),
        lambda: intruder.set_acl(path, ()),
        *([] if path.count("/") == 1 else [delete]),  # ZooKeeper's own root is not ours to close
    ]


def test_an_agent_reports_and_sees_no_task(site: SecuredSite) -> None:
    site.establish()
    live(site)
    layout, agent, server = site.layout, site.session("agent"), site.session("server")
    StoppedCores(agent, layout, agents=True).forget("other")
    assert not ExpectedMachines(agent, layout).learn("h")
    forbidden: list[Callable[[], object]] = [
        lambda: agent.children(layout.tasks),
        lambda: agent.get(layout.task(TASK)),
        lambda: agent.get(layout.machine("h")),
        lambda: agent.create(layout.machine("x"), b"x"),
        lambda: agent.set(layout.machine("h"), b"x"),
        lambda: StoppedCores(agent, layout).record("h", "p"),
        lambda: agent.delete(layout.stopped_core("gone")),
        lambda: agent.delete(layout.expected_machine("never")),
        lambda: agent.set(layout.expected_machine("never"), b"x"),
        lambda: agent.children(layout.tokens),
        lambda: agent.set(layout.security, dump(SecurityRecord())),
        lambda: server.set(layout.agent("db"), b"x"),
    ]
    for attempt in forbidden:
        with pytest.raises(CoordinationError, match="E4007"):
            attempt()
    ExpectedMachines(server, layout).forget("db")
    StoppedCores(server, layout).forget("gone")


def test_a_tree_without_an_identity_of_agents_gets_one(site: SecuredSite) -> None:
    (identity,) = site.record.agent
    site.record.agent.clear()
    site.establish()
    with pytest.raises(CoordinationError, match=r"E4007|E4030"):  # a real one does not even get a session
        ExpectedMachines(site.session("agent"), site.layout).learn("db")
    site.tree.change("agent", identity, quiet, add=True)
    ExpectedMachines(site.session("agent"), site.layout).learn("db")
    site.tree.change("agent", identity, quiet, add=False)


def test_a_core_does_not_write_what_servers_own_and_the_reverse(site: SecuredSite) -> None:
    site.establish()
    live(site)
    layout, core, server = site.layout, site.session("core"), site.session("server")
    forbidden: list[Callable[[], object]] = [
        lambda: core.set(layout.task(TASK), b"x"),
        lambda: core.set(layout.status(TASK), b"x"),
        lambda: core.set(layout.orders(TASK), b"x"),
        lambda: core.delete(layout.maintenance(TASK)),
        lambda: core.create(layout.command_prefix(TASK), b"x", sequential=True),
        lambda: core.create(f"{layout.root}/tokens/mine", b"x"),
        lambda: core.children(f"{layout.root}/users"),
        lambda: core.set(layout.security, dump(SecurityRecord())),
        lambda: server.set(layout.security, dump(SecurityRecord())),
        lambda: server.create(layout.contender_prefix(TASK, "x", "c" * 32), b"x", sequential=True),
        lambda: server.set(layout.machine("h"), b"x"),
        lambda: server.set(layout.replica_id(17), b"x"),
        lambda: server.set_acl(layout.task(TASK), ()),
    ]
    for attempt in forbidden:
        with pytest.raises(CoordinationError, match="E4007"):
            attempt()


def test_an_existing_tree_is_secured_and_secured_again(site: SecuredSite) -> None:
    live(site)
    assert len(list(site.tree.deviating(None))) > 20, "all of it is open"
    with pytest.raises(CoordinationError, match="E4038"):
        site.establish()
    done = site.establish(existing=True)
    assert done.changed > 20 and not done.refused
    assert list(site.tree.deviating(site.record)) == []
    assert site.establish(existing=True).changed == 0
    with pytest.raises(CoordinationError, match="E4007"):
        site.anonymous().set(site.layout.status(TASK), b"x")


def test_a_node_of_a_process_that_has_not_read_the_record_yet_is_found(site: SecuredSite) -> None:
    site.establish()
    late = site.unaware("core")
    late.create(site.layout.machine("late"), b"")
    assert [path for path, _ in site.tree.deviating(site.record)] == [site.layout.machine("late")]
    assert site.establish(existing=True).changed == 1
    assert list(site.tree.deviating(site.record)) == []


def test_an_identity_is_changed_without_a_gap(site: SecuredSite) -> None:
    site.establish()
    live(site)
    old = site.session("core")
    new = login("core2").identities()[0]
    site.tree.change("core", new, quiet, add=True)
    fresh = site.session("core", "core2")
    for one in (old, fresh):
        one.set(site.layout.last_commit(TASK), b"{}")
    site.tree.change("core", login("core").identities()[0], quiet, add=False)
    fresh.set(site.layout.last_commit(TASK), b"{}")
    with pytest.raises(CoordinationError, match="E4007"):
        old.set(site.layout.last_commit(TASK), b"{}")
    with pytest.raises(CoordinationError, match="E4038"):
        site.tree.change("core", new, quiet, add=False)
    record, _ = site.tree.read()
    assert record is not None and record.core == [new]
    assert site.admin.acl(site.layout.last_commit(TASK)).grants == grants(
        record, site.layout, site.layout.last_commit(TASK)
    )
    assert not list(site.tree.deviating(record))


@pytest.mark.parametrize("user", ["core", "server", "admin"])
def test_recipes_with_each_identity_that_may_use_them(site, user):
    """As the commands connect: whichever process the login is of. The Monitor only looks."""
    site.tree.establish(site.record, quiet, existing=False)
    zk, owner = site.session(None, user), Owner(by="x", host="h", pid=1)
    locks = Locks(zk, site.layout, owner)
    hold = locks.acquire("x", wait=5)
    assert [lock.name for lock in overview(site.session(None, "monitor"), site.layout)] == ["x"]
    with pytest.raises(CoordinationError, match="E4007"):
        Locks(site.session(None, "monitor"), site.layout, owner).acquire("x", wait=0)
    locks.release(hold)
    barrier = Barrier(zk, site.layout, "b", 1, owner)
    barrier.enter(5)
    barrier.leave(5)
    queue = Queue(zk, site.layout, "q", owner)
    queue.put("item")
    with pytest.raises(CoordinationError, match="E4076"):
        Queue(site.session(None, "core"), site.layout, "other", owner).take(0)
    queue.complete(queue.take(5))
    assert Sequences(zk, site.layout).take("s") == range(1, 2)
    with pytest.raises(CoordinationError, match="E4007"):
        Sequences(site.session(None, "monitor"), site.layout).take("s")
