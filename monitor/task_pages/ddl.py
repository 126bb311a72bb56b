"""The statements that changed a task's tables, for the timeline: from the schema history, each part read once."""

from __future__ import annotations

from typing import Final

import msgspec

from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator, Node
from replicator.coordination.records import load
from replicator.coordination.tasks.schema_nodes import SchemaPart
from replicator.errors import CoordinationError, NodeMissing
from replicator.model.decoding import from_msgpack

_MOST: Final = 300
"""Of a task: the newest ones."""


class Statement(msgspec.Struct, frozen=True):
    """time_ms: when it was recorded; text: its beginning."""

    time_ms: int
    text: str
    position: str


class _Place(msgspec.Struct, frozen=True):
    file: str = ""
    offset: int = 0


class _Record(msgspec.Struct, frozen=True):
    """What a timeline needs of a `SchemaRecord`, whatever else a release has written."""

    kind: str
    text: str = ""
    position: _Place = _Place()


class Statements:
    """Of one task; used by one thread at a time. Parts never change, and are deleted behind a new base: what they said
    is kept here, as it did happen."""

    def __init__(self, coordinator: Coordinator, layout: Layout, task: str) -> None:
        self._coordinator = coordinator
        self._parent = layout.schema(task)
        self._known: dict[str, Statement | None] = {}

    def read(self) -> tuple[Statement, ...]:
        """Oldest first. Raises NotConnected."""
        try:
            names = sorted(self._coordinator.children(self._parent))
        except NodeMissing:
            names = []
        new = [name for name in names if name not in self._known]
        nodes = self._coordinator.get_many([f"{self._parent}/{name}" for name in new])
        for name, node in zip(new, nodes, strict=True):
            if node is not None:
                self._known[name] = _statement(f"{self._parent}/{name}", node)
        found = [(name, one) for name, one in sorted(self._known.items()) if one is not None]
        for name, _ in found[:-_MOST]:
            self._known[name] = None
        return tuple(one for _, one in found[-_MOST:])


def _statement(path: str, node: Node) -> Statement | None:
    """None for what is no statement, or not understood, and for statements of more than one part."""
    try:
        part = load(SchemaPart, node.data, path)
        if part.kind not in ("ddl", "set") or part.count != 1:
            return None
        record = from_msgpack(part.data, _Record)
    except (CoordinationError, msgspec.MsgspecError):
        return None
    where = f"{record.position.file}:{record.position.offset}" if record.position.file else ""
    return Statement(node.stat.ctime_ms, record.text, where)
