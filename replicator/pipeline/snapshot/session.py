"""A snapshot at work: puts chunks of rows between the transactions of the stream."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import msgspec

from replicator.model.batch import Batch
from replicator.model.filling import Filling
from replicator.model.pause_windows import PauseWindows
from replicator.model.position import Position
from replicator.model.snapshot import Marker, OpenTable, RowImages, SnapshotProgress
from replicator.pipeline.ports import Chunk, ChunkEncoder, Decoder, SnapshotReader
from replicator.pipeline.snapshot.chunk_thread import ChunkThread, Rank, Unmatched, WithoutKey, all_matched, by_name
from replicator.pipeline.snapshot.handoff import Handoff, Piece
from replicator.pipeline.snapshot.ordered_names import renamed
from replicator.pipeline.snapshot.progress import delivered, with_rows, without_rows
from replicator.pipeline.snapshot.window import Windows

_PATIENCE = 0.002
"""Seconds that the stream is waited for while a chunk may be ready at any moment."""
_CLOSE_S = 2.0
"""That `close` waits for the thread that reads chunks."""
_LONG_PATIENCE = 0.1
"""The same while no chunk is begun, which may last for hours."""
_SHORT = 1000
"""Characters of a GTID set that may be a part of each position from then on."""

replace = msgspec.structs.replace


class SnapshotSession:
    """Lasts as long as the stream does. All methods but `close` are of the thread that reads the stream.

    Args:
        progress: where it goes on.
        start: where the stream begins; what is before it comes by the snapshot alone.
        connect: opens the source; called in a thread of its own.
        selected: whether the snapshot has a table, `database.table`.
        readable: whether it can be read now; what can't is left for another session.
        encoder: makes records of rows.
        decoder: of the stream.
        chunk_rows, rows_per_s: at most; `rows_per_s` 0: no limit.
        without_key: what becomes of tables that have no key to read them by.
        most_load: no chunk is begun while the source runs more statements; 0: no limit.
        windows: times at which none is begun.
        order, rank: patterns of the tables that are read first, and what sorts tables by them.
        connections: that read at the same time.
        orders: tables that operators have named, by the id of the snapshot: of this one, and of those that wait.
        replicated: whether the task has a table.
        added: whether a snapshot of added tables that waits will have a table; None: none waits.
        unmatched: see `ChunkThread`.
        chunk_thread: makes the `ChunkThread`, of the same arguments.
    """

    def __init__(
        self,
        progress: SnapshotProgress,
        *,
        start: Position,
        connect: Callable[[], SnapshotReader],
        selected: Callable[[str], bool],
        readable: Callable[[str], bool] = lambda table: True,
        encoder: ChunkEncoder,
        decoder: Decoder,
        chunk_rows: int,
        rows_per_s: int = 0,
        without_key: WithoutKey = "fail",
        most_load: int = 0,
        windows: PauseWindows | None = None,
        order: tuple[str, ...] = (),
        rank: Rank = by_name,
        connections: int = 1,
        orders: Mapping[str, tuple[str, ...]] | None = None,
        replicated: Callable[[str], bool] = lambda table: True,
        added: Callable[[str], bool] | None = None,
        unmatched: Unmatched = all_matched,
        chunk_thread: Callable[..., ChunkThread] = ChunkThread,
    ) -> None:
        self._handoff = Handoff(progress, connections)
        self._encoder = encoder
        self._decoder = decoder
        self._windows = Windows()
        self._tables: dict[str, tuple[str, ...]] = {}
        self._fresh: set[str] = set()  # watched since the bytes at hand, of which some were decoded before
        self._chunks = chunk_thread(
            self._handoff,
            start,
            connect,
            encoder.prepare,
            selected,
            readable,
            most_rows=chunk_rows,
            rows_per_s=rows_per_s,
            without_key=without_key,
            most_load=most_load,
            windows=windows or PauseWindows(),
            order=order,
            rank=rank,
            connections=connections,
            ordered=(orders or {}).get(progress.id, ()),
            unmatched=unmatched,
        )
        self._thread = threading.Thread(target=self._chunks.run, name="snapshot", daemon=True)
        self._active = not progress.ended_ms
        self._paused = False
        self._again = False
        self._selected, self._readable, self._rank = selected, readable, rank
        self._orders, self._replicated, self._added = orders or {}, replicated, added
        self._name = time.time_ns() // 1_000_000

    def start(self, *, paused: bool = False) -> None:
        """`paused`: no rows are read, but new names of tables are noticed: rows of theirs are still to be read."""
        if self._active:
            self._decoder.watch(self)
            self._active, self._paused = not paused, paused
            if not paused:
                self._thread.start()

    def close(self) -> None:
        """Ends the thread that reads chunks. May be called again."""
        self._chunks.close()
        if self._thread.is_alive():
            self._thread.join(_CLOSE_S)  # where it connects, or reads definitions, it ends by itself

    # For the reader of the stream

    @property
    def active(self) -> bool:
        """There is more to come."""
        return self._active

    @property
    def again(self) -> bool:
        """A new session can read what is left."""
        return self._again

    @property
    def holds(self) -> bool:
        """The stream has to wait where it is."""
        return False

    @property
    def arrived(self) -> bool:
        """It waits until the snapshot has ended."""
        return False

    @property
    def exact(self) -> bool:
        """It has to be read transaction by transaction, so that it can stop behind each of them."""
        return False

    def rest(self) -> None:
        """Waits a moment for what comes next, while the stream waits."""
        with self._handoff.changed:
            self._handoff.changed.wait(self.patience)

    @property
    def progress(self) -> SnapshotProgress:
        return self._handoff.progress

    @property
    def patience(self) -> float:
        """Seconds that a read of the stream may last."""
        return _LONG_PATIENCE if self._handoff.waits else _PATIENCE

    @property
    def waiting(self) -> bool:
        """There are chunks whose place in the stream comes soon."""
        with self._handoff.changed:  # another thread may give up the only piece
            pieces = self._handoff.pieces
            return bool(pieces) and pieces[0].ready

    def advance(self) -> None:
        """The next bytes of the stream are decoded now."""
        self._windows.advance()
        self._fresh.clear()

    def seen(self, position: Position) -> Position:
        """A position of the stream -> that of the task."""
        return replace(position, snapshot=self._handoff.progress)

    @property
    def filling(self) -> Filling | None:
        """For the batch of the stream that comes next. None: the snapshot has ended, and none waits."""
        progress = self._handoff.progress
        if progress.ended_ms and self._added is None and not self._waiting_orders:
            return None
        return Filling(lambda table: self._has(table) or self._awaits(table), partial(self._may_lack, progress))

    def insert(self, position: Position, between: bool) -> Iterator[Batch]:
        """What comes at this place of the stream, which is one between transactions.

        Args:
            between: nothing behind `position` was decoded yet.

        Raises whatever ended the reading of chunks.
        """
        while self._active:
            with self._handoff.changed:
                if self._handoff.error is not None:
                    raise self._handoff.error
                self._handoff.passed(position)
                self._open_windows(position, between)
                piece = self._take(position)
            if piece is None:
                if self._tells_waits():
                    yield Batch((), self.seen(position), boundary=True)
                return
            yield from self._delivered(piece, position)

    def _tells_waits(self) -> bool:
        """Whether what is waited for has changed; the progress says it from now on."""
        handoff = self._handoff
        with handoff.changed:
            progress, waits = handoff.progress, handoff.waits
            if progress.waits == waits:
                return False
            handoff.progress = replace(progress, step=progress.step + 1, waits=waits)
            return True

    # ports.Watcher

    @property
    def tables(self) -> Mapping[str, tuple[str, ...]]:
        return self._tables

    def changed(self, table: str, keys: Sequence[bytes]) -> None:
        self._windows.note(table, keys)

    def late(self, *, begins: bool) -> None:
        self._windows.late = time.monotonic() if begins else None

    def altered(self, table: str | None) -> None:
        self._windows.alter(table)

    def renamed(self, old: str, new: str) -> None:
        """Rows that were not read under the old name are read under the new one, from the beginning."""
        handoff = self._handoff
        with handoff.changed:
            progress = handoff.progress
            at_hand = progress.open.table if progress.open is not None else ""
            unread = at_hand == old or old in progress.left or self._is_behind(old, progress.last)
            had = self._has(old)
            progress = self._followed(old, new, unread=unread and not progress.ended_ms)
            if progress.ended_ms:
                return
            left = tuple(name for name in progress.left if name != old)
            wanted = (unread or not had) and self._has(new)
            kept = None if at_hand in (old, new) else progress.open
            passed = not self._is_behind(new, progress.last)
            passed |= kept is not None and not self._is_behind(new, kept.table)
            if wanted and passed and new not in left:
                left += (new,)
            if not wanted and left == progress.left and kept is progress.open:
                return
            handoff.progress = replace(progress, step=progress.step + 1, open=kept, left=left)
            self._again |= wanted and self._readable(new) and not (self._active or self._paused)
            self._windows.clear()
            handoff.restart()

    def moved(self, tables: Sequence[str]) -> None:
        """Those that are open or complete are read again, from the beginning: rows of theirs are not in the stream."""
        handoff = self._handoff
        with handoff.changed:
            progress, names = handoff.progress, {self._chunks.name_of(table) for table in tables}
            names = set(filter(self._has, names))
            if not names:
                return
            at_hand = progress.open
            kept = None if at_hand is not None and at_hand.table in names else at_hand
            passed = [name for name in sorted(names - {*progress.left}) if self._has_passed(name, progress.last, kept)]
            complete = sum(not self._is_behind(name, progress.last) for name in passed)
            handoff.progress = replace(
                progress,
                step=progress.step + 1,
                open=kept,
                left=(*progress.left, *passed),
                finished=max(0, progress.finished - complete),
            )
            self._again |= any(map(self._readable, passed)) and not (self._active or self._paused)
            self._windows.clear()
            handoff.restart()  # with a new list of tables: one that was created meanwhile may have rows of others

    # Behind it

    def _has(self, table: str) -> bool:
        """Whether the snapshot has a table, also under a name that it was given later."""
        names = self._handoff.progress.names
        return self._selected(table) or any(each.name == table and each.id == self.progress.id for each in names)

    @property
    def _waiting_orders(self) -> Mapping[str, tuple[str, ...]]:
        at_hand = self.progress.id
        return {order: tables for order, tables in self._orders.items() if order != at_hand}

    def _awaits(self, table: str) -> bool:
        """Whether a snapshot that waits will have a table."""
        waiting = self._waiting_orders
        if any(table in tables for tables in waiting.values()) or (self._added is not None and self._added(table)):
            return True
        return any(each.name == table and each.id in waiting for each in self.progress.names)

    def _may_lack(self, progress: SnapshotProgress, table: str) -> bool:
        """Whether rows of a table are still to come, by this snapshot or one that waits."""
        return self._awaits(table) or (not progress.ended_ms and self._is_incomplete(progress, table))

    def _is_incomplete(self, progress: SnapshotProgress, table: str) -> bool:
        """Also of tables that were created since: their rows are all in the stream, or are read by a later session."""
        if not self._has(table):
            return False
        at_hand = progress.open.table if progress.open is not None else ""
        return table == at_hand or table in progress.left or self._is_behind(table, progress.last)

    def _followed(self, old: str, new: str, *, unread: bool) -> SnapshotProgress:
        """The progress, with the new name of a table that is ordered. `unread`: by this snapshot."""
        progress = self._handoff.progress
        orders = {order: tables for order, tables in self._orders.items() if unread or order != progress.id}
        names = renamed(progress.names, orders, old, new, self._replicated)
        if names != progress.names:
            progress = self._handoff.progress = replace(progress, step=progress.step + 1, names=names)
        return progress

    def _has_passed(self, name: str, last: str, kept: OpenTable | None) -> bool:
        """Whether a table is not read any more, unless it is left."""
        return not self._is_behind(name, last) or (kept is not None and not self._is_behind(name, kept.table))

    def _is_behind(self, table: str, last: str) -> bool:
        """Whether its turn comes after `last`; "": none was read."""
        return not last or self._rank(table) > self._rank(last)

    def _open_windows(self, position: Position, between: bool) -> None:
        for piece in self._handoff.pieces:
            if piece.table is not None and piece.window is None and self._watched(piece.table, between):
                piece.window, piece.passed = self._windows.open(piece.table.table, time.monotonic()), position
                self._handoff.changed.notify_all()

    def _watched(self, table: OpenTable, between: bool) -> bool:
        """Keys of its rows are noted, since before what may be behind this place is decoded."""
        name = table.table
        if self._tables.get(name) != table.key:
            self._tables[name] = table.key
            self._fresh.add(name)
            self._decoder.watch(self)
            self._windows.watch(name)
            if not table.key:
                self._windows.keep(name)
        return (between or name not in self._fresh) and self._windows.may_open(name, time.monotonic())

    def _take(self, position: Position) -> Piece | None:
        """The next piece, if its place is here."""
        pieces = self._handoff.pieces
        if not pieces or not pieces[0].ready:
            return None
        window = pieces[0].window
        if window is not None:
            if not self._windows.take(window, position):
                return None
            if window.stale:
                self._windows.clear()
                self._handoff.restart()
                return None
        return pieces[0]

    def _delivered(self, piece: Piece, position: Position) -> Iterator[Batch]:
        """Of one piece. The last batch has the progress with it. Those before are parts of it, as of a transaction, but
        their position is the one before the piece: a session that begins there delivers all of the piece."""
        before, rows = self._handoff.progress, 0
        table = _before(before, piece)
        if table is not None and piece.chunk is not None:
            after = delivered(before, table, piece.chunk, 0)
        elif piece.after is not None:
            after = piece.after if piece.begins else without_rows(before, piece.after)
        else:
            raise ValueError("a piece without rows or progress")
        inside, filling = self.seen(position), self.filling
        for batch in self._batches(piece, before, table, position):
            rows += batch.rows
            part = [replace(batch, position=inside, boundary=False, length=piece.size, filling=filling)]
            del batch
            yield part.pop()  # and keeps nothing of it
        after = with_rows(after, rows)
        if after.ended_ms:
            gtid = position.gtid if len(position.gtid) <= _SHORT else ""
            after = replace(after, end_file=position.file, end_offset=position.offset, end_gtid=gtid)
        if after.ended_ms or piece.rests:
            after = replace(after, cut_open=False)
        with self._handoff.changed:
            # Names are known here, and may be newer than those that the piece was made with.
            waits, names = self._handoff.waits, before.names
            self._handoff.progress = replace(after, step=before.step + 1, waits=waits, names=names)
            self._handoff.pieces.popleft()
            self._handoff.changed.notify_all()
        if table is not None and _ends(piece):
            self._forget(table.table)
        if after.ended_ms or piece.rests:
            self._active = False
            self._tables.clear()
            names_count = not after.ended_ms or self._orders  # what is left, or ordered, may get other names
            self._decoder.watch(self if names_count else None)
        yield Batch((), self.seen(position), boundary=True)

    def _batches(
        self, piece: Piece, before: SnapshotProgress, table: OpenTable | None, position: Position
    ) -> Iterator[Batch]:
        encoder, chunk, window = self._encoder, piece.chunk, piece.window
        # Of this session alone: what is read again may have lost other rows to the stream.
        identity = f"snapshot:{before.step + 1}:{self._name}"
        if piece.begins and piece.after is not None and piece.after.tables:
            yield from encoder.begin(f"{identity}:begin")
        if chunk is not None and table is not None and window is not None:
            rows = 0
            chunk = self._without(chunk, table.key, window.noted)
            if not table.chunks:
                yield from encoder.begin_table(chunk, f"{identity}:table")
            # The images are let go as soon as they are decoded: one row may be as large as all else in memory.
            parts = encoder.rows(chunk, identity, *_markers(before, piece, table)) if len(chunk.images) else ()
            piece.chunk = chunk = replace(chunk, images=RowImages(b"", ()))
            for batch in parts:
                rows += batch.rows
                part = [batch]
                del batch
                yield part.pop()
            if _ends(piece):
                yield from encoder.end_table(chunk, f"{identity}:table-end", table.rows + rows)
        if piece.after is not None and piece.after.ended_ms:
            yield from encoder.end(f"{identity}:end", replace(piece.after, rows=before.rows), position)

    def _without(self, chunk: Chunk, key: tuple[str, ...], noted: set[bytes]) -> Chunk:
        if not noted or not len(chunk.images):
            return chunk
        images, start, data, ends = chunk.images, 0, bytearray(), []
        for row, end in zip(self._encoder.keys(chunk, key), images.ends, strict=True):
            if row not in noted:
                data += images.data[start:end]
                ends.append(len(data))
            start = end
        return replace(chunk, images=RowImages(bytes(data), ends))

    def _forget(self, table: str) -> None:
        self._windows.forget(table)
        if self._tables.pop(table, None) is not None:
            self._decoder.watch(self)


def _ends(piece: Piece) -> bool:
    """It is the last one of its table."""
    return piece.chunk is not None and piece.chunk.final


def _before(progress: SnapshotProgress, piece: Piece) -> OpenTable | None:
    """The piece's table as it is before it: with what is delivered of it."""
    table = piece.table
    if table is None or not table.chunks or progress.open is None or progress.open.table != table.table:
        return table
    return progress.open


def _markers(before: SnapshotProgress, piece: Piece, table: OpenTable) -> tuple[Marker, Marker, Marker]:
    """Of the first row of a chunk, of those between, and of the last."""
    if before.ordered:
        return "incremental", "incremental", "incremental"
    first: Marker = "true"
    if not before.rows:
        first = "first"
    elif not table.chunks:
        first = "first_in_data_collection"
    if not _ends(piece):
        return first, "true", "true"
    return first, "true", "last" if piece.ends_all else "last_in_data_collection"
