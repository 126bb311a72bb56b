"""What the threads that read chunks and the thread that reads the stream give each other."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

import msgspec

from replicator.model.position import Position
from replicator.model.snapshot import Bound, OpenTable, SnapshotProgress
from replicator.pipeline.ports import Chunk, TableChanged
from replicator.pipeline.snapshot.chunk_sizes import BUDGET_BYTES
from replicator.pipeline.snapshot.window import Window, over


class Restart(Exception):
    """What was read and not delivered is of no use: read on from `Handoff.progress`."""


class Closed(Exception):
    """The session is over."""


class Piece(msgspec.Struct, eq=False):
    """What comes next in a snapshot: rows of a table, or (`after`) progress without rows.

    Attributes:
        after: the progress once it is delivered, without its step, and without rows and bytes.
        begins: the snapshot begins with it, and all of `after` counts.
        table: that the rows are of. `done`: behind which they are; `chunks`: 0 for the first ones of the table alone.
        end: up to which row; None: the last one. `covers`: rows of the table up to there, 0: unknown.
        ends_all: it is the last table.
        window, passed: once its window is open, and where.
        chunk: once it is read.
        size: bytes of the rows, as expected until they are read.
        abandoned: it is not delivered.
        rests: what is left can't be read by this session.
    """

    after: SnapshotProgress | None = None
    begins: bool = False
    table: OpenTable | None = None
    end: Bound | None = None
    covers: int = 0
    ends_all: bool = False
    window: Window | None = None
    passed: Position | None = None
    chunk: Chunk | None = None
    size: int = 0
    abandoned: bool = False
    rests: bool = False

    @property
    def ready(self) -> bool:
        return self.table is None or self.chunk is not None

    def abandon(self) -> None:
        self.abandoned = True
        if self.window is not None:
            self.window.dropped = True


class Handoff:
    """
    Args:
        connections: that read chunks at the same time.

    Attributes:
        changed: guards everything here.
        progress: what is delivered to the stream.
        pieces: what is not delivered, in the order of delivery. Windows of those that have none are wanted.
        waits: what is waited for before the next chunk, for people; "": nothing.
        busy: readers of ranges that are at work.
    """

    def __init__(self, progress: SnapshotProgress, connections: int = 1) -> None:
        self.changed = threading.Condition()
        self.progress = progress
        self.pieces: deque[Piece] = deque()
        self.waits = ""
        self.busy = 0
        self.error: BaseException | None = None
        self.closed = False
        self._connections = connections
        self._restart = False
        self._awaited: Window | None = None
        self._table_changed = False

    # The thread that chooses what is read next. Its methods raise Restart, Closed, TableChanged.

    def open(self, piece: Piece) -> None:
        """Waits until rows may be read, and for their window."""
        with self.changed:
            self._wait(lambda: self._has_room(piece.size))
            self.pieces.append(piece)
            self._wait(lambda: piece.window is not None)

    def put(self, after: SnapshotProgress, *, begins: bool = False, rests: bool = False) -> None:
        """Progress without rows."""
        with self.changed:
            self._check()
            self.pieces.append(Piece(after, begins, rests=rests))

    def settled(self) -> SnapshotProgress:
        """Waits until everything is delivered that was put."""
        with self.changed:
            self._wait(lambda: not self.pieces)
            return self.progress

    def wait(self, over: Callable[[], bool]) -> None:
        with self.changed:
            self._wait(over)

    def await_stream(self, end: Position) -> None:
        """Waits until the stream is at or behind `end`. What it tells of tables until then may raise Restart."""
        with self.changed:
            self._awaited = Window("", high=end)
            self._wait(lambda: self._awaited is None)

    def sleep(self, seconds: float) -> None:
        with self.changed:
            self._check()
            self.changed.wait_for(self._interrupted, seconds)
            self._check()

    def begin_again(self) -> SnapshotProgress:
        """After a Restart: where to read on."""
        with self.changed:
            self._restart = self._table_changed = False
            return self.progress

    def _has_room(self, size: int) -> bool:
        """One chunk more than there are connections, so that all read while one is delivered; long ones alone."""
        read = [piece for piece in self.pieces if piece.table is not None]
        if not read:
            return True
        fits = sum(piece.size for piece in read) + size <= BUDGET_BYTES
        return fits and len(read) <= self._connections and self.busy < self._connections

    def _wait(self, over: Callable[[], bool]) -> None:
        self.changed.wait_for(lambda: self._interrupted() or over())
        self._check()

    def _interrupted(self) -> bool:
        return self.closed or self._restart or self._table_changed

    def _check(self) -> None:
        if self.closed:
            raise Closed
        if self._restart:
            raise Restart
        if self._table_changed:
            self._table_changed = False
            raise TableChanged

    # Threads that read chunks

    def fill(self, piece: Piece, chunk: Chunk) -> None:
        """Its rows."""
        with self.changed:
            self._fill(piece, chunk)

    def fill_part(self, piece: Piece, chunk: Chunk) -> Piece | None:
        """Its rows; where there are more up to its end, they are a piece behind it, which is given back: see
        `may_read`. None: nothing is left, or it is not wanted any more."""
        with self.changed:
            table = piece.table
            if piece.abandoned or table is None:
                return None
            whole = piece.end is not None and chunk.last == piece.end
            if whole:
                chunk.covered = max(chunk.covered, piece.covers)
            self._fill(piece, chunk)
            if whole or chunk.final:
                return None
            behind = msgspec.structs.replace(table, done=chunk.last, chunks=table.chunks + 1)
            rest = Piece(table=behind, end=piece.end, ends_all=piece.ends_all, size=piece.size)
            self.pieces.insert(self.pieces.index(piece) + 1, rest)
            return rest

    def may_read(self, rest: Piece) -> bool:
        """Waits for the window of what `fill_part` gave back, and until what is read leaves room for it. False: it is
        not wanted any more."""
        with self.changed:
            self.changed.wait_for(
                lambda: self.closed or rest.abandoned or (rest.window is not None and self._fits(rest))
            )
            return not (self.closed or rest.abandoned)

    def _fits(self, rest: Piece) -> bool:
        """Always, when it is the next to be delivered: what is before it does not wait for what is behind it."""
        read = sum(piece.size for piece in self.pieces if piece.chunk is not None)
        return self.pieces[0] is rest or read + rest.size <= BUDGET_BYTES

    def give_up(self, piece: Piece, *, table_changed: bool = False) -> None:
        """Neither it nor anything behind it is delivered. `table_changed`: raised in the thread that chooses."""
        with self.changed:
            if piece.abandoned:
                return
            while self.pieces[-1] is not piece:
                self.pieces.pop().abandon()
            self.pieces.pop().abandon()
            self._table_changed = table_changed
            self.changed.notify_all()

    def fail(self, error: BaseException) -> None:
        with self.changed:
            self.error = error
            self.changed.notify_all()

    def _fill(self, piece: Piece, chunk: Chunk) -> None:
        piece.chunk, piece.size = chunk, len(chunk.images.data)
        if piece.window is not None:
            piece.window.high = chunk.high

    # The thread that reads the stream; it holds `changed`

    def passed(self, position: Position) -> None:
        """The stream is there, between transactions."""
        if self._awaited is not None and over(self._awaited, position):
            self._awaited = None
            self.changed.notify_all()

    def restart(self) -> None:
        for piece in self.pieces:
            piece.abandon()
        self.pieces.clear()
        self._restart = True
        self.changed.notify_all()

    def close(self) -> None:
        with self.changed:
            self.closed = True
            self.changed.notify_all()
