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
from replicator.model.snapshot import INITIAL, ORDER, SnapshotProgress

MOST: Final = 10
"""Requests that wait or run."""
MOST_TABLES: Final = 100
"""Tables of one request; all requests have to fit into a znode."""
MOST_WHERE: Final = 4_000
MOST_ROWS: Final = 1_000_000


class TableChoice(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which tables a configuration chooses for snapshots: those that match `tables` and `snapshot`, patterns as in
    `source.tables`. `hide_copies`: as in `TableFilter`."""

    tables: tuple[str, ...]
    snapshot: tuple[str, ...] = ()
    hide_copies: bool = False


class SnapshotRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """An ordered snapshot. `tables`: as `database.table`. `where`: SQL condition of the rows of each table, "" for all
    rows. `chunk_rows`: maximum number of rows of one SELECT, 0: as configured. `asked_ms`: time of the order.
    `version`: of the configuration that added the tables, 0 if an operator named them; then `tables` are the patterns
    that were added, and the tables are all that the configuration chooses, without those that each of `known` did."""

    number: int
    tables: tuple[str, ...]
    where: str = ""
    chunk_rows: int = 0
    asked_ms: int = 0
    version: int = 0
    known: tuple[TableChoice, ...] = ()

    @property
    def id(self) -> str:
        return f"{ORDER}{self.number}"


class SnapshotOrders(msgspec.Struct, frozen=True, omit_defaults=True):
    """
    Attributes:
        requests: by number; those that are done stay until the next order.
        paused: no rows are read.
        stopped: what has this number or a lower one was stopped; -1: none was. Earlier versions wrote 0 for the
            initial snapshot alone.
        last: highest number that was given out.
        without_initial: that happened before the task had a position: the one that it begins with ends at once.
    """

    requests: tuple[SnapshotRequest, ...] = ()
    paused: bool = False
    stopped: int = -1
    last: int = 0
    without_initial: bool = False


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
        raise ConfigError(
            "E1003",
            "too many snapshots are waiting",
            found=str(len(requests)),
            wanted=str(MOST),
            fix="Wait until one has ended, or end one: `replicator task snapshot stop NAME`.",
        )
    number = max(orders.last, number_of(progress), 0) + 1
    new = SnapshotRequest(number, tuple(sorted(set(tables))), where.strip(), chunk_rows, now_ms)
    return msgspec.structs.replace(orders, requests=(*requests, new), last=number)


def pause(orders: SnapshotOrders, *, paused: bool) -> SnapshotOrders:
    return msgspec.structs.replace(orders, paused=paused)


def stop(orders: SnapshotOrders, progress: SnapshotProgress | None) -> SnapshotOrders:
    """The snapshot at hand, or the one that the task is to begin with, ends where it is; those that wait are
    withdrawn."""
    last = max(orders.last, number_of(progress), 0) + 1  # a number of its own: what begins later is not stopped
    return SnapshotOrders(stopped=last, last=last, without_initial=progress is None)


def waiting(orders: SnapshotOrders, progress: SnapshotProgress | None) -> tuple[SnapshotRequest, ...]:
    """The requests that are not done: the one at hand, and those behind it."""
    number = done(progress)
    return tuple(request for request in orders.requests if request.number > number)


def is_open(progress: SnapshotProgress | None) -> bool:
    return progress is not None and not progress.ended_ms


def number_of(progress: SnapshotProgress | None) -> int:
    """Of the request that it is of; without one, the last that came before it. -1 without a snapshot."""
    if progress is None:
        return -1
    if not progress.ordered:
        return progress.after
    text = progress.id.removeprefix(ORDER)
    return int(text) if text != progress.id and text.isdigit() else 0


def done(progress: SnapshotProgress | None) -> int:
    """The highest number of requests that are done."""
    at_hand = progress is not None and progress.ordered and is_open(progress)
    return number_of(progress) - (1 if at_hand else 0)


def _check(tables: Sequence[str], where: str, chunk_rows: int) -> None:
    if not 0 < len(tables) <= MOST_TABLES:
        raise ConfigError(
            "E1003",
            "wrong number of tables for a snapshot",
            found=str(len(tables)),
            wanted=f"1 to {MOST_TABLES} tables",
        )
    for table in tables:
        database, dot, name = table.partition(".")
        if not (database and dot and name) or len(table) > 200 or any(char in table for char in "*?!\0"):
            wanted = "database.table, without * and ?"
            raise ConfigError("E1003", "invalid name of a table for a snapshot", found=repr(table[:100]), wanted=wanted)
    if where and (not where.strip() or ";" in where or len(where) > MOST_WHERE):
        wanted = f"an SQL condition of at most {MOST_WHERE:,} characters, without ;"
        raise ConfigError("E1003", "invalid row condition", found=repr(where[:100]), wanted=wanted)
    if not 0 <= chunk_rows <= MOST_ROWS:
        raise ConfigError("E1003", "chunk_rows is out of range", found=str(chunk_rows), wanted=f"1 to {MOST_ROWS:,}")


# The pipeline


def before_initial(orders: SnapshotOrders) -> int:
    """`SnapshotProgress.after` of the snapshot that a task begins with: its tables are those of the configuration, so
    it has what was added until then. One that was stopped before is behind nothing but what came before that."""
    return orders.stopped - 1 if orders.without_initial else orders.last


def taken_up(position: Position, orders: SnapshotOrders, now_ms: int, *, initial: bool) -> Position:
    """The position with the snapshot that a session goes on with: one that was stopped has ended, and behind one that
    has ended the next one begins. `initial`: the configuration has one."""
    replace, progress = msgspec.structs.replace, position.snapshot
    if progress is not None and not progress.ended_ms and _withdrawn(progress, orders, initial):
        progress = replace(progress, step=progress.step + 1, open=None, ended_ms=now_ms, stopped=True)
    due = following(orders, progress)
    if due is not None:
        step = progress.step + 1 if progress is not None else 0
        wait = {request.id for request in waiting(orders, progress)}
        names = tuple(each for each in progress.names if each.id in wait) if progress is not None else ()
        progress = SnapshotProgress(
            due.id, now_ms, step, position.file, position.offset, version=due.version, names=names
        )
    return position if progress == position.snapshot else replace(position, snapshot=progress)


def following(orders: SnapshotOrders, progress: SnapshotProgress | None) -> SnapshotRequest | None:
    """The request that begins now. None while a snapshot is at hand."""
    return None if is_open(progress) else next(iter(waiting(orders, progress)), None)


def request_of(orders: SnapshotOrders, progress: SnapshotProgress) -> SnapshotRequest | None:
    """None of the initial snapshot."""
    return next((request for request in orders.requests if request.id == progress.id), None)


def named_tables(orders: SnapshotOrders, progress: SnapshotProgress | None) -> dict[str, tuple[str, ...]]:
    """By the ids of the snapshots that are not done and whose tables operators have named."""
    return {request.id: request.tables for request in waiting(orders, progress) if not request.version}


def _withdrawn(progress: SnapshotProgress, orders: SnapshotOrders, initial: bool) -> bool:
    """Nobody wants it any more: it was stopped, or what asked for it is gone."""
    if progress.ordered:
        return number_of(progress) <= orders.stopped or request_of(orders, progress) is None
    # Its number is that of the last order before it, which may have stopped an earlier one.
    return not initial or progress.after < orders.stopped or (orders.stopped == 0 and progress.id == INITIAL)
