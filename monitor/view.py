"""The values that the Monitor shows: dashboard, `/api/state` and `/metrics` are made from one `View`.

Times are ms since the epoch, durations seconds, rates per second.
"""

from __future__ import annotations

from math import ceil
from typing import Literal

import msgspec

from monitor.reach import Reach
from monitor.role_changes import Change
from replicator.alerts.figures import Scope
from replicator.alerts.rule import Severity
from replicator.alerts.silence import Silence
from replicator.coordination.leadership.grace import LEASE
from replicator.coordination.records import AddressFigures, CoreCounts, LiveFigures
from replicator.model.checkpoint import ApplyMode
from replicator.model.conflicts import ConflictCounts
from replicator.model.histogram import Histogram
from replicator.model.snapshot_report import SnapshotReport
from replicator.model.verification import Verification
from replicator.model.vitals import DiskUse

Tone = Literal["ok", "warn", "bad", "idle", "busy"]
Error = dict[str, str]
"""`ReplicatorError.to_dict()`."""


class MemberView(msgspec.Struct, frozen=True):
    """A Core in the election of a task, in the order of the queue. state: as that Core reports it, else "";
    unreached: which of "source", "sink" and "registry" it does not reach; reach: of each of these that it has
    checked; machine: name of its `MachineView`."""

    host: str
    pid: int
    state: str
    sequence: int
    since_ms: int
    unreached: tuple[str, ...] = ()
    reach: dict[str, Reach] = {}
    machine: str = ""
    guid: str = ""


class TaskRow(LiveFigures, kw_only=True):
    """A task's row of the dashboard's table.

    Attributes:
        uid: of the incarnation of the name.
        state: the task's state in capitals: RUNNING, NO RUNNING, FAILED, PAUSED, UNREADABLE, UNCONFIGURED, DELETED, or
            what its first contender is doing on the way to RUNNING (WAITING, STARTING) or from it (DRAINING, PAUSING).
        trouble: 0 is fine; the table is sorted by it, descending.
        notes: short texts that say why `trouble` is not 0, worst first; lasting: without those about lag, retries and
            missing reports, which change each second.
        lag_s: None: unknown, or no Core is RUNNING.
        figures_age_s, figures_old: see `TaskState`.
        dead_letters: of the rows' records, those that were too large for the sink.
        desired: what operators want: "running", "paused" or "deleted"; actual: what the first Core in the queue does.
        desired_by, desired_ms, desired_reason: who ordered it, when and why.
        labels: of the configuration.
        conflicts: rows at the target that were not what the source says they were; conflict_counts: of
            these by policy and kind.
        apply_mode: how rows are written at a target that is a database: "binlog" or "sql"; else None.
        skipped: transactions that were left out because a task has written them.
        quarantined: tables whose rows are left out now, since when and why.
        snapshot: of the source's rows, the present or the last one; None without one.
        verification: of the target, the last one; None without one.
        group: of Cores, "" for none; unplaced: no Core of it takes the task; wanted_standbys: number of Cores that are
            to stand by.
        maintenance: "task" or "cluster" while nobody may be promoted, else "".
        late_consumers: what consumer groups lose of the task's topics, or are about to.
        spark: rows/s of the last minutes, oldest first.
        position: of the RUNNING instance, else of the last checkpoint.
        running: how many Cores report RUNNING; more than one is an alarm.
        host: of the first Core in the queue, which runs the task, or is about to, or on which it is paused or FAILED.
        inflight_limit_bytes: `sink.max_in_flight_bytes` of a task with a Kafka sink.
        source, destination: each in one line, the most important part first (`config.endpoints`).
        registry: of schemas, "" without one.
        version: of the Core on `host`, "" if it is not known.
        without_since_ms: last report of a RUNNING Core while there is none, 0: this Monitor has seen none.
        takeover_ms, takeover: the last fail-over, switchover or hand-over that its history has; 0 and "" without one.
        leads: whether that Core runs it or is about to.
    """

    name: str
    state: str
    tone: Tone
    trouble: int
    uid: str = ""
    notes: tuple[str, ...] = ()
    lasting: tuple[str, ...] = ()
    desired: str = "running"
    desired_by: str = ""
    desired_ms: int = 0
    desired_reason: str = ""
    actual: str = ""
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    source: str = ""
    destination: str = ""
    registry: str = ""
    version: str = ""
    without_since_ms: int = 0
    takeover_ms: int = 0
    takeover: str = ""
    host: str = ""
    leads: bool = False
    pid: int = 0
    figures_age_s: float | None = None
    figures_old: bool = False
    members: tuple[MemberView, ...] = ()
    standbys: tuple[str, ...] = ()
    running: int = 0
    maintenance: str = ""
    group: str = ""
    unplaced: bool = False
    wanted_standbys: int = 1
    late_consumers: tuple[str, ...] = ()
    inflight_limit_bytes: int | None = None
    dead_letters: int = 0
    conflicts: int = 0
    conflict_counts: ConflictCounts = ()
    apply_mode: ApplyMode | None = None
    skipped: int = 0
    quarantined: tuple[str, ...] = ()
    snapshot: SnapshotReport | None = None
    verification: Verification | None = None
    spark: tuple[float, ...] = ()
    config_invalid: bool = False
    addresses: tuple[AddressFigures, ...] = ()
    errors: tuple[Error, ...] = ()


class MachineView(msgspec.Struct, frozen=True, kw_only=True):
    """A machine with a Core or an agent.

    Attributes:
        state: "online", "silent" (its znode is there, but it has stopped reporting), "offline" (it is expected and not
            there) or "stopped" (it has ended on purpose).
        since_ms: when its process started, was last seen (0: never, as far as is known), or ended.
        last_ms: when it was last seen, or named in a history.
        silence_s: since its last report.
        counts, requests: see `MachineRecord`.
        role: "core", or that of an agent, "" unknown.
        draining: its Core hands over its tasks and takes none.
        expected: "learned" from its first report, "ordered" by `expected_by` since `expected_ms`; "": it is not.
        running, standby: number of its tasks in these states.
        cpu: share of all processors, 0 to 1; None: not measured.
        booted_ms: 0: unknown.
    """

    host: str
    state: Literal["online", "silent", "offline", "stopped"]
    tone: Tone
    since_ms: int
    silence_s: float = 0.0
    pid: int = 0
    version: str = ""
    cores: int = 0
    load1: float = 0.0
    memory_bytes: int = 0
    memory_total_bytes: int = 0
    rss_bytes: int = 0
    session_timeout_s: float = 0.0
    counts: CoreCounts = CoreCounts()
    requests: Histogram | None = None
    running: int = 0
    standby: int = 0
    last_ms: int = 0
    role: str = ""
    group: str = ""
    draining: bool = False
    expected: str = ""
    expected_ms: int = 0
    expected_by: str = ""
    expected_reason: str = ""
    cpu: float | None = None
    disks: tuple[DiskUse, ...] = ()
    received_per_s: float | None = None
    sent_per_s: float | None = None
    booted_ms: int = 0

    @property
    def fullest(self) -> DiskUse | None:
        return max(self.disks, key=lambda disk: disk.share, default=None)

    @property
    def memory(self) -> float | None:
        """Share of the memory in use, 0 to 1."""
        return self.memory_bytes / self.memory_total_bytes if self.memory_total_bytes else None


class ServerView(msgspec.Struct, frozen=True):
    """certificate_ms: expiry of its TLS certificate, 0 without one; certificate_problem: newer files can't be used."""

    host: str
    address: str
    since_ms: int
    certificate_ms: int = 0
    certificate_problem: bool = False
    version: str = ""


class MonitorView(ServerView, frozen=True, kw_only=True):
    """login: whether it requires one."""

    login: bool = False


class AddressView(msgspec.Struct, frozen=True):
    """An address of the address book. answers: as the master Server's probe found, since `since_ms`; None: it was not
    probed yet."""

    name: str
    address: str
    answers: bool | None = None
    since_ms: int = 0


class MaintenanceView(msgspec.Struct, frozen=True):
    """Maintenance of all tasks: who wants it, since when and why."""

    by: str
    since_ms: int
    reason: str


class Tiles(msgspec.Struct, frozen=True):
    """The figures on top. worst_lag_s is None when no task is RUNNING, or no lag is known; lag_unknown: tasks that are
    RUNNING and whose lag is not known; retrying: tasks that wait for a source or a sink. Stopped machines are not
    counted."""

    tasks: int = 0
    running: int = 0
    without_running: int = 0
    failed: int = 0
    paused: int = 0
    online: int = 0
    offline: int = 0
    worst_lag_s: float | None = None
    worst_lag_task: str = ""
    lag_unknown: int = 0
    retrying: int = 0
    rows_per_s: float = 0.0


class AlertMark(msgspec.Struct, frozen=True):
    """An alert that fires and is not silenced. name: of the task, the machine, and so on."""

    rule: str
    severity: Severity
    of: Scope
    name: str


class View(msgspec.Struct, frozen=True, kw_only=True):
    """The whole page.

    Attributes:
        zookeeper: the addresses of the servers that are read; warnings: what is insecure about that.
        read_ms: when the figures were read, 0 when they never were; age_s: seconds since then, None likewise.
        fresh_s: the age up to which they count as current.
        stale_since_ms: since when they are not current: the time of the last read, or of the Monitor's start where it
            has never read anything; None while they are. `stale_code`, `stale_reason`: why.
        connecting: nothing was read yet, and the Monitor has started only seconds ago.
        zookeeper_connected: ZooKeeper answers, and the figures are current.
        alerts: the worst first; alerts_silenced: further ones that are silenced.
        alert_code, alert_problem, alert_problem_ms: why this Monitor can't send messages, and since when.
        silences: in ZooKeeper, also those that are over.
        noticed: key of a finding without a time -> since when this Monitor has seen it.
    """

    root: str
    zookeeper: str = ""
    warnings: tuple[str, ...] = ()
    zookeeper_connected: bool = False
    read_ms: int = 0
    read_seconds: float = 0.0
    age_s: float | None = None
    fresh_s: float = 0.0
    stale_since_ms: int | None = None
    stale_code: str = ""
    stale_reason: str = ""
    connecting: bool = False
    tiles: Tiles = Tiles()
    tasks: tuple[TaskRow, ...] = ()
    machines: tuple[MachineView, ...] = ()
    servers: tuple[ServerView, ...] = ()
    monitors: tuple[MonitorView, ...] = ()
    addresses: tuple[AddressView, ...] = ()
    maintenance: MaintenanceView | None = None
    changes: tuple[Change, ...] = ()
    takeovers: dict[str, dict[str, int]] = {}
    """task -> kind -> how many since this Monitor started."""
    failover_buckets: tuple[int, ...] = ()
    failover_seconds: float = 0.0
    alerts: tuple[AlertMark, ...] = ()
    alerts_silenced: int = 0
    alert_code: str = ""
    alert_problem: str = ""
    alert_problem_ms: int = 0
    silences: tuple[Silence, ...] = ()
    noticed: dict[str, int] = {}

    @property
    def lease_s(self) -> int:
        """After which a Core that does not reach ZooKeeper has stopped its tasks; 0 when unknown."""
        return ceil(LEASE * max((machine.session_timeout_s for machine in self.machines), default=0.0))
