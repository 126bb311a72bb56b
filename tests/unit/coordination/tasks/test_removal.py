"""Removal of tasks over the memory twin: whatever happens between two of its steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from replicator.coordination.in_memory.coordinator import MemoryCoordinator, MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.leadership.election import Election
from replicator.coordination.leadership.view import ViewReader
from replicator.coordination.ports import Op
from replicator.coordination.records import CommitRecord, HistoryRecord, InstanceRecord, dump
from replicator.coordination.tasks.commits import Commits
from replicator.coordination.tasks.history import History
from replicator.coordination.tasks.purged import MOST, Purged
from replicator.coordination.tasks.registry import Registry
from replicator.coordination.tasks.status import Status
from replicator.coordination.watches import Watches
from replicator.errors import CoordinationError, NodeMissing, NotConnected, ProcessError, VersionConflict
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position

TASK = "copy"
LAYOUT = Layout()
ENTRY = HistoryRecord(kind="created", time_ms=1)
STANDS = InstanceRecord(host="host-a", pid=1, process="p", since_ms=1, state="standby")


class Interrupted(MemoryCoordinator):
    """Does something once before one of its requests."""

    def __init__(self, ensemble: MemoryEnsemble) -> None:
        super().__init__(ensemble, 6.0)
        self.before: dict[str, Callable[[], Any]] = {}

    def _now(self, what: str) -> None:
        meanwhile = self.before.pop(what, None)
        if meanwhile is not None:
            meanwhile()

    def multi(self, ops: Sequence[Op]) -> Any:
        self._now("multi")
        return super().multi(ops)

    def create(self, path: str, data: bytes = b"", **how: bool) -> str:
        self._now("create")
        return super().create(path, data, **how)

    def get(self, path: str, watch: Any = None) -> Any:
        self._now(f"get {path}")
        return super().get(path, watch)

    def listing(self, path: str, watch: Any = None) -> Any:
        self._now(f"listing {path}")
        return super().listing(path, watch)

    def exists(self, path: str, watch: Any = None) -> Any:
        self._now(f"exists {path}")
        return super().exists(path, watch)


class Bench:
    def __init__(self) -> None:
        self.ensemble = MemoryEnsemble(lambda: 0.0)
        self.slow = Interrupted(self.ensemble)
        self.quick = self.ensemble.session()
        self.registry = Registry(self.quick, LAYOUT)
        self.status = Status(self.quick, LAYOUT)
        self.uid = self.made()

    def made(self) -> str:
        """Creates the task, as old as it gets: with a checkpoint and a history."""
        uid = self.registry.create(TASK, {"name": TASK}, "test").record.uid
        checkpoint = Checkpoint(Position("binlog.000001", 4))
        self.quick.create(LAYOUT.last_commit(TASK), dump(CommitRecord(epoch=1, checkpoint=checkpoint, uid=uid)))
        History(self.quick, LAYOUT).append(TASK, ENTRY)
        return uid

    def delete(self) -> None:
        self.status.set(TASK, "deleted", "test")
        assert self.registry.remove(TASK)

    def delete_and_create(self) -> None:
        """With a status of the same version as the deleted one's."""
        self.delete()
        self.uid = self.made()
        self.status.set(TASK, "paused", "test")

    def whole(self) -> bool:
        there = self.registry.read(TASK).record.uid == self.uid
        commit = Commits(self.quick, LAYOUT).read(TASK).record
        return there and commit is not None and bool(History(self.quick, LAYOUT).read(TASK))


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.mark.parametrize(
    "when",
    [
        "create",
        "multi",
        f"get {LAYOUT.task(TASK)}",
        f"get {LAYOUT.status(TASK)}",
        f"exists {LAYOUT.task(TASK)}",
    ],
)
def test_a_task_created_again_meanwhile_is_left_alone(bench: Bench, when: str) -> None:
    bench.status.set(TASK, "deleted", "test")
    bench.slow.before[when] = bench.delete_and_create
    Registry(bench.slow, LAYOUT).remove(TASK)
    assert bench.whole()
    assert not [name for name in bench.quick.children(LAYOUT.task(TASK)) if name.startswith("removing")]


def test_who_comes_late_delays_it(bench: Bench) -> None:
    bench.status.set(TASK, "deleted", "test")
    bench.slow.before["multi"] = lambda: Election(bench.quick, LAYOUT).stand(TASK, "a" * 32, STANDS)
    with pytest.raises(ProcessError, match="has contenders"):
        Registry(bench.slow, LAYOUT).remove(TASK)
    assert bench.registry.names() == [TASK]
    bench.quick.close()
    assert Registry(bench.slow, LAYOUT).remove(TASK)


def test_a_late_write_and_nodes_made_by_hand_go_with_it(bench: Bench) -> None:
    bench.status.set(TASK, "deleted", "test")
    bench.quick.create(f"{LAYOUT.history(TASK)}/a/b/c", b"by hand", parents=True)
    bench.slow.before["multi"] = lambda: History(bench.quick, LAYOUT).append(TASK, ENTRY)
    assert Registry(bench.slow, LAYOUT).remove(TASK)
    assert bench.quick.children(LAYOUT.tasks) == []


def test_deleted_is_final(bench: Bench) -> None:
    bench.status.set(TASK, "deleted", "test")
    for desired in ("running", "paused"):
        with pytest.raises(ProcessError, match="E5007"):
            bench.status.set(TASK, desired, "test")
    bench.status.set(TASK, "deleted", "again")


def test_nothing_that_is_written_after_it_brings_the_task_back(bench: Bench) -> None:
    bench.delete()
    late: list[Callable[[], Any]] = [
        lambda: History(bench.quick, LAYOUT).append(TASK, ENTRY),
        lambda: Election(bench.quick, LAYOUT).stand(TASK, "a" * 32, STANDS),
        lambda: bench.status.set(TASK, "running", "test"),
    ]
    for write in late:
        with pytest.raises(NodeMissing, match="E5003"):
            write()
    assert bench.quick.children(LAYOUT.tasks) == []


def read(bench: Bench) -> Any:
    reader = ViewReader(bench.slow, LAYOUT, TASK, lambda config: config)
    return reader.read("a" * 32, Watches(lambda: None), commands=False, machines=True)


@pytest.mark.parametrize("part", [LAYOUT.election(TASK), LAYOUT.last_commit(TASK), LAYOUT.status(TASK)])
def test_a_view_is_of_one_incarnation(bench: Bench, part: str) -> None:
    """Half a deleted task looks like one that has lost its progress."""
    for kind in ("listing", "get"):
        bench.slow.before[f"{kind} {part}"] = bench.delete_and_create
    view = read(bench)
    assert (view.uid, view.desired, view.commit.record.uid) == (bench.uid, "paused", bench.uid)
    for kind in ("listing", "get"):
        bench.slow.before[f"{kind} {part}"] = bench.delete
    assert not read(bench).exists


@pytest.mark.parametrize("purge", [False, True])
def test_a_purge_is_noted_in_the_transaction_that_removes_the_task(bench: Bench, purge: bool) -> None:
    bench.status.set(TASK, "deleted", "test", purge=purge)
    bench.registry.remove(TASK)
    assert set(Purged(bench.quick, LAYOUT).read(TASK).uids) == ({bench.uid} if purge else set())


def test_a_purge_that_is_ordered_while_the_task_is_removed_is_not_missed(bench: Bench) -> None:
    bench.status.set(TASK, "deleted", "test")
    bench.slow.before["multi"] = lambda: bench.status.set(TASK, "deleted", "test", purge=True)
    assert Registry(bench.slow, LAYOUT).remove(TASK)
    assert set(Purged(bench.quick, LAYOUT).read(TASK).uids) == {bench.uid}


@pytest.mark.parametrize("path", [LAYOUT.purged_task(TASK), LAYOUT.last_commit(TASK)])
def test_a_connection_that_is_lost_does_not_lose_the_purge(bench: Bench, path: str) -> None:
    def lost() -> None:
        raise NotConnected("E4001", "no connection")

    bench.status.set(TASK, "deleted", "test", purge=path != LAYOUT.last_commit(TASK))
    bench.slow.before[f"get {path}"] = lost
    with pytest.raises(NotConnected):
        Registry(bench.slow, LAYOUT).remove(TASK)
    assert TASK in bench.registry.names()
    assert Registry(bench.slow, LAYOUT).remove(TASK), "it goes on"
    assert bench.quick.exists(LAYOUT.purged_task(TASK)) is not None


def test_a_deletion_without_purge_does_not_take_an_order_to_purge_back(bench: Bench) -> None:
    bench.status.set(TASK, "deleted", "test", purge=True)
    bench.status.set(TASK, "deleted", "test")
    assert bench.registry.remove(TASK)
    assert set(Purged(bench.quick, LAYOUT).read(TASK).uids) == {bench.uid}


def test_a_purge_covers_what_was_deleted_before_it(bench: Bench) -> None:
    first = bench.uid
    bench.status.set(TASK, "deleted", "test", purge=True)
    assert bench.registry.remove(TASK)
    second = bench.made()
    bench.delete()
    third = bench.made()
    assert set(Purged(bench.quick, LAYOUT).read(TASK).uids) == {first}, "what the second has left counts"
    bench.status.set(TASK, "deleted", "test", purge=True)
    assert bench.registry.remove(TASK)
    assert set(Purged(bench.quick, LAYOUT).read(TASK).uids) == {first, second, third}, "a purge covers those before it"
    fourth = bench.made()
    bench.delete()
    assert fourth not in set(Purged(bench.quick, LAYOUT).read(TASK).uids)


def test_a_purge_of_a_damaged_task_knows_it_by_its_progress(bench: Bench) -> None:
    bench.quick.set(LAYOUT.task(TASK), b"junk", -1)
    bench.status.set(TASK, "deleted", "test", purge=True)
    assert bench.registry.remove(TASK)
    assert set(Purged(bench.quick, LAYOUT).read(TASK).uids) == {bench.uid}


def test_the_list_of_purged_incarnations_is_bounded(bench: Bench) -> None:
    purged = Purged(bench.quick, LAYOUT)
    for number in range(MOST + 10):
        bench.quick.multi([purged.adding(TASK, f"uid-{number}", "test")])
    record = purged.read(TASK)
    assert record.uids == tuple(f"uid-{number}" for number in range(10, MOST + 10)) and not record.lost_ms


def test_a_damaged_list_is_an_error_and_the_next_one_says_what_is_missing(bench: Bench) -> None:
    bench.quick.create(LAYOUT.purged_task(TASK), b"junk", parents=True)
    purged = Purged(bench.quick, LAYOUT)
    with pytest.raises(CoordinationError, match="E4009") as raised:
        purged.read(TASK)
    assert "source.start" in raised.value.fix
    bench.status.set(TASK, "deleted", "test", purge=True)
    assert bench.registry.remove(TASK), "a deletion does not depend on it"
    record = purged.read(TASK)
    assert record.uids == (bench.uid,) and record.lost_ms
    bench.quick.multi([purged.adding(TASK, "later", "test"), purged.adding("other", "x", "test")])
    assert purged.read(TASK).lost_ms == record.lost_ms, "it is not forgotten"


def test_the_list_of_a_newer_version_is_not_replaced(bench: Bench) -> None:
    newer = b'{"v": 99, "uids": ["a"]}'
    bench.quick.create(LAYOUT.purged_task(TASK), newer, parents=True)
    bench.status.set(TASK, "deleted", "test", purge=True)
    with pytest.raises(CoordinationError, match="E4010"):
        bench.registry.remove(TASK)
    assert bench.quick.get(LAYOUT.purged_task(TASK)).data == newer and TASK in bench.registry.names()


def test_a_deletion_at_a_version_leaves_another_one_alone(bench: Bench) -> None:
    present = bench.registry.version(TASK)
    with pytest.raises(VersionConflict, match="E4006"):
        bench.status.set(TASK, "deleted", "test", version=present + 1)
    bench.slow.before["multi"] = lambda: bench.registry.configure(TASK, {"name": TASK}, "other", present)
    with pytest.raises(VersionConflict, match="E4006"):
        Status(bench.slow, LAYOUT).set(TASK, "deleted", "test", version=present)
    assert bench.status.read(TASK).desired == "running", "it was changed after it was looked at"
    bench.quick.delete(LAYOUT.status(TASK))
    with pytest.raises(VersionConflict, match="E4006"):
        bench.status.set(TASK, "deleted", "test", version=present)
    bench.status.set(TASK, "deleted", "test", version=present + 1)
    assert bench.registry.remove(TASK)
    with pytest.raises(NodeMissing, match="E5003"):
        bench.status.set(TASK, "deleted", "test", version=0)
