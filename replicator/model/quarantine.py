"""Tables in quarantine, with the position at which each of them stopped, and the orders of operators."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, TypeAlias

import msgspec

from replicator.model.position import Position
from replicator.model.snapshot_orders import SnapshotOrders

Problem: TypeAlias = dict[str, str]
"""`ReplicatorError.to_dict()`."""

_KEPT: Final = 20
"""Of those that are over; with a GTID set each they must not outgrow a znode."""


class Quarantined(msgspec.Struct, frozen=True, omit_defaults=True):
    """A table's time in quarantine. It lasts until it is released or replayed by name; that nothing is said of the
    table any more ends nothing.

    Attributes:
        table: `database.table`.
        since: every row before it was delivered, none from there on.
        until: rows are delivered again from there on; None while it lasts.
        time_ms: when it began, wall clock, ms; names this time among those of the table.
        error: what the task met in the table; {} where an operator put it there. Versions that kept operators' choices
            in the configuration wrote None for that, and end what has None as soon as no configuration names it.
        replayed: what was left out has been delivered, before anything behind `until` was.
    """

    table: str
    since: Position
    until: Position | None = None
    time_ms: int = 0
    error: Problem | None = None
    replayed: bool = False


class TaskOrders(msgspec.Struct, frozen=True, omit_defaults=True):
    """Orders of operators for tables (`quarantine_orders`) and snapshots (`snapshot_orders`). Times are ms.

    Attributes:
        tables: left out from where the task takes it up; the time is that of the order, and of the mark that it makes.
        mended: by table, the `time_ms` of the time in quarantine that is over, with all before it.
        replay: likewise, of what is delivered first; until that is done the mark stays.
        snapshots: see `snapshot_orders`.
    """

    tables: dict[str, int] = {}
    mended: dict[str, int] = {}
    replay: dict[str, int] = {}
    snapshots: SnapshotOrders = SnapshotOrders()

    def lasts(self, mark: Quarantined) -> bool:
        """Whether the table is still to be left out, or what was left out of it comes first."""
        return mark.table in self.tables or mark.time_ms > self.mended.get(mark.table, 0)

    def is_due(self, mark: Quarantined) -> bool:
        """Whether what was left out is to be delivered now."""
        asked = mark.time_ms <= self.replay.get(mark.table, 0)
        return mark.until is None and asked and mark.table not in self.tables

    def over_ms(self, table: str) -> int:
        """No later time of the table in quarantine may have this name or an earlier one."""
        return max(self.mended.get(table, 0), self.replay.get(table, 0))


def marked(
    present: tuple[Quarantined, ...],
    orders: TaskOrders,
    position: Position,
    now_ms: int,
    errors: Mapping[str, Problem] | None = None,
) -> tuple[Quarantined, ...]:
    """The marks once a stream begins at `position` without some tables: new ones where it has not begun yet, an end for
    those that are delivered again.

    Args:
        errors: by table, what was met in it now. Such a table is left out until it is released.
    """
    errors = errors or {}
    over = [
        mark if mark.until is not None or orders.lasts(mark) else msgspec.structs.replace(mark, until=position)
        for mark in present
    ]
    open_ = {mark.table for mark in over if mark.until is None}
    new = [
        Quarantined(
            table,
            position,
            None,
            max(orders.tables.get(table, now_ms), orders.over_ms(table) + 1),
            errors.get(table, {}),
        )
        for table in sorted({*orders.tables, *errors} - open_)
    ]
    ended = [mark for mark in over if mark.until is not None][-_KEPT:]
    return (*ended, *[mark for mark in over if mark.until is None], *new)


def left_out(marks: Collection[Quarantined]) -> frozenset[str]:
    """The tables whose rows are left out now."""
    return frozenset(mark.table for mark in marks if mark.until is None)
