"""Tables whose rows are left out for a while, and where each of them stopped."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, TypeAlias

import msgspec

from replicator.model.position import Position

Problem: TypeAlias = dict[str, str]
"""`ReplicatorError.to_dict()`."""

_KEPT: Final = 20
"""Of those that are over; with a GTID set each they must not outgrow a znode."""


class Quarantined(msgspec.Struct, frozen=True, omit_defaults=True):
    """A table's time in quarantine.

    Attributes:
        table: `database.table`.
        since: every row before it was delivered, none from there on.
        until: rows are delivered again from there on; None while it lasts.
        time_ms: when it began, wall clock, ms; names this time among those of the table.
        error: what the task met in the table; None where an operator put it there.
        replayed: what was left out has been delivered, before anything behind `until` was.
    """

    table: str
    since: Position
    until: Position | None = None
    time_ms: int = 0
    error: Problem | None = None
    replayed: bool = False


def marked(
    present: tuple[Quarantined, ...],
    tables: Collection[str],
    position: Position,
    now_ms: int,
    *,
    errors: Mapping[str, Problem] | None = None,
    mended: Mapping[str, int] | None = None,
    replay: Mapping[str, int] | None = None,
) -> tuple[Quarantined, ...]:
    """The marks once a stream begins at `position` without some tables: new ones where it has not begun yet, an end for
    those that are delivered again.

    Args:
        tables: left out by operators, for as long as they are here.
        errors: by table, what was met in it now. Such a table is left out until it is `mended`.
        mended: by table, the `time_ms` of the time that is over, with all before it.
        replay: likewise, of what is delivered first; until that is done the mark stays.
    """
    errors, mended, replay = errors or {}, mended or {}, replay or {}

    def lasts(mark: Quarantined) -> bool:
        by_error = mark.error is not None and mark.time_ms > mended.get(mark.table, 0)
        return mark.table in tables or by_error or mark.time_ms <= replay.get(mark.table, 0)

    def over_ms(table: str) -> int:
        return max(mended.get(table, 0), replay.get(table, 0))

    over = [
        mark if mark.until is not None or lasts(mark) else msgspec.structs.replace(mark, until=position)
        for mark in present
    ]
    open_ = {mark.table for mark in over if mark.until is None}
    new = [
        Quarantined(table, position, None, max(now_ms, over_ms(table) + 1), errors.get(table))
        for table in sorted({*tables, *errors} - open_)
    ]
    ended = [mark for mark in over if mark.until is not None][-_KEPT:]
    return (*ended, *[mark for mark in over if mark.until is None], *new)


def left_out(marks: Collection[Quarantined]) -> frozenset[str]:
    """The tables whose rows are left out now."""
    return frozenset(mark.table for mark in marks if mark.until is None)
