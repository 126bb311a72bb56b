"""Tables whose rows are left out for a while, and where each of them stopped."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import msgspec

from replicator.model.position import Position

_KEPT: Final = 20
"""Of those that are over; with a GTID set each they must not outgrow a znode."""


class Quarantined(msgspec.Struct, frozen=True, omit_defaults=True):
    """A table's time in quarantine.

    Attributes:
        table: `database.table`.
        since: every row before it was delivered, none from there on.
        until: rows are delivered again from there on; None while it lasts.
        time_ms: when it began, wall clock, ms.
    """

    table: str
    since: Position
    until: Position | None = None
    time_ms: int = 0


def marked(
    present: tuple[Quarantined, ...], tables: Collection[str], position: Position, now_ms: int
) -> tuple[Quarantined, ...]:
    """The marks once a stream begins at `position` without the rows of `tables`: new ones where it has not begun yet,
    an end for those that are delivered again."""
    open_ = {mark.table for mark in present if mark.until is None}
    over = [
        mark if mark.until is not None or mark.table in tables else msgspec.structs.replace(mark, until=position)
        for mark in present
    ]
    new = [Quarantined(table, position, None, now_ms) for table in sorted(set(tables) - open_)]
    ended = [mark for mark in over if mark.until is not None][-_KEPT:]
    return (*ended, *[mark for mark in over if mark.until is None], *new)
