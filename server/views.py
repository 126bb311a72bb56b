"""What the API answers with: stable shapes, apart from the records in ZooKeeper, which may change with us.

Times in ms since the epoch by the clock of whoever wrote them, lag in seconds, rates per second. Configurations hold
references to secrets only; the secrets themselves never reach the Server.
"""

from __future__ import annotations

from typing import Any

import msgspec

from replicator.coordination.history import Entry
from replicator.coordination.machines import MachineNode
from replicator.coordination.overview import InstanceOverview, TaskOverview

API_VERSION = "v1"


class View(msgspec.Struct, kw_only=True, rename={"api_version": "apiVersion"}):
    api_version: str = API_VERSION


class Instance(msgspec.Struct, kw_only=True):
    """One Core that stands for a task, the RUNNING one first. `online`: its machine's node is there."""

    host: str
    state: str
    running: bool
    online: bool
    sequence: int
    epoch: int
    pid: int
    since_ms: int
    lease_left_s: float = 0.0


class Task(View, kw_only=True):
    """`version`: of the configuration; give it back as If-Match. `host`: of the RUNNING instance, "" when there is
    none. `position`: delivered, of the live figures or else of lastCommit. `problems`: as errors, most basic first."""

    kind: str = "Task"
    name: str
    uid: str
    version: int
    updated_ms: int
    updated_by: str
    desired: str
    desired_by: str
    desired_reason: str
    state: str
    host: str
    epoch: int
    standbys: list[str]
    instances: list[Instance]
    position: str = ""
    gtid: str = ""
    lag_s: float | None = None
    rows: int = 0
    rows_per_s: float | None = None
    transactions: int = 0
    last_event_ms: int = 0
    checkpoint_ms: int = 0
    problems: list[dict[str, str]] = []
    config: dict[str, Any] | None = None


class TaskList(View, kw_only=True):
    kind: str = "TaskList"
    items: list[Task]


class Happening(msgspec.Struct, kw_only=True):
    """One entry of a task's history; `number` rises."""

    number: int
    happened: str
    time_ms: int
    host: str
    epoch: int
    position: str
    by: str
    reason: str
    seconds: float


class HistoryList(View, kw_only=True):
    kind: str = "History"
    name: str
    items: list[Happening]


class Machine(msgspec.Struct, kw_only=True):
    """A Core process that is online; all zero when its node is not understood."""

    name: str
    host: str = ""
    pid: int = 0
    version: str = ""
    started_ms: int = 0
    time_ms: int = 0
    cores: int = 0
    load1: float = 0.0
    memory_bytes: int = 0
    memory_total_bytes: int = 0
    rss_bytes: int = 0
    session_timeout_s: float = 0.0
    tasks: dict[str, str] = {}


class MachineList(View, kw_only=True):
    kind: str = "MachineList"
    items: list[Machine]


class Accepted(View, kw_only=True):
    """A command that the RUNNING instance will carry out. `to`: the host chosen, "" when it is the next in line."""

    kind: str = "Command"
    id: str
    task: str
    verb: str
    to: str = ""


class Problem(msgspec.Struct, kw_only=True):
    """An error as `replicator.errors.ReplicatorError.to_dict` writes it."""

    code: str
    what: str
    found: str
    wanted: str
    fix: str
    position: str


class Failure(msgspec.Struct, kw_only=True):
    """`error`: the first, `errors`: all of them."""

    error: Problem
    errors: list[Problem]


class Health(View, kw_only=True):
    kind: str = "Health"
    status: str
    zookeeper: str


def task(view: TaskOverview) -> Task:
    figures, commit = view.figures, view.last_commit
    checkpoint = commit.checkpoint if commit else None
    return Task(
        name=view.name,
        uid=view.uid,
        version=view.config_version,
        updated_ms=view.updated_ms,
        updated_by=view.updated_by,
        desired=view.desired,
        desired_by=view.desired_by,
        desired_reason=view.desired_reason,
        state=view.state,
        host=view.host,
        epoch=view.epoch,
        standbys=[instance.host for instance in view.standbys],
        instances=[_instance(instance) for instance in view.instances],
        position=(figures.position if figures else "") or (str(checkpoint.position) if checkpoint else ""),
        gtid=(figures.gtid if figures else "") or (checkpoint.position.gtid if checkpoint else ""),
        lag_s=figures.lag_s if figures else None,
        rows=figures.rows if figures else 0,
        rows_per_s=figures.rows_per_s if figures else None,
        transactions=figures.transactions if figures else 0,
        last_event_ms=figures.last_event_ms if figures else 0,
        checkpoint_ms=figures.checkpoint_ms if figures else 0,
        problems=view.problems,
        config=view.config,
    )


def _instance(view: InstanceOverview) -> Instance:
    return Instance(
        host=view.host,
        state=view.state,
        running=view.running,
        online=bool(view.machine),
        sequence=view.sequence,
        epoch=view.epoch,
        pid=view.pid,
        since_ms=view.since_ms,
        lease_left_s=view.figures.lease_left_s if view.figures else 0.0,
    )


def happening(entry: Entry) -> Happening:
    record = entry.record
    return Happening(
        number=entry.number,
        happened=record.kind,
        time_ms=record.time_ms,
        host=record.host,
        epoch=record.epoch,
        position=record.position,
        by=record.by,
        reason=record.reason,
        seconds=record.seconds,
    )


def machine(node: MachineNode) -> Machine:
    record = node.record
    if record is None:
        return Machine(name=node.name)
    return Machine(
        name=node.name,
        host=record.host,
        pid=record.pid,
        version=record.version,
        started_ms=record.started_ms,
        time_ms=record.time_ms,
        cores=record.cores,
        load1=record.load1,
        memory_bytes=record.memory_bytes,
        memory_total_bytes=record.memory_total_bytes,
        rss_bytes=record.rss_bytes,
        session_timeout_s=record.session_timeout_s,
        tasks={name: figures.state for name, figures in record.tasks.items()},
    )
