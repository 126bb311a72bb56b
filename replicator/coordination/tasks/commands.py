"""The queue of operators' commands to the RUNNING instance of a task."""

from __future__ import annotations

import contextlib
import uuid

import msgspec

from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator, Create, Watcher
from replicator.coordination.records import CommandRecord, dump, load
from replicator.coordination.tasks.nodes import create_in_task
from replicator.errors import CoordinationError, NodeMissing


class Pending(msgspec.Struct, frozen=True):
    """A command that has not been executed yet. `record` None: its content is not understood. `czxid` orders it
    against everything else that ever happened in the coordinator."""

    path: str
    czxid: int
    record: CommandRecord | None


class Commands:
    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator = coordinator
        self._layout = layout

    def submit(self, task: str, verb: str, arguments: dict[str, str] | None = None, by: str = "") -> CommandRecord:
        """Queues a command: "switchover" with {"to": guid or "", "host": name or ""}, or "retry".

        Raises NodeMissing E5003 (no such task).
        """
        record = CommandRecord(id=uuid.uuid4().hex, verb=verb, arguments=arguments or {}, by=by, time_ms=now_ms())
        node = Create(self._layout.command_prefix(task), dump(record), sequential=True)
        create_in_task(self._coordinator, self._layout, task, node)
        return record

    def pending(self, task: str, watch: Watcher | None = None) -> list[Pending]:
        """In the order of their submission. `watch` fires when one comes or goes."""
        path = self._layout.commands(task)
        try:
            names = self._coordinator.children(path, watch)
        except NodeMissing:
            if watch is not None:
                self._coordinator.exists(path, watch)  # for the node itself
            return []
        found = [self._read(f"{path}/{name}") for name in names]
        return sorted((entry for entry in found if entry is not None), key=lambda entry: entry.czxid)

    def _read(self, path: str) -> Pending | None:
        try:
            node = self._coordinator.get(path)
        except NodeMissing:
            return None
        try:
            record = load(CommandRecord, node.data, path)
        except CoordinationError:
            record = None
        return Pending(path, node.stat.czxid, record)

    def is_pending(self, task: str, command_id: str) -> bool:
        return any(entry.record is not None and entry.record.id == command_id for entry in self.pending(task))

    def complete(self, path: str) -> None:
        """Takes a command off the queue; fine when it is gone already."""
        with contextlib.suppress(NodeMissing):
            self._coordinator.delete(path)
