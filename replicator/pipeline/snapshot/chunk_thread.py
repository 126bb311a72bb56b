"""Reads the tables of a snapshot, chunk after chunk, in a separate thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from replicator.errors import SourceError
from replicator.model.snapshot import OpenTable, SnapshotProgress
from replicator.pipeline.ports import Chunk, SnapshotReader, TableChanged, TableSize
from replicator.pipeline.snapshot.handoff import Closed, Handoff, Piece, Restart, Wish

WithoutKey: TypeAlias = Literal["fail", "skip", "read"]

KEY_WANTED: Final = "a primary key, or a unique key whose columns are NOT NULL and of a type that orders"
KEY_FIX: Final = "Add a key, leave the table out by source.snapshot.tables, or set source.snapshot.without_key."
"""Of E2221, here and in `replicator check`."""

_LOAD_SECONDS = 0.5
"""Between two questions for the load of the source."""
_FIRST_ROWS = 500
_TARGET_BYTES = 2 << 20
_GROWTH = 4

replace = msgspec.structs.replace


class ChunkSizes:
    """How many rows are read at a time: about 2 MB of them, whatever a row has.

    Args:
        most: rows.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.rows = min(_FIRST_ROWS, most)

    def read(self, rows: int, size: int) -> None:
        """So many were asked for or fewer, with so many bytes."""
        if rows:
            fitting = max(1, _TARGET_BYTES * rows // max(size, 1))
            self.rows = min(self._most, fitting, self.rows * _GROWTH)


class Throttle:
    """Sleeps so long that no more than `rows_per_s` are read; 0: no limit."""

    def __init__(self, rows_per_s: int, sleep: Callable[[float], None]) -> None:
        self._rows_per_s = rows_per_s
        self._sleep = sleep
        self._due = time.monotonic()

    def read(self, rows: int) -> None:
        if self._rows_per_s:
            now = time.monotonic()
            self._due = max(self._due, now - 1.0) + rows / self._rows_per_s
            if self._due > now:
                self._sleep(self._due - now)


class ChunkThread:
    """
    Args:
        connect: opens the source.
        prepare: called once at the beginning, with all tables.
        selected: whether the snapshot has a table.
        readable: whether it can be read now: it is not in quarantine.
        most_rows: of a chunk.
        rows_per_s: limit; 0: none.
        without_key: what becomes of tables that have no key.
        most_load: no chunk is begun while the source has more to do (`SnapshotReader.load`); 0: no limit.
    """

    def __init__(
        self,
        handoff: Handoff,
        connect: Callable[[], SnapshotReader],
        prepare: Callable[[Sequence[str]], None],
        selected: Callable[[str], bool],
        readable: Callable[[str], bool],
        *,
        most_rows: int,
        rows_per_s: int,
        without_key: WithoutKey,
        most_load: int = 0,
    ) -> None:
        self._handoff = handoff
        self._without_key = without_key
        self._most_load = most_load
        self._connect = connect
        self._prepare = prepare
        self._selected = selected
        self._readable = readable
        self._sizes = ChunkSizes(min(most_rows, rows_per_s or most_rows))
        self._throttle = Throttle(rows_per_s, handoff.sleep)
        self._reader: SnapshotReader | None = None
        self._names: list[TableSize] = []

    def run(self) -> None:
        try:
            self._reader = self._connect()
            self._run(self._reader)
        except Closed:
            pass
        except BaseException as error:
            self._handoff.fail(error)
        finally:
            if self._reader is not None:
                self._reader.close()

    def close(self) -> None:
        """From another thread: ends what `run` waits for."""
        self._handoff.close()
        reader = self._reader
        if reader is not None:
            reader.close()

    def _run(self, reader: SnapshotReader) -> None:
        self._list(reader)
        progress = self._handoff.progress
        if not progress.tables:
            self._prepare([size.table for size in self._names])
            total = sum(size.rows for size in self._names)
            progress = replace(progress, step=progress.step + 1, tables=len(self._names), estimate=total)
            self._handoff.put(Piece(progress))
        changed = False
        while True:
            try:
                if changed:
                    changed, progress = False, self._dropped_open(self._handoff.settled())
                self._all(reader, progress)
                self._handoff.settled()  # until then some of it may have to be read again
                return
            except Restart:
                self._list(reader)
                progress = self._handoff.begin_again()
            except TableChanged:
                changed = True

    def _list(self, reader: SnapshotReader) -> None:
        self._names = [size for size in reader.tables() if self._selected(size.table)]

    def _dropped_open(self, progress: SnapshotProgress) -> SnapshotProgress:
        """The table at hand is begun again."""
        if progress.open is not None:
            progress = replace(progress, step=progress.step + 1, open=None)
            self._handoff.put(Piece(progress))
        return progress

    def _all(self, reader: SnapshotReader, progress: SnapshotProgress) -> None:
        while True:
            table = progress.open
            if table is not None and not self._readable(table.table):
                progress = _passed_over(progress, table.table)
                self._handoff.put(Piece(progress))
                continue
            if table is None:
                name = self._next(progress)
                if name is None:
                    break
                if not self._readable(name):
                    progress = _passed_over(progress, name)
                    self._handoff.put(Piece(progress))
                    continue
                table = reader.begin(name)
                if table is None or not self._may_read(table):  # gone: the stream has what became of it
                    progress = _finished(progress, name)
                    self._handoff.put(Piece(progress))
                    continue
            elif not table.key:  # one pass, which has broken off
                table = reader.begin(table.table)
                if table is None:
                    raise TableChanged
            progress = self._table(reader, progress, table)
        if progress.left:
            self._handoff.put(Piece(replace(progress, step=progress.step + 1), rests=True))
            return
        # Tables that are gone may not have been counted.
        now_ms = time.time_ns() // 1_000_000
        ended = replace(progress, step=progress.step + 1, finished=progress.tables, ended_ms=now_ms)
        self._handoff.put(Piece(ended))

    def _may_read(self, table: OpenTable) -> bool:
        if table.key or self._without_key == "read":
            return True
        if self._without_key == "skip":
            return False
        raise SourceError(
            "E2221",
            f"{table.table} has no key by which its rows could be read in parts",
            wanted=KEY_WANTED,
            fix=KEY_FIX,
            table=table.table,
        )

    def _next(self, progress: SnapshotProgress) -> str | None:
        """The first table behind the last complete one, in the order of the list; then those that were left. The list
        is made once a session: tables that are created later have all of their rows in the stream."""
        names = [size.table for size in self._names if size.table not in progress.left]
        behind = next((name for name in names if name.encode() > progress.last.encode()), None)
        return behind or next((name for name in progress.left if self._readable(name)), None)

    def _table(self, reader: SnapshotReader, progress: SnapshotProgress, table: OpenTable) -> SnapshotProgress:
        while True:
            while self._most_load and reader.load() > self._most_load:
                self._handoff.sleep(_LOAD_SECONDS)
            window, passed = self._handoff.open(Wish(table.table, table.key))
            try:
                chunk = reader.read(table, self._sizes.rows, passed)
            except TableChanged:
                window.dropped = True
                raise
            rows, size = len(chunk.images), len(chunk.images.data)
            before, table = table, _advanced(table, chunk)
            if chunk.final:
                progress = _finished(progress, table.table)
            else:
                progress = replace(progress, step=progress.step + 1, open=table)
            ends_all = chunk.final and self._next(progress) is None
            self._handoff.put(Piece(progress, window, chunk, before, chunk.final, ends_all))
            self._sizes.read(rows, size)
            self._throttle.read(rows)
            if chunk.final:
                return progress


def _advanced(table: OpenTable, chunk: Chunk) -> OpenTable:
    return replace(
        table,
        done=chunk.last if chunk.last is not None else table.done,
        rows=table.rows + len(chunk.images),
        size=table.size + len(chunk.images.data),
        chunks=table.chunks + 1,
    )


def _finished(progress: SnapshotProgress, table: str) -> SnapshotProgress:
    left = tuple(name for name in progress.left if name != table)
    last = progress.last if table in progress.left else table
    return replace(progress, step=progress.step + 1, open=None, last=last, left=left, finished=progress.finished + 1)


def _passed_over(progress: SnapshotProgress, table: str) -> SnapshotProgress:
    """It is read at the end, from its beginning."""
    if table in progress.left:
        return replace(progress, step=progress.step + 1, open=None)
    return replace(progress, step=progress.step + 1, open=None, last=table, left=(*progress.left, table))
