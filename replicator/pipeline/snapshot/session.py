"""A snapshot at work: puts chunks of rows between the transactions of the stream."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce

import msgspec

from replicator.model.batch import Batch
from replicator.model.position import Position
from replicator.model.snapshot import INITIAL, Marker, RowImages, SnapshotProgress
from replicator.pipeline.buffer import joined
from replicator.pipeline.ports import Chunk, ChunkEncoder, Decoder, SnapshotReader
from replicator.pipeline.snapshot.chunk_thread import ChunkThread, WithoutKey
from replicator.pipeline.snapshot.handoff import Handoff, Piece
from replicator.pipeline.snapshot.window import Windows

_PATIENCE = 0.002
"""Seconds that the stream is waited for while a chunk may be ready at any moment."""

replace = msgspec.structs.replace


class SnapshotSession:
    """Lasts as long as the stream does. All methods but `close` are of the thread that reads the stream.

    Args:
        progress: where it goes on.
        connect: opens the source; called in a thread of its own.
        selected: whether the snapshot has a table, `database.table`.
        readable: whether it can be read now; what can't is left for another session.
        encoder: makes records of rows.
        decoder: of the stream.
        chunk_rows, rows_per_s: at most; `rows_per_s` 0: no limit.
        without_key: what becomes of tables that have no key to read them by.
        most_load: no chunk is begun while the source runs more statements; 0: no limit.
    """

    def __init__(
        self,
        progress: SnapshotProgress,
        *,
        connect: Callable[[], SnapshotReader],
        selected: Callable[[str], bool],
        readable: Callable[[str], bool] = lambda table: True,
        encoder: ChunkEncoder,
        decoder: Decoder,
        chunk_rows: int,
        rows_per_s: int = 0,
        without_key: WithoutKey = "fail",
        most_load: int = 0,
    ) -> None:
        self._handoff = Handoff(progress)
        self._encoder = encoder
        self._decoder = decoder
        self._windows = Windows()
        self._tables: dict[str, tuple[str, ...]] = {}
        self._fresh: set[str] = set()  # watched since the bytes at hand, of which some were decoded before
        self._chunks = ChunkThread(
            self._handoff,
            connect,
            encoder.prepare,
            selected,
            readable,
            most_rows=chunk_rows,
            rows_per_s=rows_per_s,
            without_key=without_key,
            most_load=most_load,
        )
        self._thread = threading.Thread(target=self._chunks.run, name="snapshot", daemon=True)
        self._active = not progress.ended_ms
        self._selected = selected
        self._name = time.time_ns() // 1_000_000

    def start(self) -> None:
        if self._active:
            self._decoder.watch(self)
            self._thread.start()

    def close(self) -> None:
        """Ends the thread that reads chunks. May be called again."""
        self._chunks.close()
        if self._thread.is_alive():
            self._thread.join()

    # For the reader of the stream

    @property
    def active(self) -> bool:
        """There is more to come."""
        return self._active

    @property
    def progress(self) -> SnapshotProgress:
        return self._handoff.progress

    @property
    def patience(self) -> float:
        """Seconds that a read of the stream may last."""
        return _PATIENCE

    @property
    def waiting(self) -> bool:
        """There are chunks whose place in the stream comes soon."""
        return bool(self._handoff.pieces)

    def advance(self) -> None:
        """The next bytes of the stream are decoded now."""
        self._windows.advance()
        self._fresh.clear()

    def seen(self, position: Position) -> Position:
        """A position of the stream -> that of the task."""
        return replace(position, snapshot=self._handoff.progress)

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
                self._open_window(position, between)
                piece = self._take(position)
            if piece is None:
                return
            yield self._delivered(piece, position)

    # ports.Watcher

    @property
    def tables(self) -> Mapping[str, tuple[str, ...]]:
        return self._tables

    def changed(self, table: str, keys: Sequence[bytes]) -> None:
        self._windows.note(table, keys)

    def altered(self, table: str | None) -> None:
        self._windows.alter(table)

    def renamed(self, old: str, new: str) -> None:
        """Rows that were not read under the old name are read under the new one, from the beginning."""
        handoff = self._handoff
        with handoff.changed:
            progress = handoff.progress
            at_hand = progress.open.table if progress.open is not None else ""
            unread = at_hand == old or old in progress.left or old.encode() > progress.last.encode()
            left = tuple(name for name in progress.left if name != old)
            wanted = (unread or not self._selected(old)) and self._selected(new)
            kept = None if at_hand in (old, new) else progress.open
            behind = max(progress.last, kept.table if kept is not None else "", key=str.encode)
            if wanted and new.encode() <= behind.encode() and new not in left:
                left += (new,)
            if not wanted and left == progress.left and kept is progress.open:
                return
            handoff.progress = replace(progress, step=progress.step + 1, open=kept, left=left)
            self._windows.clear()
            handoff.restart()

    # Behind it

    def _open_window(self, position: Position, between: bool) -> None:
        wish = self._handoff.wish
        if wish is None or wish.window is not None:
            return
        if self._tables.get(wish.table) != wish.key:
            self._tables[wish.table] = wish.key
            self._fresh.add(wish.table)
            self._decoder.watch(self)
            if not wish.key:
                self._windows.keep(wish.table)
        if wish.table in self._fresh and not between:
            return
        wish.window, wish.passed = self._windows.open(wish.table), position
        self._handoff.changed.notify_all()

    def _take(self, position: Position) -> Piece | None:
        """The next piece, if its place is here."""
        pieces = self._handoff.pieces
        if not pieces:
            return None
        if pieces[0].window is not None:
            window = self._windows.take(position)
            if window is None:
                return None
            if window.stale:
                self._windows.clear()
                self._handoff.restart()
                return None
        return pieces[0]

    def _delivered(self, piece: Piece, position: Position) -> Batch:
        """Of one piece, and the progress with it."""
        before = self._handoff.progress
        batches = list(self._batches(piece, before))
        rows = sum(batch.rows for batch in batches)
        after = replace(piece.after, rows=before.rows + rows, size=before.size)
        if piece.chunk is not None:
            after = replace(after, size=before.size + len(piece.chunk.images.data))
        if after.open is not None:
            after = replace(after, open=replace(after.open, rows=_rows_so_far(before, piece) + rows))
        with self._handoff.changed:
            self._handoff.progress = after
            self._handoff.pieces.popleft()
            self._handoff.changed.notify_all()
        if piece.ends and piece.table is not None:
            self._forget(piece.table.table)
        if after.ended_ms or piece.rests:
            self._active = False
            self._tables.clear()
            self._decoder.watch(None)
        batch = reduce(joined, batches) if batches else Batch((), position, boundary=True)
        return replace(batch, position=self.seen(position), boundary=True)

    def _batches(self, piece: Piece, before: SnapshotProgress) -> Iterator[Batch]:
        encoder, chunk, table, window = self._encoder, piece.chunk, piece.table, piece.window
        # Of this session alone: what is read again may have lost other rows to the stream.
        identity = f"snapshot:{piece.after.step}:{self._name}"
        if not before.tables and piece.after.tables:
            yield from encoder.begin(f"{identity}:begin")
        if chunk is not None and table is not None and window is not None:
            rows = 0
            chunk = self._without(chunk, table.key, window.noted)
            if not table.chunks:
                yield from encoder.begin_table(chunk, f"{identity}:table")
            if len(chunk.images):
                batch = encoder.rows(chunk, identity, *_markers(before, piece))
                rows = batch.rows
                yield batch
            if piece.ends:
                yield from encoder.end_table(chunk, f"{identity}:table-end", _rows_so_far(before, piece) + rows)
        if piece.after.ended_ms:
            yield from encoder.end(f"{identity}:end", before.rows, piece.after.ended_ms // 1000)

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


def _rows_so_far(before: SnapshotProgress, piece: Piece) -> int:
    """Delivered ones of the piece's table."""
    if before.open is None or piece.table is None or not piece.table.chunks:
        return 0
    return before.open.rows if before.open.table == piece.table.table else 0


def _markers(before: SnapshotProgress, piece: Piece) -> tuple[Marker, Marker, Marker]:
    """Of the first row of a chunk, of those between, and of the last."""
    if before.id != INITIAL:
        return "incremental", "incremental", "incremental"
    first: Marker = "true"
    if not before.rows:
        first = "first"
    elif piece.table is not None and not piece.table.chunks:
        first = "first_in_data_collection"
    last: Marker = "last" if piece.ends_all else "last_in_data_collection" if piece.ends else "true"
    return first, "true", last
