"""Operators' orders for tables in quarantine: computes the next orders from the present ones and the marks of a task.
Pure.

An order names the time in quarantine that it is of. Who takes it up late, or takes up an earlier one last, can neither
end a time that began afterwards nor begin one that is over.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from replicator.errors import ConfigError
from replicator.model.quarantine import Quarantined, TaskOrders

MOST: Final = 1000
"""Tables in quarantine by operators."""
_changed = msgspec.structs.replace
_KEPT_MS: Final = 3_600_000
"""An order of a table without marks may still be taken up by a worker that was started before it."""


def put(orders: TaskOrders, marks: Iterable[Quarantined], table: str, now_ms: int) -> TaskOrders:
    """`table` is left out. The same orders when it is already.

    Raises ConfigError E1003: it is not one table, or there are too many.
    """
    check_name(table)
    if table in orders.tables:
        return orders
    if len(orders.tables) >= MOST:
        raise ConfigError(
            "E1003",
            "too many tables are in quarantine",
            found=str(len(orders.tables)),
            wanted=str(MOST),
            fix="Release tables: `replicator task quarantine NAME DATABASE.TABLE --release`.",
        )
    marks = tuple(marks)
    time_ms = max(now_ms, _last(orders, marks, table) + 1)
    replay = {name: time for name, time in orders.replay.items() if name != table}
    return _kept(_changed(orders, tables={**orders.tables, table: time_ms}, replay=replay), marks, now_ms)


def release(orders: TaskOrders, marks: Iterable[Quarantined], table: str, now_ms: int) -> TaskOrders:
    """`table` flows again from where the task takes it up. The same orders when it is in no quarantine.

    Raises ConfigError E1003.
    """
    check_name(table)
    marks = tuple(marks)
    lasting = [mark for mark in marks if mark.table == table and mark.until is None and orders.lasts(mark)]
    if table not in orders.tables and not lasting:
        return orders
    time_ms = max(orders.tables.get(table, 0), *(mark.time_ms for mark in lasting), 0)
    tables = {name: time for name, time in orders.tables.items() if name != table}
    replay = {name: time for name, time in orders.replay.items() if name != table}
    mended = {**orders.mended, table: time_ms}
    return _kept(_changed(orders, tables=tables, mended=mended, replay=replay), marks, now_ms)


def replay(orders: TaskOrders, marks: Iterable[Quarantined], table: str, now_ms: int) -> TaskOrders | None:
    """What was left out of `table` is delivered first, and then it flows again. None: it is in no quarantine now."""
    marks = tuple(marks)
    lasting = [mark for mark in marks if mark.table == table and mark.until is None and orders.lasts(mark)]
    if not lasting:
        return None
    tables = {name: time for name, time in orders.tables.items() if name != table}
    time_ms = max(orders.tables.get(table, 0), *(mark.time_ms for mark in lasting), 0)
    return _kept(_changed(orders, tables=tables, replay={**orders.replay, table: time_ms}), marks, now_ms)


def forked(tables: Iterable[str], now_ms: int) -> TaskOrders:
    """Of a task that begins where these tables are left out of another one."""
    return TaskOrders(dict.fromkeys(sorted(tables), now_ms))


def check_name(table: str) -> None:
    """Raises ConfigError E1003 unless it is `database.table`, one table named in full."""
    database, dot, name = table.partition(".")
    if not (database and dot and name) or len(table) > 200 or any(char in table for char in "*?!\0"):
        wanted = "database.table, without * and ?"
        raise ConfigError(
            "E1003",
            "a table in quarantine must be given as database.table",
            found=repr(table[:100]),
            wanted=wanted,
            fix="Give the names as in `replicator task schema NAME`.",
        )


def _last(orders: TaskOrders, marks: tuple[Quarantined, ...], table: str) -> int:
    return max(orders.over_ms(table), *(mark.time_ms for mark in marks if mark.table == table), 0)


def _kept(orders: TaskOrders, marks: tuple[Quarantined, ...], now_ms: int) -> TaskOrders:
    """Without what no worker can have a mark of any more."""
    known = {mark.table for mark in marks}

    def kept(times: dict[str, int]) -> dict[str, int]:
        return {table: time for table, time in times.items() if table in known or now_ms - time < _KEPT_MS}

    return msgspec.structs.replace(orders, mended=kept(orders.mended), replay=kept(orders.replay))
