"""Reads the tables of a snapshot, chunk after chunk, in a separate thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from replicator.errors import SourceError
from replicator.model.pause_windows import PauseWindows
from replicator.model.position import Position
from replicator.model.snapshot import OpenTable, SnapshotMoment, SnapshotProgress
from replicator.pipeline.ports import Chunk, SnapshotReader, TableChanged, TableSize
from replicator.pipeline.snapshot.chunk_sizes import ChunkSizes, Throttle
from replicator.pipeline.snapshot.handoff import Closed, Handoff, Piece, Restart
from replicator.pipeline.snapshot.ordered_names import listed
from replicator.pipeline.snapshot.progress import advanced, finished, passed_over
from replicator.pipeline.snapshot.range_readers import RangeReaders
from replicator.pipeline.snapshot.waits import Waits

WithoutKey: TypeAlias = Literal["fail", "skip", "read"]
Rank: TypeAlias = Callable[[str], tuple[int, bytes]]

Unmatched: TypeAlias = Callable[[Sequence[str]], tuple[str, ...]]

KEY_WANTED: Final = "a primary key, or a unique key whose columns are NOT NULL and have a type with an order"
KEY_FIX: Final = "Add a key, exclude the table in source.snapshot.tables, or set source.snapshot.without_key."
"""Of E2221, here and in `replicator check`."""

replace = msgspec.structs.replace


def by_name(table: str) -> tuple[int, bytes]:
    """The `Rank` without an order."""
    return 0, table.encode()


def all_matched(tables: Sequence[str]) -> tuple[str, ...]:
    """The `Unmatched` of what is not configured by names."""
    return ()


class ChunkThread:
    """
    Args:
        start: where the stream begins: tables and last rows that are found include everything before it.
        connect: opens the source.
        prepare: called once at the beginning, with all tables, and what their records print of the beginning.
        selected: whether the snapshot has a table.
        readable: whether it can be read now: it is not in quarantine.
        most_rows: of a chunk.
        rows_per_s: limit; 0: none.
        without_key: what becomes of tables that have no key.
        most_load, windows: see `Waits`.
        order, rank: patterns of the tables that are read first, and what sorts tables by them.
        ordered: tables that operators have named; without any: all that are selected.
        unmatched: tables that the source has -> names of the configuration that none of them has.
        connections: that read at the same time. With more than one, this thread finds where chunks of tables with a
            key end, and `RangeReaders` read them.
    """

    def __init__(
        self,
        handoff: Handoff,
        start: Position,
        connect: Callable[[], SnapshotReader],
        prepare: Callable[[Sequence[str], SnapshotMoment], None],
        selected: Callable[[str], bool],
        readable: Callable[[str], bool],
        *,
        most_rows: int,
        rows_per_s: int,
        without_key: WithoutKey,
        most_load: int = 0,
        windows: PauseWindows,
        order: tuple[str, ...] = (),
        rank: Rank = by_name,
        connections: int = 1,
        ordered: tuple[str, ...] = (),
        unmatched: Unmatched = all_matched,
    ) -> None:
        self._handoff = handoff
        self._ordered = tuple(filter(selected, ordered))
        self._unmatched, self._absent = unmatched, tuple[str, ...]()
        self._without_key = without_key
        self._waits = Waits(handoff, most_load, windows)
        self._start, self._connect = start, connect
        self._prepare = prepare
        self._selected = selected
        self._readable = readable
        self._order, self._rank = order, rank
        self._connections = connections
        self._most_rows = min(most_rows, max(1, rows_per_s // connections)) if rows_per_s else most_rows
        self._ranges = RangeReaders(handoff, self._range_reader, connections)
        self._throttle = Throttle(rows_per_s, handoff.sleep)
        self._reader: SnapshotReader | None = None
        self._names: list[TableSize] = []
        self._listed = Position("", 0)

    def run(self) -> None:
        try:
            self._reader = self._connect()
            if not self._handoff.closed:  # before there was a reader that `close` could end
                self._run(self._reader)
        except Closed:
            pass
        except BaseException as error:
            self._handoff.fail(error)
        finally:
            self._ranges.close()
            if self._reader is not None:
                self._reader.close()
            self._ranges.join()

    def close(self) -> None:
        """From another thread: ends what `run` waits for."""
        self._handoff.close()
        self._ranges.close()
        reader = self._reader
        if reader is not None:
            reader.close()

    def name_of(self, table: str) -> str:
        """What the snapshot calls a table. `table`: as a statement names it; on some servers in letters of any case."""
        names = [size.table for size in self._names]
        alike = (name for name in names if name.lower() == table.lower())
        return table if table in names else next(alike, table)

    def _run(self, reader: SnapshotReader) -> None:
        reader.settle(self._start)
        self._list(reader)
        progress, changed = self._handoff.progress, False
        while True:
            try:
                if changed:
                    changed, progress = False, self._dropped_open(self._handoff.settled())
                self._all(reader, self._begun(progress))
                self._handoff.settled()  # until then some of it may have to be read again
                return
            except Restart:
                changed = False
                progress = self._handoff.begin_again()
                self._list(reader)  # behind it: a table that gets another name meanwhile has it read again
            except TableChanged:
                changed = True

    def _begun(self, progress: SnapshotProgress) -> SnapshotProgress:
        """With the number of its tables, which the first records of a snapshot come with."""
        if not progress.tables:
            self._prepare([size.table for size in self._names], progress.moment)
            total = sum(size.rows for size in self._names)
            count = len(self._names)
            progress = replace(progress, tables=count, estimate=total, order=self._order, absent=self._absent)
            self._handoff.put(progress, begins=True)
        return progress

    def _range_reader(self) -> SnapshotReader:
        return self._connect()

    def _list(self, reader: SnapshotReader) -> None:
        found, progress = reader.tables(), self._handoff.progress
        if self._ordered:
            names = listed(found, self._ordered, progress.names, progress.id)
        else:
            names = [size for size in found if self._selected(size.table)]
            self._absent = self._unmatched([size.table for size in found])
        self._names = sorted(names, key=lambda size: self._rank(size.table))
        self._listed = reader.end()

    def _dropped_open(self, progress: SnapshotProgress) -> SnapshotProgress:
        """The table at hand is begun again."""
        if progress.open is not None:
            progress = replace(progress, open=None)
            self._handoff.put(progress)
        return progress

    def _without_unwanted(self, progress: SnapshotProgress) -> SnapshotProgress:
        """Tables that the configuration has lost since: nobody waits for them."""
        table = progress.open
        left = tuple(name for name in progress.left if self._wants(name, progress))
        if table is not None and not self._wants(table.table, progress):
            table = None
        if (table, left) != (progress.open, progress.left):
            progress = replace(progress, open=table, left=left)
            self._handoff.put(progress)
        return progress

    def _wants(self, table: str, progress: SnapshotProgress) -> bool:
        return self._selected(table) or any(
            each.name == table and each.id == progress.id and self._selected(each.table) for each in progress.names
        )

    def _all(self, reader: SnapshotReader, progress: SnapshotProgress) -> None:
        progress = self._without_unwanted(progress)
        while True:
            table = progress.open
            if table is not None and not self._readable(table.table):
                progress = passed_over(progress, table.table)
                self._handoff.put(progress)
                continue
            if table is None:
                name = self._next(progress)
                if name is None:
                    break
                if not self._readable(name):
                    progress = passed_over(progress, name)
                    self._handoff.put(progress)
                    continue
                table = reader.begin(name)
                if table is None:  # it may have another name, which is known only once the stream has the RENAME
                    self._handoff.await_stream(reader.end())
                if table is None or not self._may_read(table):  # gone: the stream has what became of it
                    absent = (name,) if table is None and self._ordered else ()
                    progress = replace(finished(progress, name), absent=(*progress.absent, *absent))
                    self._handoff.put(progress)
                    continue
            elif not table.key:  # one pass, which has broken off
                table = reader.begin(table.table)
                if table is None:
                    raise TableChanged
            progress = self._table(reader, progress, table)
        # Of the list, too: it has tables with names that the stream may not have given them yet.
        self._handoff.await_stream(self._listed)
        if progress.left:
            self._handoff.put(progress, rests=True)
            return
        # Tables that are gone may not have been counted.
        now_ms = time.time_ns() // 1_000_000
        self._handoff.put(replace(progress, finished=progress.tables, ended_ms=now_ms))

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
        behind = next(
            (name for name in names if not progress.last or self._rank(name) > self._rank(progress.last)), None
        )
        return behind or next((name for name in progress.left if self._readable(name)), None)

    def _table(self, reader: SnapshotReader, progress: SnapshotProgress, table: OpenTable) -> SnapshotProgress:
        after = finished(progress, table.table)
        piece = Piece(table=table, ends_all=self._next(after) is None)
        size = next((size for size in self._names if size.table == table.table), None)
        row_bytes = size.size // size.rows if size is not None and size.rows else 0
        sizes = ChunkSizes(self._most_rows, row_bytes, self._connections)
        if table.key and self._connections > 1:
            self._cut(reader, piece, table, sizes)
        else:
            self._read(reader, piece, table, sizes)
        return after

    def _read(self, reader: SnapshotReader, like: Piece, table: OpenTable, sizes: ChunkSizes) -> None:
        """Chunk after chunk."""
        while True:
            piece = replace(like, table=table, size=sizes.expected)
            passed = self._opened(reader, piece)
            try:
                chunk = reader.read(table, sizes.rows, passed)
            except TableChanged:
                self._handoff.give_up(piece)
                raise
            self._handoff.fill(piece, chunk)
            sizes.read(chunk)
            self._throttle.spend(len(chunk.images))
            if chunk.final:
                return
            table = advanced(table, chunk, len(chunk.images))
            del chunk  # not while the next one is read

    def _cut(self, reader: SnapshotReader, like: Piece, table: OpenTable, sizes: ChunkSizes) -> None:
        """Ranges that follow each other are read at the same time. The window is open before the end of its range is
        looked for, so that a statement that alters the table meanwhile makes it stale."""
        while True:
            piece, rows = replace(like, table=table, size=sizes.expected), sizes.rows
            self._opened(reader, piece)
            begun = time.monotonic()
            try:
                end = piece.end = reader.cut(table, rows)
            except TableChanged:
                self._handoff.give_up(piece)
                raise
            piece.covers = rows if end is not None else 0
            read = self._told(piece, sizes, time.monotonic() - begun)
            self._ranges.give(piece, min(self._most_rows, 2 * rows), read)
            if end is None:
                return
            table = replace(table, done=end, chunks=table.chunks + 1)
            self._handoff.wait(lambda: sizes.known)

    def _told(self, piece: Piece, sizes: ChunkSizes, seconds: float) -> Callable[[Chunk], None]:
        def read(chunk: Chunk) -> None:
            covers = piece.covers if chunk.last == piece.end else 0
            sizes.read(replace(chunk, covered=max(chunk.covered, covers)), seconds)
            self._throttle.spend(len(chunk.images))
            self._handoff.changed.notify_all()

        return read

    def _opened(self, reader: SnapshotReader, piece: Piece) -> Position:
        """Waits until the piece may be read. Returns where its window was opened."""
        self._throttle.wait()
        self._waits.wait(reader, piece)
        self._handoff.open(piece)
        assert piece.passed is not None, "it was waited for"  # noqa: S101
        return piece.passed
