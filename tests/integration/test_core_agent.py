"""The Core's agent, threads and all, over the memory twin and over a real ZooKeeper; its workers are plain objects."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from replicator.coordination.leadership.election import Election
from replicator.coordination.machines.machines import Machines
from replicator.coordination.records import CommitRecord, InstanceRecord, MachineRecord
from replicator.coordination.tasks.commits import Commits
from replicator.errors import NodeMissing
from replicator.zookeeper.client import connect
from tests.support.site import TASK, TIMEOUT, Site, end_session, sessions_of
from tests.support.waiting import eventually


@pytest.fixture(params=["memory", pytest.param("zookeeper", marks=pytest.mark.servers)])
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    site = Site(sessions_of(request))
    site.registry.create(TASK, {"name": TASK}, "test")
    yield site
    site.close()


def test_one_runs_and_the_other_stands_by(site):
    a = site.start("host-a")
    site.wait("host-a")
    b = site.start("host-b")
    assert site.standing_by(1) == ["host-b"]
    worker = site.worker(a)
    assert worker.spec.epoch == site.task().epoch
    assert b.launcher.workers == []
    assert worker.may_emit
    eventually(lambda: site.task().figures and site.task().figures.state == "running")  # of the report behind its node
    figures = site.task().figures
    assert figures.state == "running"
    assert figures.lease_left_s > 0
    assert figures.worker_pid == worker.pid
    assert {machine.name for machine in site.machines.list()} == {"host-a", "host-b"}


def test_checkpoints_reach_last_commit_and_are_answered(site):
    worker = site.worker(site.start("host-a"))
    worker.deliver(5)
    eventually(lambda: worker.saved == 1)
    commit = site.task().last_commit
    assert commit.checkpoint.position.offset == 5
    assert commit.epoch == worker.spec.epoch


def test_checkpoints_are_paced_unless_urgent(site):
    worker = site.worker(site.start("host-a"))
    site.wait("host-a")
    worker.deliver()
    eventually(lambda: worker.saved == 1)
    before = site.task().commit_version
    for _ in range(20):
        worker.deliver(urgent=False)
        time.sleep(0.01)
    eventually(lambda: worker.saved == 21)
    assert site.task().commit_version - before <= 2


def test_a_lost_session_fails_over_and_rejoins_at_the_back(site):
    a = site.start("host-a")
    site.wait("host-a")
    b = site.start("host-b")
    site.standing_by(1)
    old = site.worker(a)
    old.deliver(7)
    eventually(lambda: old.saved == 1)
    end_session(a.coordinator)
    view = site.wait("host-b")
    assert view.epoch > old.spec.epoch
    eventually(lambda: old.killed)
    assert site.worker(b).spec.checkpoint.position.offset == 7
    assert site.standing_by(1) == ["host-a"]
    eventually(lambda: "lost" in site.kinds())


@pytest.mark.parametrize("site", ["memory"], indirect=True)
def test_take_over_after_a_death_within_the_session_timeout_and_two_seconds(site):
    a = site.start("host-a")
    site.wait("host-a")
    b = site.start("host-b")
    site.standing_by(1)
    old = site.worker(a)
    a.coordinator.silence()
    began = time.monotonic()
    new = site.worker(b)
    assert time.monotonic() - began <= TIMEOUT + 2
    assert not old.may_emit
    assert new.may_emit
    a.coordinator.hear()
    assert site.standing_by(1) == ["host-a"]


def test_planned_switchover_under_a_second_without_losing_a_position(site):
    a = site.start("host-a")
    site.wait("host-a")
    b = site.start("host-b")
    site.standing_by(1)
    worker = site.worker(a)
    worker.deliver(3, urgent=False)
    began = time.monotonic()
    site.commands.submit(TASK, "switchover", by="me")
    site.wait("host-b")
    assert time.monotonic() - began < 1
    assert worker.drained
    assert site.worker(b).spec.checkpoint.position.offset == 3
    assert site.standing_by(1) == ["host-a"]
    assert site.commands.pending(TASK) == []
    eventually(lambda: "switchover" in site.kinds())


def test_switchover_to_a_chosen_host_passes_the_next_in_line_over(site):
    a = site.start("host-a")
    site.wait("host-a")
    site.start("host-b")
    site.standing_by(1)
    site.start("host-c")
    site.standing_by(2)
    target = next(entry for entry in site.task().standbys if entry.host == "host-c")
    site.commands.submit(TASK, "switchover", {"to": target.guid}, "me")
    view = site.wait("host-c")
    assert view.running.guid == target.guid
    assert sorted(site.standing_by(2)) == ["host-a", "host-b"]
    assert all(worker.killed for worker in a.launcher.workers)


def test_switchover_to_nobody_is_refused(site):
    a = site.start("host-a")
    site.wait("host-a")
    site.commands.submit(TASK, "switchover", {"host": "host-z"}, "me")
    eventually(lambda: "refused" in site.kinds())
    site.commands.submit(TASK, "dance", {}, "me")
    eventually(lambda: site.kinds().count("refused") == 2)
    assert site.commands.pending(TASK) == []
    assert len(a.launcher.workers) == 1


def test_pause_and_resume(site):
    a = site.start("host-a")
    site.wait("host-a")
    site.worker(a).deliver(4, urgent=False)
    site.status.set(TASK, "paused", "me")
    view = site.wait("host-a", "paused")
    assert a.launcher.of(TASK) is None
    epoch = view.epoch
    site.status.set(TASK, "running", "me")
    assert site.wait("host-a").epoch == epoch
    assert site.worker(a).spec.checkpoint.position.offset == 4


def test_paused_stays_paused_over_a_fail_over(site):
    a = site.start("host-a")
    site.wait("host-a")
    b = site.start("host-b")
    site.standing_by(1)
    site.status.set(TASK, "paused", "me")
    site.wait("host-a", "paused")
    end_session(a.coordinator)
    site.wait("host-b", "paused")
    assert b.launcher.workers == []


@pytest.mark.parametrize("status", [b'{"v": 99, "desired": "paused"}', b'{"v": 1, "desired": "draining"}', b"{"])
def test_61_a_status_that_can_not_be_read_starts_nothing_and_stops_nothing(site, status):
    a = site.start("host-a")
    site.wait("host-a")
    b = site.start("host-b")
    site.standing_by(1)
    site.admin.set(site.layout.status(TASK), status)
    error = eventually(lambda: (figures := site.task().figures) and figures.config_error)
    assert error["code"] in ("E4009", "E4010")
    assert site.task().desired == "unknown"
    assert site.worker(a).may_emit, "what runs goes on"
    end_session(a.coordinator)
    site.wait("host-b", "paused")
    assert b.launcher.workers == []
    site.status.set(TASK, "running", "me")
    site.wait("host-b")


def test_a_new_configuration_reaches_the_worker_under_the_same_term(site):
    a = site.start("host-a")
    epoch = site.wait("host-a").epoch
    first = site.worker(a)
    first.deliver(2, urgent=False)
    site.registry.configure(TASK, {"name": TASK, "batch": 7}, "me", site.task().config_version)
    second = eventually(lambda: len(a.launcher.workers) == 2 and a.launcher.workers[1])
    assert first.drained
    assert second.spec.config["batch"] == 7
    assert second.spec.epoch == epoch
    assert second.spec.checkpoint.position.offset == 2


def test_a_restart_keeps_host_and_term_and_continues_where_the_worker_ended(site):
    a = site.start("host-a")
    epoch, first = site.wait("host-a").epoch, site.worker(a)
    first.deliver(2, urgent=False)
    site.commands.submit(TASK, "restart", {}, "ann")
    second = eventually(lambda: len(a.launcher.workers) == 2 and a.launcher.workers[1])
    assert first.drained and (second.spec.epoch, second.spec.checkpoint.position.offset) == (epoch, 2)
    eventually(lambda: "restart" in site.kinds() and site.commands.pending(TASK) == [])


def test_a_bad_configuration_never_stops_the_good_one(site):
    a = site.start("host-a")
    site.wait("host-a")
    worker = site.worker(a)
    site.registry.configure(TASK, {"name": TASK, "bad": 1}, "me", site.task().config_version)
    error = eventually(lambda: (figures := site.task().figures) and figures.config_error)
    assert error["code"] == "E1002"
    assert site.task().state == "running"
    assert worker.may_emit
    assert len(a.launcher.workers) == 1
    site.registry.configure(TASK, {"name": TASK, "batch": 8}, "me", site.task().config_version)
    eventually(lambda: len(a.launcher.workers) == 2)


def test_garbage_in_a_task_shows_and_the_others_go_on(site):
    site.admin.create(site.layout.task("junk"), b"\xff{[")
    a = site.start("host-a")
    site.wait("host-a")
    view = site.wait("host-a", "unconfigured", "junk")
    assert view.problems[0]["code"] == "E4009"
    site.worker(a).deliver()
    eventually(lambda: site.worker(a).saved == 1)
    site.registry.configure("junk", {"name": "junk"}, "me", site.registry.version("junk"))
    site.wait("host-a", "running", "junk")


def test_own_node_deleted_by_hand(site):
    a = site.start("host-a")
    site.wait("host-a")
    b = site.start("host-b")
    site.standing_by(1)
    old = site.worker(a)
    name = f"host-a-{site.task().running.guid}-{site.task().running.sequence:010d}"
    deleted = time.monotonic()
    site.admin.delete(site.layout.contender(TASK, name))
    eventually(lambda: old.killed, 1.0)
    new = site.worker(b)
    assert time.monotonic() - deleted >= TIMEOUT * 2 / 3, "the lease of the old one may still have run"
    site.wait("host-b")
    assert new.may_emit
    assert site.standing_by(1) == ["host-a"]


def test_both_own_nodes_deleted_by_hand(site):
    """It looks as if the session had ended, and it has not."""
    a = site.start("host-a")
    site.wait("host-a")
    b = site.start("host-b")
    site.standing_by(1)
    old = site.worker(a)
    name = f"host-a-{site.task().running.guid}-{site.task().running.sequence:010d}"
    site.admin.delete(site.layout.machine("host-a"))
    deleted = time.monotonic()
    site.admin.delete(site.layout.contender(TASK, name))
    site.worker(b)
    assert time.monotonic() - deleted >= TIMEOUT * 2 / 3, "the lease of the old one may still have run"
    assert old.killed
    assert "its znode is gone" in eventually(lambda: lost_reason(site))


def test_a_session_that_ended_is_not_waited_for(site):
    last = site.session()
    Machines(last, site.layout).publish("last", MachineRecord(host="last", pid=1, process="p", started_ms=0, time_ms=0))
    election, commits = Election(last, site.layout), Commits(last, site.layout)
    election.stand(TASK, "f" * 32, InstanceRecord(host="last", pid=1, process="p", since_ms=0, state="running"))
    [leader] = election.field(TASK).contenders
    term = CommitRecord(
        epoch=leader.czxid, session=last.session_id, timeout_s=TIMEOUT, uid=site.registry.read(TASK).record.uid
    )
    commits.write(TASK, leader.name, commits.read(TASK), term)
    b = site.start("host-b")
    assert site.standing_by(1) == ["host-b"]
    began = time.monotonic()
    last.close()
    site.worker(b)
    assert time.monotonic() - began < TIMEOUT / 2
    assert "its session ended" in eventually(lambda: lost_reason(site))


def lost_reason(site: Site) -> str:
    entries = [entry.record for entry in site.history.read(TASK)]
    return next((entry.reason for entry in entries if "takes over" in entry.reason), "")


def test_parent_deleted_by_hand_and_the_epoch_rises_all_the_same(site):
    a = site.start("host-a")
    epoch = site.wait("host-a").epoch
    path = site.layout.election(TASK)
    for name in site.admin.children(path):
        site.admin.delete(f"{path}/{name}")
    try:
        site.admin.delete(path)
    except Exception as error:
        assert "children" in str(error)  # host-a was faster than we
    view = eventually(lambda: (v := site.task()).state == "running" and v.epoch != epoch and v)
    assert view.epoch > epoch
    assert site.worker(a).spec.epoch == view.epoch


def test_foreign_children_are_ignored_and_reported(site):
    site.admin.create(f"{site.layout.election(TASK)}/junk", b"")
    site.admin.create(f"{site.layout.election(TASK)}/host-z-{'0' * 32}-0000000000", b"")
    site.start("host-a")
    view = site.wait("host-a")
    assert len([problem for problem in view.problems if problem["code"] == "E4009"]) == 2


def test_failed_keeps_its_place_until_told_otherwise(site):
    a = site.start("host-a")
    site.wait("host-a")
    b = site.start("host-b")
    site.standing_by(1)
    site.worker(a).fail("E2206")
    site.wait("host-a", "failed")
    assert eventually(lambda: site.task().problems, 0.5)[0]["code"] == "E2206"
    assert b.launcher.workers == []
    site.commands.submit(TASK, "retry", by="me")
    site.wait("host-a")
    site.worker(a).fail("E2206")
    site.wait("host-a", "failed")
    site.registry.configure(TASK, {"name": TASK, "batch": 1}, "me", site.task().config_version)
    site.wait("host-a")
    kinds = site.kinds()
    assert kinds.count("failed") == 2
    assert "retry" in kinds


def test_a_worker_that_dies_is_started_again_under_the_same_term(site):
    a = site.start("host-a")
    epoch = site.wait("host-a").epoch
    first = site.worker(a)
    first.deliver(6)
    eventually(lambda: first.saved == 1)
    first.die()
    second = eventually(lambda: len(a.launcher.workers) == 2 and a.launcher.workers[1])
    assert second.spec.epoch == epoch
    assert second.spec.checkpoint.position.offset == 6


def test_a_process_that_can_not_fork_tries_again(site):
    a = site.start("host-a", "other")
    a.launcher.refuse = True
    site.registry.create("other", {"name": "other"}, "me")
    site.wait("host-a", "starting", "other")
    waiting = eventually(lambda: (figures := site.task("other").figures) and figures.retrying)
    assert (waiting.code, waiting.side) == ("E5018", "host")
    a.launcher.refuse = False
    site.wait("host-a", "running", "other")
    eventually(lambda: not site.task("other").figures.retrying)


def test_a_host_that_can_not_fork_hands_over(site):
    a = site.start("host-a")
    epoch = site.wait("host-a").epoch
    site.start("host-b")
    site.standing_by(1)
    site.registry.configure(TASK, {"name": TASK, "hand_over_after_s": 1}, "me", site.task().config_version)
    eventually(lambda: len(a.launcher.workers) == 2)
    a.launcher.refuse = True
    a.launcher.of(TASK).die()
    assert site.wait("host-b").epoch > epoch
    reasons = [entry.record.reason for entry in site.history.read(TASK) if entry.record.kind == "gave up"]
    assert [reason.partition(";")[0] for reason in reasons] == ["E5018 on this host"]


def test_fenced_by_nobody_of_the_election_it_keeps_its_place(site):
    """Whoever won next would only fence, and be fenced, in turn."""
    a = site.start("host-a")
    epoch = site.wait("host-a").epoch
    site.start("host-b")
    site.standing_by(1)
    site.worker(a).fail("E3104", fenced=True)
    second = eventually(lambda: len(a.launcher.workers) == 2 and a.launcher.workers[1])
    assert second.spec.epoch == epoch and len(second.spec.installation) == 12
    assert site.standing_by(1) == ["host-b"]
    assert eventually(site.fenced) == {"sink": 1}


def test_a_lease_that_was_over_goes_on_under_the_same_term(site):
    a = site.start("host-a")
    epoch = site.wait("host-a").epoch
    site.worker(a).fail("E4008", fenced=True)
    second = eventually(lambda: len(a.launcher.workers) == 2 and a.launcher.workers[1])
    assert (second.spec.epoch, eventually(site.fenced)) == (epoch, {"lease": 1})


def test_stopping_releases_and_the_next_one_does_not_wait(site):
    a = site.start("host-a")
    site.wait("host-a")
    b = site.start("host-b")
    site.standing_by(1)
    site.worker(a).deliver(9, urgent=False)
    began = time.monotonic()
    a.stop()
    new = site.worker(b)
    assert time.monotonic() - began < 1.5
    assert new.spec.checkpoint.position.offset == 9
    assert [machine.name for machine in site.machines.list()] == ["host-b"]
    eventually(lambda: "released" in site.kinds())


def test_all_gone_and_one_started_resumes_from_the_checkpoint(site):
    a = site.start("host-a")
    site.wait("host-a")
    worker = site.worker(a)
    worker.deliver(11)
    eventually(lambda: worker.saved == 1)
    a.stop()
    b = site.start("host-b")
    assert site.worker(b).spec.checkpoint.position.offset == 11


def test_new_tasks_are_stood_for_as_they_appear_and_deleted_ones_left(site):
    a = site.start("host-a")
    site.wait("host-a")
    site.registry.create("second", {"name": "second"}, "me")
    site.wait("host-a", name="second", seconds=3)
    worker = site.worker(a, "second")
    site.status.set("second", "deleted", "me")
    eventually(lambda: site.registry.names() == [TASK])
    assert worker.drained
    with pytest.raises(NodeMissing):
        site.task("second")
    assert site.task().state == "running"


def test_named_tasks_only_and_registered_when_first(site):
    a = site.start("host-a", "mine")
    view = site.wait("host-a", "unconfigured", "mine")
    assert view.config is None
    site.registry.create("mine", {"name": "mine"}, "me")
    site.wait("host-a", name="mine")
    assert site.task().state == "absent"
    assert a.launcher.of(TASK) is None


def test_two_living_cores_of_one_name_are_both_visible(site):
    site.start("twin")
    site.wait("twin")
    second = site.start("twin")
    assert second.names[0].startswith("twin~")
    assert len(second.names[0]) == len("twin~xxxx")
    assert site.standing_by(1) == [second.names[0]]
    assert {machine.name for machine in site.machines.list()} == {"twin", second.names[0]}


@pytest.mark.servers
@pytest.mark.parametrize("site", ["zookeeper"], indirect=True)
def test_a_restarted_core_gets_its_name_back(site):
    dead = connect(site.admin.hosts, TIMEOUT)
    dead.create(site.layout.machine("host-a"), b"{}", ephemeral=True, parents=True)
    threading.Timer(1.0, dead.close).start()
    assert site.start("host-a").names == ["host-a"]


def test_no_thread_is_left(site):
    before = {thread.name for thread in threading.enumerate()}
    a = site.start("host-a")
    site.wait("host-a")
    a.stop()
    own = {"leases", "checkpoints", "pipes", "vitals", "agent host-a"}
    assert not own & ({thread.name for thread in threading.enumerate()} - before)


@pytest.mark.servers
@pytest.mark.parametrize("site", ["zookeeper"], indirect=True)
def test_watches_do_not_pile_up(site):
    a = site.start("host-a")
    site.wait("host-a")
    b = site.start("host-b")
    site.standing_by(1)

    def watches(agent) -> int:
        client = agent.coordinator._client
        kept = [*client._data_watchers.values(), *client._child_watchers.values()]
        return sum(len(watchers) for watchers in kept)

    time.sleep(1.0)
    before = watches(a), watches(b)
    time.sleep(TIMEOUT * 2)  # several periodic readings
    assert (watches(a), watches(b)) == before
    assert max(before) < 15
