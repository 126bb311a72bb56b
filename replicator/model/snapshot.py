"""Snapshots: how far one is, what its rows come as, and what formats print of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import msgspec

INITIAL: Final = "initial"
"""`SnapshotProgress.id` of the one that a task begins with."""

Bound: TypeAlias = tuple[str, ...]
"""SQL literals of the columns of a key: the row at which a chunk begins or ends."""

Marker: TypeAlias = Literal[
    "first", "first_in_data_collection", "true", "last_in_data_collection", "last", "incremental"
]  # fmt: skip
"""Which row of a snapshot it is, as Debezium names them. `incremental`: of one that was started on a running task."""


class OpenTable(msgspec.Struct, frozen=True, omit_defaults=True):
    """A table whose rows are being read.

    Attributes:
        table: `database.table`.
        key: columns by which it is cut into chunks; empty: it is read in one pass.
        done: key of the last row that was delivered; None: none was.
        limit: key of the table's last row when it was begun. Rows behind it came later and are in the stream; None
            without a key, or if the table was empty.
        rows, size, chunks: delivered so far: rows, bytes of their images, chunks.
        estimate: rows that the source expected when the table was begun.
        key_types: of the key's columns, as far as their order depends on them: bounds mean nothing under others.
    """

    table: str
    key: tuple[str, ...] = ()
    done: Bound | None = None
    limit: Bound | None = None
    rows: int = 0
    size: int = 0
    chunks: int = 0
    estimate: int = 0
    key_types: str = ""


class SnapshotProgress(msgspec.Struct, frozen=True, omit_defaults=True):
    """What of a snapshot is delivered. It is part of the position, so it travels with the rows.

    Attributes:
        id: `initial`, or that of the order that asked for it.
        step: grows with each change: of two at one place of the stream, the one with the higher number is ahead.
        begun_ms, ended_ms: on our clock, ms since the epoch; ended 0: it has not ended.
        file, offset: where the stream stood when it began.
        tables, finished: number of tables: of all, of those that are complete.
        last: the last table that is complete, in the order in which they are read; "" none.
        open: the one at hand.
        left: tables that are read at the end: they were in quarantine, or got their name by RENAME.
        rows, size: delivered so far, of all tables.
        estimate: rows that the source expected in all tables.
        stopped: it has ended before all rows were delivered.
    """

    id: str
    begun_ms: int
    step: int = 0
    file: str = ""
    offset: int = 0
    tables: int = 0
    finished: int = 0
    last: str = ""
    open: OpenTable | None = None
    left: tuple[str, ...] = ()
    rows: int = 0
    size: int = 0
    estimate: int = 0
    ended_ms: int = 0
    stopped: bool = False

    @property
    def moment(self) -> SnapshotMoment:
        return SnapshotMoment(self.file, self.offset, self.begun_ms)


class SnapshotMoment(msgspec.Struct, frozen=True):
    """The beginning of a snapshot, as its records print it: position of the stream, and time in ms since the epoch."""

    file: str
    offset: int
    ts_ms: int


class RowImages(msgspec.Struct):
    """Rows as in a WRITE_ROWS event, back to back. `ends[i]`: where row i ends in `data`."""

    data: bytes
    ends: Sequence[int]

    def __len__(self) -> int:
        return len(self.ends)
