"""The payloads of all znodes: JSON with a format version.

`dump(record)` gives the bytes, `load(Kind, data)` reads them: CoordinationError E4009 for what no version of ours
wrote, E4010 for a newer format. Unknown fields of the same version are kept out of the way, never an error: a newer
minor version may add some.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec

from replicator.coordination.ports import Identity
from replicator.errors import CoordinationError
from replicator.model.activity import Activity
from replicator.model.audit import AuditEntry
from replicator.model.checkpoint import Checkpoint
from replicator.model.decoding import from_json, json_decoder
from replicator.model.histogram import Histogram
from replicator.model.position import Position
from replicator.model.principal import Role
from replicator.model.quarantine import TaskOrders
from replicator.model.retrying import Retrying
from replicator.model.task_check import TaskCheck
from replicator.model.verification import Verification
from replicator.model.vitals import Vitals

VERSION = 1


class Record(msgspec.Struct, kw_only=True):
    """`v` is the format's version."""

    v: int = VERSION


class TaskRecord(Record):
    """/tasks/TASK. `config` None: registered by a Core, not yet configured. `config` holds references to secrets only.
    `uid` tells incarnations of one name apart. `version` of the configuration is the znode's own data version."""

    uid: str
    config: dict[str, Any] | None = None
    updated_ms: int = 0
    updated_by: str = ""


class VersionRecord(Record):
    """/tasks/TASK/versions/NUMBER: a configuration of the task `uid`. `kind`: "created", "configured", "rollback" (to
    the version `restores`), or "" for one that was there before versions were kept."""

    number: int
    uid: str = ""
    config: dict[str, Any] = {}
    time_ms: int = 0
    by: str = ""
    kind: str = ""
    reason: str = ""
    restores: int | None = None


class InstanceRecord(Record):
    """/tasks/TASK/instance/...: a contender. `state` is a value of `leadership.state.State`; `timeout_s` is the
    session's negotiated timeout, from which the length of its lease follows. `group`: of the Core, "" for none."""

    host: str
    pid: int
    process: str
    since_ms: int
    state: str
    timeout_s: float = 0.0
    group: str = ""


class CommitRecord(Record):
    """/tasks/TASK/lastCommit. `checkpoint` None: nothing delivered yet. `released`: the term `epoch` ended on purpose,
    so that its successor need not wait for a lease to end. `successor`: guid that `switchover --to` chose, or "".
    `session` and `timeout_s` are of the session that holds or held the term: how a successor that never saw it knows
    whether it may still live, and for how long its lease may run. `uid`: of the task's incarnation; `host`: of the
    term's holder. `above`, `previous`: see `epochs`."""

    epoch: int
    checkpoint: Checkpoint | None = None
    released: bool = False
    successor: str = ""
    session: int = 0
    timeout_s: float = 0.0
    uid: str = ""
    host: str = ""
    above: int = 0
    previous: int = 0


class StatusRecord(Record):
    """/tasks/TASK/status: what operators want. desired: "running", "paused" or "deleted"; purge: deleted with the
    position that the task leaves at its sink. `restoring`: the task is being restored from a backup and not complete
    yet, so no Core becomes a contender; it is "paused" besides, for Cores that do not know this. `cutover`: id of the
    cut-over that the task is stopped for; `at`: where alone it is to be paused, running until then."""

    desired: str = "running"
    by: str = ""
    time_ms: int = 0
    reason: str = ""
    purge: bool = False
    restoring: bool = False
    cutover: str = ""
    at: Position | None = None


class MaintenanceRecord(Record):
    """/maintenance and /tasks/TASK/maintenance: while it is there, RUNNING stays, and no standby is promoted."""

    by: str = ""
    time_ms: int = 0
    reason: str = ""


class OrdersRecord(Record):
    """/tasks/TASK/quarantine: operators' orders of tables in quarantine and of snapshots."""

    orders: TaskOrders = TaskOrders()


class VerificationRecord(Record):
    """/tasks/TASK/verify: what was verified last."""

    verification: Verification | None = None


class CheckRecord(Record):
    """/tasks/TASK/check: what the last check has found."""

    check: TaskCheck | None = None


class PositionHistoryRecord(Record):
    """/tasks/TASK/trail/HOUR: checkpoints of that hour, at most one a minute, oldest first."""

    points: list[Checkpoint] = []


class SecurityRecord(Record):
    """/security: the identities that ACLs name. More than one for a role while it changes from one to the other."""

    core: list[Identity] = []
    server: list[Identity] = []
    monitor: list[Identity] = []
    agent: list[Identity] = []
    admin: list[Identity] = []

    def of(self, role: str) -> list[Identity]:
        found: list[Identity] = getattr(self, role)
        return found


class InstallationRecord(Record):
    """/installation: see `installation`."""

    id: str
    made_ms: int = 0


class OutgoingRecord(Record):
    """/outgoing: hosts and networks that tasks may connect to. `entries` None: any."""

    entries: tuple[str, ...] | None = None
    by: str = ""
    time_ms: int = 0
    reason: str = ""


class RestoreRecord(Record):
    """/restoring: a backup, by the digest of its manifest, is being restored since `begun_ms`."""

    backup: str
    begun_ms: int


class PurgedRecord(Record):
    """/purged/TASK: the incarnations of this name that were deleted with their positions, the last one last; left:
    those that were deleted without, since; lost_ms: when a record that could not be read was replaced by this one,
    which lacks the incarnations that were in it, 0 for never."""

    uids: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    time_ms: int = 0
    by: str = ""
    lost_ms: int = 0


class ReplicaIdRecord(Record):
    """/ids/replicas/NUMBER: the task, by name and incarnation, that this replica id is of."""

    task: str
    uid: str


class CommandRecord(Record):
    """/tasks/TASK/commands/...: verb "switchover" (arguments: {"to": guid or "", "host": name or "", "reason"}),
    "retry" ({"reason"}, {"take_over": "true"}), "restart" ({"reason"}), "check", "skip" ({"transaction": the one of the
    present error, "reason"}),
    "position" ({"checkpoint": JSON of the Checkpoint, "stood": JSON of the position that it replaces, "null" for none,
    "reason"})."""

    id: str
    verb: str
    arguments: dict[str, str] = {}
    by: str = ""
    time_ms: int = 0


class HistoryRecord(Record):
    """/tasks/TASK/history/...: kind "running", "released", "lost", "failed", "paused", "resumed", "configured",
    "switchover", "retry", "restart", "refused", "created", "position", "schema", "maintenance", "gave up", "fenced",
    "quarantine" (ordered), "snapshot" (ordered, or taken because the position was purged), "quarantined" (of the table
    in `reason`, from `position` on), "flows again", "restored" (from a backup); the rest says who, when, why. `seconds`
    of "running": since the instance was first in line; of "released" and "switchover": since the drain began.
    `process`: of the Core."""

    kind: str
    time_ms: int
    host: str = ""
    instance: str = ""
    epoch: int = 0
    position: str = ""
    by: str = ""
    reason: str = ""
    seconds: float = 0.0
    process: str = ""


class DeliveryFigures(msgspec.Struct, kw_only=True):
    """How far a task has delivered: in the znode of a machine, in the API and on the dashboard. Times in ms since the
    epoch, rates per second. rows, transactions: delivered since the task was created. `position`: delivered up to here;
    `gtid`: the executed set before it. lag_s: age of the oldest change that the source has and the sink has not
    acknowledged, 0 without one, None: unknown; lag_at_most: it is an upper bound; lag_note: why it is unknown or a
    bound, else "". clock_skew_s: seconds that the source's clock is ahead of the Core's, None: not measured.
    last_event_ms: commit time of the last delivered event; checkpoint_ms: time of the last checkpoint, 0 without one.
    behind_bytes, behind_transactions: of the source's log that are not delivered (`model/behind.py`), measured every
    few seconds; None: unknown. `retention_headroom_s`: seconds until the source may purge a binlog file that the task
    still needs; None: never, or unknown. `source_shared`: the source is read over a connection that tasks of the Core
    share; None: not known. `retrying`: what the task retries, None: nothing."""

    epoch: int = 0
    position: str = ""
    gtid: str = ""
    rows: int = 0
    transactions: int = 0
    rows_per_s: float | None = None
    lag_s: float | None = None
    lag_at_most: bool = False
    lag_note: str = ""
    clock_skew_s: float | None = None
    behind_bytes: int | None = None
    behind_transactions: int | None = None
    retention_headroom_s: float | None = None
    source_shared: bool | None = None
    last_event_ms: int = 0
    checkpoint_ms: int = 0
    retrying: Retrying | None = None


class LiveFigures(DeliveryFigures, kw_only=True):
    """Figures that only the Core knows that runs the task. since_ms: when its present state began. lease_left_s:
    seconds. `certificate_ms`, `certificate`: see `ExpiryReport` (assembly/expiry_checks.py). `activity`: of the worker;
    None: there is no worker, or the record had no room for it."""

    since_ms: int = 0
    bytes_per_s: float = 0.0
    lease_left_s: float = 0.0
    certificate_ms: int = 0
    certificate: str = ""
    config_version: int = -1
    activity: Activity | None = None


class AddressFigures(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An address of the book in a task that runs. `section`: "source" or "sink"; `wanted`: in the book, "" where it
    can't be had; `in_use`: that the worker connects to; `error`: why it is another one than wanted, since `since_ms`;
    None: it is being checked, or is the same."""

    section: str
    name: str
    wanted: str = ""
    in_use: str = ""
    since_ms: int = 0
    error: dict[str, str] | None = None


class TaskFigures(LiveFigures, kw_only=True, omit_defaults=True):
    """Live figures of one task on one Core, by the Core's clock; part of MachineRecord. `lease_least_s`: the shortest
    rest of the lease at any renewal of this term. `reach`: whether this host reaches the "source", the "sink" and,
    where the task has one, the "registry" of schemas. `late_consumers`: see `ExpiryReport`. `error`:
    `ReplicatorError.to_dict()` of a FAILED task; `config_error`: of a configuration that was refused while an older one
    remains in use."""

    state: str
    guid: str = ""
    sequence: int = -1
    lease_least_s: float = 0.0
    reach: dict[str, bool] = {}
    late_consumers: dict[str, str] = {}
    worker_pid: int = 0
    error: dict[str, str] | None = None
    config_error: dict[str, str] | None = None
    addresses: list[AddressFigures] = []


class CoreCounts(msgspec.Struct, frozen=True, omit_defaults=True):
    """Events of a Core since its start, by kind (`model/core_events.py`); what never happened is missing. fenced:
    operations of ended terms that were stopped; checkpoint_failures: writes of lastCommit that failed;
    unsupported_events: of the source, that stopped a task or a table."""

    fenced: dict[str, int] = {}
    checkpoint_failures: dict[str, int] = {}
    unsupported_events: dict[str, int] = {}


CORE: Final = "core"


class MachineRecord(Record):
    """/machines/HOST and /agents/online/HOST: one write a second, whatever the number of tasks. `requests`: to
    ZooKeeper, by the time until their answer (`telemetry/zookeeper_requests.py`); None: an older Core. role: CORE, or
    what an agent was started with; group: of the Core, "" for none."""

    host: str
    pid: int
    process: str
    started_ms: int
    time_ms: int
    version: str = ""
    cores: int = 0
    load1: float = 0.0
    memory_bytes: int = 0
    memory_total_bytes: int = 0
    rss_bytes: int = 0
    session_timeout_s: float = 0.0
    counts: CoreCounts = CoreCounts()
    requests: Histogram | None = None
    tasks: dict[str, TaskFigures] = {}
    role: str = CORE
    group: str = ""
    vitals: Vitals = Vitals()


class StoppedRecord(Record):
    """/stopped/HOST, of agents /agents/stopped/HOST: the process of that name that ended on purpose, until another one
    starts."""

    process: str
    time_ms: int


class DrainRecord(Record):
    """/drained/HOST: while it is there, the Cores of that host take no tasks and hand over those that they have."""

    by: str = ""
    time_ms: int = 0
    reason: str = ""


class GroupRecord(Record):
    """/task-groups/GROUP. `placed`: the members that take part in the election of each task, the preferred one first;
    `pins`: the member that operators want a task on."""

    placed: dict[str, tuple[str, ...]] = {}
    pins: dict[str, str] = {}


class MemberRecord(Record):
    """/task-groups/GROUP/members/HOST: a Core of the group. `capacity`: the weight that it takes; `leaving`: its
    process ends, and gives up its tasks."""

    process: str
    capacity: int
    leaving: bool = False


class ListenerRecord(Record, kw_only=True):
    """What Servers and Monitors have in common. `address`: URL; certificate_ms: expiry of its TLS certificate, 0
    without one; certificate_problem: changed TLS files can't be used, the former certificate is in use."""

    host: str
    pid: int
    address: str
    since_ms: int
    certificate_ms: int = 0
    certificate_problem: bool = False
    version: str = ""


class ServerRecord(ListenerRecord, kw_only=True):
    """/servers/instance/...: one per Server."""


class MonitorRecord(ListenerRecord, kw_only=True):
    """/monitors/...: one per Monitor. `login`: whether it requires one."""

    login: bool = False


class LoginRecord(Record, kw_only=True):
    """What tokens and users have in common. `selector`: of the labels of tasks, "" for all."""

    name: str
    role: Role
    selector: str = ""
    created_by: str = ""
    created_ms: int = 0


class TokenRecord(LoginRecord, kw_only=True):
    """/tokens/ID. `sha256`: of the whole token; `expires_ms`: 0 for never."""

    sha256: str
    expires_ms: int = 0


class UserRecord(LoginRecord, kw_only=True):
    """/users/NAME. `password`: its hash; see `access.passwords`."""

    password: str


class AuditRecord(Record, kw_only=True):
    """/audit/entry-SEQ and /audit/refused-SEQ."""

    entry: AuditEntry


class StoredAnswer(msgspec.Struct, frozen=True):
    """`body`: compressed by zlib."""

    status: int
    headers: dict[str, str]
    body: bytes


class RequestRecord(Record, kw_only=True):
    """/requests/KEY. `fingerprint`: of the request; `answer`: None until it has one."""

    fingerprint: str
    time_ms: int
    answer: StoredAnswer | None = None


R = TypeVar("R", bound=Record)
_REMEDIES = {
    "TaskRecord": "Write the configuration again: `replicator task apply -f FILE`.",
    "CommitRecord": "Restore the task: `replicator cluster restore FILE --task NAME --overwrite`; or create it again "
    "with `source.start` at the position that `replicator task position history NAME` shows last.",
    "MachineRecord": "Restart the Core of that host; its znode is then written again.",
    "OutgoingRecord": "Write the list again: `replicator cluster outgoing set ENTRY...`.",
    "PurgedRecord": "If the task stops with E3109, set its `source.start` to a position. The next deletion of a task "
    "of this name writes the znode again.",
    "InstanceRecord": "Restart the Core of that host; its znode is then written again.",
}


def dump(record: Record) -> bytes:
    return msgspec.json.encode(record)


class _Versioned(msgspec.Struct):
    """Of any record: everything else in it is skipped."""

    v: Any = None


_VERSIONED = json_decoder(_Versioned)


def load(kind: type[R], data: bytes, path: str = "") -> R:
    """Raises CoordinationError E4009 or E4010, naming `path`."""
    try:
        version = _VERSIONED.decode(data).v if data else None
        if isinstance(version, int) and version > VERSION:
            raise CoordinationError(
                "E4010",
                f"{path or kind.__name__} has a newer format",
                found=f"version {version}",
                wanted=f"at most {VERSION}",
            )
        return from_json(data, kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        shown = data[:80].decode("utf-8", "replace")
        raise CoordinationError(
            "E4009",
            f"{path or kind.__name__} can't be read: {error}",
            found=repr(shown),
            wanted=kind.__name__,
            fix=_REMEDIES.get(kind.__name__, ""),
        ) from error
