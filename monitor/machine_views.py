"""Builds what the Monitor shows of machines, Servers and Monitors. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from monitor.machine_memory import RememberedMachine
from monitor.view import MachineView, MonitorView, ServerView, Tone
from replicator.coordination.groups.drained import is_drained
from replicator.coordination.machines.expected import Expectation
from replicator.coordination.machines.known import State
from replicator.coordination.records import MachineRecord, MonitorRecord, ServerRecord

_TONES: dict[State, Tone] = {"offline": "bad", "silent": "warn", "online": "ok", "stopped": "idle"}
"""In the order in which machines are shown: problems first."""
_ORDER = {state: index for index, state in enumerate(_TONES)}
GONE: frozenset[State] = frozenset({"offline", "stopped"})


def machines(found: Iterable[RememberedMachine], drained: Collection[str]) -> tuple[MachineView, ...]:
    views = [_machine(each, drained) for each in found]
    return tuple(sorted(views, key=lambda view: (_ORDER[view.state], view.host)))


def _machine(remembered: RememberedMachine, drained: Collection[str]) -> MachineView:
    known, seen = remembered.known, remembered.seen
    record = seen.record if seen is not None else None
    # A znode that holds something that can't be read: it is there, and does not report.
    state: State = "silent" if known.node is not None and known.node.record is None else known.state
    last_ms = max(seen.last_ms if seen is not None else 0, remembered.heard_ms)
    view = _expected(
        MachineView(
            host=known.name,
            state=state,
            tone=_TONES[state],
            since_ms=known.since_ms or last_ms,
            last_ms=last_ms,
            draining=is_drained(known.name, drained),
            role=record.role if record is not None else "",
            version=record.version if record is not None else "",
            group=record.group if record is not None else "",
        ),
        known.expectation,
    )
    if known.node is None or known.node.record is None:
        return view
    return _reported(view, known.node.record, known.node.age_s)


def _expected(view: MachineView, expectation: Expectation | None) -> MachineView:
    if expectation is None:
        return view
    record = expectation.record
    return msgspec.structs.replace(
        view,
        expected="learned" if record.learned else "ordered",
        expected_ms=record.time_ms,
        expected_by=record.by,
        expected_reason=record.reason,
    )


def _reported(view: MachineView, record: MachineRecord, silence_s: float) -> MachineView:
    states = [figures.state.upper() for figures in record.tasks.values()]
    vitals = record.vitals
    return msgspec.structs.replace(
        view,
        since_ms=record.started_ms,
        silence_s=silence_s,
        pid=record.pid,
        cores=record.cores,
        load1=record.load1,
        memory_bytes=record.memory_bytes,
        memory_total_bytes=record.memory_total_bytes,
        rss_bytes=record.rss_bytes,
        session_timeout_s=record.session_timeout_s,
        running=states.count("RUNNING"),
        standby=states.count("STANDBY"),
        counts=record.counts,
        requests=record.requests,
        cpu=vitals.cpu,
        disks=vitals.disks,
        received_per_s=vitals.received_per_s,
        sent_per_s=vitals.sent_per_s,
        booted_ms=vitals.booted_ms,
    )


def server(record: ServerRecord) -> ServerView:
    return ServerView(
        record.host,
        record.address,
        record.since_ms,
        record.certificate_ms,
        record.certificate_problem,
        record.version,
    )


def monitor(record: MonitorRecord) -> MonitorView:
    return MonitorView(
        host=record.host,
        address=record.address,
        since_ms=record.since_ms,
        certificate_ms=record.certificate_ms,
        certificate_problem=record.certificate_problem,
        version=record.version,
        login=record.login,
    )
