"""The figures of a `View` that alert rules compare. Pure, but for what has to be remembered for an hour.

What is not known is None. What does not apply is left out, and no rule with it holds: the lag of a task that is
paused on request, the certificate of one that uses none.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from monitor.machine_memory import FORGET_MS
from monitor.role_changes import Change
from monitor.view import AddressView, MachineView, TaskRow, View
from replicator.alerts.evaluation import Active, Key, Subject
from replicator.alerts.figures import FIGURES, FROZEN_WITHOUT_ZOOKEEPER, Scope, Value

HOUR_MS: Final = 3_600_000
_DIFFERS: Final = "differs"


class Increases:
    """How much counters have risen within the last hour. Not known until they were watched for an hour, unless they
    have risen: after a restart of the Monitor nobody knows what was before."""

    def __init__(self) -> None:
        self._points: dict[tuple[str, str], list[tuple[int, int]]] = {}

    def note(self, task: str, counter: str, value: int, now_ms: int) -> int | None:
        points = self._points.setdefault((task, counter), [])
        if not points or value != points[-1][1]:
            points.append((now_ms, value))
        while len(points) > 1 and points[1][0] <= now_ms - HOUR_MS:
            points.pop(0)
        del points[1:-1000]
        risen = sum(max(after - before, 0) for (_, before), (_, after) in pairwise(points))
        return risen if risen or points[0][0] <= now_ms - HOUR_MS else None

    def forget(self, tasks: Iterable[str]) -> None:
        """All but these."""
        kept = set(tasks)
        self._points = {key: points for key, points in self._points.items() if key[0] in kept}


class Subjects:
    """
    Args:
        changes: of a task, all that ZooKeeper has.
        listener: (expiry in ms, whether newer files can't be used) of this Monitor's certificate, None without one.
    """

    def __init__(
        self, changes: Callable[[str], Sequence[Change]], listener: Callable[[], tuple[int, bool] | None] = lambda: None
    ) -> None:
        self._changes = changes
        self._listener = listener
        self._increases = Increases()
        self._host = socket.gethostname()

    def of(
        self, view: View, now_ms: int, active: Mapping[Key, Active] | None = None
    ) -> tuple[list[Subject], set[Scope]]:
        """The subjects, and the kinds that are known. active: alerts that there are."""
        monitor = Subject("monitor", self._host, self._monitor(view), own=True)
        if view.stale_since_ms is not None or not view.read_ms:
            return [monitor], {"monitor"}
        self._increases.forget(task.name for task in view.tasks)
        found = [monitor, Subject("cluster", "", _cluster(view)), *self._own(now_ms)]
        found += [Subject("task", task.name, self._task(task, now_ms), task.labels) for task in view.tasks]
        machines = [machine for machine in view.machines if machine.state != "stopped"]
        found += [Subject("machine", machine.host, _machine(machine)) for machine in machines]
        found += _lost_sight(view, active or {}, now_ms)
        found += [Subject("address", address.name, _address(address)) for address in view.addresses]
        found += _servers(view, now_ms)
        return found, {"monitor", *FROZEN_WITHOUT_ZOOKEEPER}

    def _own(self, now_ms: int) -> list[Subject]:
        own = self._listener()
        return [_listener("monitor", self._host, *own, now_ms, own=True)] if own is not None else []

    def _monitor(self, view: View) -> dict[str, Value]:
        connected = view.stale_since_ms is None and view.read_ms > 0
        return {"host": self._host, "zookeeper_connected": connected, "zookeeper_silence_seconds": view.age_s}

    def _task(self, task: TaskRow, now_ms: int) -> dict[str, Value]:
        changes = self._changes(task.name)
        retrying, headroom = task.retrying, task.retention_headroom_s
        verified = task.verification.equal_ms if task.verification is not None else 0
        behind = (task.last_event_ms - task.checkpoint_ms) / 1000 if task.last_event_ms and task.checkpoint_ms else None
        sections = [one.section for one in task.addresses if one.error is not None]
        figures: dict[str, Value] = {
            "task": task.name,
            "state": task.state,
            "host": task.host or None,
            "running": task.running,
            "standbys": len(task.standbys),
            "wanted_standbys": task.wanted_standbys,
            "lag_seconds": task.lag_s,
            "lag_unknown": task.state == "RUNNING" and task.lag_s is None,
            "retrying_seconds": retrying.seconds if retrying is not None else 0.0,
            "retrying_side": (retrying.side or "other side") if retrying is not None else None,
            "figures_age_seconds": task.figures_age_s,
            "clock_skew_seconds": abs(task.clock_skew_s) if task.clock_skew_s is not None else None,
            "checkpoint_behind_seconds": behind,
            "retention_headroom_seconds": headroom,
            "tables_differing": task.verification.count(_DIFFERS) if task.verification is not None else None,
            "verified_age_seconds": (now_ms - verified) / 1000 if verified else None,
            "certificate_left_seconds": (task.certificate_ms - now_ms) / 1000 if task.certificate_ms else None,
            "addresses_refused": len(sections),
            "address_sections": " and ".join(sections) or None,
            "late_consumers": len(task.late_consumers),
            "unplaced": task.unplaced if task.group else None,
            "group": task.group or None,
            "failovers_1h": _within_an_hour(changes, "fail-over", now_ms),
            "gave_up_1h": _within_an_hour(changes, "gave up", now_ms),
            "maintenance": bool(task.maintenance),
            "dead_letters_1h": self._increases.note(task.name, "dead letters", task.dead_letters, now_ms),
            "conflicts_1h": self._increases.note(task.name, "conflicts", task.conflicts, now_ms),
            "tables_quarantined": len(task.quarantined),
            "config_invalid": task.config_invalid,
            "rows_per_second": task.rows_per_s,
        }
        return {name: value for name, value in figures.items() if value is not None or _applies(name, task)}


def _applies(name: str, task: TaskRow) -> bool:
    """Whether a figure that is not known could be."""
    if name in ("tables_differing", "verified_age_seconds", "unplaced", "group"):
        return False
    if name == "certificate_left_seconds":
        return task.figures_old or task.figures_age_s is None
    return task.state not in _AT_REST


_AT_REST: Final = frozenset({"PAUSED", "UNCONFIGURED", "DELETED"})


def _within_an_hour(changes: Sequence[Change], kind: str, now_ms: int) -> int:
    return sum(change.kind == kind and change.time_ms > now_ms - HOUR_MS for change in changes)


def _machine(machine: MachineView) -> dict[str, Value]:
    reports = machine.state == "online"
    total = machine.memory_total_bytes
    fullest = max(machine.disks, key=lambda disk: disk.share, default=None) if reports else None
    return {
        "machine": machine.host,
        "state": machine.state,
        "online": reports,
        "silence_seconds": machine.silence_s if machine.state != "offline" else None,
        "load_per_core": machine.load1 / machine.cores if reports and machine.cores else None,
        "memory_used_percent": 100 * machine.memory_bytes / total if reports and total else None,
        "disk": fullest.mount if fullest else None,
        "disk_used_ratio": fullest.share if fullest else None,
        "running": machine.running if reports else None,
        "version": machine.version or None,
    }


def _lost_sight(view: View, active: Mapping[Key, Active], now_ms: int) -> Iterator[Subject]:
    """Machines with an alert of which a Monitor that has been restarted knows nothing, as they are not in the list of
    those that are expected: their Core may not write there, or they were removed from it."""
    present = {machine.host for machine in view.machines}
    unknown: dict[str, Value] = dict.fromkeys(FIGURES["machine"])
    for key, one in active.items():
        since = one.alert.unknown_ms
        if key.of == "machine" and key.name not in present and (not since or since > now_ms - FORGET_MS):
            yield Subject("machine", key.name, {**unknown, "machine": key.name})


def _address(address: AddressView) -> dict[str, Value]:
    return {"name": address.name, "address": address.address, "answers": address.answers}


def _servers(view: View, now_ms: int) -> Iterator[Subject]:
    for server in view.servers:
        if server.certificate_ms:
            yield _listener("server", server.host, server.certificate_ms, server.certificate_problem, now_ms)


def _listener(process: str, host: str, expires_ms: int, problem: bool, now_ms: int, *, own: bool = False) -> Subject:
    figures: dict[str, Value] = {
        "process": process,
        "host": host,
        "certificate_left_seconds": (expires_ms - now_ms) / 1000,
        "certificate_not_loaded": problem,
    }
    return Subject("listener", f"{process} {host}", figures, own=own)


def _cluster(view: View) -> dict[str, Value]:
    return {
        "tasks": len(view.tasks),
        "machines_online": view.tiles.online,
        "maintenance": view.maintenance is not None,
    }
