"""Cut-overs in ZooKeeper: each step is one transaction over the record, the status of each task and its history."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from replicator.coordination.clock import now_ms
from replicator.coordination.cutovers.cutover_records import OVER, CutoverRecord, Party
from replicator.coordination.cutovers.decision import Order, Seen, Step
from replicator.coordination.layout import Layout, unescape
from replicator.coordination.ports import Check, Coordinator, Create, Delete, Op, Set
from replicator.coordination.records import HistoryRecord, StatusRecord, dump, load
from replicator.coordination.tasks.commits import Commits
from replicator.coordination.tasks.status import Status
from replicator.errors import CoordinationError, NodeExists, NodeMissing, VersionConflict

KEPT: Final = 50
MOST_TASKS: Final = 100
"""All of them are in one transaction, which ZooKeeper limits to 1 MB."""


class CutoverNode(msgspec.Struct, frozen=True):
    """A cut-over as it was read."""

    id: str
    record: CutoverRecord
    version: int


class Cutovers:
    """Thread-safe. Raises NotConnected while ZooKeeper is away."""

    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator, self._layout = coordinator, layout
        self._status, self._commits = Status(coordinator, layout), Commits(coordinator, layout)

    def names(self) -> list[str]:
        try:
            return sorted(unescape(child) for child in self._coordinator.children(self._layout.cutovers))
        except NodeMissing:
            return []

    def find(self, id_: str) -> CutoverNode | None:
        """Raises CoordinationError E4009, E4010."""
        try:
            node = self._coordinator.get(self._layout.cutover(id_))
        except NodeMissing:
            return None
        return CutoverNode(id_, load(CutoverRecord, node.data, self._layout.cutover(id_)), node.stat.version)

    def begin(self, record: CutoverRecord, expected: Mapping[str, int]) -> str:
        """Orders all tasks to pause, and returns the id. `expected`: versions of their status, by name. Raises
        VersionConflict, NodeMissing: nothing was written."""
        id_ = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(record.began_ms / 1000))}-{secrets.token_hex(2)}"
        with contextlib.suppress(NodeExists):
            self._coordinator.create(self._layout.cutovers, parents=True)
        ops: list[Op] = [Create(self._layout.cutover(id_), dump(record))]
        for party in record.parties:
            status = _status(id_, record, party, "pause")
            ops.append(Set(self._layout.status(party.task), dump(status), expected[party.task]))
            ops.append(self._entry(party.task, record.by, f"{id_} has begun{_because(record)}"))
        self._coordinator.multi(ops)
        return id_

    def advance(self, node: CutoverNode, step: Step, proof: str) -> bool:
        """Writes a step. False: another process has written in between, or what was decided on has changed. `proof`:
        znode of the lock under which it is decided; "": none."""
        try:
            self._coordinator.multi(self._changes(node, step, proof))
        except (VersionConflict, NodeMissing, NodeExists):
            return False
        return True

    def _changes(self, node: CutoverNode, step: Step, proof: str) -> list[Op]:
        """Raises NodeMissing, VersionConflict."""
        record = step.record
        ops: list[Op] = [Check(proof)] if proof else []
        ops.append(Set(self._layout.cutover(node.id), dump(record), node.version))
        parties = {party.task: party for party in record.parties}
        for task, order in step.orders.items():
            path = self._layout.status(task)
            found = self._coordinator.get(path)
            if load(StatusRecord, found.data, path).cutover != node.id:
                raise VersionConflict("E4006", f"the status of '{task}' was changed by another process")
            ops.append(Set(path, dump(_status(node.id, record, parties[task], order)), found.stat.version))
            ops.append(self._entry(task, record.by, _told(node.id, record, parties[task], order)))
        return ops

    def cancel(self, node: CutoverNode, by: str) -> None:
        """Raises VersionConflict."""
        record = msgspec.structs.replace(node.record, cancelled_by=by)
        self._coordinator.set(self._layout.cutover(node.id), dump(record), node.version)

    def trim(self) -> None:
        """Removes the oldest ones that are over."""
        names = self.names()
        for name in names[: max(0, len(names) - KEPT)]:
            with contextlib.suppress(NodeMissing, CoordinationError):
                node = self.find(name)
                if node is not None and node.record.phase in OVER:
                    self._coordinator.multi([Delete(self._layout.cutover(name), node.version)])

    def seen(self, id_: str, tasks: Sequence[tuple[str, str, str, str, str]]) -> dict[str, Seen]:
        """`tasks`: name, uid, state, error and source as the overview has them. Position and status are read behind
        it: the state PAUSED is written after the last position."""
        found: dict[str, Seen] = {}
        for name, uid, state, error, source in tasks:
            try:
                status = self._status.read(name)
                checkpoint = self._commits.read(name).checkpoint
            except CoordinationError as problem:
                if problem.transient:
                    raise
                found[name] = Seen(ours=False, uid=uid, state=state, by=f"{problem.code} {problem.what}")
                continue
            found[name] = Seen(
                ours=status.cutover == id_,
                uid=uid,
                state=state,
                by=status.by,
                error=error,
                position=checkpoint.position if checkpoint is not None else None,
                source=source,
            )
        return found

    def _entry(self, task: str, by: str, text: str) -> Op:
        record = HistoryRecord(kind="cutover", time_ms=now_ms(), by=by, reason=text[:2000])
        return Create(self._layout.history_prefix(task), dump(record), sequential=True)


def _status(id_: str, record: CutoverRecord, party: Party, order: Order) -> StatusRecord:
    desired = "running" if order == "resume" else "paused"
    status = StatusRecord(desired=desired, by=record.by, time_ms=now_ms(), reason=f"cut-over {id_}{_because(record)}")
    if order == "pause":
        return msgspec.structs.replace(status, cutover=id_)
    if order == "align":
        return msgspec.structs.replace(status, cutover=id_, at=party.goal)
    return status


def _because(record: CutoverRecord) -> str:
    return f": {record.reason}" if record.reason else ""


def _told(id_: str, record: CutoverRecord, party: Party, order: Order) -> str:
    if order == "align":
        return f"{id_}: it continues until {party.goal}, where others of its source have stopped"
    then = "it continues" if order == "resume" else "it stays paused"
    if record.phase == "reached":
        return f"{id_}: all {len(record.parties)} tasks have stopped, this one at {party.reached}; {then}"
    return f"{id_} has failed: {record.found}; {then}"
