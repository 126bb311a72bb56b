"""Response types of the API for machines."""

from __future__ import annotations

import msgspec

from replicator.coordination.machines.expected import Expectation
from replicator.coordination.machines.known import KnownMachine, State
from replicator.coordination.records import MachineRecord
from server.responses import View


class Disk(msgspec.Struct, kw_only=True):
    """A file system. In bytes."""

    mount: str
    used_bytes: int
    free_bytes: int


class MachineEntry(msgspec.Struct, kw_only=True):
    """A machine that is online, or expected, or has ended on purpose within a day. What its znode says is 0, null or
    empty if there is none, or if it cannot be read.

    `state`: `online`, `silent` (it has stopped reporting), `offline` (it is expected and not there) or `stopped` (it
    has ended on purpose, at `stopped_ms`). `role`: `core`, or that of an agent. `expected`: `learned` from its first
    report, `ordered` by a user (`expected_by`, `expected_since_ms`, `expected_reason`), or "" if it is not;
    `expected_version`: of that record, for If-Match, -1 without one. `age_s`: seconds since its last report. `cpu`:
    share of all processors, 0 to 1. `version`: of mysql-replicator."""

    name: str
    state: State
    role: str = ""
    age_s: float = 0.0
    host: str = ""
    pid: int = 0
    app_version: str = msgspec.field(default="", name="version")
    started_ms: int = 0
    time_ms: int = 0
    cores: int = 0
    load1: float = 0.0
    memory_bytes: int = 0
    memory_total_bytes: int = 0
    rss_bytes: int = 0
    session_timeout_s: float = 0.0
    cpu: float | None = None
    received_per_s: float | None = None
    sent_per_s: float | None = None
    disks: list[Disk] = []
    booted_ms: int = 0
    group: str = ""
    draining: bool = False
    stopped_ms: int = 0
    expected: str = ""
    expected_by: str = ""
    expected_since_ms: int = 0
    expected_reason: str = ""
    expected_version: int = -1
    tasks: dict[str, str] = {}


class MachineList(View, kw_only=True):
    kind: str = "MachineList"
    items: list[MachineEntry]


class Machine(MachineEntry, kw_only=True, rename={"api_version": "apiVersion", "app_version": "version"}):
    api_version: str = "v1"
    kind: str = "Machine"


def machine(found: KnownMachine, *, draining: bool) -> MachineEntry:
    entry = MachineEntry(name=found.name, state=found.state, draining=draining, stopped_ms=found.since_ms)
    if found.expectation is not None:
        _add_expectation(entry, found.expectation)
    if found.node is not None:
        entry.age_s = round(found.node.age_s, 1)
        if found.node.record is not None:
            _add_report(entry, found.node.record)
    return entry


def _add_expectation(entry: MachineEntry, found: Expectation) -> None:
    record = found.record
    entry.expected = "learned" if record.learned else "ordered"
    entry.expected_by, entry.expected_since_ms = record.by, record.time_ms
    entry.expected_reason, entry.expected_version = record.reason, found.version


def _add_report(entry: MachineEntry, record: MachineRecord) -> None:
    vitals = record.vitals
    entry.role, entry.host, entry.pid, entry.app_version = record.role, record.host, record.pid, record.version
    entry.started_ms, entry.time_ms, entry.group = record.started_ms, record.time_ms, record.group
    entry.cores, entry.load1, entry.rss_bytes = record.cores, record.load1, record.rss_bytes
    entry.memory_bytes, entry.memory_total_bytes = record.memory_bytes, record.memory_total_bytes
    entry.session_timeout_s, entry.booted_ms = record.session_timeout_s, vitals.booted_ms
    entry.cpu, entry.received_per_s, entry.sent_per_s = vitals.cpu, vitals.received_per_s, vitals.sent_per_s
    entry.disks = [Disk(mount=one.mount, used_bytes=one.used, free_bytes=one.free) for one in vitals.disks]
    entry.tasks = {name: figures.state for name, figures in record.tasks.items()}
