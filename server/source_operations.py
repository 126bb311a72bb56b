"""Sources of tasks, and their maintenance locks, as the API shows and changes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout
from replicator.coordination.leadership.state import State
from replicator.coordination.overview import TaskOverview, resolved_sources
from replicator.coordination.ports import Coordinator
from replicator.coordination.sources.source_locks import LockedSource, SourceLocks, parse_source, sources_of
from replicator.errors import NodeMissing
from replicator.model.principal import Principal
from server import task_scope
from server.responses import View
from server.task_operations import TaskOperations

_STOPPED: Final = frozenset({State.PAUSED.value, State.FAILED.value, State.UNCONFIGURED.value})
"""The first in line has no worker, and starts none; any other may be about to."""


class SourceTask(msgspec.Struct, kw_only=True):
    """A task that reads a source. `stopped`: no worker of it runs."""

    task: str
    state: str
    stopped: bool


class SourceEntry(msgspec.Struct, kw_only=True):
    """A source: host:port, or ddns:APP/DOMAIN. `locked`: its tasks pause, by whom, since when and until when (ms since
    the epoch, 0: until it is unlocked)."""

    name: str
    locked: bool = False
    by: str = ""
    since_ms: int = 0
    until_ms: int = 0
    reason: str = ""
    tasks: list[SourceTask] = msgspec.field(default_factory=list)


class Source(SourceEntry, kw_only=True, rename={"api_version": "apiVersion"}):
    api_version: str = "v1"
    kind: str = "Source"


class SourceList(View, kw_only=True):
    kind: str = "SourceList"
    items: list[SourceEntry]


class SourceOperations:
    """Thread-safe. Every method raises NotConnected while ZooKeeper is away."""

    def __init__(self, coordinator: Coordinator, layout: Layout, tasks: TaskOperations) -> None:
        self._locks, self._tasks = SourceLocks(coordinator, layout), tasks

    def all(self, login: Principal) -> Sequence[SourceEntry]:
        """Those that tasks read which the login sees, and for logins without a selector all that are locked."""
        readers, locked = self._readers(login), self._locks.all()
        names = {*readers, *(() if login.selector else locked)}
        return [_entry(name, readers.get(name, []), locked.get(name)) for name in sorted(names)]

    def read(self, text: str, login: Principal) -> Source:
        """Raises ConfigError E4100; NodeMissing E5163, no task reads it, and it is not locked."""
        name = parse_source(text)
        for entry in self.all(login):
            if entry.name == name:
                return Source(**{field: getattr(entry, field) for field in SourceEntry.__struct_fields__})
        known = ", ".join(sorted(self._readers(login))[:10])
        raise NodeMissing("E5163", f"no task reads the source {name}", found=f"sources: {known or 'none'}")

    def lock(self, text: str, by: str, reason: str, seconds: float, login: Principal) -> Source:
        """`seconds`: after which the Servers end it; 0: never. Raises as `read`; ProcessError E5161."""
        name = self.read(text, login).name
        self._locks.lock(name, by, reason, now_ms() + int(seconds * 1000) if seconds else 0)
        return self.read(name, login)

    def unlock(self, text: str) -> None:
        """Raises ConfigError E4100, NodeMissing E5162."""
        self._locks.unlock(parse_source(text))

    def _readers(self, login: Principal) -> dict[str, list[TaskOverview]]:
        found: dict[str, list[TaskOverview]] = {}
        for view in self._tasks.tasks():
            if task_scope.includes(login, view.config):
                for name in sources_of(view.config, resolved_sources(view)):
                    found.setdefault(name, []).append(view)
        return found


def _entry(name: str, readers: Sequence[TaskOverview], locked: LockedSource | None) -> SourceEntry:
    tasks = [
        SourceTask(task=each.name, state=each.state, stopped=each.state in _STOPPED or not each.instances)
        for each in readers
    ]
    if locked is None:
        return SourceEntry(name=name, tasks=tasks)
    record = locked.record
    return SourceEntry(
        name=name,
        locked=True,
        by=record.by,
        since_ms=record.time_ms,
        until_ms=record.until_ms,
        reason=record.reason,
        tasks=tasks,
    )
