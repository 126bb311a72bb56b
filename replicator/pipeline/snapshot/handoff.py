"""What the thread that reads chunks and the thread that reads the stream give each other."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

import msgspec

from replicator.model.position import Position
from replicator.model.snapshot import OpenTable, SnapshotProgress
from replicator.pipeline.ports import Chunk
from replicator.pipeline.snapshot.window import Window

OUTSTANDING = 2
"""Chunks that may wait for their place in the stream: one is read while the other is delivered."""


class Restart(Exception):
    """What was read and not delivered is of no use: read on from `Handoff.progress`."""


class Closed(Exception):
    """The session is over."""


class Wish(msgspec.Struct, eq=False):
    """A window that is wanted. `window` and `passed`: once it is open, and where."""

    table: str
    key: tuple[str, ...]
    window: Window | None = None
    passed: Position | None = None


class Piece(msgspec.Struct, eq=False):
    """What comes next in a snapshot.

    Attributes:
        after: the progress once it is delivered. Of a chunk without what the delivery alone knows: rows.
        window, chunk: None where there are no rows to deliver.
        table: that the chunk is of, as it was before the chunk.
        ends: it is the last chunk of the table; `ends_all`: and this is the last table.
        rests: what is left can't be read by this session.
    """

    after: SnapshotProgress
    window: Window | None = None
    chunk: Chunk | None = None
    table: OpenTable | None = None
    ends: bool = False
    ends_all: bool = False
    rests: bool = False


class Handoff:
    """
    Attributes:
        changed: guards everything here.
        progress: what is delivered to the stream.
    """

    def __init__(self, progress: SnapshotProgress) -> None:
        self.changed = threading.Condition()
        self.progress = progress
        self.wish: Wish | None = None
        self.pieces: deque[Piece] = deque()
        self.error: BaseException | None = None
        self.closed = False
        self._restart = False

    # The thread that reads chunks

    def open(self, wish: Wish) -> tuple[Window, Position]:
        """Waits for a window. Raises Restart, Closed."""
        with self.changed:
            self._wait(lambda: len(self.pieces) < OUTSTANDING)
            self.wish = wish
            self._wait(lambda: wish.window is not None)
            assert wish.window is not None and wish.passed is not None, "it was waited for"  # noqa: S101
            return wish.window, wish.passed

    def put(self, piece: Piece) -> None:
        """Raises Restart, Closed."""
        with self.changed:
            self._check()
            if piece.window is not None and piece.chunk is not None:
                piece.window.high = piece.chunk.high
            self.pieces.append(piece)

    def settled(self) -> SnapshotProgress:
        """Waits until everything is delivered that was put. Raises Restart, Closed."""
        with self.changed:
            self._wait(lambda: not self.pieces)
            return self.progress

    def sleep(self, seconds: float) -> None:
        """Raises Restart, Closed."""
        with self.changed:
            self._check()
            self.changed.wait_for(lambda: self.closed or self._restart, seconds)
            self._check()

    def begin_again(self) -> SnapshotProgress:
        """After a Restart: where to read on."""
        with self.changed:
            self._restart = False
            return self.progress

    def fail(self, error: BaseException) -> None:
        with self.changed:
            self.error = error
            self.changed.notify_all()

    def _wait(self, over: Callable[[], bool]) -> None:
        self.changed.wait_for(lambda: self.closed or self._restart or over())
        self._check()

    def _check(self) -> None:
        if self.closed:
            raise Closed
        if self._restart:
            raise Restart

    # The thread that reads the stream; it holds `changed`

    def restart(self) -> None:
        self.pieces.clear()
        self.wish = None
        self._restart = True
        self.changed.notify_all()

    def close(self) -> None:
        with self.changed:
            self.closed = True
            self.changed.notify_all()
