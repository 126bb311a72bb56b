"""A source's maintenance lock: while it is there, no worker of a task that reads the source runs."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from replicator.config.ddns import PREFIX, canonical, parse_name
from replicator.coordination.clock import now_ms, utc
from replicator.coordination.layout import Layout, unescape
from replicator.coordination.ports import Coordinator, Delete, Watcher
from replicator.coordination.records import Record, dump, load
from replicator.coordination.watches import Watches
from replicator.errors import ConfigError, CoordinationError, NodeExists, NodeMissing, ProcessError, VersionConflict

_DEFAULT_PORT: Final = 3306


class SourceLockRecord(Record):
    """/source-locks/SOURCE: who has locked it, when and why; `until_ms`: when the Servers end it, 0: never."""

    by: str = ""
    time_ms: int = 0
    reason: str = ""
    until_ms: int = 0


class LockedSource(msgspec.Struct, frozen=True):
    """`name`: host:port, or ddns:APP/DOMAIN."""

    name: str
    record: SourceLockRecord
    version: int

    def problem(self) -> ProcessError:
        """For the tasks that read it."""
        until = f", until {utc(self.record.until_ms)}" if self.record.until_ms else ""
        why = f": {self.record.reason}" if self.record.reason else ""
        found = f"by {self.record.by or 'an operator'} since {utc(self.record.time_ms)}{until}{why}"
        fix = f"None required: the task continues after `replicator source unlock {self.name}`."
        return ProcessError("E5160", f"the source {self.name} is locked for maintenance", found=found, fix=fix)


def parse_source(text: str) -> str:
    """The one form of an address: host:port, or ddns:APP/DOMAIN. Raises ConfigError E4100."""
    text = text.strip()
    if text.startswith(PREFIX):
        return f"{PREFIX}{parse_name(text)}"
    has_port = text.rpartition(":")[2].isdigit() and not text.endswith("]")
    return canonical(text if has_port else f"{text}:{_DEFAULT_PORT}")


def sources_of(config: Mapping[str, Any] | None, resolved: Sequence[str] = ()) -> tuple[str, ...]:
    """The names under which the source of a task may be locked. `resolved`: its addresses in the book."""
    source = (config or {}).get("source")
    if not isinstance(source, Mapping):
        return ()
    if source.get("address"):
        given = [source["address"], *resolved]
    elif source.get("type") == "kafka":
        given = list(source.get("bootstrap_servers") or ())
    else:
        given = list(source.get("hosts") or ()) or [_one_host(source)]
    found: dict[str, None] = {}
    for text in given:
        with contextlib.suppress(ConfigError, AttributeError):
            found[parse_source(text)] = None
    return tuple(found)


def _one_host(source: Mapping[str, Any]) -> str:
    host = str(source.get("host") or "127.0.0.1")
    return (
        f"[{host}]:{source.get('port') or _DEFAULT_PORT}"
        if ":" in host
        else (f"{host}:{source.get('port') or _DEFAULT_PORT}")
    )


class SourceLocks:
    """Thread-safe. Raises NotConnected while ZooKeeper is away."""

    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator, self._layout = coordinator, layout

    def lock(self, source: str, by: str, reason: str, until_ms: int = 0) -> LockedSource:
        """Raises ProcessError E5161, another person has locked it."""
        record = SourceLockRecord(by=by, time_ms=now_ms(), reason=reason, until_ms=until_ms)
        try:
            self._coordinator.create(self._layout.source_lock(source), dump(record), parents=True)
        except NodeExists:
            present = self.find(source)
            found = str(present.problem().found) if present is not None else ""
            raise ProcessError("E5161", f"the source {source} is locked already", found=found) from None
        return LockedSource(source, record, 0)

    def unlock(self, source: str) -> None:
        """Raises NodeMissing E5162."""
        try:
            self._coordinator.delete(self._layout.source_lock(source))
        except NodeMissing:
            raise NodeMissing("E5162", f"the source {source} is not locked") from None

    def find(self, source: str, watch: Watcher | None = None) -> LockedSource | None:
        """None: it is not locked. One that can't be read is."""
        path = self._layout.source_lock(source)
        stat = self._coordinator.exists(path, watch)
        if stat is None:
            return None
        try:
            return LockedSource(source, load(SourceLockRecord, self._coordinator.get(path).data, path), stat.version)
        except NodeMissing:
            return None
        except CoordinationError as error:
            if error.transient:
                raise
            return LockedSource(source, SourceLockRecord(reason="its record can't be read"), stat.version)

    def all(self) -> dict[str, LockedSource]:
        try:
            names = [unescape(child) for child in self._coordinator.children(self._layout.source_locks)]
        except NodeMissing:
            return {}
        return {name: found for name in sorted(names) if (found := self.find(name)) is not None}

    def holding(self, sources: Sequence[str], watches: Watches) -> LockedSource | None:
        """The first of them that is locked; all are watched."""
        found: LockedSource | None = None
        for source in sources:
            with watches.on("data", self._layout.source_lock(source)) as watch:
                locked = self.find(source, watch)
            found = found or locked
        return found

    def expire(self, now: int) -> list[str]:
        """Ends the locks whose time is over, and returns their names. By one process alone, so that one clock
        decides."""
        ended = []
        for name, locked in self.all().items():
            if not 0 < locked.record.until_ms <= now:
                continue
            with contextlib.suppress(NodeMissing, VersionConflict):
                self._coordinator.multi([Delete(self._layout.source_lock(name), locked.version)])
                ended.append(name)
        return ended
