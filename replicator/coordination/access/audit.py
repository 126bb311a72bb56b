"""The audit: entries of requests, which survive the tasks that they are about. Bounded in number."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import AuditRecord, dump, load
from replicator.errors import CoordinationError, NodeMissing
from replicator.model.audit import AuditEntry, Difference

KEPT: Final = 5000
"""Entries of requests that changed something."""
KEPT_REFUSED: Final = 1000
"""Of others. They are counted separately, so that refused requests do not displace the former."""
_MOST_CHANGES: Final = 150
_MOST_TEXT: Final = 500
_CHUNK: Final = 200


class AuditLog:
    """Entries are only created and, by `trim`, deleted."""

    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator = coordinator
        self._layout = layout

    def append(self, entry: AuditEntry, *, refused: bool) -> None:
        record = AuditRecord(entry=_bounded(entry))
        prefix = self._layout.audit_prefix(refused=refused)
        self._coordinator.create(prefix, dump(record), sequential=True, parents=True)

    def trim(self, kept: int = KEPT, kept_refused: int = KEPT_REFUSED) -> None:
        """Deletes the oldest entries."""
        names = self._names()
        for kind, most in (("entry-", kept), ("refused-", kept_refused)):
            of_kind = [name for name in names if name.startswith(kind)]
            for name in of_kind[: max(0, len(of_kind) - most)]:
                with contextlib.suppress(NodeMissing):
                    self._coordinator.delete(f"{self._layout.audit}/{name}")

    def read(
        self, limit: int, wanted: Callable[[AuditEntry], bool], since_ms: int = 0, before: int = 0
    ) -> list[AuditEntry]:
        """The newest `limit` entries that are `wanted`, oldest of them first. before: the number of an entry, of which
        only older ones are read; 0: all."""
        found: list[AuditEntry] = []
        for entry in self._newest_first(before):
            if entry.time_ms < since_ms - _CLOCKS_MS or len(found) == limit:
                break
            if entry.time_ms >= since_ms and wanted(entry):
                found.append(entry)
        return found[::-1]

    def _newest_first(self, before: int) -> Iterator[AuditEntry]:
        names = [name for name in self._names()[::-1] if not before or _sequence(name) < before]
        for at in range(0, len(names), _CHUNK):
            paths = [f"{self._layout.audit}/{name}" for name in names[at : at + _CHUNK]]
            for path, node in zip(paths, self._coordinator.get_many(paths), strict=True):
                if node is None:
                    continue
                with contextlib.suppress(CoordinationError):
                    entry = load(AuditRecord, node.data, path).entry
                    yield msgspec.structs.replace(entry, number=_sequence(path))

    def _names(self) -> list[str]:
        """By sequence, oldest first."""
        try:
            names = self._coordinator.children(self._layout.audit)
        except NodeMissing:
            return []
        return sorted((name for name in names if _sequence(name) >= 0), key=_sequence)


_CLOCKS_MS: Final = 600_000
"""Servers whose clocks differ write entries that are not in the order of their times."""


def _sequence(name: str) -> int:
    digits = name.rpartition("-")[2]
    return int(digits) if digits.isascii() and digits.isdigit() else -1


def _bounded(entry: AuditEntry) -> AuditEntry:
    changes = [Difference(_cut(one.key, 200), _short(one.before), _short(one.after)) for one in entry.changes]
    if len(changes) > _MOST_CHANGES:
        more = len(changes) - _MOST_CHANGES
        changes = [*changes[:_MOST_CHANGES], Difference("...", None, f"{more} more changes")]
    arguments = {_cut(key, 50): _cut(text, _MOST_TEXT) for key, text in list(entry.arguments.items())[:20]}
    names = {name: _cut(getattr(entry, name), _MOST_TEXT) for name in ("by", "says", "task", "target", "reason")}
    return msgspec.structs.replace(entry, changes=changes, arguments=arguments, **names)


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return _cut(value, _MOST_TEXT)
    return value if value is None or isinstance(value, bool | int | float) else _cut(str(value), _MOST_TEXT)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}... ({len(text) - most} more characters)"
