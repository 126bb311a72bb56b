"""A consistent snapshot at work: holds the stream at the place of its views, and delivers all rows there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from replicator.model.batch import Batch
from replicator.model.position import Position
from replicator.model.snapshot import SnapshotProgress
from replicator.pipeline.snapshot.consistent_thread import ConsistentThread, OpenViews
from replicator.pipeline.snapshot.handoff import Piece
from replicator.pipeline.snapshot.session import SnapshotSession
from replicator.pipeline.snapshot.stream_hold import StreamHold
from replicator.pipeline.snapshot.window import Window


class ConsistentSession(SnapshotSession):
    """The rows are exactly those of one moment, and the changes behind it come after them. There are no windows: while
    rows are delivered, no change is. When they are, the stream is opened again where it was held: the server ends
    connections that read nothing for a minute.

    Args:
        open_views: opens the views.
        options: as of `SnapshotSession`.
    """

    def __init__(self, progress: SnapshotProgress, *, open_views: OpenViews, **options: Any) -> None:
        self._hold = StreamHold()
        thread = partial(ConsistentThread, hold=self._hold, open_views=open_views)
        super().__init__(progress, chunk_thread=thread, **options)

    def start(self, *, paused: bool = False) -> None:
        """It begins again after a pause, with the tables that there are then."""
        if self._orders:
            self._decoder.watch(self)  # of the names alone
        if self._active:
            self._active, self._paused = not paused, paused
            if not paused:
                self._thread.start()

    def renamed(self, old: str, new: str) -> None:
        """Its own tables are those of its view; others are ordered for later."""
        with self._handoff.changed:
            self._followed(old, new, unread=False)

    def moved(self, tables: Sequence[str]) -> None:
        """Before the view is opened nothing is read that counts; then no change is delivered."""

    @property
    def holds(self) -> bool:
        return self._active and self._hold.holds

    @property
    def arrived(self) -> bool:
        return self._hold.arrived

    @property
    def exact(self) -> bool:
        return self._hold.asked

    @property
    def again(self) -> bool:
        """Changes come with the next session."""
        return not (self._active or self._paused)

    def insert(self, position: Position, between: bool) -> Iterator[Batch]:
        with self._handoff.changed:
            if self._active and self._handoff.error is None:
                self._hold.seen(position)
                self._handoff.changed.notify_all()
        yield from super().insert(position, between)

    def _is_incomplete(self, progress: SnapshotProgress, table: str) -> bool:
        """A view that is lost has left rows of other tables, too: all are read again from the next one."""
        return self._has(table)

    def _open_windows(self, position: Position, between: bool) -> None:
        if not self._hold.arrived:
            return
        for piece in self._handoff.pieces:
            if piece.table is not None and piece.window is None:
                piece.window, piece.passed = Window(piece.table.table), position
                self._handoff.changed.notify_all()

    def _take(self, position: Position) -> Piece | None:
        pieces = self._handoff.pieces
        return pieces[0] if self._hold.arrived and pieces and pieces[0].ready else None
