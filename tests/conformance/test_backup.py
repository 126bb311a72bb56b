"""Backup and restore of a tree, over the coordinator in memory and over a real ZooKeeper."""

from __future__ import annotations

import os
import stat
import uuid
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from replicator.backup.archive import Backup, Manifest
from replicator.backup.restore import Restore
from replicator.backup.tree_backup import back_up
from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.installation import installation_id
from replicator.coordination.layout import Layout
from replicator.coordination.leadership.election import Election
from replicator.coordination.leadership.epochs import RESTORED, opened, sink_epoch
from replicator.coordination.ports import Coordinator, Create, Op
from replicator.coordination.recipes.claim_nodes import Owner
from replicator.coordination.recipes.locks import Locks
from replicator.coordination.recipes.queues import Queue
from replicator.coordination.recipes.sequences import Sequences
from replicator.coordination.records import (
    CommitRecord,
    HistoryRecord,
    InstanceRecord,
    PositionHistoryRecord,
    StatusRecord,
    dump,
    load,
)
from replicator.coordination.rights import grants
from replicator.coordination.tasks.commands import Commands
from replicator.coordination.tasks.commits import Commits
from replicator.coordination.tasks.history import History
from replicator.coordination.tasks.purged import Purged
from replicator.coordination.tasks.registry import Registry
from replicator.coordination.tasks.schema_nodes import SchemaNodes
from replicator.coordination.tasks.status import Status
from replicator.errors import NotConnected, ProcessError, ReplicatorError, VersionConflict
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from replicator.model.schema_history import SchemaRecord
from replicator.model.term import Term
from tests.security.secured import SecuredSite, quiet
from tests.support.present import present

Session = Callable[[], Coordinator]
TASK, ODD = "copy", "heiß/../übel %2e\u202e.x"
EPOCH = 7 << 32
"""Of a ZooKeeper with many elections behind it."""


@pytest.fixture
def old() -> Layout:
    return Layout(f"/old-{uuid.uuid4().hex}")


@pytest.fixture
def new() -> Layout:
    return Layout(f"/new-{uuid.uuid4().hex}")


def record(offset: int, kind: Any = "ddl", data: bytes = b"x") -> SchemaRecord:
    return SchemaRecord(kind, Position("binlog.000002", offset), data=data)


def make(zk: Coordinator, layout: Layout, task: str = TASK, versions: int = 3) -> str:
    """A task with everything. Returns its uid."""
    registry = Registry(zk, layout)
    node = registry.create(task, {"name": task, "n": 0}, "me")
    for version in range(versions):
        registry.configure(task, {"name": task, "n": version + 1}, "me", version)
    checkpoint = Checkpoint(Position("binlog.000002", 4711, gtid="u:1-9"), rows=17, in_sink=True)
    commit = CommitRecord(epoch=EPOCH, checkpoint=checkpoint, uid=node.record.uid, timeout_s=10.0, host="host-a")
    zk.create(layout.last_commit(task), dump(commit))
    schema = SchemaNodes(zk, layout, task, "")
    schema.append(record(4, "base"))
    schema.append(record(100))
    zk.create(layout.position_history(task))
    zk.create(layout.position_history_hour(task, 490000), dump(PositionHistoryRecord(points=[checkpoint])))
    for number in range(12):
        History(zk, layout).append(task, HistoryRecord(kind="running", time_ms=number))
    Commands(zk, layout).submit(task, "retry", {}, "me")
    return node.record.uid


def taken(zk: Coordinator, layout: Layout, path: Path) -> Manifest:
    return back_up(zk, layout, path)


def put_back(zk: Coordinator, layout: Layout, path: Path, *tasks: str, overwrite: bool = False, **more: Any) -> Any:
    with Backup(path) as backup:
        return Restore(zk, layout, backup, "me", **more).run(tasks, overwrite=overwrite)


def whole(zk: Coordinator, path: str, below: str = "") -> dict[str, bytes]:
    """Every node, its content by its path."""
    found = {below: zk.get(path).data}
    for name in zk.children(path):
        found |= whole(zk, f"{path}/{name}", f"{below}/{name}")
    return found


def test_a_task_comes_back_with_everything(zk: Coordinator, old: Layout, new: Layout, tmp_path: Path) -> None:
    uid = make(zk, old)
    make(zk, old, ODD)
    Status(zk, old).set(ODD, "paused", "me", "for a reason")
    installation_id(zk, old)
    Election(zk, old).stand(TASK, "0" * 32, InstanceRecord(host="h", pid=1, process="p", since_ms=0, state="standby"))
    path = tmp_path / "backup"
    manifest = taken(zk, old, path)
    assert sorted(manifest.tasks) == sorted([TASK, ODD]) and manifest.zxid >= zk.get(old.task(TASK)).stat.czxid
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and [file.name for file in tmp_path.iterdir()] == ["backup"]
    put_back(zk, new, path)
    assert installation_id(zk, new) == installation_id(zk, old)
    assert zk.exists(new.restore) is None
    for task in (TASK, ODD):
        before, after = (Registry(zk, layout).read(task) for layout in (old, new))
        assert (after.record, after.version) == (before.record, before.version), "orders name versions"
        assert SchemaNodes(zk, new, task, "").load() == SchemaNodes(zk, old, task, "").load()
        kinds = [(entry.record.kind, entry.record.time_ms) for entry in History(zk, new).read(task)]
        assert kinds[:-1] == [("running", number) for number in range(12)] and kinds[-1][0] == "restored"
        assert whole(zk, new.position_history(task)) == whole(zk, old.position_history(task))
        assert zk.children(new.commands(task)) == [] and zk.children(new.election(task)) == []
        assert Status(zk, new).read(task) == Status(zk, old).read(task)
        assert not [name for name in zk.children(new.task(task)) if name.startswith("restoring")]
    commit = present(Commits(zk, new).read(TASK).record)
    assert (commit.uid, present(commit.checkpoint).position.offset, commit.timeout_s) == (uid, 4711, 10.0)


def test_new_entries_come_behind_the_restored_ones(zk: Coordinator, old: Layout, new: Layout, tmp_path: Path) -> None:
    """Sequence numbers of a new parent begin at 0: names as they were would stand behind entries that come later."""
    make(zk, old)
    for _ in range(30):
        zk.delete(zk.create(old.schema_prefix(TASK), b"", sequential=True))
    SchemaNodes(zk, old, TASK, "").append(record(200))
    taken(zk, old, tmp_path / "b")
    put_back(zk, new, tmp_path / "b")
    SchemaNodes(zk, new, TASK, "").append(record(300))
    assert [one.position.offset for one in SchemaNodes(zk, new, TASK, "").load()] == [4, 100, 200, 300]


def test_names_that_only_look_numbered_stay(zk: Coordinator, old: Layout, new: Layout, tmp_path: Path) -> None:
    """Of a person's choice, for instance a task `copy-2026112501` that was purged; audits are numbered."""
    name = "copy-2026112501"
    make(zk, old, name)
    zk.create(f"{old.root}/purged/{name}", b"{}", parents=True)
    zk.create(f"{old.root}/audit", b"")
    for number in range(3):
        zk.create(f"{old.root}/audit/entry-", f"{number}".encode(), sequential=True)
    zk.delete(f"{old.root}/audit/entry-0000000000")
    taken(zk, old, tmp_path / "b")
    zk.create(f"{new.root}/audit/entry-", b"since", sequential=True, parents=True)
    put_back(zk, new, tmp_path / "b")
    assert zk.children(f"{new.root}/purged") == [name] and Registry(zk, new).names() == [name]
    entries = [zk.get(f"{new.root}/audit/{child}").data for child in zk.children(f"{new.root}/audit")]
    assert entries == [b"since", b"1", b"2"]
    put_back(zk, new, tmp_path / "b", overwrite=True)
    assert len(zk.children(f"{new.root}/audit")) == 3, "entries that are there do not come twice"


def test_epochs_rise_above_those_after_the_backup(zk: Coordinator, old: Layout, new: Layout, tmp_path: Path) -> None:
    make(zk, old)
    taken(zk, old, tmp_path / "b")
    put_back(zk, new, tmp_path / "b")
    commit = present(Commits(zk, new).read(TASK).record)
    own = zk.get(new.task(TASK)).stat.czxid + 1
    above, previous = opened(commit, own)
    later = EPOCH + (1000 << 32)  # a thousand elections of ZooKeeper's leader later
    assert own > RESTORED and later < previous < sink_epoch(own, above) < 1 << 53
    assert not commit.released and commit.session == 0, "the last term may still have a lease"


def test_large_nodes_and_many_parts(zk: Coordinator, old: Layout, new: Layout, tmp_path: Path) -> None:
    make(zk, old)
    zk.create(f"{old.task(TASK)}/large", os.urandom(900_000))
    zk.create(f"{old.task(TASK)}/largest", b"\n" * 1_000_000)
    zk.create(f"{old.task(TASK)}/many")
    for at in range(0, 2000, 200):
        ops: list[Op] = [
            Create(f"{old.task(TASK)}/many/part-", str(at + n).encode(), sequential=True) for n in range(200)
        ]
        zk.multi(ops)
    zk.create(f'{old.task(TASK)}/many/part-0000000007/ \u2028"odd', b"\x00\xff")
    taken(zk, old, tmp_path / "b")
    put_back(zk, new, tmp_path / "b")
    for name in ("large", "largest", "many"):
        assert whole(zk, f"{new.task(TASK)}/{name}") == whole(zk, f"{old.task(TASK)}/{name}")


def test_a_restore_that_is_killed_anywhere_is_completed_by_the_next(
    zk: Coordinator, old: Layout, tmp_path: Path
) -> None:
    """And until then no Core may begin the task."""
    make(zk, old)
    make(zk, old, "second")
    installation_id(zk, old)
    taken(zk, old, tmp_path / "b")
    complete: set[str] = set()
    for stop in range(1, 60):
        layout = Layout(f"/part-{uuid.uuid4().hex}")
        try:
            put_back(Dying(zk, stop), layout, tmp_path / "b")
            break
        except NotConnected:
            pass
        for task in Registry(zk, layout).names():
            status = Status(zk, layout).read(task)
            node = Registry(zk, layout).read(task)
            assert status.restoring or (node.version == 3 and zk.children(layout.schema(task))), stop
        put_back(zk, layout, tmp_path / "b")
        for task in (TASK, "second"):
            assert not Status(zk, layout).read(task).restoring
            assert len(SchemaNodes(zk, layout, task, "").load()) == 2
            assert len(History(zk, layout).read(task)) == 13
        complete.add(installation_id(zk, layout))
    else:
        pytest.fail("it never ends")
    assert stop > 10 and complete == {installation_id(zk, old)}


class Dying:
    """A coordinator whose process dies at a write."""

    def __init__(self, coordinator: Coordinator, writes: int) -> None:
        self._coordinator, self._left = coordinator, writes

    def __getattr__(self, name: str) -> Any:
        if name in ("create", "set", "multi", "delete"):
            self._left -= 1
            if self._left < 0:
                raise NotConnected("E4002", "killed")
        return getattr(self._coordinator, name)


def test_a_task_that_exists_is_not_overwritten(zk: Coordinator, old: Layout, tmp_path: Path) -> None:
    make(zk, old)
    make(zk, old, "second")
    taken(zk, old, tmp_path / "b")
    Registry(zk, old).configure(TASK, {"name": TASK, "later": True}, "me", 3)
    before = whole(zk, old.root)
    with pytest.raises(ProcessError, match=r"E5103.*copy, second"):
        put_back(zk, old, tmp_path / "b")
    assert whole(zk, old.root) == before, "nothing was written"
    put_back(zk, old, tmp_path / "b", TASK, overwrite=True)
    assert Registry(zk, old).read(TASK).record.config == {"name": TASK, "n": 3}
    assert Registry(zk, old).read("second").version == 3


def test_a_task_that_a_core_has_registered_is_replaced(
    session: Session, old: Layout, new: Layout, tmp_path: Path
) -> None:
    """Cores with --task register it in an empty tree, under another uid: the sink would not know it."""
    zk = session()
    uid = make(zk, old)
    taken(zk, old, tmp_path / "b")
    Registry(zk, new).register(TASK, "host-a")
    put_back(zk, new, tmp_path / "b")
    assert Registry(zk, new).read(TASK).record.uid == uid


def test_another_installation_in_use_is_refused(zk: Coordinator, old: Layout, new: Layout, tmp_path: Path) -> None:
    make(zk, old)
    installation_id(zk, old)
    taken(zk, old, tmp_path / "b")
    installation_id(zk, new)
    Registry(zk, new).create("other", {"name": "other"}, "me")
    for overwrite in (False, True):
        with pytest.raises(ProcessError, match=r"E5104.*other"):
            put_back(zk, new, tmp_path / "b", overwrite=overwrite)
    Status(zk, new).set("other", "deleted", "me")
    Registry(zk, new).remove("other")
    put_back(zk, new, tmp_path / "b")
    assert installation_id(zk, new) == installation_id(zk, old), "one without tasks takes the id of the backup"


def test_a_task_that_changes_while_it_is_read_is_read_again(zk: Coordinator, old: Layout, tmp_path: Path) -> None:
    make(zk, old)

    def change(number: int) -> None:
        Registry(zk, old).configure(TASK, {"name": TASK, "n": "late"}, "me", 3)
        SchemaNodes(zk, old, TASK, "").append(record(500))

    back_up(Between(zk, change), old, tmp_path / "b")
    with Backup(tmp_path / "b") as backup:
        part = backup.part(TASK)
        assert b"late" in present(part.find("")).data
        assert sum(node.path.startswith("schema/part-") for node in part.nodes) == 3


def test_a_task_that_is_deleted_while_it_is_read_is_left_out(zk: Coordinator, old: Layout, tmp_path: Path) -> None:
    make(zk, old)

    def delete(number: int) -> None:
        Status(zk, old).set(TASK, "deleted", "me")
        Registry(zk, old).remove(TASK)

    assert back_up(Between(zk, delete), old, tmp_path / "b").tasks == []


def test_a_task_that_never_rests_is_an_error(zk: Coordinator, old: Layout, tmp_path: Path) -> None:
    make(zk, old)
    (tmp_path / "b").write_text("yesterday's")
    always = Between(zk, lambda number: SchemaNodes(zk, old, TASK, "").append(record(number)), times=99)
    with pytest.raises(ProcessError, match="E5101"):
        back_up(always, old, tmp_path / "b", sleep=lambda seconds: None)
    assert (tmp_path / "b").read_text() == "yesterday's" and len(list(tmp_path.iterdir())) == 1


class Between:
    """Does something before a call: before the second look at a task, for instance."""

    def __init__(
        self,
        coordinator: Coordinator,
        what: Callable[[int], object],
        times: int = 1,
        *,
        on: str = "confirm",
        after: int = 0,
    ) -> None:
        self._coordinator, self._what, self._left, self._on, self._after = coordinator, what, times, on, after

    def __getattr__(self, name: str) -> Any:
        if name == self._on:
            self._after -= 1
            if self._after < 0 < self._left:
                self._left -= 1
                self._what(self._left)
        return getattr(self._coordinator, name)


def test_without_a_position_a_task_stays_paused(zk: Coordinator, old: Layout, new: Layout, tmp_path: Path) -> None:
    """It may have delivered since the backup, and would begin at the end of the binlog."""
    Registry(zk, old).create(TASK, {"name": TASK}, "me")
    taken(zk, old, tmp_path / "b")
    notes: list[str] = []
    put_back(zk, new, tmp_path / "b", report=lambda task, note: notes.append(note))
    assert Status(zk, new).read(TASK).desired == "paused" and "no position" in notes[0]


def test_a_lost_position_is_not_invented(zk: Coordinator, old: Layout, new: Layout, tmp_path: Path) -> None:
    make(zk, old)
    zk.delete(old.last_commit(TASK))
    taken(zk, old, tmp_path / "b")
    put_back(zk, new, tmp_path / "b")
    assert zk.exists(new.last_commit(TASK)) is None


def test_logins_only_when_told(zk: Coordinator, old: Layout, tmp_path: Path) -> None:
    make(zk, old)
    for name in ("tokens", "users", "security"):
        zk.create(f"{old.root}/{name}/one", b"a hash", parents=True)
    taken(zk, old, tmp_path / "b")
    with Backup(tmp_path / "b") as backup:
        assert not [node for node in backup.part("").nodes if node.data == b"a hash"]
    back_up(zk, old, tmp_path / "c", logins=True)
    with Backup(tmp_path / "c") as backup:
        assert len([node for node in backup.part("").nodes if node.data == b"a hash"]) == 2, "never the identities"


def test_a_configuration_that_comes_in_between_is_not_overwritten(
    zk: Coordinator, old: Layout, new: Layout, tmp_path: Path
) -> None:
    make(zk, old)
    taken(zk, old, tmp_path / "b")

    def configure(_: int) -> None:
        Registry(zk, new).configure(TASK, {"name": TASK, "n": "mine"}, "me", 0)

    with pytest.raises(VersionConflict):
        put_back(Between(zk, configure, on="multi", after=1), new, tmp_path / "b")
    assert Registry(zk, new).read(TASK).record.config == {"name": TASK, "n": "mine"}
    put_back(zk, new, tmp_path / "b")
    assert Registry(zk, new).read(TASK).version == 3


def test_restored_nodes_have_the_acls_of_the_identities(tmp_path: Path) -> None:
    site = SecuredSite.in_memory()
    site.tree.establish(site.record, quiet, existing=False)
    make(site.admin, site.layout)
    taken(site.admin, site.layout, tmp_path / "b")
    put_back(site.admin, site.layout, tmp_path / "b", overwrite=True)
    found = whole(site.admin, site.layout.task(TASK))
    assert len(found) > 20
    for path in (f"{site.layout.task(TASK)}{below}" for below in found):
        assert site.admin.acl(path).grants == grants(site.record, site.layout, path), path
    core = site.session("core")
    Election(core, site.layout).stand(
        TASK, "0" * 32, InstanceRecord(host="h", pid=1, process="p", since_ms=0, state="standby")
    )


def test_operators_cannot_start_half_a_task(zk: Coordinator, old: Layout) -> None:
    make(zk, old)
    zk.set(old.status(TASK), dump(StatusRecord(desired="paused", restoring=True)))
    with pytest.raises(ProcessError, match="E5105"):
        Status(zk, old).set(TASK, "running", "me")
    Status(zk, old).set(TASK, "deleted", "me")
    assert not load(StatusRecord, zk.get(old.status(TASK)).data).restoring


def test_a_purged_task_that_is_restored_has_its_position_again(
    zk: Coordinator, old: Layout, new: Layout, tmp_path: Path
) -> None:
    """And is purged again, under another configuration, without what it had before."""
    uid, purged = make(zk, old), Purged(zk, old)
    taken(zk, old, tmp_path / "b")
    Status(zk, old).set(TASK, "deleted", "me", purge=True)
    assert Registry(zk, old).remove(TASK) and purged.read(TASK).uids == (uid,)
    second = Registry(zk, old).create(TASK, {"name": TASK, "sink": "another"}, "me").record.uid
    zk.create(old.last_commit(TASK), dump(CommitRecord(epoch=EPOCH + 1, uid=second)))
    put_back(zk, old, tmp_path / "b", TASK, overwrite=True)
    assert Registry(zk, old).read(TASK).record.uid == uid
    record = purged.read(TASK)
    assert record.uids == (uid,) and record.left == (second,), "the second one was not purged"
    term = Term(TASK, uid, 1, lambda: 0.0, purged=frozenset(record.uids))
    assert uid not in term.purged, "what it has left is its own again"
    Status(zk, old).set(TASK, "deleted", "me", purge=True)
    assert Registry(zk, old).remove(TASK)
    assert set(purged.read(TASK).uids) == {uid, second} and purged.read(TASK).left == ()
    third = Registry(zk, old).create(TASK, {"name": TASK, "sink": "third"}, "me").record.uid
    assert third not in purged.read(TASK).uids
    put_back(zk, new, tmp_path / "b")
    assert Purged(zk, new).read(TASK).uids == (), "a root that was lost: what other incarnations left counts (E3109)"


def test_every_flipped_byte_is_found_or_harmless(tmp_path: Path) -> None:
    zk, layout = MemoryEnsemble().session(), Layout("/x")
    make(zk, layout)
    path = tmp_path / "b"
    manifest = taken(zk, layout, path)
    with Backup(path) as backup:
        wanted = backup.part(TASK)
    raw, refused = path.read_bytes(), 0
    for at in range(0, len(raw), 5):
        path.write_bytes(raw[:at] + bytes([raw[at] ^ 0x41]) + raw[at + 1 :])
        try:
            with Backup(path) as backup:
                backup.verify()
                assert (backup.manifest, backup.part(TASK)) == (manifest, wanted), at
        except ReplicatorError as error:
            assert error.code == "E5102", error
            refused += 1
    assert refused > len(raw) / 10
    for length in range(0, len(raw), 97):
        path.write_bytes(raw[:length])
        with pytest.raises(ProcessError, match="E5102"):
            Backup(path)


def test_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "b"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("manifest.json", msgspec.json.encode({"kind": "mysql-replicator cluster backup", "format": 2}))
    with pytest.raises(ProcessError, match=r"E5102.*format 2"):
        Backup(path)
    with pytest.raises(ProcessError, match="E5100"):
        Backup(tmp_path / "missing")


def test_no_id_and_no_fencing_token_comes_twice(zk: Coordinator, old: Layout, new: Layout, tmp_path: Path) -> None:
    """Also where ids were given out after the backup, series and locks are new, and the restore is repeated."""
    owner = Owner(by="me", host="h", pid=1)
    ids = Sequences(zk, old)
    given = {name: [*ids.take(name, 1000)] for name in ("a/b %é", "gone")}
    zk.delete(old.sequence("gone"))
    queue = Queue(zk, old, "q", owner)
    queue.put("same")
    queue.put("same")
    tokens = [Locks(zk, old, owner).acquire("held").token]
    taken(zk, old, tmp_path / "backup")
    for name, numbers in given.items():
        numbers += ids.take(name, 1000)
    for _ in range(2):
        put_back(zk, new, tmp_path / "backup")
        for name, numbers in given.items():
            numbers += Sequences(zk, new).take(name, 1000)
        locks = Locks(zk, new, owner)
        hold = locks.acquire("held", wait=0)
        tokens.append(hold.token)
        locks.release(hold)
    for numbers in given.values():
        assert numbers == sorted(set(numbers))
    assert tokens == sorted(set(tokens)) and tokens[1] > (1 << 44)
    items = Queue(zk, new, "q", owner)
    assert [items.take(0).record.value for _ in range(2)] == ["same", "same"]
