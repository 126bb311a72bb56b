"""lastCommit: the checkpoint of a task and the term that wrote it."""

from __future__ import annotations

import msgspec

from replicator.coordination.layout import Layout
from replicator.coordination.ports import Check, Coordinator, Create, Delete, Op, Set, Stat
from replicator.coordination.records import CommitRecord, dump, load
from replicator.errors import LeadershipLost, NodeMissing, PositionBehind
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from replicator.model.position_order import compared


class Commit(msgspec.Struct, frozen=True):
    """lastCommit as read. `version` -1: it does not exist yet. `mzxid`: of its last change."""

    record: CommitRecord | None
    version: int = -1
    mzxid: int = 0

    @property
    def checkpoint(self) -> Checkpoint | None:
        return self.record.checkpoint if self.record else None


class Commits:
    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator = coordinator
        self._layout = layout

    def read(self, task: str) -> Commit:
        """Raises CoordinationError E4009/E4010."""
        path = self._layout.last_commit(task)
        try:
            node = self._coordinator.get(path)
        except NodeMissing:
            return Commit(None)
        return Commit(load(CommitRecord, node.data, path), node.stat.version, node.stat.mzxid)

    def write(self, task: str, own: str, before: Commit, record: CommitRecord, after: tuple[Op, ...] = ()) -> Commit:
        """One transaction: our own contender stands, lastCommit is still `before`, becomes `record`, and `after`.

        Args:
            own: name of our contender node; a leader whose node is gone must write nothing.
            before: what we know lastCommit to be.
            after: more operations of the same transaction, e.g. the end of a term.

        Raises:
            LeadershipLost: our own node is gone.
            VersionConflict, NodeExists: lastCommit is not `before` any more.
            PositionBehind: E4012; nothing was written.
            NotConnected: the outcome is unknown; read again.
        """
        refuse_backward(task, before.checkpoint, record.checkpoint)
        path = self._layout.last_commit(task)
        change: Op = Create(path, dump(record)) if before.version < 0 else Set(path, dump(record), before.version)
        contender = self._layout.contender(task, own)
        try:
            results = self._coordinator.multi([Check(contender), change, *after])
        except NodeMissing as error:
            if self._coordinator.exists(contender) is not None:
                raise  # lastCommit itself was deleted by hand
            raise LeadershipLost("E4008", f"the election znode of this process for '{task}' is gone") from error
        written = results[1]
        version, mzxid = (written.version, written.mzxid) if isinstance(written, Stat) else (0, 0)
        return Commit(record, version, mzxid)

    def overwrite(self, task: str, before: Commit, checkpoint: Checkpoint) -> None:
        """Sets the position while nobody stands. A term that begins meanwhile changes lastCommit, and then nothing is
        written.

        Raises VersionConflict, NodeExists, NotConnected.
        """
        record = msgspec.structs.replace(before.record or CommitRecord(epoch=0), checkpoint=checkpoint)
        path = self._layout.last_commit(task)
        change: Op = Create(path, dump(record)) if before.version < 0 else Set(path, dump(record), before.version)
        self._coordinator.multi([change])

    def release(self, task: str, own: str, before: Commit, record: CommitRecord, done: tuple[str, ...] = ()) -> None:
        """Ends a term: writes `record` (released), deletes our node and the commands `done`, all or nothing."""
        after: list[Op] = [Delete(self._layout.contender(task, own)), *(Delete(path) for path in done)]
        self.write(task, own, before, record, tuple(after))


def refuse_backward(task: str, before: Checkpoint | None, after: Checkpoint | None) -> None:
    """Raises PositionBehind E4012 when `after` is an earlier position than `before`, or is missing."""
    if before is None:
        return
    if after is None or behind(after.position, before.position):
        raise PositionBehind(
            "E4012",
            f"the new position of '{task}' is before the last commit",
            found=str(after.position) if after else "none",
            wanted=f"at least {before.position}",
        )


def behind(position: Position, other: Position) -> bool:
    """True when `position` is surely earlier."""
    return compared(position, other) == "behind"
