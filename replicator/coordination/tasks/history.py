"""The history of a task: its events, newest last, trimmed."""

from __future__ import annotations

import contextlib

import msgspec

from replicator.coordination.layout import Layout
from replicator.coordination.machines.payload import cut
from replicator.coordination.ports import Coordinator, Create, Watcher
from replicator.coordination.records import HistoryRecord, dump, load
from replicator.coordination.tasks.nodes import create_in_task
from replicator.errors import CoordinationError, NodeMissing

KEPT = 200
_MOST_TEXT = 2000
"""Characters of a reason: 200 entries are read at once."""
_SLACK = 20
"""So that not every entry costs a deletion too."""


class Entry(msgspec.Struct, frozen=True):
    """`number` rises with each entry of a task and never comes again."""

    number: int
    record: HistoryRecord


class History:
    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator = coordinator
        self._layout = layout

    def append(self, task: str, record: HistoryRecord) -> None:
        """Raises NodeMissing E5003 (no such task)."""
        record = msgspec.structs.replace(
            record, reason=cut(record.reason, _MOST_TEXT), position=cut(record.position, _MOST_TEXT)
        )
        entry = Create(self._layout.history_prefix(task), dump(record), sequential=True)
        path = create_in_task(self._coordinator, self._layout, task, entry)
        number = _number(path)
        if number >= KEPT and number % _SLACK == 0:
            self.trim(task)

    def trim(self, task: str) -> None:
        """Deletes all but the newest KEPT entries."""
        names = self._names(task)
        for name in names[: max(0, len(names) - KEPT)]:
            with contextlib.suppress(NodeMissing):
                self._coordinator.delete(f"{self._layout.history(task)}/{name}")

    def read(self, task: str, limit: int = KEPT, watch: Watcher | None = None) -> list[Entry]:
        """The newest `limit` entries, oldest of them first. Entries that nobody understands are left out."""
        paths = [f"{self._layout.history(task)}/{name}" for name in self._names(task, watch)[-limit:]]
        nodes = zip(paths, self._coordinator.get_many(paths), strict=True)
        entries = [_entry(path, node.data) for path, node in nodes if node is not None]
        return [entry for entry in entries if entry is not None]

    def _names(self, task: str, watch: Watcher | None = None) -> list[str]:
        try:
            names = self._coordinator.children(self._layout.history(task), watch)
        except NodeMissing:
            return []
        return sorted((name for name in names if _number(name) >= 0), key=_number)


def _entry(path: str, data: bytes) -> Entry | None:
    try:
        return Entry(_number(path), load(HistoryRecord, data, path))
    except CoordinationError:
        return None


def _number(name: str) -> int:
    digits = name.rpartition("-")[2]
    return int(digits) if digits.isascii() and digits.isdigit() else -1
