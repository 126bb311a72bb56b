"""Threads that read ranges of tables at the same time, each with a separate connection."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from replicator.pipeline.ports import Chunk, SnapshotReader, TableChanged
from replicator.pipeline.snapshot.handoff import Handoff, Piece

Job: TypeAlias = tuple[Piece, int, Callable[[Chunk], None]]
"""A piece whose window is open, rows of a SELECT, and who is told of each chunk; it is called under `Handoff.changed`.
"""


class RangeReaders:
    """Threads and connections are opened when there is work for them.

    Args:
        connect: opens the source.
        count: of threads.
    """

    def __init__(self, handoff: Handoff, connect: Callable[[], SnapshotReader], count: int) -> None:
        self._handoff, self._connect, self._count = handoff, connect, count
        self._jobs: deque[Job] = deque()
        self._threads: list[threading.Thread] = []
        self._readers: list[SnapshotReader] = []
        self._idle = 0
        self._ended = False

    def give(self, piece: Piece, most: int, told: Callable[[Chunk], None]) -> None:
        with self._handoff.changed:
            self._jobs.append((piece, most, told))
            self._handoff.busy += 1
            if len(self._jobs) > self._idle and len(self._threads) < self._count:
                thread = threading.Thread(target=self._run, name=f"snapshot-{len(self._threads) + 1}", daemon=True)
                self._threads.append(thread)
                thread.start()
            self._handoff.changed.notify_all()

    def close(self) -> None:
        """From any thread: ends what they read, and then the threads."""
        with self._handoff.changed:
            self._ended = True
            readers = list(self._readers)
            self._handoff.changed.notify_all()
        for reader in readers:
            reader.close()

    def join(self) -> None:
        """After `close`."""
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        reader: SnapshotReader | None = None
        try:
            while (job := self._next()) is not None:
                if reader is None:
                    reader = self._connect()
                    with self._handoff.changed:
                        self._readers.append(reader)
                        if self._ended:
                            return
                self._read(reader, *job)
                with self._handoff.changed:
                    self._handoff.busy -= 1
                    self._handoff.changed.notify_all()
        except BaseException as error:
            self._handoff.fail(error)
        finally:
            if reader is not None:
                reader.close()

    def _next(self) -> Job | None:
        with self._handoff.changed:
            self._idle += 1
            self._handoff.changed.wait_for(lambda: self._ended or self._jobs)
            self._idle -= 1
            return None if self._ended else self._jobs.popleft()

    def _read(self, reader: SnapshotReader, piece: Piece, most: int, told: Callable[[Chunk], None]) -> None:
        rest: Piece | None = piece
        while rest is not None and rest.table is not None and rest.passed is not None:
            piece = rest
            if piece.abandoned:
                return
            try:
                chunk = reader.read(rest.table, most, rest.passed, rest.end)
            except TableChanged:
                self._handoff.give_up(piece, table_changed=True)
                return
            with self._handoff.changed:
                told(chunk)
            rest = self._handoff.fill_part(piece, chunk)
            del chunk
            if rest is not None and not self._handoff.may_read(rest):
                return
