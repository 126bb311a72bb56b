"""Reads the tables of a consistent snapshot from views of one moment, in a separate thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from replicator.errors import SourceUnavailable
from replicator.model.snapshot import OpenTable, SnapshotProgress
from replicator.pipeline.ports import ConsistentViews, SnapshotReader, TableChanged
from replicator.pipeline.snapshot.chunk_thread import ChunkThread
from replicator.pipeline.snapshot.stream_hold import StreamHold

OpenViews: TypeAlias = Callable[[int, Sequence[str]], ConsistentViews]
"""`SnapshotSource.open_views` of the server whose log the stream reads."""


class ConsistentThread(ChunkThread):
    """
    Args:
        hold: of the stream.
        open_views: opens the views.
        options: as of `ChunkThread`.
    """

    def __init__(self, *args: Any, hold: StreamHold, open_views: OpenViews, **options: Any) -> None:
        super().__init__(*args, **options)
        self._hold, self._open_views = hold, open_views
        self._views: Sequence[SnapshotReader] = ()
        self._for_ranges: list[SnapshotReader] = []

    def run(self) -> None:
        try:
            super().run()
        finally:
            for reader in self._views:
                reader.close()

    def _run(self, reader: SnapshotReader) -> None:
        self._list(reader)
        self._handoff.await_stream(self._listed)  # a view is as short as possible: the stream has little left to it
        with self._handoff.changed:
            self._hold.asked = True
        self._handoff.wait(lambda: self._hold.stopped)
        opened = self._opened_views(reader)
        self._reader = self._views[0]
        reader.close()
        with self._handoff.changed:
            self._hold.place = opened.position
        self._handoff.wait(lambda: self._hold.arrived)
        progress = self._begun_again(opened)
        self._prepare([size.table for size in self._names], progress.moment)
        self._handoff.put(progress, begins=True)
        try:
            self._all(self._views[0], progress)
            self._handoff.settled()
        except TableChanged as error:
            raise SourceUnavailable("E2225", "the consistent view is lost", found=str(error)) from error

    def _opened_views(self, reader: SnapshotReader) -> ConsistentViews:
        """Of the tables that there are at their moment."""
        names = [size.table for size in self._names]
        opened = self._open_views(self._connections + 1 if self._connections > 1 else 1, names)
        self._views, self._for_ranges = opened.readers, list(opened.readers[1:])
        self._list(reader)
        self._listed = opened.position  # the stream goes no further
        changed = {size.table for size in self._names}.symmetric_difference(names)
        if changed:
            found = f"{', '.join(sorted(changed)[:5])} created, dropped or renamed at that moment"
            raise SourceUnavailable("E2225", "the tables of the consistent view are not certain", found=found)
        return opened

    def _begun_again(self, opened: ConsistentViews) -> SnapshotProgress:
        """Nothing of the view is delivered. What was delivered of earlier ones is delivered again."""
        before, place = self._handoff.progress, opened.position
        return SnapshotProgress(
            before.id,
            before.begun_ms,
            before.step,
            place.file,
            place.offset,
            tables=len(self._names),
            estimate=sum(size.rows for size in self._names),
            after=before.after,
            version=before.version,
            reason=before.reason,
            order=self._order,
            cut_ms=time.time_ns() // 1_000_000,
            cut_open=True,
            cuts=before.cuts + 1,
            lock_ms=round(1000 * opened.lock_s, 1),
            again=before.again + before.rows,
            absent=self._absent,
        )

    def _may_read(self, table: OpenTable) -> bool:
        """A table without a key is read in one pass, as safely as the others: its rows are of the same view."""
        return bool(table.key) or self._without_key != "skip"

    def _range_reader(self) -> SnapshotReader:
        with self._handoff.changed:
            return self._for_ranges.pop()


def is_consistent(progress: SnapshotProgress, *, wanted: bool) -> bool:
    """Whether a session reads the rest of a snapshot from a consistent view: a new one, as no view outlasts a session.

    Not one that operators have ordered, nor one that has begun without a view; nor what is left when the rows of the
    view are delivered: tables that were in quarantine.

    Args:
        wanted: as configured.
    """
    begun = bool(progress.tables) and not progress.cut_open
    return wanted and not progress.ordered and not progress.ended_ms and not begun
