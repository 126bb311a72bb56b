"""Records as JSON lines in a file: durable at each commit, whole lines only.

Lines are written as they come, so that memory stays bounded, and cut off again when their commit never comes: at once
when the sink is closed, when it is opened again after a crash. What is committed stands in a mark beside the file
(`filemark.py`), so that a restart repeats nothing. A reader that must not see uncommitted lines reads no further than
the mark's `size`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

from replicator.config.task import FileSink as FileConfig
from replicator.errors import SinkError, SinkFenced, SinkUnavailable
from replicator.model.batch import Batch
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.sink.filemark import Mark, MarkFile
from replicator.sink.lines import LineWriter

_BLOCK = 1 << 16


class _Head(msgspec.Struct):
    """What is read of an older line: the rest is skipped."""

    topic: str
    offset: int


class FileSink:
    """`ports.Sink` for `type: file`. One writer at a time: the file is locked while it is open."""

    dead_letters = 0  # no record is too large
    left = None

    def __init__(self, config: FileConfig) -> None:
        self._path = Path(config.path)
        self._marks = MarkFile(self._path)
        self._file: BinaryIO | None = None
        self._term: Term | None = None
        self._writer: LineWriter | None = None
        self._offsets: dict[str, int] = {}
        self._kept: dict[str, int] = {}  # offsets as of the last commit
        self._size = 0  # bytes as of the last commit
        self._acknowledged: Position | None = None

    def open(self, term: Term) -> Position | None:
        self.close()
        term.check()
        with self._writable():
            if self._path.exists() and not self._path.is_file() and not self._path.is_dir():
                raise SinkError("E3201", f"{self._path} is not a regular file")
            file = self._path.open("ab+", buffering=0)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                held = self._cut_to_mark(file, term)
                self._offsets = self._next_offsets(file)
            except BlockingIOError as error:
                file.close()
                raise SinkUnavailable("E3201", f"another process writes to {self._path}") from error
            except BaseException:
                file.close()
                raise
        self._kept = dict(self._offsets)
        self._file, self._term = file, term
        self._writer = LineWriter(term, self._offsets)
        self._acknowledged = held
        return held

    def _cut_to_mark(self, file: BinaryIO, term: Term) -> Position | None:
        """Cuts off what was not committed, or, without a mark of this incarnation, a torn last line. Returns the
        position of the mark."""
        mark = self._marks.read()
        if mark is None or mark.uid != term.uid:
            self._size = _cut_torn_line(file)
            return None
        if mark.epoch > term.epoch:
            raise SinkFenced("E3104", "a later term has written already", found=f"epoch {mark.epoch}")
        size = os.fstat(file.fileno()).st_size
        if size < mark.size:
            raise SinkError(
                "E3201",
                f"{self._path} is shorter than what was committed to it",
                found=f"{size} bytes",
                wanted=f"at least {mark.size} bytes",
                fix=f"Restore the file, or delete {self._path}.position and begin with a new task.",
            )
        file.truncate(mark.size)
        self._size = mark.size
        return mark.position

    def write(self, batch: Batch) -> None:
        file, term, writer = self._opened
        term.check()
        if batch.records:
            with self._writable():
                _write_all(file, b"".join(writer.lines(batch.records)))

    def commit(self, position: Position) -> None:
        file, term, _ = self._opened
        term.check()
        with self._writable():
            size = os.fstat(file.fileno()).st_size
            if size != self._size:
                os.fsync(file.fileno())
                term.check()
                self._marks.write(Mark(term.uid, term.epoch, size, position))
        self._size, self._kept = size, dict(self._offsets)
        self._acknowledged = position

    def acknowledged(self) -> Position | None:
        return self._acknowledged

    def flush(self, timeout: float) -> None:
        """Nothing is ever outstanding after a commit."""
        self._opened[1].check()

    def close(self) -> None:
        file, self._file = self._file, None
        if file is None:
            return
        with contextlib.suppress(OSError):
            if os.fstat(file.fileno()).st_size > self._size:
                file.truncate(self._size)
        with contextlib.suppress(OSError):
            file.close()

    def _next_offsets(self, file: BinaryIO) -> dict[str, int]:
        """Goes through the whole file once: offsets continue where it ends."""
        offsets: dict[str, int] = {}
        file.seek(0)
        decoder = msgspec.json.Decoder(_Head)
        with open(file.fileno(), "rb", closefd=False) as lines:
            for number, line in enumerate(lines, 1):
                try:
                    head = decoder.decode(line)
                except msgspec.MsgspecError as error:
                    raise SinkError(
                        "E3201",
                        f"line {number} of {self._path} was not written by us",
                        found=line[:60].decode("utf-8", "replace"),
                        fix="Give sink.path a new file.",
                    ) from error
                offsets[head.topic] = max(offsets.get(head.topic, 0), head.offset + 1)
        return offsets

    @contextmanager
    def _writable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise SinkError("E3201", f"{self._path} can't be written", found=str(error)) from error

    @property
    def _opened(self) -> tuple[BinaryIO, Term, LineWriter]:
        if self._file is None or self._term is None or self._writer is None:
            raise SinkUnavailable("E3201", "the file is not open")
        return self._file, self._term, self._writer


def _write_all(file: BinaryIO, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


def _cut_torn_line(file: BinaryIO) -> int:
    """Truncates to the end of the last whole line and returns that size."""
    size = end = file.seek(0, os.SEEK_END)
    while end > 0:
        start = max(0, end - _BLOCK)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            end = start + found + 1
            break
        end = start
    if end != size:
        file.truncate(end)
    return end
