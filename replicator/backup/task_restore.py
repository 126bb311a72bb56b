"""Restores one task into the tree.

Its first transaction creates the task's node without a configuration, its status, which keeps Cores away, and a marker
with the id of this run, which every further transaction checks. The last one deletes the marker and sets the status: a
restore that is killed in between leaves a task that no Core begins, and that the next run replaces.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import msgspec

from replicator.backup.archive import Manifest
from replicator.backup.nodes import SavedNode, SavedPart, in_order, prefix
from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout
from replicator.coordination.leadership.epochs import restored
from replicator.coordination.limits import MAX_BYTES
from replicator.coordination.ports import Check, Coordinator, Create, Delete, Op, Set
from replicator.coordination.records import CommitRecord, HistoryRecord, StatusRecord, TaskRecord, dump, load
from replicator.errors import CoordinationError, NodeExists, NodeMissing, VersionConflict

_MOST: Final = 200
_BYTES: Final = MAX_BYTES - 100_000
"""Of one transaction; a node alone with the marker's check may be larger."""
_PER_NODE: Final = 300
_NO_POSITION: Final = "restored from a backup that has no position of it"


class TaskRestore:
    """Args: run: id of this run. paused: the task stays paused."""

    def __init__(
        self,
        coordinator: Coordinator,
        layout: Layout,
        part: SavedPart,
        manifest: Manifest,
        by: str,
        run: str,
        *,
        paused: bool = False,
    ) -> None:
        self._coordinator = coordinator
        self._layout = layout
        self._part = part
        self._manifest = manifest
        self._by = by
        self._paused = paused
        self._top = layout.task(part.task)
        self._marker = layout.restoration(part.task, run)
        self._names: dict[str, str] = {}

    def run(self) -> str:
        """A note for people, "" without. Raises NodeExists: the task exists; NodeMissing E5003: it was deleted since;
        VersionConflict: somebody has configured it since; NotConnected."""
        commit = self._commit()
        commit_data = dump(commit) if isinstance(commit, CommitRecord) else commit
        status, note = self._status(commit)
        left = self._begin(commit_data)
        try:
            self._write(left)
            self._coordinator.multi([Delete(self._marker), Set(self._layout.status(self._part.task), dump(status), 0)])
        except NodeExists as error:
            raise VersionConflict("E4006", f"'{self._part.task}' was changed while it was restored") from error
        except NodeMissing as error:
            raise NodeMissing("E5003", f"'{self._part.task}' was deleted while it was restored") from error
        return note

    def _begin(self, commit: bytes | None) -> bytes | None:
        """With lastCommit, where it fits, for Cores of earlier versions, which do not know what `restoring` means;
        returned where it does not."""
        paused = StatusRecord(
            desired="paused", by=self._by, time_ms=now_ms(), reason=f"restored from {self._of()}", restoring=True
        )
        top = self._part.find("")
        data = self._unconfigured() if top is None or self._sets(top) else top.data
        first: list[Op] = [
            Create(self._top, data),
            Create(self._layout.status(self._part.task), dump(paused)),
            Create(self._marker),
        ]
        fits = commit is not None and len(commit) + len(data) <= _BYTES
        if fits and commit is not None:
            first.append(Create(self._layout.last_commit(self._part.task), commit))
        self._coordinator.multi(first)
        return None if fits else commit

    def _unconfigured(self) -> bytes:
        return dump(TaskRecord(uid=self._uid() or uuid.uuid4().hex))

    def _uid(self) -> str:
        top = self._part.find("")
        try:
            return load(TaskRecord, top.data).uid if top is not None else ""
        except CoordinationError:
            return ""

    def _write(self, commit: bytes | None) -> None:
        if commit is not None:
            self._multi([Create(self._layout.last_commit(self._part.task), commit)])
        nodes = [node for node in in_order(self._part.nodes) if node.path not in ("", "status", "lastCommit")]
        for level in _levels(nodes):
            for batch in _batches(level):
                self._create(batch)
        self._configure()
        history = self._layout.history(self._part.task)
        if self._part.find(history[len(self._top) + 1 :]) is not None:
            entry = HistoryRecord(kind="restored", time_ms=now_ms(), by=self._by, reason=f"from {self._of()}")
            self._multi([Create(self._layout.history_prefix(self._part.task), dump(entry), sequential=True)])

    def _create(self, batch: list[SavedNode]) -> None:
        ops: list[Op] = []
        for node in batch:
            parent = node.path.rpartition("/")[0]
            above = self._names.get(parent, f"{self._top}/{parent}".rstrip("/"))
            ops.append(Create(f"{above}/{prefix(node)}", node.data, sequential=node.sequential))
        for node, made in zip(batch, self._multi(ops), strict=True):
            self._names[node.path] = str(made)

    @staticmethod
    def _sets(top: SavedNode) -> int:
        """How often the data of the task's node are set after its creation."""
        return max(top.version, int(top.size > _BYTES))

    def _configure(self) -> None:
        """The version of the task's data is that of its configuration, which versions and orders refer to. It is
        reached by as many writes."""
        top = self._part.find("")
        if top is None or not self._sets(top):
            return
        data = self._unconfigured()
        filler: list[Op] = [Set(self._top, data, version) for version in range(self._sets(top) - 1)]
        for at in range(0, len(filler), _MOST):
            self._multi(filler[at : at + _MOST])
        self._multi([Set(self._top, top.data, len(filler))])

    def _multi(self, ops: list[Op]) -> list[object]:
        """Together with a check of the marker, unless a node is so large that both don't fit into one request."""
        if len(ops) == 1 and isinstance(op := ops[0], Create | Set) and len(op.data) > _BYTES:
            if self._coordinator.exists(self._marker) is None:
                raise NodeMissing("E4004", f"{self._marker} does not exist")
            return list(self._coordinator.multi(ops))
        return list(self._coordinator.multi([Check(self._marker), *ops])[1:])

    def _commit(self) -> CommitRecord | bytes | None:
        """lastCommit of the restored task. Bytes: content that can't be read stays as it is. None: it was missing
        although the task had a position, so it stays missing, and the task stops with E4004."""
        node = self._part.find("lastCommit")
        if node is None:
            missing = self._has_delivered()
            return None if missing else restored(CommitRecord(epoch=0, uid=self._uid()), self._manifest.zxid)
        try:
            return restored(load(CommitRecord, node.data), self._manifest.zxid)
        except CoordinationError:
            return node.data

    def _has_delivered(self) -> bool:
        points = self._layout.position_history(self._part.task)[len(self._top) + 1 :]
        if any(node.path.startswith(f"{points}/") for node in self._part.nodes):
            return True
        return any(
            entry.kind in ("running", "position")
            for node in self._part.nodes
            if node.path.startswith("history/") and (entry := _entry(node.data)) is not None
        )

    def _status(self, commit: CommitRecord | bytes | None) -> tuple[StatusRecord, str]:
        """The status of the complete task, and a note. A task without a position would begin where its configuration
        says, for instance at the end of the binlog, although it may have delivered since the backup."""
        node = self._part.find("status")
        try:
            status = load(StatusRecord, node.data) if node is not None else StatusRecord()
        except CoordinationError:
            status = StatusRecord(desired="paused", reason="the status in the backup can't be read")
        status = msgspec.structs.replace(status, cutover="", at=None)  # the cut-over is not in the backup
        if status.desired != "running":
            return status, status.desired
        reason = ""
        if self._paused:
            reason = f"restored from {self._of()}"
        elif isinstance(commit, CommitRecord) and commit.checkpoint is None and self._is_configured():
            reason = _NO_POSITION
        if not reason:
            return status, ""
        paused = msgspec.structs.replace(status, desired="paused", by=self._by, time_ms=now_ms(), reason=reason)
        return paused, f"paused: {reason}"

    def _is_configured(self) -> bool:
        top = self._part.find("")
        try:
            return top is not None and load(TaskRecord, top.data).config is not None
        except CoordinationError:
            return True

    def _of(self) -> str:
        return f"a backup of {time_of(self._manifest.created_ms)}"


def time_of(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _entry(data: bytes) -> HistoryRecord | None:
    try:
        return load(HistoryRecord, data)
    except CoordinationError:
        return None


def _levels(nodes: list[SavedNode]) -> Iterator[list[SavedNode]]:
    """Nodes of one depth together: the names of their parents are known when they are created."""
    for depth in sorted({node.path.count("/") for node in nodes}):
        yield [node for node in nodes if node.path.count("/") == depth]


def _batches(nodes: list[SavedNode]) -> Iterator[list[SavedNode]]:
    batch: list[SavedNode] = []
    size = 0
    for node in nodes:
        more = len(node.data) + len(node.path) + _PER_NODE
        if batch and (size + more > _BYTES or len(batch) == _MOST):
            yield batch
            batch, size = [], 0
        batch.append(node)
        size += more
    if batch:
        yield batch
