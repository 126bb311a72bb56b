"""Snapshots: how far one is, what its rows come as, and what formats print of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import msgspec

INITIAL: Final = "initial"
"""`SnapshotProgress.id` of the one that a task begins with."""
ORDER: Final = "order-"
NEEDED: Final = "needed-"
"""Prefixes of the others: of an ordered one, and of one that was taken because the position was purged."""

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
        passed: rows of the table so far, with those that a condition or the stream's changes have left out.
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
    passed: int = 0


class Followed(msgspec.Struct, frozen=True, array_like=True):
    """A table that was renamed before an ordered snapshot has read it. `id`: of the snapshot. `table`: as ordered.
    `name`: that it has now."""

    id: str
    table: str
    name: str


class SnapshotProgress(msgspec.Struct, frozen=True, omit_defaults=True):
    """What of a snapshot is delivered. It is part of the position, so it travels with the rows.

    Attributes:
        id: `initial`; `order-N`, of the order that asked for it; `needed-N`, taken because the position was purged.
        step: grows with each change: of two at one place of the stream, the one with the higher number is ahead.
        begun_ms, ended_ms: on our clock, ms since the epoch; ended 0: it has not ended.
        file, offset: where the stream stood when it began.
        tables, finished: number of tables: of all, of those that are complete.
        last: the last table that is complete, in the order in which they are read; "" none.
        open: the one at hand.
        order: patterns of the tables that are read first. They stay as they were when it began: under others `last`
            would mean another place, and tables could be passed over.
        left: tables that are read at the end: they were in quarantine, or got their name by RENAME.
        rows, size: delivered so far, of all tables.
        passed: rows of the tables so far, as of `OpenTable`.
        estimate: rows that the source expected in all tables, corrected by what the tables had that were read.
        stopped: it has ended before all rows were delivered.
        after: unless it was ordered: orders up to this number came before it.
        version: of the configuration that added its tables; 0: they were not added by one.
        end_file, end_offset, end_gtid: where the stream stood when the last row was delivered: the copy is consistent
            from there on. Of one that is complete; `end_gtid` "" where it is long.
        waits: what is waited for before the next rows are read, for people.
        reason: why it was taken, of `needed-N`: what the source has purged.
        cut_ms: time of the consistent view that the rows are read from, ms since the epoch; then `file` and `offset`
            are its place, and the stream waits there. 0: they are not read from one.
        cut_open: rows of that view are still to be delivered. What takes over begins again from a new view.
        cuts: consistent views that were opened so far, as a view that is lost is not opened again.
        lock_ms: how long the writers of the source were locked for the last one, ms.
        names: tables of it, and of ordered snapshots that wait behind it, that have another name now.
        absent: tables that were ordered and were not there at their turn; names in the configuration that no table had
            when it began.
        again: rows that were delivered from views that were lost, and are delivered again.
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
    after: int = 0
    version: int = 0
    reason: str = ""
    end_file: str = ""
    end_offset: int = 0
    end_gtid: str = ""
    waits: str = ""
    passed: int = 0
    order: tuple[str, ...] = ()
    cut_ms: int = 0
    cut_open: bool = False
    cuts: int = 0
    lock_ms: float = 0.0
    again: int = 0
    names: tuple[Followed, ...] = ()
    absent: tuple[str, ...] = ()

    @property
    def ordered(self) -> bool:
        """Operators have ordered it on a running task. Others are of all tables that the configuration chooses."""
        return self.id.startswith(ORDER)

    @property
    def consistent_since(self) -> str:
        """`file:offset`; "" until it is complete."""
        return f"{self.end_file}:{self.end_offset}" if self.end_file and not self.stopped else ""

    @property
    def moment(self) -> SnapshotMoment:
        return SnapshotMoment(self.file, self.offset, self.cut_ms or self.begun_ms)

    @property
    def view(self) -> str:
        """Of the consistent view, `file:offset`; "" without one."""
        return f"{self.file}:{self.offset}" if self.cut_ms else ""


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
