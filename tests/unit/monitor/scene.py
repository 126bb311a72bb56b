"""A bus as a night shift may find it, in the memory coordinator: tasks in every state, long names, errors, a machine
that went. Written with the records that the real processes write."""

from __future__ import annotations

import time
import uuid
from typing import Any

from replicator.coordination.groups.drained import Drained
from replicator.coordination.in_memory.coordinator import MemoryCoordinator, MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.machines.expected import ExpectedMachines
from replicator.coordination.machines.machines import Machines
from replicator.coordination.records import (
    CommitRecord,
    HistoryRecord,
    InstanceRecord,
    MachineRecord,
    MaintenanceRecord,
    MonitorRecord,
    ServerRecord,
    StatusRecord,
    TaskFigures,
    TaskRecord,
    VerificationRecord,
    dump,
    load,
)
from replicator.model.checkpoint import Checkpoint
from replicator.model.conflicts import ConflictCount
from replicator.model.position import Position
from replicator.model.snapshot import OpenTable, SnapshotProgress
from replicator.model.verification import VerificationReport, VerifiedTable, merged
from replicator.model.vitals import DiskUse, Vitals

VITALS = Vitals(
    cpu=0.08, received_per_s=1.2e6, sent_per_s=0.9e6, disks=(DiskUse(mount="/", used=41 << 30, free=59 << 30),)
)
GTID = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-99812345"


def now_ms() -> int:
    return int(time.time() * 1000)


class Core:
    """One Core process: its session, its contenders, its report."""

    def __init__(self, bus: Bus, host: str, started_ms: int) -> None:
        self.bus = bus
        self.host = host
        self.process = uuid.uuid4().hex
        self.pid = 20000 + len(bus.cores)
        self.started_ms = started_ms
        self.coordinator = bus.ensemble.session()
        self.figures: dict[str, TaskFigures] = {}
        self.reports = 0
        self.names: dict[str, str] = {}
        bus.cores[host] = self

    def stand(self, task: str, state: str = "STANDBY", **figures: Any) -> None:
        guid = uuid.uuid4().hex
        record = InstanceRecord(
            host=self.host, pid=self.pid, process=self.process, since_ms=self.started_ms, state=state
        )
        prefix = self.bus.layout.contender_prefix(task, self.host, guid)
        self.names[task] = self.coordinator.create(prefix, dump(record), ephemeral=True, sequential=True)
        self.figures[task] = TaskFigures(state=state, guid=guid, **figures)

    def report(self, **vitals: Any) -> None:
        self.reports += 1
        record = MachineRecord(
            host=self.host, pid=self.pid, process=self.process, started_ms=self.started_ms,
            time_ms=now_ms() + self.reports,
            version="0.1.0", tasks=self.figures,
            **{"cores": 8, "load1": 1.31, "memory_bytes": 9 << 30, "memory_total_bytes": 32 << 30,
               "rss_bytes": 210 << 20, "session_timeout_s": 10.0, "vitals": VITALS, **vitals},
        )  # fmt: skip
        path = self.bus.layout.machine(self.host)
        if self.coordinator.exists(path) is None:
            self.coordinator.create(path, dump(record), ephemeral=True, parents=True)
        else:
            self.coordinator.set(path, dump(record))

    def die(self) -> None:
        self.coordinator.close()
        del self.bus.cores[self.host]


class Bus:
    def __init__(self) -> None:
        self.ensemble = MemoryEnsemble()
        self.layout = Layout()
        self.admin = self.ensemble.session()
        self.cores: dict[str, Core] = {}

    def session(self) -> MemoryCoordinator:
        return self.ensemble.session()

    def core(self, host: str, age_s: float = 3600) -> Core:
        return Core(self, host, now_ms() - int(age_s * 1000))

    def task(
        self,
        name: str,
        *,
        host: str = "db1.shop.internal",
        configured: bool = True,
        labels: object = None,
        sink: dict[str, object] | None = None,
        **source: object,
    ) -> None:
        config: dict[str, object] = {
            "name": name,
            "source": {
                "type": "mysql",
                "host": host,
                "port": 3306,
                "user": "replicator",
                "password": "env:PW",
                **source,
            },
            "sink": sink or {"type": "kafka", "bootstrap_servers": ["kafka1.internal:9092", "kafka2.internal:9092"]},
            "labels": labels or {},
        }
        self.admin.create(
            self.layout.task(name),
            dump(TaskRecord(uid=uuid.uuid4().hex, config=config if configured else None)),
            parents=True,
        )
        self.admin.create(self.layout.election(name))

    def maintain(self, name: str = "", by: str = "", reason: str = "", age_s: float = 0) -> None:
        """Of one task, or of all."""
        record = MaintenanceRecord(by=by, time_ms=now_ms() - int(age_s * 1000), reason=reason)
        self.admin.create(self.layout.maintenance(name), dump(record), parents=True)

    def commit(
        self,
        name: str,
        epoch: int,
        *,
        offset: int,
        age_s: float = 1.0,
        rows: int = 0,
        dead_letters: int = 0,
        conflicts: int = 0,
        by_sql: bool = False,
        snapshot: SnapshotProgress | None = None,
    ) -> None:
        checkpoint = Checkpoint(
            Position("binlog.000042", offset, GTID, snapshot=snapshot),
            epoch,
            now_ms() - int(age_s * 1000),
            rows=rows,
            transactions=rows // 3,
            dead_letters=dead_letters,
            conflicts=conflicts,
            by_sql=by_sql,
            conflict_counts=(ConflictCount("keep_target", "missing", conflicts - 1),) if conflicts else (),
        )
        path = self.layout.last_commit(name)
        data = dump(CommitRecord(epoch=epoch, checkpoint=checkpoint))
        if self.admin.exists(path) is None:
            self.admin.create(path, data)
        else:
            self.admin.set(path, data)

    def verified(self, name: str, age_s: float, *tables: VerifiedTable, version: int = 0) -> None:
        uid = load(TaskRecord, self.admin.get(self.layout.task(name)).data).uid
        ended = now_ms() - int(age_s * 1000)
        report = VerificationReport(
            uid=uid, version=version, whole=True, began_ms=ended - 4000, ended_ms=ended, host="core-a", tables=tables
        )
        self.admin.create(
            self.layout.verification(name), dump(VerificationRecord(verification=merged(None, report, "token")))
        )

    def want(self, name: str, desired: str, by: str = "", reason: str = "") -> None:
        record = dump(StatusRecord(desired=desired, by=by, time_ms=now_ms(), reason=reason))
        self.admin.create(self.layout.status(name), record)

    def happened(self, name: str, kind: str, age_s: float, **fields: Any) -> None:
        record = HistoryRecord(kind=kind, time_ms=now_ms() - int(age_s * 1000), **fields)
        self.admin.create(self.layout.history_prefix(name), dump(record), sequential=True, parents=True)


def small() -> Bus:
    """One task, RUNNING on host-a, host-b waiting."""
    bus = Bus()
    bus.task("copy_hot_item")
    first, second = bus.core("host-a"), bus.core("host-b")
    first.stand("copy_hot_item", "RUNNING", **_running(812.0))
    second.stand("copy_hot_item")
    bus.commit("copy_hot_item", 4711, offset=4242, rows=1234)
    bus.happened("copy_hot_item", "running", 60, host="host-a", epoch=4711)
    first.report()
    second.report()
    return bus


def _running(rate: float, lag: float = 0.02, **more: object) -> dict[str, object]:
    return {
        "epoch": 4294971000, "since_ms": now_ms() - 7_200_000, "position": "binlog.000042:88123456", "gtid": GTID,
        "lag_s": lag, "rows": 12345, "rows_per_s": rate, "bytes_per_s": rate * 310, "last_event_ms": now_ms() - 300,
        "checkpoint_ms": now_ms() - 900, "lease_left_s": 5.2, **more,
    }  # fmt: skip


def night() -> Bus:
    """Every state at once."""
    bus = Bus()
    rack = "replication-host-17.rack-b.fra2.example.internal"
    a, b, c = bus.core("host-a", 400_000), bus.core("host-b", 86_000), bus.core(rack, 900)
    for name in ("copy_hot_item", "orders_to_lake", "crm_customer_profile_changes_for_the_recommendation_team",
                 "billing_invoices", "inventory", "clickstream_sessions", "audit_trail", "prices", "loyalty_points",
                 "returns"):  # fmt: skip
        bus.task(name)
        bus.commit(name, 4294970001, offset=88_123_456, age_s=0.8, rows=18_273_645)
    bus.task("sessions_of_three_servers", hosts=["db1.shop.internal:3306", "db2.shop.internal:3306", "db3:3306"])
    bus.commit("sessions_of_three_servers", 4294970003, offset=4_123, rows=99_120, dead_letters=3, conflicts=7)
    bus.task("new_task_without_configuration", configured=False)
    bus.admin.create(bus.layout.task("handmade"), b"{not json")

    a.stand("copy_hot_item", "RUNNING", **_running(8421.0))
    b.stand("copy_hot_item")
    c.stand("copy_hot_item")
    b.stand("orders_to_lake", "RUNNING", **_running(23_910.0, lag=0.4))
    a.stand("orders_to_lake")
    half = SnapshotProgress("initial", now_ms() - 600_000, tables=7, finished=2, open=OpenTable("shop.orders"),
                            rows=4_200_000, size=1_300_000_000, estimate=10_000_000)  # fmt: skip
    bus.commit("orders_to_lake", 4294970001, offset=88_123_456, age_s=0.8, rows=18_273_645, snapshot=half)
    cut = SnapshotProgress("initial", now_ms() - 900_000, file="binlog.000041", offset=4711, tables=3, rows=1200,
                           estimate=3000, cut_ms=now_ms() - 60_000, cut_open=True, cuts=3, lock_ms=0.7,
                           again=5400)  # fmt: skip
    bus.commit("prices", 4294970001, offset=88_123_456, age_s=0.8, rows=18_273_645, snapshot=cut)
    a.stand("crm_customer_profile_changes_for_the_recommendation_team", "RUNNING", **_running(312.0, lag=47.0))
    c.stand("crm_customer_profile_changes_for_the_recommendation_team")
    missing_grant = {
        "code": "E2104", "what": "the account 'replicator' may not read the binlog",
        "position": "binlog.000042:88123456",
        "found": "GRANT SELECT ON `billing`.* TO `replicator`@`%`", "wanted": "REPLICATION SLAVE, REPLICATION CLIENT",
        "fix": "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO 'replicator'@'%';",
    }  # fmt: skip
    a.stand("billing_invoices", "FAILED", error=missing_grant, since_ms=now_ms() - 340_000)
    b.stand("billing_invoices")
    bus.commit("billing_invoices", 4294970001, offset=88_123_456, age_s=340, rows=99_120)
    bus.want("prices", "paused", by="maria", reason="maintenance window of the price engine")
    a.stand("prices", "PAUSED")
    b.stand("prices", "PAUSED")
    c.stand("clickstream_sessions", "WAITING", since_ms=now_ms() - 2000)
    b.stand("clickstream_sessions")
    refused = {
        "code": "E1001", "what": "source.tables[2] is not a pattern", "found": "'shop.'", "wanted": "database.table",
        "fix": "Correct the key and apply the file again.", "position": "",
    }  # fmt: skip
    b.stand("audit_trail", "RUNNING", **_running(55.0, config_error=refused))
    a.stand("audit_trail")
    a.stand("loyalty_points", "RUNNING", **_running(0.0, lag=612.0))
    b.stand("loyalty_points")
    lost = "'audit' has lost 120 records of shop.returns/0: deleted before it read them"
    ends: dict[str, Any] = {"certificate_ms": now_ms() + 86_400_000, "certificate": "db1.shop.internal:3306"}
    c.stand("returns", "RUNNING", **_running(3.4, late_consumers={"audit": lost}, **ends))
    b.stand("sessions_of_three_servers", "RUNNING", **_running(77.0, retention_headroom_s=19_000.0))
    c.stand("sessions_of_three_servers", reach={"source": True, "sink": False})
    bus.maintain("sessions_of_three_servers", by="jan", reason="new switches in rack b", age_s=4000)

    bus.happened("copy_hot_item", "created", 500_000, by="maria")
    bus.happened("copy_hot_item", "running", 400_000, host="host-z", epoch=4294960000)
    bus.happened("copy_hot_item", "running", 7200, host="host-a", epoch=4294971000, seconds=11.3,
                 reason="host-z did not renew its lease")  # fmt: skip
    bus.happened("orders_to_lake", "running", 90_000, host="host-a", epoch=1)
    bus.happened("orders_to_lake", "switchover", 3601, host="host-a", epoch=1, by="jan", reason="to host-b")
    bus.happened("orders_to_lake", "running", 3600.4, host="host-b", epoch=2, seconds=0.1)
    bus.happened("prices", "paused", 1800, by="maria", reason="maintenance window of the price engine")
    bus.happened(
        "billing_invoices",
        "failed",
        340,
        host="host-a",
        reason="E2104 the account 'replicator' may not read the binlog",
    )
    bus.happened("clickstream_sessions", "running", 4000, host=rack)
    bus.happened("clickstream_sessions", "lost", 12, host="host-b", reason="its session or its znode is gone")
    bus.happened("sessions_of_three_servers", "position", 9000, by="jan", position="binlog.000042:4")
    bus.happened("sessions_of_three_servers", "running", 8000, host="host-a", epoch=7)
    bus.happened("sessions_of_three_servers", "gave up", 601, host="host-a", epoch=7, seconds=0.2,
                 reason="the source can't be reached from this host; to host-b")  # fmt: skip
    bus.happened("sessions_of_three_servers", "running", 600.6, host="host-b", epoch=8, seconds=0.1)
    bus.happened("sessions_of_three_servers", "maintenance", 4000, by="jan", reason="on: new switches in rack b")
    bus.happened("audit_trail", "configured", 95, by="jan", reason="version 7")
    server = ServerRecord(host="host-a", pid=311, address="127.0.0.1:8080", since_ms=now_ms() - 90_000_000)
    bus.admin.create(
        bus.layout.server_prefix("host-a", uuid.uuid4().hex),
        dump(server),
        ephemeral=True,
        sequential=True,
        parents=True,
    )
    a.report(load1=2.9)
    b.report(load1=0.42, memory_bytes=21 << 30)
    c.report(load1=0.1, cores=2, memory_total_bytes=4 << 30, memory_bytes=1 << 30, group="blue")
    machines(bus, ("host-a", "host-b", rack, "host-z"))
    return bus


def machines(bus: Bus, learned: tuple[str, ...]) -> None:
    """Which of them are expected, one that never came, one that is drained, an agent, a Monitor."""
    expected = ExpectedMachines(bus.admin, bus.layout)
    for name in (*learned, "db1.shop.internal"):
        expected.learn(name)
    expected.expect("host-y", "jan", "rack b, delivered in March")
    Drained(bus.admin, bus.layout).begin("host-b", "jan", "new memory")
    disks = (
        DiskUse(mount="/", used=41 << 30, free=59 << 30),
        DiskUse(mount="/var/lib/mysql", used=930 << 30, free=20 << 30),
    )
    record = MachineRecord(
        host="db1.shop.internal", pid=811, process=uuid.uuid4().hex, started_ms=now_ms() - 7_000_000, time_ms=now_ms(),
        version="0.1.0", role="mysql", cores=32, load1=14.2, memory_bytes=200 << 30, memory_total_bytes=256 << 30,
        rss_bytes=40 << 20, session_timeout_s=10.0,
        vitals=Vitals(cpu=0.44, received_per_s=41e6, sent_per_s=95e6, disks=disks, booted_ms=now_ms() - 9_000_000_000),
    )  # fmt: skip
    Machines(bus.session(), bus.layout, agents=True).publish(record.host, record)
    listener = MonitorRecord(
        host="host-a", pid=312, address="https://host-a:8081", since_ms=now_ms() - 80_000_000, version="0.1.0",
        certificate_ms=now_ms() + 5 * 86_400_000, login=True,
    )  # fmt: skip
    path = bus.layout.monitor_prefix("host-a", uuid.uuid4().hex)
    bus.admin.create(path, dump(listener), ephemeral=True, sequential=True, parents=True)


def many(number: int, *, broken: int = 0) -> Bus:
    """`number` tasks on four hosts with labels, `broken` of them FAILED."""
    bus = Bus()
    cores = [bus.core(f"host-{letter}") for letter in "abcd"]
    failed = {"code": "E3101", "what": "the topic does not exist", "fix": "Create it, then retry the task."}
    for index in range(number):
        name = f"shop_{index:04}_to_lake"
        bus.task(name, host=f"db{index % 7}.shop.internal", labels={"env": "prod" if index % 3 else "test"})
        bus.commit(name, 4294970001, offset=88_123_456 + index, rows=1000 * index)
        first, second = cores[index % 4], cores[(index + 1) % 4]
        if index < broken:
            first.stand(name, "FAILED", error=failed, since_ms=now_ms() - 60_000)
        else:
            first.stand(name, "RUNNING", **_running(10.0 * index, lag=0.02 * (index % 50)))
        second.stand(name)
    for core in cores:
        core.report()
    return bus
