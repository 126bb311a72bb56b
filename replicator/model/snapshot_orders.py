"""Operators' orders for snapshots of a running task: computes the next orders, and what a pipeline does by them. Pure.

Each request has a number, and a snapshot carries the number of its request (`SnapshotProgress.id`). They are taken in
the order of their numbers, so that the number of the last one says which are done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from replicator.errors import ConfigError
from replicator.model.position import Position
from replicator.model.snapshot import INITIAL, SnapshotProgress

MOST: Final = 10
"""Requests that wait or run."""
MOST_TABLES: Final = 100
"""Tables of one request; all requests have to fit into a znode."""
MOST_WHERE: Final = 4_000
MOST_ROWS: Final = 1_000_000
_PREFIX: Final = "order-"


class SnapshotRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """An ordered snapshot. `tables`: as `database.table`. `where`: SQL condition of the rows of each table, "" for all
    rows. `chunk_rows`: maximum number of rows of one SELECT, 0: as configured. `asked_ms`: time of the order."""

    number: int
    tables: tuple[str, ...]
    where: str = ""
    chunk_rows: int = 0
    asked_ms: int = 0

    @property
    def id(self) -> str:
        return f"{_PREFIX}{self.number}"


class SnapshotOrders(msgspec.Struct, frozen=True, omit_defaults=True):
    """
    Attributes:
        requests: by number; those that are done stay until the next order.
        paused: no rows are read.
        stopped: highest number of those that were stopped; 0 is that of the initial snapshot, -1: none was.
        last: highest number that was given out.
    """

    requests: tuple[SnapshotRequest, ...] = ()
    paused: bool = False
    stopped: int = -1
    last: int = 0


# Operators


def start(
    orders: SnapshotOrders,
    progress: SnapshotProgress | None,
    tables: Sequence[str],
    where: str,
    chunk_rows: int,
    now_ms: int,
) -> SnapshotOrders:
    """One request more. `progress`: of the task.

    Raises ConfigError E1003: no table, or one that is not named in full; a condition that is none; too many.
    """
    _check(tables, where, chunk_rows)
    requests = waiting(orders, progress)
    if len(requests) >= MOST:
        raise ConfigError("E1003", "too many snapshots wait for their turn", found=str(len(requests)), wanted=str(MOST))
    number = max(orders.last, number_of(progress), 0) + 1
    new = SnapshotRequest(number, tuple(sorted(set(tables))), where.strip(), chunk_rows, now_ms)
    return msgspec.structs.replace(orders, requests=(*requests, new), last=number)


def pause(orders: SnapshotOrders, *, paused: bool) -> SnapshotOrders:
    return msgspec.structs.replace(orders, paused=paused)


def stop(orders: SnapshotOrders, progress: SnapshotProgress | None) -> SnapshotOrders:
    """The snapshot at hand, or the one that the task is to begin with, ends where it is; those that wait are
    withdrawn."""
    last = max(orders.last, number_of(progress), 0)
    return SnapshotOrders(stopped=last, last=last)


def waiting(orders: SnapshotOrders, progress: SnapshotProgress | None) -> tuple[SnapshotRequest, ...]:
    """The requests that are not done: the one at hand, and those behind it."""
    done = number_of(progress) - (1 if is_open(progress) else 0)
    return tuple(request for request in orders.requests if request.number > done)


def is_open(progress: SnapshotProgress | None) -> bool:
    return progress is not None and not progress.ended_ms


def number_of(progress: SnapshotProgress | None) -> int:
    """Of the request that it is of: 0 of the initial one, -1 without a snapshot."""
    if progress is None:
        return -1
    text = progress.id.removeprefix(_PREFIX)
    return int(text) if text != progress.id and text.isdigit() else 0


def _check(tables: Sequence[str], where: str, chunk_rows: int) -> None:
    if not 0 < len(tables) <= MOST_TABLES:
        raise ConfigError(
            "E1003", "a snapshot is of some tables", found=str(len(tables)), wanted=f"1 to {MOST_TABLES} tables"
        )
    for table in tables:
        database, dot, name = table.partition(".")
        if not (database and dot and name) or len(table) > 200 or any(char in table for char in "*?!\0"):
            wanted = "database.table, without * and ?"
            raise ConfigError("E1003", "a table of a snapshot is named in full", found=repr(table[:100]), wanted=wanted)
    if where and (not where.strip() or ";" in where or len(where) > MOST_WHERE):
        wanted = f"a condition of SQL of at most {MOST_WHERE:,} characters, without ;"
        raise ConfigError("E1003", "the row condition is not one", found=repr(where[:100]), wanted=wanted)
    if not 0 <= chunk_rows <= MOST_ROWS:
        raise ConfigError("E1003", "chunk_rows is out of range", found=str(chunk_rows), wanted=f"1 to {MOST_ROWS:,}")


# The pipeline


def taken_up(position: Position, orders: SnapshotOrders, now_ms: int, *, initial: bool) -> Position:
    """The position with the snapshot that a session goes on with: one that was stopped has ended, and behind one that
    has ended the next one begins. `initial`: the configuration has one."""
    replace, progress = msgspec.structs.replace, position.snapshot
    if progress is not None and not progress.ended_ms and _withdrawn(progress, orders, initial):
        progress = replace(progress, step=progress.step + 1, open=None, ended_ms=now_ms, stopped=True)
    due = following(orders, progress)
    if due is not None:
        step = progress.step + 1 if progress is not None else 0
        progress = SnapshotProgress(due.id, now_ms, step, position.file, position.offset)
    return position if progress == position.snapshot else replace(position, snapshot=progress)


def following(orders: SnapshotOrders, progress: SnapshotProgress | None) -> SnapshotRequest | None:
    """The request that begins now. None while a snapshot is at hand."""
    return None if is_open(progress) else next(iter(waiting(orders, progress)), None)


def request_of(orders: SnapshotOrders, progress: SnapshotProgress) -> SnapshotRequest | None:
    """None of the initial snapshot."""
    return next((request for request in orders.requests if request.id == progress.id), None)


def _withdrawn(progress: SnapshotProgress, orders: SnapshotOrders, initial: bool) -> bool:
    """Nobody wants it any more: it was stopped, or what asked for it is gone."""
    if number_of(progress) <= orders.stopped:
        return True
    return not initial if progress.id == INITIAL else request_of(orders, progress) is None
