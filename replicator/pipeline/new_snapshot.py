"""Continues a task whose position is purged: at the end of the source's log, with a new snapshot. Pure."""

from __future__ import annotations

from typing import Final, TypeGuard

import msgspec

from replicator.errors import PositionGone, ReplicatorError, SourceError
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Place, Position
from replicator.model.quarantine import Quarantined
from replicator.model.snapshot import NEEDED, SnapshotProgress
from replicator.model.snapshot_orders import SnapshotOrders, done

_REASON: Final = 300
"""Characters: the position is written with each commit."""

replace = msgspec.structs.replace


def with_new_snapshot(
    position: Position, end: Position, orders: SnapshotOrders, error: ReplicatorError, now_ms: int
) -> Position:
    """`end`, ahead of `position` and of all before it, wherever these are (`Position.reset`): who still has one of them
    takes this one. The schema history looks at the statements in between, or reads the definitions.

    Args:
        position: the task's own, which is purged.
        end: of the source's log, now.
        error: says what is purged.
    """
    before = position.snapshot
    step = before.step + 1 if before is not None else 0
    reason = f"{error.code} {error.what}"[:_REASON]
    name, after = f"{NEEDED}{position.reset + 1}", max(done(before), orders.stopped, 0)
    names = before.names if before is not None else ()
    progress = SnapshotProgress(name, now_ms, step, end.file, end.offset, after=after, reason=reason, names=names)
    unseen = position.unseen or Place(position.file, position.offset, position.gtid, position.server)
    return replace(end, reset=position.reset + 1, unseen=unseen, snapshot=progress)


def with_marks(known: Checkpoint, position: Position) -> Checkpoint:
    """Tables in quarantine stop at `position` instead: what was left out before it can't be delivered any more, and
    comes with the rows of the snapshot once a table is released."""
    marks = tuple(_moved(mark, position) for mark in known.quarantined)
    return replace(known, quarantined=marks)


def _moved(mark: Quarantined, position: Position) -> Quarantined:
    return mark if mark.until is not None else replace(mark, since=position)


class NewSnapshot:
    """Decides for one process. `wanted`: operators have chosen it (`when_needed`)."""

    def __init__(self, *, wanted: bool) -> None:
        self._wanted = wanted
        self._begun_ms = 0

    def takes(self, error: ReplicatorError, last: Position) -> TypeGuard[PositionGone]:
        """Whether the next session begins at the end of the source's log. Not twice without anything delivered in
        between: that would not end. `last`: of the task."""
        taken = last.snapshot
        if taken is not None and taken.begun_ms == self._begun_ms and not taken.tables:
            return False
        return self._wanted and isinstance(error, PositionGone)

    def begun(self, position: Position, error: ReplicatorError) -> SourceError:
        """It is durable. Returns what observers are told."""
        self._begun_ms = position.snapshot.begun_ms if position.snapshot is not None else 0
        return _notice(position, error)


def _notice(position: Position, error: ReplicatorError) -> SourceError:
    """What observers are told."""
    progress = position.snapshot
    assert progress is not None, "it has just begun"  # noqa: S101
    return SourceError(
        "E2222",
        f"the position of the task is purged: snapshot {progress.id} of all tables begins",
        found=f"{error.code} {error.what}",
        position=str(position),
    )
