"""Delivers the changes of a table that was left out, up to the position of the stream."""

from __future__ import annotations

from typing import Final

import msgspec

from replicator.model.filling import Filling
from replicator.model.position import CatchUp, Position, Prepared
from replicator.model.position_order import reached

_EVERYTHING: Final = Filling(lambda table: True, lambda table: True)


class CatchUpSession:
    """A catch-up at work.

    Args:
        goal: the position of the stream, with the `catch_up` that has to come first.
    """

    def __init__(self, goal: Position) -> None:
        assert goal.catch_up is not None, "there is something to catch up with"  # noqa: S101
        self._goal = goal
        self._catch_up = goal.catch_up
        self.start = goal.catch_up.at

    @property
    def filling(self) -> Filling | None:
        """A snapshot that is open may still have to bring rows of the table."""
        snapshot = self._goal.snapshot
        return _EVERYTHING if snapshot is not None and not snapshot.ended_ms else None

    def is_end(self, position: Position) -> bool:
        """Whether `position` is the goal, or behind it."""
        return reached(position, self._goal)

    def seen(self, position: Position, boundary: bool) -> Position:
        """The position of the task once the catch-up is at `position`."""
        done = boundary and self.is_end(position)
        catch_up = CatchUp(self._catch_up.table, self._catch_up.time_ms, position, done)
        prepared = _both(self._goal.prepared, position.prepared) if done else self._goal.prepared
        return msgspec.structs.replace(self._goal, prepared=prepared, catch_up=catch_up)


def _both(stream: tuple[Prepared, ...], table: tuple[Prepared, ...]) -> tuple[Prepared, ...]:
    """XA transactions that were prepared before the goal: the stream may have found no rows in one that has some of
    the table."""
    places = {each.xid: each for each in table if each.offset}
    return tuple(each if each.offset else places.get(each.xid, each) for each in stream)
