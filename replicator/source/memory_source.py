"""A server in memory for tests: a log of binlog events that can be appended to, purged and damaged.

Behaves as MySQL does towards a replica, except that positions are resolved by file and offset alone."""

from __future__ import annotations

import threading
import time
from typing import Literal

from replicator.errors import PositionGone, ReplicatorError, SourceError, SourceUnavailable
from replicator.model.behind import Behind, behind
from replicator.model.position import Begin, Position
from replicator.model.source_end import SourceEnd
from replicator.source.binlog_layout import HEADER, MAGIC, opening, packets, split_events

_CHUNK = 256 << 10


class MemoryServer:
    """Thread-safe. Events are appended by whole transactions; each end of one is a position."""

    def __init__(self) -> None:
        self._files: dict[str, bytearray] = {}
        self._purged: set[str] = set()
        self._boundaries: dict[tuple[str, int], str] = {}
        self._gtid = ""
        self._open: list[MemoryStream] = []
        self.changed = threading.Condition()

    def begin_file(self, name: str, events: bytes) -> None:
        """A new file; `events`: its format description and whatever stands before its first transaction."""
        with self.changed:
            self._files[name] = bytearray(MAGIC + events)
            self._boundaries[name, HEADER] = self._gtid
            self._mark()

    def append(self, events: bytes, gtid: str = "") -> None:
        """Whole transactions, or events that stand between them. `gtid`: the executed set after them; "": as before."""
        with self.changed:
            self.file.extend(events)
            self._gtid = gtid or self._gtid
            self._mark()

    def purge(self, before: str) -> None:
        """Forgets all files older than `before`."""
        with self.changed:
            for name in list(self._files):
                if name == before:
                    break
                del self._files[name]
                self._purged.add(name)

    def disconnect(self) -> None:
        """Ends every stream that is open now, as a restart does."""
        with self.changed:
            for stream in self._open:
                stream.broken = True
            self.changed.notify_all()

    @property
    def file(self) -> bytearray:
        return self._files[self.name]

    @property
    def name(self) -> str:
        return next(reversed(self._files))

    def files(self) -> dict[str, bytes]:
        """The content of every file that is not purged, oldest first."""
        with self.changed:
            return {name: bytes(content) for name, content in self._files.items()}

    def sizes(self) -> dict[str, int]:
        with self.changed:
            return {name: len(content) for name, content in self._files.items()}

    def start(self) -> Position:
        with self.changed:
            name = next(iter(self._files))
            return Position(name, HEADER, self._boundaries[name, HEADER])

    def end(self) -> Position:
        with self.changed:
            return Position(self.name, len(self.file), self._gtid)

    def connect(self, position: Position) -> MemoryStream:
        with self.changed:
            if position.file in self._purged:
                raise PositionGone(
                    "E2206", f"{position.file} is purged", found=f"the oldest file is {next(iter(self._files))}"
                )
            if (position.file, position.offset) not in self._boundaries:
                raise SourceError("E2209", f"{position} is not the start of a transaction")
            stream = MemoryStream(self, position, bytes(self._files[position.file]))
            self._open.append(stream)
            return stream

    def after(self, file: str, offset: int) -> tuple[str, int, bytes] | None:
        """What a stream at `file:offset` sends next, and where it then stands; None: nothing yet. Holds the lock."""
        if file not in self._files:
            raise SourceUnavailable("E2002", f"{file} was purged during the stream")
        content = self._files[file]
        if offset < len(content):
            end = self._whole(content, offset)
            return file, end, bytes(content[offset:end])
        names = list(self._files)
        following = names.index(file) + 1
        if following == len(names):
            return None
        name = names[following]
        return name, HEADER, opening(name, HEADER, bytes(self._files[name]))

    def closed(self, stream: MemoryStream) -> None:
        with self.changed:
            if stream in self._open:
                self._open.remove(stream)
            self.changed.notify_all()

    def _mark(self) -> None:
        self._boundaries[self.name, len(self.file)] = self._gtid
        self.changed.notify_all()

    @staticmethod
    def _whole(content: bytearray, offset: int) -> int:
        """The end of the last event that fits into a chunk; at least one."""
        end = offset
        while end < len(content):
            size = int.from_bytes(content[end + 9 : end + 13], "little")
            if end > offset and end + size - offset > _CHUNK:
                break
            end += size
        return end


class MemoryStream:
    """See `replicator.pipeline.ports.Stream`. `broken`: the server has ended it."""

    framing: Literal["packet", "file"] = "packet"

    def __init__(self, server: MemoryServer, position: Position, head: bytes) -> None:
        self.position = position
        self.broken = False
        self._closed = False
        self._server = server
        self._file, self._offset = position.file, position.offset
        self._first = opening(position.file, position.offset, head)

    def read(self, timeout: float) -> bytes:
        deadline = time.monotonic() + timeout
        with self._server.changed:
            while True:
                if self._closed or self.broken:
                    reason = "this process closed it" if self._closed else "the server has stopped"
                    raise SourceUnavailable("E2002", "the stream ended", found=reason)
                if self._first:
                    events, self._first = self._first, b""
                    return b"".join(packets(event) for event in split_events(events))
                following = self._server.after(self._file, self._offset)
                if following is not None:
                    self._file, self._offset, events = following
                    return b"".join(packets(event) for event in split_events(events))
                left = deadline - time.monotonic()
                if left <= 0:
                    return b""
                self._server.changed.wait(left)

    def server_error(self, errno: int, sqlstate: str, message: str) -> ReplicatorError:
        return SourceError("E2211", "the server ended the stream", found=f"error {errno}: {message}")

    def close(self) -> None:
        self._closed = True
        self._server.closed(self)


class MemorySource:
    """See `replicator.pipeline.ports.Source`. `start`: as in a task; a Position means {file, position}."""

    def __init__(self, server: MemoryServer, start: Literal["latest", "earliest"] | Position = "earliest") -> None:
        self._server = server
        self._start = start

    def start_position(self, begin: Begin | None = None) -> Position:
        start = begin or self._start
        if isinstance(start, Position):
            return start
        return self._server.end() if start == "latest" else self._server.start()

    def end_position(self) -> Position:
        return self._server.end()

    def observe(self, delivered: Position | None = None) -> SourceEnd:
        end = self._server.end()
        left = behind(delivered, end, self._server.sizes()) if delivered is not None else Behind()
        return SourceEnd(end, 0, left)

    def retention_headroom(self, position: Position, behind_s: float, speed: float) -> float | None:
        """Nothing is purged behind our back."""
        return None

    def open(self, position: Position) -> MemoryStream:
        return self._server.connect(position)
