"""What the Monitor keeps of machines between snapshots, because ZooKeeper does not: the last report of those that are
gone, since when they are, and how long a machine has not reported."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from monitor.snapshot_reader import Snapshot, TaskNode
from replicator.coordination.machines.known import KnownMachine, all_online, known
from replicator.coordination.machines.machines import MachineNode
from replicator.coordination.records import MachineRecord, StoppedRecord

FORGET_MS: Final = 7 * 24 * 3600 * 1000
MOST: Final = 1000
_SIGNS: Final = ("running", "released", "gave up", "lost", "failed")
"""Kinds of entries in histories at whose time their host was last heard of."""


class Seen(msgspec.Struct):
    """A machine that was here. changed: our monotonic clock when its last report came; last_ms: wall clock when it was
    last there; gone_ms: when its znode was first missed, None while it is online; expected: it was, when it was last
    there."""

    last_ms: int
    record: MachineRecord | None = None
    changed: float = 0.0
    gone_ms: int | None = None
    expected: bool = False


class RememberedMachine(msgspec.Struct, frozen=True):
    """seen: None for one that was never there while this Monitor looked; heard_ms: when a history last named it."""

    known: KnownMachine
    seen: Seen | None = None
    heard_ms: int = 0


class MachineMemory:
    """Fed with every snapshot, by the thread that takes them. `clock`: monotonic s."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[str, Seen] = {}
        self._drained: frozenset[str] = frozenset()
        self._machines: tuple[RememberedMachine, ...] = ()

    @property
    def machines(self) -> tuple[RememberedMachine, ...]:
        """Of the last snapshot."""
        return self._machines

    def absorb(self, snapshot: Snapshot) -> None:
        online = all_online(snapshot.machines, snapshot.agents)
        self._note(online, snapshot)
        stopped = {name: end for name, end in snapshot.stopped.items() if self._is_its_end(name, end)}
        aged = [msgspec.structs.replace(node, age_s=self._silence(node.name)) for node in online]
        found = known(aged, snapshot.expected, stopped, snapshot.time_ms)
        found += self._unregistered({machine.name for machine in found} | stopped.keys())
        heard = _heard(snapshot.tasks, {machine.name for machine in found})
        self._machines = tuple(
            RememberedMachine(machine, self._seen.get(machine.name), heard.get(machine.name, 0)) for machine in found
        )
        self._forget(snapshot.time_ms)

    def _note(self, online: Iterable[MachineNode], snapshot: Snapshot) -> None:
        names = set()
        for node in online:
            names.add(node.name)
            self._saw(node, snapshot.time_ms, expected=node.name in snapshot.expected)
        for name, seen in self._seen.items():
            if name not in names and seen.gone_ms is None:
                seen.gone_ms = snapshot.time_ms

    def _saw(self, node: MachineNode, time_ms: int, *, expected: bool) -> None:
        seen = self._seen.setdefault(node.name, Seen(time_ms, gone_ms=time_ms))
        # Every report carries the machine's time: the same one again is no report. Our own clock measures the silence.
        if seen.gone_ms is not None or node.record != seen.record:
            seen.changed = self._clock()
        seen.record, seen.last_ms, seen.gone_ms = node.record or seen.record, time_ms, None
        seen.expected = seen.expected or expected

    def _silence(self, name: str) -> float:
        return self._clock() - self._seen[name].changed

    def _is_its_end(self, name: str, end: StoppedRecord) -> bool:
        """A process that was killed before it removed the record of an earlier one has not ended on purpose."""
        seen = self._seen.get(name)
        return seen is None or seen.record is None or seen.record.process == end.process

    def _unregistered(self, there: set[str]) -> list[KnownMachine]:
        """Machines that were lost while this Monitor looked and that nobody has recorded, nor forgotten: of Cores of
        earlier releases, or in a tree that one of these has secured."""
        lost = [name for name, seen in self._seen.items() if name not in there and not seen.expected]
        return [KnownMachine(name=name, state="offline") for name in lost]

    def _forget(self, now_ms: int) -> None:
        gone = sorted((seen.gone_ms, name) for name, seen in self._seen.items() if seen.gone_ms is not None)
        surplus = max(0, len(self._seen) - MOST)
        for index, (gone_ms, name) in enumerate(gone):
            if index < surplus or gone_ms < now_ms - FORGET_MS:
                del self._seen[name]


def _heard(tasks: Iterable[TaskNode], names: set[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for task in tasks:
        for entry in task.history:
            host = entry.record.host
            if host in names and entry.record.kind in _SIGNS:
                found[host] = max(found.get(host, 0), entry.record.time_ms)
    return found
