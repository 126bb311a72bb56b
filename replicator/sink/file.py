"""The file sink: records as JSON lines, durable at each commit, whole lines only.

Lines are written as they come, so that memory stays bounded, and cut off again when their commit never comes: at once
when the sink is closed, when it is opened again after a crash. What is committed stands in a mark beside the file
(`file_position.py`), so that a restart repeats nothing. A reader that must not see uncommitted lines reads up to
the mark's `size`.

Only files below the directory that the host's operator has named are opened, and a file is changed only after it has
been proved to be this task's own (`file_verification.py`).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from replicator.config.task import FileSink as FileConfig
from replicator.errors import SinkError, SinkUnavailable
from replicator.host import files
from replicator.model.batch import Batch
from replicator.model.conflicts import ConflictCounts
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.sink import file_verification
from replicator.sink.file_paths import Place, find
from replicator.sink.file_position import Mark, MarkFile, foreign, new_digest
from replicator.sink.lines import LineWriter
from replicator.sink.unknown_term import refuse_unknown

_IDLE_SECONDS: Final = 1.0
"""Between marks that hold a position and no rows."""


class FileSink:
    """`ports.Sink` for `type: file`. One writer at a time: the file is locked while it is open.

    Args:
        directory: below which files may be written; None: nowhere.
    """

    dead_letters = 0  # no record is too large
    left = None
    holds_position = True
    holds_rows = unfinished = False
    conflicts: ConflictCounts = ()
    waited_s = 0.0
    by_sql = False

    def __init__(self, config: FileConfig, directory: Path | None) -> None:
        self._config = config
        self._directory = directory
        self._place: Place | None = None
        self._marks: MarkFile | None = None
        self._file: BinaryIO | None = None
        self._term: Term | None = None
        self._writer: LineWriter | None = None
        self._offsets: dict[str, int] = {}
        self._size = 0  # bytes as of the last commit
        self._digest = new_digest()  # of all that is written
        self._acknowledged: Position | None = None
        self._waiting: Position | None = None  # a position without rows, not in the mark yet
        self._marked = 0.0  # when the mark was written last

    def open(self, term: Term) -> Position | None:
        self.close()
        term.check()
        self._place = find(self._config.path, self._directory)
        try:
            with self._writable():
                file = self._lock(self._place, term)
        except BaseException:
            self.close()
            raise
        self._file, self._term = file, term
        self._writer = LineWriter(term, self._offsets)
        return self._acknowledged

    def _lock(self, place: Place, term: Term) -> BinaryIO:
        marks = self._marks = MarkFile(place.folder, place.name, place.shown)
        marks.read(term)  # before anything is made or locked
        file = place.open()
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._acknowledged = self._take(file, marks, term)
        except BlockingIOError as error:
            file.close()
            raise SinkUnavailable(
                "E3201",
                f"another process writes to {place.shown}",
                fix="Stop the process that has the file open. The task retries.",
            ) from error
        except BaseException:
            file.close()
            raise
        return file

    def _take(self, file: BinaryIO, marks: MarkFile, term: Term) -> Position | None:
        """Proves that the file is ours and cuts off what was not committed. Returns the position of the mark."""
        mark = marks.read(term)
        if mark is None:
            if os.fstat(file.fileno()).st_size:
                raise foreign(self._shown, "it has content but no .position file")
            mark = Mark(term.task, term.uid, term.epoch, 0, new_digest().hexdigest())
            marks.write(mark)
        refuse_unknown(term, mark.epoch, f"an unknown host, at {mark.position}")
        self._digest = file_verification.prove(file, mark, term, self._shown)
        self._offsets = file_verification.next_offsets(file, mark.size)
        file.truncate(mark.size)
        self._size = mark.size
        return mark.position

    def write(self, batch: Batch) -> None:
        file, term, writer = self._opened
        term.check()
        if batch.records:
            data = b"".join(writer.lines(batch.records))
            self._waiting = None  # what the mark says of the file would not be so any more
            with self._writable():
                _write_all(file, data)
            self._digest.update(data)

    def commit(self, position: Position) -> None:
        file, term, _ = self._opened
        term.check()
        with self._writable():
            size = os.fstat(file.fileno()).st_size
            if size == self._size:
                self._waiting = position if position != self._acknowledged else None
                return
            os.fsync(file.fileno())
        self._mark(size, position)

    def _mark(self, size: int, position: Position) -> None:
        """All that is written is committed with `position`."""
        _, term, _ = self._opened
        term.check()
        if self._marks is not None:
            with self._writable():
                self._marks.write(Mark(term.task, term.uid, term.epoch, size, self._digest.hexdigest(), position))
        self._size, self._marked, self._waiting = size, time.monotonic(), None
        self._acknowledged = position

    def acknowledged(self) -> Position | None:
        """Also marks a position that has waited long enough for rows to go with."""
        if self._waiting is not None and time.monotonic() - self._marked >= _IDLE_SECONDS:
            self._mark(self._size, self._waiting)
        return self._acknowledged

    def flush(self, timeout: float, progress: Callable[[], None] | None = None) -> None:
        self._opened[1].check()
        if self._waiting is not None:
            self._mark(self._size, self._waiting)

    def close(self) -> None:
        file, self._file = self._file, None
        self._waiting = None
        if file is not None:
            with contextlib.suppress(OSError):
                if os.fstat(file.fileno()).st_size > self._size:
                    file.truncate(self._size)
            with contextlib.suppress(OSError):
                file.close()
        place, self._place, self._marks = self._place, None, None
        if place is not None:
            place.close()

    @contextmanager
    def _writable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise SinkError("E3201", f"{self._shown} can't be written", found=files.reason(error)) from error

    @property
    def _shown(self) -> str:
        return self._place.shown if self._place is not None else self._config.path

    @property
    def _opened(self) -> tuple[BinaryIO, Term, LineWriter]:
        if self._file is None or self._term is None or self._writer is None:
            raise SinkUnavailable("E3201", "the file is not open")
        return self._file, self._term, self._writer


def _write_all(file: BinaryIO, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]
