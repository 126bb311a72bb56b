"""Copied binlog files as a source, for benchmarks, tests and analysis."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Literal

from replicator.errors import ReplicatorError, SourceError, SourceUnavailable
from replicator.model.position import Begin, Position
from replicator.model.source_end import SourceEnd
from replicator.source.binlog_layout import HEADER, opening, starts_transaction

_CHUNK = 1 << 20
_EVENT_HEAD = 19
_HEAD = 64 << 10  # a description is a few hundred bytes


class RecordedSource:
    """The files of one server in their order. A stream ends with SourceUnavailable after the last byte.

    Args:
        files: paths; the names are those of the server's files.
        start: `earliest` is the first file's beginning.
    """

    def __init__(self, files: Sequence[str | Path], start: Position | None = None) -> None:
        if not files:
            raise SourceError("E2206", "no binlog files were given")
        self._files = [Path(file) for file in files]
        self._start = start

    def start_position(self, begin: Begin | None = None) -> Position:
        if begin == "latest":
            return self.end_position()
        return (self._start if begin is None else None) or Position(self._files[0].name, HEADER)

    def end_position(self) -> Position:
        return Position(self._files[-1].name, self._size(self._files[-1]))

    def observe(self, delivered: Position | None = None) -> SourceEnd:
        return SourceEnd(self.end_position())

    def retention_headroom(self, position: Position, behind_s: float, speed: float) -> float | None:
        """Nothing is purged behind our back."""
        return None

    def open(self, position: Position) -> RecordedStream:
        names = [file.name for file in self._files]
        if position.file not in names:
            found = f"{names[0]} to {names[-1]}"
            raise SourceError("E2206", f"{position.file} is not among the recorded files", found=found)
        files = self._files[names.index(position.file) :]
        if not self._begins_there(files[0], position.offset):
            found = f"{position.file} has {self._size(files[0])} bytes"
            raise SourceError("E2209", f"{position} is not the start of a transaction", found=found)
        return RecordedStream(files, position)

    def _begins_there(self, path: Path, offset: int) -> bool:
        if offset in (HEADER, self._size(path)):
            return True
        with path.open("rb") as file:
            file.seek(offset)
            return starts_transaction(file.read(_EVENT_HEAD), offset)

    @staticmethod
    def _size(file: Path) -> int:
        try:
            return file.stat().st_size
        except OSError as error:
            raise SourceError("E2206", f"{file} can't be read", found=str(error)) from error


class RecordedStream:
    """See `replicator.pipeline.ports.Stream`. Each file begins with an artificial ROTATE event, as on the wire."""

    framing: Literal["packet", "file"] = "file"

    def __init__(self, files: Sequence[Path], position: Position) -> None:
        self.position = position
        self._files = list(files)
        self._offset = position.offset
        self._current: BinaryIO | None = None
        self._closed = False
        self._reading = threading.Lock()

    def read(self, timeout: float) -> bytes:
        """Never waits. Raises SourceUnavailable at the end of the last file."""
        with self._reading:  # held for one read of a file: close() need not end it
            while not self._closed:
                if self._current is None:
                    return self._next()
                data = self._read(self._current)
                if data:
                    return data
                self._shut()
        raise SourceUnavailable("E2002", "the recording ended", found="closed by this process")

    def server_error(self, errno: int, sqlstate: str, message: str) -> ReplicatorError:
        return SourceError("E2211", "the file contains an error packet", found=f"error {errno}: {message}")

    def close(self) -> None:
        with self._reading:
            self._closed = True
            self._shut()

    def _shut(self) -> None:
        if self._current is not None:
            self._current.close()
            self._current = None

    def _next(self) -> bytes:
        """Opens the next file; the events that precede those at the offset."""
        if not self._files:
            raise SourceUnavailable("E2002", "the recording ended", found=f"the end of {self.position.file} or later")
        path, offset = self._files.pop(0), self._offset
        self._offset = HEADER
        try:
            self._current = path.open("rb")
            head = self._current.read(_HEAD)
            self._current.seek(offset)
        except OSError as error:
            raise SourceError("E2206", f"{path} can't be read", found=str(error)) from error
        return opening(path.name, offset, head)

    @staticmethod
    def _read(file: BinaryIO) -> bytes:
        try:
            return file.read(_CHUNK)
        except OSError as error:
            raise SourceUnavailable("E2002", "the recording can't be read", found=str(error)) from error
