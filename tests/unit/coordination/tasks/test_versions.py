"""Versions of a configuration: one record per version, bounded, of one incarnation."""

from __future__ import annotations

import msgspec
import pytest

from replicator.coordination.in_memory.coordinator import MemoryCoordinator, MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.records import TaskRecord, dump
from replicator.coordination.tasks import versions as module
from replicator.coordination.tasks.history import History
from replicator.coordination.tasks.registry import Registry
from replicator.coordination.tasks.status import Status
from replicator.coordination.tasks.versions import Versions
from replicator.errors import ProcessError, VersionConflict

TASK = "copy"


class Site:
    def __init__(self) -> None:
        self.coordinator: MemoryCoordinator = MemoryEnsemble().session()
        self.layout = Layout()
        self.registry = Registry(self.coordinator, self.layout)
        self.versions = Versions(self.coordinator, self.layout)

    def numbers(self) -> list[int]:
        return [record.number for record in self.versions.read(TASK)]

    def configure(self, size: int = 0, **more: object) -> None:
        version = self.registry.version(TASK)
        config = {"name": TASK, "version": version + 1, "text": "x" * size}
        self.registry.configure(TASK, config, "ann", version, reason="why", **more)  # type: ignore[arg-type]


@pytest.fixture
def site() -> Site:
    made = Site()
    made.registry.create(TASK, {"name": TASK}, "ann", reason="first")
    return made


def test_each_version_has_its_record(site: Site) -> None:
    site.configure()
    site.configure(restores=0)
    kept = site.versions.read(TASK)
    assert [(record.number, record.kind, record.by, record.reason) for record in kept] == [
        (0, "created", "ann", "first"), (1, "configured", "ann", "why"), (2, "rollback", "ann", "why"),
    ]  # fmt: skip
    assert kept[2].restores == 0 and kept[1].config["version"] == 1
    assert kept[1].number == 1 and site.registry.read(TASK).version == 2
    assert {record.uid for record in kept} == {site.registry.read(TASK).record.uid}


def test_a_refused_change_leaves_no_record(site: Site) -> None:
    with pytest.raises(VersionConflict):
        site.registry.configure(TASK, {"name": TASK, "x": 1}, "ann", 7)
    assert site.numbers() == [0]
    with pytest.raises(ProcessError, match="kept: 0"):
        site.versions.get(TASK, 8)


def test_a_registered_task_begins_with_its_first_configuration() -> None:
    site = Site()
    site.registry.register(TASK, "core")
    assert site.numbers() == []
    site.registry.create(TASK, {"name": TASK}, "ann")
    assert [(record.number, record.kind) for record in site.versions.read(TASK)] == [(1, "created")]


def test_a_task_of_an_earlier_release_keeps_what_it_had() -> None:
    site = Site()
    before = TaskRecord(uid="u", config={"name": TASK, "old": True}, updated_ms=5, updated_by="bob")
    site.coordinator.create(site.layout.task(TASK), dump(before), parents=True)
    site.configure()
    first, second = site.versions.read(TASK)
    assert (first.number, first.config["old"], first.by, first.time_ms, first.kind) == (0, True, "bob", 5, "")
    assert second.number == 1


def test_a_version_that_another_release_wrote_in_between_gets_its_record(site: Site) -> None:
    record = site.registry.read(TASK).record
    site.coordinator.set(site.layout.task(TASK), dump(msgspec.structs.replace(record, config={"name": TASK, "y": 1})))
    site.configure()
    assert [(one.number, one.kind) for one in site.versions.read(TASK)] == [(0, "created"), (1, ""), (2, "configured")]


def test_the_number_of_versions_is_bounded(site: Site) -> None:
    for _ in range(module.KEPT + 3):
        site.configure()
    assert site.numbers() == list(range(4, module.KEPT + 4))


def test_their_bytes_are_bounded_but_the_newest_is_kept(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_BYTES", 2500)
    for _ in range(4):
        site.configure(1000)
    assert site.numbers() == [3, 4]
    site.configure(100_000)
    assert site.numbers() == [5]


def test_they_survive_the_trimming_of_the_history(site: Site) -> None:
    site.configure()
    History(site.coordinator, site.layout).trim(TASK)
    for name in site.coordinator.children(site.layout.history(TASK)):
        site.coordinator.delete(f"{site.layout.history(TASK)}/{name}")
    assert site.numbers() == [0, 1]


def test_they_belong_to_the_incarnation(site: Site) -> None:
    site.configure()
    Status(site.coordinator, site.layout).set(TASK, "deleted", "ann", "")
    assert site.registry.remove(TASK)
    site.registry.create(TASK, {"name": TASK, "second": True}, "bob")
    (only,) = site.versions.read(TASK)
    assert (only.number, only.config, only.by) == (0, {"name": TASK, "second": True}, "bob")


def test_records_that_a_restored_backup_brought_are_replaced(site: Site) -> None:
    site.configure()
    site.coordinator.create(site.layout.version(TASK, 2), b"of another time")
    assert site.numbers() == [0, 1], "one that nobody understands is left out"
    site.configure()
    assert site.numbers() == [0, 1, 2]
