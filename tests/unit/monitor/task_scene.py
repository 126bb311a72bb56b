"""The night of `scene`, and what only the pages of a task show: checkpoints of a day, versions, errors of the past,
statements."""

from __future__ import annotations

from typing import Any

import msgspec

from replicator.coordination.records import (
    CheckRecord,
    CommitRecord,
    PositionHistoryRecord,
    TaskRecord,
    VersionRecord,
    dump,
    load,
)
from replicator.coordination.tasks.position_history import HOUR_MS, MINUTE_MS
from replicator.coordination.tasks.schema_nodes import SchemaPart
from replicator.model.checkpoint import Checkpoint
from replicator.model.finding import Finding
from replicator.model.position import Position
from replicator.model.quarantine import Quarantined
from replicator.model.schema_history import SchemaRecord
from replicator.model.snapshot import OpenTable, SnapshotProgress
from replicator.model.task_check import TaskCheck
from tests.unit.monitor.scene import GTID, Bus, night, now_ms

TASK = "copy_hot_item"


def full_night() -> Bus:
    bus = night()
    trail(bus, TASK, 200)
    versions(bus, TASK, 7)
    for age_s, host in ((300_000, "host-z"), (200_000, "host-z"), (9000, "host-z")):
        bus.happened(TASK, "failed", age_s, host=host, reason="E2104 the account 'replicator' may not read the binlog")
    bus.happened(TASK, "refused", 8000, by="jan", reason="E1001 source.tables[2] is not a pattern")
    bus.happened(TASK, "quarantined", 500, reason="shop.orders (E2206 no definition)", position="binlog.000042:77")
    for number, text in enumerate(("ALTER TABLE item ADD COLUMN colour INT", "CREATE TABLE stock (id INT)")):
        statement(bus, TASK, text, number)
    check(bus, TASK, version=7, age_s=4000)
    quarantine(bus, TASK)
    table = OpenTable("shop.orders", ("id",), rows=400_000, passed=400_000, size=90_000_000, estimate=1_000_000)
    taken = SnapshotProgress("initial", now_ms() - 100_000_000, tables=7, finished=2, open=table, rows=1_000_000,
                             estimate=10_000_000)  # fmt: skip
    bus.commit("orders_to_lake", 4294970001, offset=88_123_456, age_s=0.0, rows=18_273_645, snapshot=taken)
    return bus


def quarantine(bus: Bus, name: str) -> None:
    """One table that is left out, and one that was."""
    path = bus.layout.last_commit(name)
    record = load(CommitRecord, bus.admin.get(path).data)
    assert record.checkpoint is not None
    at = record.checkpoint.position
    marks = (
        Quarantined("shop.old", at, Position("binlog.000042", 99), now_ms() - 9_000_000, replayed=True),
        Quarantined("shop.cart", at, None, now_ms() - 500_000, {"code": "E2206", "what": "no definition"}),
    )
    checkpoint = msgspec.structs.replace(record.checkpoint, quarantined=marks)
    bus.admin.set(path, dump(msgspec.structs.replace(record, checkpoint=checkpoint)))


def check(bus: Bus, name: str, version: int, age_s: float) -> None:
    ended = now_ms() - int(age_s * 1000)
    findings = (
        Finding.ok("source.reachable", "MySQL 8.0.36 at db1.shop.internal:3306"),
        Finding("source.sync_binlog", "warn", "0", "1", "SET GLOBAL sync_binlog = 1;"),
        Finding("source.binlog_format", "fail", "STATEMENT", "ROW", "SET GLOBAL binlog_format = 'ROW';"),
    )
    result = TaskCheck(
        uid=config_of(bus, name)[1], version=version, host="host-a", began_ms=ended - 900, ended_ms=ended,
        findings=findings,
    )  # fmt: skip
    path, data = bus.layout.task_check(name), dump(CheckRecord(check=result))
    if bus.admin.exists(path) is None:
        bus.admin.create(path, data)
    else:
        bus.admin.set(path, data)


def trail(bus: Bus, name: str, minutes: int) -> None:
    """A checkpoint a minute, but for one gap of ten."""
    now = now_ms()
    hours: dict[int, list[Checkpoint]] = {}
    for age in range(minutes, 0, -1):
        if 40 <= age < 50:
            continue
        time_ms, rows = now - age * MINUTE_MS, 10_000 + 600 * (minutes - age)
        point = Checkpoint(Position("binlog.000042", 1000 * (minutes - age) + 4, GTID), 4711, time_ms, rows=rows)
        hours.setdefault(time_ms // HOUR_MS, []).append(point)
    bus.admin.create(bus.layout.position_history(name), b"")
    for hour, points in hours.items():
        bus.admin.create(bus.layout.position_history_hour(name, hour), dump(PositionHistoryRecord(points=points)))


def config_of(bus: Bus, name: str) -> tuple[dict[str, Any], str]:
    record = load(TaskRecord, bus.admin.get(bus.layout.task(name)).data)
    return record.config or {}, record.uid


def versions(bus: Bus, name: str, number: int) -> None:
    """Versions 0 to `number`, the last one the present one."""
    config, uid = config_of(bus, name)
    bus.admin.create(bus.layout.versions(name), b"")
    for at in range(number + 1):
        changed = {**config, "labels": {"team": f"team-{at}"}}
        if at >= number:
            changed["source"] = {**config["source"], "port": 3307, "password": "file:/run/secrets/replicator"}
        record = VersionRecord(
            number=at, uid=uid, config=changed, time_ms=now_ms() - (number - at) * HOUR_MS, by="maria",
            kind="configured" if at else "created", reason=f"ticket OPS-{at}" if at else "",
        )  # fmt: skip
        bus.admin.create(bus.layout.version(name, at), dump(record))
        if at:
            bus.admin.set(bus.layout.task(name), dump(TaskRecord(uid=uid, config=changed)))


def statement(bus: Bus, name: str, text: str, number: int) -> None:
    record = SchemaRecord("ddl", Position("binlog.000042", 4711 + number), text=text)
    part = SchemaPart(group=f"g{number}", index=0, count=1, kind="ddl", data=msgspec.msgpack.encode(record))
    bus.admin.create(bus.layout.schema_prefix(name), dump(part), sequential=True, parents=True)
