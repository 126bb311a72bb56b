"""Asks the source where a session begins that has no place in its log yet: a new task's, or one that an operator has
sent to an end of the log."""

from __future__ import annotations

import msgspec

from replicator.model.position import Position
from replicator.model.snapshot import INITIAL, SnapshotProgress
from replicator.model.snapshot_orders import SnapshotOrders, before_initial
from replicator.pipeline.ports import Source


def first_position(source: Source, orders: SnapshotOrders, now_ms: int, *, snapshot: bool) -> Position:
    """Of a task without a position. `snapshot`: it begins with one. Raises SourceError, SourceUnavailable."""
    position = source.start_position()
    if not snapshot:
        return position
    after = before_initial(orders)
    progress = SnapshotProgress(INITIAL, now_ms, file=position.file, offset=position.offset, after=after)
    return msgspec.structs.replace(position, snapshot=progress)


def ordered_position(source: Source, position: Position) -> Position:
    """`position` with the place that its `begin` means now. Its number stays: a sink that has it has it from here
    (`authority`). Raises SourceError, SourceUnavailable."""
    if position.begin is None:
        return position
    found = source.start_position(position.begin)
    return msgspec.structs.replace(found, reset=position.reset, snapshot=position.snapshot, unseen=position.unseen)
