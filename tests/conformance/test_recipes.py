"""The recipes, each over the memory twin and over a real ZooKeeper."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest

from replicator.coordination.layout import Layout
from replicator.coordination.leadership.election import Election
from replicator.coordination.leadership.progress import TermProgress
from replicator.coordination.machines.machines import Machines
from replicator.coordination.machines.stopped import StoppedCores
from replicator.coordination.overview import Overview
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import (
    CommitRecord,
    HistoryRecord,
    InstanceRecord,
    MachineRecord,
    TaskFigures,
    TaskRecord,
    dump,
)
from replicator.coordination.tasks.commands import Commands
from replicator.coordination.tasks.commits import Commit, Commits
from replicator.coordination.tasks.history import KEPT, History
from replicator.coordination.tasks.registry import Registry
from replicator.coordination.tasks.status import Status
from replicator.coordination.tasks.versions import Versions
from replicator.errors import (
    CoordinationError,
    LeadershipLost,
    NodeExists,
    NodeMissing,
    PositionBehind,
    ProcessError,
    VersionConflict,
)
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from tests.support.present import present

Session = Callable[[], Coordinator]
TASK = "copy"


@pytest.fixture
def layout() -> Layout:
    return Layout(f"/recipes-{uuid.uuid4().hex}")


@pytest.fixture
def registry(zk: Coordinator, layout: Layout) -> Registry:
    return Registry(zk, layout)


@pytest.fixture
def made(registry: Registry) -> Registry:
    registry.create(TASK, {"name": TASK}, "me")
    return registry


def instance(host: str) -> InstanceRecord:
    return InstanceRecord(host=host, pid=1, process="p", since_ms=0, state="standby", timeout_s=4.0)


def machine(host: str) -> MachineRecord:
    return MachineRecord(host=host, pid=77, process="feedbeef", started_ms=0, time_ms=5)


def at(offset: int) -> Checkpoint:
    return Checkpoint(Position("binlog.000002", offset))


class TestRegistry:
    def test_no_tasks_at_all(self, registry):
        assert registry.names() == []

    def test_the_first_core_registers_and_the_second_joins(self, session, layout, registry):
        first = registry.register(TASK, "host-a")
        second = Registry(session(), layout).register(TASK, "host-b")
        assert not first.configured
        assert second.record.uid == first.record.uid
        assert second.record.updated_by == "host-a"

    def test_a_registered_task_is_configured_by_create(self, registry):
        uid = registry.register(TASK, "host-a").record.uid
        node = registry.create(TASK, {"name": TASK}, "me")
        assert (node.record.uid, node.version, node.configured) == (uid, 1, True)

    def test_versions_are_written_with_the_configuration(self, zk, layout, made):
        versions = Versions(zk, layout)
        made.configure(TASK, {"name": TASK, "x": 1}, "ann", 0, reason="why")
        with pytest.raises(VersionConflict):
            made.configure(TASK, {"name": TASK, "x": 2}, "bob", 0)
        assert [(one.number, one.by, one.reason) for one in versions.read(TASK)] == [(0, "me", ""), (1, "ann", "why")]
        Status(zk, layout).set(TASK, "deleted", "me", "")
        assert made.remove(TASK) and versions.read(TASK) == []

    def test_create_twice(self, made):
        with pytest.raises(NodeExists, match="E5004"):
            made.create(TASK, {"name": TASK}, "me")

    def test_names_are_restored_from_paths(self, registry):
        registry.create("a/b %", {}, "me")
        assert registry.names() == ["a/b %"]
        assert registry.read("a/b %").name == "a/b %"

    def test_nodes_made_by_hand_with_impossible_names_harm_nobody(self, zk, layout, made):
        for name in ("%FF", "a b", "%zz", "%2e"):
            zk.create(f"{layout.tasks}/{name}")
            zk.create(f"{layout.machines}/{name}", parents=True)
        zk.create(f"{layout.election(TASK)}/%FF-{'a' * 32}-0000000007", ephemeral=True)
        assert made.names() == [TASK]
        assert [entry.record for entry in Machines(zk, layout).list()] == []
        assert [view.name for view in Overview(zk, layout).tasks()] == [TASK]

    def test_of_two_operators_the_second_gets_a_conflict(self, made):
        version = made.read(TASK).version
        made.configure(TASK, {"n": 1}, "one", version)
        with pytest.raises(VersionConflict):
            made.configure(TASK, {"n": 2}, "two", version)
        assert made.read(TASK).record.config == {"n": 1}

    def test_not_there(self, registry):
        for act in (
            lambda: registry.read("none"),
            lambda: registry.version("none"),
            lambda: registry.configure("none", {}, "me", 0),
        ):
            with pytest.raises(NodeMissing, match="E5003"):
                act()

    def test_garbage_is_mended_and_keeps_its_incarnation(self, zk, layout, made):
        uid = made.read(TASK).record.uid
        zk.create(layout.last_commit(TASK), dump(CommitRecord(epoch=1, uid=uid)))
        zk.set(layout.task(TASK), b"\x00garbage")
        with pytest.raises(CoordinationError, match="E4009"):
            made.read(TASK)
        made.configure(TASK, {"name": TASK}, "me", made.version(TASK))
        assert made.read(TASK).record.uid == uid

    def test_a_newer_format_is_refused(self, zk, layout, made):
        zk.set(layout.task(TASK), dump(TaskRecord(uid="x", v=99)))
        with pytest.raises(CoordinationError, match="E4010"):
            made.read(TASK)

    def test_remove_only_when_nobody_stands(self, session, layout, zk, made):
        other = session()
        Election(other, layout).stand(TASK, "a" * 32, instance("host-a"))
        History(zk, layout).append(TASK, HistoryRecord(kind="created", time_ms=1))
        Commands(zk, layout).submit(TASK, "retry")
        assert not made.remove(TASK), "nobody asked for it"
        Status(zk, layout).set(TASK, "deleted", "me")
        with pytest.raises(ProcessError, match="E5007"):
            made.remove(TASK)
        assert made.names() == [TASK]
        other.close()
        assert made.remove(TASK)
        assert not made.remove(TASK)
        assert made.names() == []

    def test_made_again_it_is_another(self, zk, layout, made):
        uid = made.read(TASK).record.uid
        Status(zk, layout).set(TASK, "deleted", "me")
        made.remove(TASK)
        assert made.create(TASK, {}, "me").record.uid != uid


class TestStatus:
    def test_running_unless_told(self, zk, layout, made):
        status = Status(zk, layout)
        assert status.read(TASK).desired == "running"
        status.set(TASK, "paused", "me", "maintenance")
        record = status.read(TASK)
        assert (record.desired, record.by, record.reason) == ("paused", "me", "maintenance")

    def test_a_node_deleted_by_hand_comes_back(self, zk, layout, made):
        zk.delete(layout.status(TASK))
        assert Status(zk, layout).read(TASK).desired == "running"
        Status(zk, layout).set(TASK, "paused", "me")
        assert Status(zk, layout).read(TASK).desired == "paused"

    def test_refuses(self, zk, layout, made):
        with pytest.raises(NodeMissing, match="E5003"):
            Status(zk, layout).set("none", "paused", "me")
        with pytest.raises(ValueError, match="asleep"):
            Status(zk, layout).set(TASK, "asleep", "me")


class TestCommands:
    def test_queue(self, zk, layout, made):
        commands = Commands(zk, layout)
        first = commands.submit(TASK, "switchover", {"to": "x"}, "me")
        second = commands.submit(TASK, "retry")
        zk.create(layout.command_prefix(TASK), b"garbage", sequential=True)
        pending = commands.pending(TASK)
        assert [entry.record and entry.record.id for entry in pending] == [first.id, second.id, None]
        commands.complete(pending[0].path)
        commands.complete(pending[0].path)
        assert not commands.is_pending(TASK, first.id)
        assert commands.is_pending(TASK, second.id)

    def test_no_such_task(self, zk, layout, registry):
        with pytest.raises(NodeMissing, match="E5003"):
            Commands(zk, layout).submit("none", "retry")
        assert Commands(zk, layout).pending("none") == []


class TestHistory:
    def test_newest_last_and_trimmed(self, zk, layout, made):
        history = History(zk, layout)
        for number in range(KEPT + 25):
            history.append(TASK, HistoryRecord(kind="running", time_ms=number))
        entries = history.read(TASK)
        assert [entry.record.time_ms for entry in entries] == list(range(25, KEPT + 25))
        assert len(zk.children(layout.history(TASK))) < KEPT + 21
        assert [entry.record.time_ms for entry in history.read(TASK, limit=2)] == [KEPT + 23, KEPT + 24]

    def test_what_nobody_understands_is_left_out(self, zk, layout, made):
        history = History(zk, layout)
        history.append(TASK, HistoryRecord(kind="running", time_ms=1))
        zk.create(layout.history_prefix(TASK), b"?", sequential=True)
        zk.create(f"{layout.history(TASK)}/notes", b"?")
        assert len(history.read(TASK)) == 1
        assert history.read("none") == []


class TestElection:
    def test_standing_is_found_again_by_guid_and_session(self, session, layout, zk, made):
        other = session()
        Election(zk, layout).stand(TASK, "a" * 32, instance("host-a"))
        Election(other, layout).stand(TASK, "b" * 32, instance("host-b"))
        field = Election(zk, layout).field(TASK)
        assert [entry.host for entry in field.contenders] == ["host-a", "host-b"]
        own = field.own("b" * 32, other.session_id)
        assert own is not None
        assert own.owner == other.session_id
        assert present(field.before(own)).host == "host-a"
        assert field.own("b" * 32, zk.session_id) is None
        assert field.before(field.contenders[0]) is None

    def test_standing_twice_is_standing_once(self, zk, layout, made):
        for _ in range(2):
            Election(zk, layout).stand(TASK, "a" * 32, instance("host-a"))
        assert len(Election(zk, layout).field(TASK).contenders) == 1

    def test_foreign_children(self, zk, layout, made):
        election = layout.election(TASK)
        names = ["junk", f"h-{'a' * 32}-00000000001", f"h-{'a' * 32}--000000001", f"h-{'g' * 32}-0000000001"]
        for name in names:
            zk.create(f"{election}/{name}", ephemeral=True)
        zk.create(f"{election}/h-{'a' * 32}-0000000000")  # a name like ours, and it would never go away
        Election(zk, layout).stand(TASK, "b" * 32, instance("host-b"))
        field = Election(zk, layout).field(TASK)
        assert [entry.guid for entry in field.contenders] == ["b" * 32]
        assert sorted(field.foreign) == sorted([*names, f"h-{'a' * 32}-0000000000"])

    def test_a_record_nobody_understands_stands_all_the_same(self, zk, layout, made):
        zk.create(layout.contender_prefix(TASK, "h", "a" * 32), b"?", ephemeral=True, sequential=True)
        [entry] = Election(zk, layout).field(TASK).contenders
        assert entry.record is None

    def test_the_parent_is_made_again_and_the_epoch_rises(self, zk, layout, made):
        election = Election(zk, layout)
        election.stand(TASK, "a" * 32, instance("h"))
        first = election.field(TASK).contenders[0]
        election.withdraw(TASK, "a" * 32)
        zk.delete(layout.election(TASK))
        assert election.field(TASK).contenders == ()
        election.stand(TASK, "a" * 32, instance("h"))
        again = election.field(TASK).contenders[0]
        assert again.sequence == first.sequence
        assert again.czxid > first.czxid


class TestCommits:
    @pytest.fixture
    def own(self, zk, layout, made):
        Election(zk, layout).stand(TASK, "a" * 32, instance("h"))
        return Election(zk, layout).field(TASK).contenders[0]

    def test_write_under_the_own_node_and_the_known_version(self, zk, layout, own):
        commits = Commits(zk, layout)
        assert commits.read(TASK) == Commit(None)
        first = commits.write(TASK, own.name, Commit(None), CommitRecord(epoch=own.czxid))
        second = commits.write(TASK, own.name, first, CommitRecord(epoch=own.czxid, checkpoint=at(10)))
        assert second.version == 1
        assert present(commits.read(TASK).record).checkpoint == at(10)
        with pytest.raises(VersionConflict):
            commits.write(TASK, own.name, first, CommitRecord(epoch=own.czxid, checkpoint=at(20)))
        with pytest.raises(NodeExists):
            commits.write(TASK, own.name, Commit(None), CommitRecord(epoch=own.czxid))

    def test_without_the_own_node_nothing_is_written(self, zk, layout, own):
        commits = Commits(zk, layout)
        first = commits.write(TASK, own.name, Commit(None), CommitRecord(epoch=own.czxid))
        zk.delete(layout.contender(TASK, own.name))
        with pytest.raises(LeadershipLost):
            commits.write(TASK, own.name, first, CommitRecord(epoch=own.czxid, checkpoint=at(10)))
        assert commits.read(TASK).checkpoint is None

    def test_never_backwards(self, zk, layout, own):
        commits = Commits(zk, layout)
        first = commits.write(TASK, own.name, Commit(None), CommitRecord(epoch=1, checkpoint=at(10)))
        for worse in (at(9), None, Checkpoint(Position("binlog.000001", 99))):
            with pytest.raises(PositionBehind, match="E4012"):
                commits.write(TASK, own.name, first, CommitRecord(epoch=1, checkpoint=worse))
        commits.write(TASK, own.name, first, CommitRecord(epoch=1, checkpoint=at(10)))

    def test_release_is_one_step(self, zk, layout, own):
        commits, commands = Commits(zk, layout), Commands(zk, layout)
        commands.submit(TASK, "switchover")
        path = commands.pending(TASK)[0].path
        first = commits.write(TASK, own.name, Commit(None), CommitRecord(epoch=own.czxid, checkpoint=at(10)))
        released = CommitRecord(epoch=own.czxid, checkpoint=at(11), released=True)
        with pytest.raises(VersionConflict):
            commits.release(TASK, own.name, Commit(first.record, 7), released, (path,))
        assert zk.exists(path) is not None
        assert zk.exists(layout.contender(TASK, own.name)) is not None
        commits.release(TASK, own.name, first, released, (path,))
        assert zk.exists(path) is None
        assert zk.exists(layout.contender(TASK, own.name)) is None
        assert present(commits.read(TASK).record).released

    def test_a_terms_pen(self, zk, layout, own):
        pen = TermProgress(zk, layout, TASK, own.name, own.czxid, "uid", "h")
        Commits(zk, layout).write(TASK, own.name, Commit(None), CommitRecord(epoch=own.czxid))
        pen.save(at(1))
        record = present(Commits(zk, layout).read(TASK).record)
        zk.set(layout.last_commit(TASK), dump(record))  # the agent wrote meanwhile
        pen.save(at(2))
        zk.delete(layout.last_commit(TASK))  # by hand: we know better
        pen.save(at(3))
        assert Commits(zk, layout).read(TASK).checkpoint == at(3)
        with pytest.raises(PositionBehind, match="E4012"):
            pen.save(at(2))
        zk.set(layout.last_commit(TASK), dump(CommitRecord(epoch=own.czxid + 1, checkpoint=at(3))))
        with pytest.raises(LeadershipLost):
            pen.save(at(4))


class TestMachines:
    def test_publish_list_withdraw(self, session, zk, layout):
        machines, other = Machines(zk, layout), session()
        machines.publish("host-a", machine("host-a"))
        machines.publish("host-a", machine("host-a"))
        Machines(other, layout).publish("host/b", machine("host/b"))
        assert [entry.name for entry in machines.list()] == ["host-a", "host/b"]
        machines.withdraw("host/b")
        assert len(machines.list()) == 2, "not ours"
        machines.withdraw("host-a")
        machines.withdraw("host-a")
        other.close()
        assert machines.list() == []

    @pytest.mark.parametrize(("tasks", "uuids"), [(125, 150), (1000, 150)])
    def test_figures_of_many_tasks_fit(self, zk, layout, tasks, uuids):
        """ZooKeeper ends the connection of a write over 1 MB, and figures and reach would stand still."""
        gtid = ",".join(f"{uuid.uuid4()}:1-{number}" for number in range(uuids))
        error = {"code": "E2306", "what": "differs", "found": "CREATE TABLE " + "x" * 900_000}
        figures = TaskFigures(state="running", gtid=gtid, error=error, reach={"source": True, "sink": True})
        record = MachineRecord(
            host="host-a",
            pid=1,
            process="p",
            started_ms=1,
            time_ms=7,
            tasks={f"copy_{number}": figures for number in range(tasks)},
        )
        machines = Machines(zk, layout)
        machines.publish("host-a", record)
        machines.publish("host-a", record)
        found = present(present(machines.read("host-a")).record)
        assert found.time_ms == 7
        assert len(found.tasks) == tasks
        assert present(found.tasks["copy_9"].error)["code"] == "E2306"
        assert found.tasks["copy_9"].reach == {"source": True, "sink": True}

    def test_a_name_of_somebody_else(self, session, zk, layout):
        other = session()
        Machines(other, layout).publish("host-a", machine("host-a"))
        with pytest.raises(NodeExists, match="process 77") as caught:
            Machines(zk, layout).publish("host-a", machine("host-a"))
        assert caught.value.code == "E5002"

    def test_deleted_by_hand_it_is_made_again(self, zk, layout):
        machines = Machines(zk, layout)
        machines.publish("host-a", machine("host-a"))
        zk.delete(layout.machine("host-a"))
        machines.publish("host-a", machine("host-a"))
        assert present(machines.read("host-a")).owner == zk.session_id


class TestStoppedCores:
    def test_on_record_from_an_end_to_the_next_start(self, session, zk, layout):
        ended, other = StoppedCores(zk, layout), StoppedCores(session(), layout)
        assert ended.list() == {}
        ended.record("host/a", "p1")
        ended.record("host-b", "p1")
        ended.record("host-b", "p2")
        assert {name: record.process for name, record in other.list().items()} == {"host/a": "p1", "host-b": "p2"}
        other.forget("host-b")
        other.forget("host-b")
        assert list(ended.list()) == ["host/a"]


class TestOverview:
    def test_everything_of_a_task(self, session, zk, layout, made):
        leader, standby = session(), session()
        for coordinator, guid, host in ((leader, "a" * 32, "host-a"), (standby, "b" * 32, "host-b")):
            figures = TaskFigures(state="running", error={"code": "E1", "what": "w"})
            record = machine(host)
            record.tasks = {TASK: figures}
            Machines(coordinator, layout).publish(host, record)
            Election(coordinator, layout).stand(TASK, guid, instance(host))
        zk.create(f"{layout.election(TASK)}/junk")
        zk.create(layout.task("other"), b"garbage")
        other, view = sorted(Overview(zk, layout).tasks(), key=lambda entry: entry.name != "other")
        assert (view.host, [entry.host for entry in view.standbys]) == ("host-a", ["host-b"])
        assert view.epoch == present(view.running).epoch > 0
        assert present(view.figures).state == "running"
        assert sorted(problem["code"] for problem in view.problems) == ["E1", "E4009"]
        assert view.standbys[0].machine == "host-b"
        assert (other.host, other.state, other.config) == ("", "absent", None)
        assert other.problems[0]["code"] == "E4009"

    def test_a_deleted_task_is_no_error(self, zk, layout, made):
        with pytest.raises(NodeMissing, match="E5003"):
            Overview(zk, layout).task("none")
