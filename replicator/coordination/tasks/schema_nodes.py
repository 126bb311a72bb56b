"""The schema history of a task in znodes: sequential parts under /tasks/TASK/schema.

A record is compressed where it is made and cut into parts here, as a znode holds 1 MB at most. It counts once its last
part stands, a base then in the place of everything before it. What that leaves behind is deleted afterwards, oldest
first and some at a time: a Core that dies in between leaves a base with nothing but garbage before it, which does not
count and goes with the next base. `schema.history` bounds the number of records.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Sequence
from typing import Final

import msgspec

from replicator.coordination.layout import Layout
from replicator.coordination.ports import Check, Coordinator, Create, Delete, Op
from replicator.coordination.records import Record, dump, load
from replicator.errors import CoordinationError, LeadershipLost, NodeExists, NodeMissing, NotConnected
from replicator.model.decoding import from_msgpack
from replicator.model.schema_history import SchemaRecord

PART: Final = 340_000
"""Bytes of a record in one node: Base64 makes 455 kB of them."""
_TRIES: Final = 5
_DELETES: Final = 200
"""In one transaction, some 20 kB. ZooKeeper closes the connection of a request over 1 MB."""


class SchemaPart(Record):
    """One part of a record. `group`: names the record; `index` of `count`; `kind`: the record's."""

    group: str
    index: int
    count: int
    kind: str
    data: bytes


class SchemaNodes:
    """Implements `ports.HistoryStore`.

    Args:
        own: name of our contender node: each write checks that it exists. "": written by an operator, no worker runs.
    """

    def __init__(self, coordinator: Coordinator, layout: Layout, task: str, own: str) -> None:
        self._coordinator = coordinator
        self._layout = layout
        self._task = task
        self._own = own

    def load(self) -> Sequence[SchemaRecord]:
        """Raises CoordinationError E4009 or E4010 for parts that we can't read, NotConnected."""
        for _ in range(_TRIES):
            names = self._names()
            nodes = self._coordinator.get_many([f"{self._layout.schema(self._task)}/{name}" for name in names])
            found = [node.data for node in nodes if node is not None]
            if len(found) == len(names):
                return self._whole(found)
            # Some were deleted behind a new base, which is not among the names: what is left would be a history without
            # its beginning.
        raise NotConnected("E4002", f"the schema history of '{self._task}' was changed during each read")

    def _whole(self, found: Sequence[bytes]) -> tuple[SchemaRecord, ...]:
        """The records of which all parts are there, from the last base on."""
        groups: dict[str, list[SchemaPart]] = {}
        for data in found:
            part = load(SchemaPart, data, self._layout.schema(self._task))
            groups.setdefault(part.group, []).append(part)
        whole = [parts for parts in groups.values() if len(parts) == parts[0].count]
        bases = [at for at, parts in enumerate(whole) if parts[0].kind == "base"]
        return tuple(self._record(parts) for parts in (whole[bases[-1] :] if bases else whole))

    def append(self, record: SchemaRecord) -> None:
        """Raises LeadershipLost, NotConnected (written in part, in whole, or not: append it again)."""
        raw, group = msgspec.msgpack.encode(record), uuid.uuid4().hex
        pieces = [raw[at : at + PART] for at in range(0, len(raw), PART)]
        first = ""
        for index, piece in enumerate(pieces):
            data = dump(SchemaPart(group=group, index=index, count=len(pieces), kind=record.kind, data=piece))
            path = self._write(Create(self._layout.schema_prefix(self._task), data, sequential=True))
            first = first or path.rpartition("/")[2]
        if record.kind == "base":
            self._clear(first)

    def _record(self, parts: list[SchemaPart]) -> SchemaRecord:
        raw = b"".join(part.data for part in sorted(parts, key=lambda part: part.index))
        try:
            return from_msgpack(raw, SchemaRecord)
        except msgspec.MsgspecError as error:
            where = self._layout.schema(self._task)
            raise CoordinationError(
                "E4009",
                f"a record of the schema history in {where} can't be read",
                found=str(error),
                fix="`replicator cluster restore FILE --task NAME --overwrite`, or create the task again with another "
                "name and a new snapshot.",
            ) from error

    def _write(self, change: Create) -> str:
        for attempt in range(2):
            try:
                return str(self._multi([change])[0])
            except NodeMissing:
                if attempt:
                    raise
                with contextlib.suppress(NodeExists):
                    self._multi([Create(self._layout.schema(self._task))])
        raise AssertionError("the second attempt returns or raises")

    def _multi(self, changes: list[Op]) -> list[object]:
        """Together with a check of our own node."""
        if not self._own:
            return list(self._coordinator.multi(changes))
        contender = self._layout.contender(self._task, self._own)
        try:
            return list(self._coordinator.multi([Check(contender), *changes])[1:])
        except NodeMissing as error:
            if self._coordinator.exists(contender) is not None:
                raise
            raise LeadershipLost("E4008", f"the election znode of this process for '{self._task}' is gone") from error

    def _clear(self, first: str) -> None:
        """Deletes what is before a base's first part."""
        names = [name for name in self._names() if name < first]
        for at in range(0, len(names), _DELETES):
            with contextlib.suppress(NodeMissing):
                self._multi([Delete(f"{self._layout.schema(self._task)}/{name}") for name in names[at : at + _DELETES]])

    def _names(self) -> list[str]:
        try:
            return sorted(self._coordinator.children(self._layout.schema(self._task)))
        except NodeMissing:
            return []
