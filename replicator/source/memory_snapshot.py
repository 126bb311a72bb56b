"""Tables in memory for tests, and the snapshot source that reads them; they can be altered, stalled and made to fail.

Rows are row images that the test gives, in the order of their keys. The log is that of a `MemoryServer`; a test that
commits there changes the rows here, too, at the moment at which it wants the engine to show them.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

import msgspec

from replicator.errors import ReplicatorError, SourceError, SourceUnavailable
from replicator.model.origin import Origin
from replicator.model.position import Position
from replicator.model.snapshot import Bound, OpenTable, RowImages
from replicator.pipeline.ports import AccessPath, Chunk, ConsistentViews, SourceSurvey, TableChanged, TableSize

Key: TypeAlias = tuple[int | str, ...]
Condition: TypeAlias = Callable[[bytes], bool]
"""Of a row image: whether it is wanted."""
_ALL: Final[Mapping[str, Condition]] = MappingProxyType({})
_WAIT_S: Final = 60.0


class MemoryTable(msgspec.Struct):
    """
    Attributes:
        table_map: body of its TABLE_MAP event.
        key: names of the key's columns; (): it has no key, and those of `rows` only order them.
        rows: key -> row image.
    """

    table_map: bytes
    key: tuple[str, ...]
    rows: dict[Key, bytes] = msgspec.field(default_factory=dict)


class MemoryTables:
    """Thread-safe where it is used under `changed`; each change of `tables` is made under it, too.

    Args:
        end: end of the log, as `MemoryServer.end`.
        server: see `Origin.server`.

    Attributes:
        tables: `database.table` -> table.
        stalled: tables whose reads wait, and keys (table, `done`) behind which they do.
        shown: what the engine shows; None: all that is in the log.
        failures: raised by the next reads, one each.
        reads: tables of all reads that were begun.
        load: what readers are told.
    """

    def __init__(self, end: Callable[[], Position], server: str = "memory") -> None:
        self.end, self.server = end, server
        self.tables: dict[str, MemoryTable] = {}
        self.stalled: set[str | tuple[str, Bound]] = set()
        self.shown: Position | None = None
        self.failures: list[ReplicatorError] = []
        self.reads: list[str] = []
        self.load = 1
        self.changed = threading.Condition()
        self._open: list[MemorySnapshotReader] = []

    @contextlib.contextmanager
    def stall(self, table: str, done: Bound | None = None) -> Iterator[None]:
        """Reads of the table, or of its rows behind `done`, wait until it is left."""
        place = table if done is None else (table, done)
        with self.changed:
            self.stalled.add(place)
        try:
            yield
        finally:
            with self.changed:
                self.stalled.discard(place)
                self.changed.notify_all()

    def show(self, position: Position | None) -> None:
        """Sets `shown`."""
        with self.changed:
            self.shown = position
            self.changed.notify_all()

    def disconnect(self) -> None:
        """Ends every reader that is open now."""
        for reader in list(self._open):
            reader.close()

    def opened(self, reader: MemorySnapshotReader) -> None:
        self._open.append(reader)

    def table(self, name: str) -> MemoryTable | None:
        return self.tables.get(name)


class MemoryView(MemoryTables):
    """The tables of `server` as they are now; what is stalled or fails there does so here. Made under its `changed`."""

    def __init__(self, server: MemoryTables, end: Position) -> None:
        super().__init__(lambda: end, server.server)
        self._of, self._then = server, dict(server.tables)
        self.tables = {
            name: MemoryTable(table.table_map, table.key, dict(table.rows)) for name, table in server.tables.items()
        }
        self.changed, self.stalled = server.changed, server.stalled
        self.reads, self.failures = server.reads, server.failures

    def table(self, name: str) -> MemoryTable | None:
        if self._of.tables.get(name) is not self._then.get(name):
            raise SourceUnavailable("E2225", "the consistent view is lost", found=f"{name} was altered", table=name)
        return super().table(name)


class MemorySnapshotReader:
    """See `replicator.pipeline.ports.SnapshotReader`."""

    def __init__(self, server: MemoryTables, where: Mapping[str, Condition]) -> None:
        self._server, self._where = server, where
        self._closed = False
        self._pass: tuple[str, MemoryTable, list[bytes]] | None = None
        self._handed = 0
        server.opened(self)

    def tables(self) -> Sequence[TableSize]:
        with self._server.changed:
            self._check()
            found = sorted(self._server.tables.items(), key=lambda item: item[0].encode())
            return [TableSize(name, len(table.rows), sum(map(len, table.rows.values()))) for name, table in found]

    def settle(self, passed: Position) -> None:
        with self._server.changed:
            while not self._shows(passed):
                self._check()
                if not self._server.changed.wait(_WAIT_S):
                    raise SourceUnavailable("E2002", "transactions are not shown", found=f"nothing for {_WAIT_S:.0f} s")
            self._check()

    def load(self, enough: int) -> int:
        with self._server.changed:
            self._check()
            return self._server.load

    def end(self) -> Position:
        with self._server.changed:
            self._check()
            return self._end()

    def views_refused(self, tables: Sequence[str]) -> SourceError | None:
        with self._server.changed:
            self._check()
            return None

    def survey(self) -> SourceSurvey:
        with self._server.changed:
            self._check()
            return SourceSurvey(proof="everything is shown")

    def path(self, table: OpenTable) -> AccessPath:
        with self._server.changed:
            self._check()
            self._same_key(table)
            return "range"

    def begin(self, table: str) -> OpenTable | None:
        with self._server.changed:
            self._check()
            self._pass = None
            found = self._server.table(table)
            if found is None:
                return None
            limit = _bound(max(found.rows)) if found.key and found.rows else None
            return OpenTable(table, found.key, limit=limit, estimate=len(found.rows))

    def cut(self, table: OpenTable, rows: int) -> Bound | None:
        with self._server.changed:
            self._check()
            found = self._same_key(table)
            done, limit = _key(table.done), _key(table.limit)
            keys = [key for key in sorted(found.rows) if done < key <= limit][:rows]
            return _bound(keys[-1]) if len(keys) == rows and keys[-1] != limit else None

    def read(self, table: OpenTable, most: int, passed: Position, end: Bound | None = None) -> Chunk:
        with self._server.changed:
            self._check()
            self._server.reads.append(table.table)
            if self._server.failures:
                raise self._server.failures.pop(0)
            self._wait(table, passed)
            found = self._server.table(table.table)
            if table.key or found is None or found.key:
                self._pass = None
                return self._read_chunk(table, most, end)
            return self._read_pass(table, found, most)

    def close(self) -> None:
        self._closed = True
        with self._server.changed:
            self._server.changed.notify_all()

    def _wait(self, table: OpenTable, passed: Position) -> None:
        deadline, places = time.monotonic() + _WAIT_S, {table.table, (table.table, table.done)}
        while not self._server.stalled.isdisjoint(places) or not self._shows(passed):
            if not self._server.changed.wait(deadline - time.monotonic()):
                raise SourceUnavailable("E2002", f"{table.table} can't be read", found=f"nothing for {_WAIT_S:.0f} s")
            self._check()

    def _shows(self, passed: Position) -> bool:
        return self._server.shown is None or self._server.shown.order >= passed.order

    def _same_key(self, table: OpenTable) -> MemoryTable:
        found = self._server.table(table.table)
        if found is None:
            raise TableChanged(f"{table.table} is gone")
        if found.key != table.key:
            raise TableChanged(f"{table.table} has the key {found.key}")
        return found

    def _read_chunk(self, table: OpenTable, most: int, end: Bound | None) -> Chunk:
        found = self._same_key(table)
        if table.limit is None:
            return self._chunk(found, [], None, final=True)
        done, limit, wanted = _key(table.done), _key(end or table.limit), self._wanted(table.table)
        behind = [key for key in sorted(found.rows) if done < key <= limit]
        keys = behind[:most]
        last = _bound(keys[-1]) if keys else None
        if end is not None and len(behind) <= most:
            last = end
        final = last == table.limit or (end is None and len(behind) < most)
        chunk = self._chunk(found, [found.rows[key] for key in keys if wanted(found.rows[key])], last, final=final)
        chunk.covered = len(keys)
        return chunk

    def _read_pass(self, table: OpenTable, found: MemoryTable, most: int) -> Chunk:
        if not table.chunks:
            wanted = self._wanted(table.table)
            images = [image for _, image in sorted(found.rows.items()) if wanted(image)]
            self._pass, self._handed = (table.table, found, images), 0
        if self._pass is None or self._pass[0] != table.table or self._handed != table.chunks:
            raise TableChanged(f"{table.table} has no key: it is read in one pass, and that has ended")
        _, found, images = self._pass
        self._handed += 1
        part, rest = images[:most], images[most:]
        self._pass = (table.table, found, rest) if rest else None
        return self._chunk(found, part, None, final=not rest)

    def _wanted(self, table: str) -> Condition:
        return self._where.get(table, lambda _: True)

    def _chunk(self, found: MemoryTable, images: Sequence[bytes], last: Bound | None, *, final: bool) -> Chunk:
        data, ends = bytearray(), []
        for image in images:
            data += image
            ends.append(len(data))
        return Chunk(found.table_map, RowImages(bytes(data), ends), self._end(), last, final, int(time.time()))

    def _end(self) -> Position:
        return msgspec.structs.replace(self._server.end(), server=self._server.server)

    def _check(self) -> None:
        if self._closed:
            raise SourceUnavailable("E2002", "the snapshot ended", found="it was closed")


class MemorySnapshotSource:
    """See `replicator.pipeline.ports.SnapshotSource`. `where`: `database.table` -> rows that are wanted."""

    def __init__(self, server: MemoryTables, where: Mapping[str, Condition] = _ALL) -> None:
        self._server, self._where = server, where

    def open(self, server: str) -> MemorySnapshotReader:
        wanted = Origin.parse(server).server
        if wanted not in ("", self._server.server):
            raise SourceUnavailable("E2001", "another server is wanted", found=self._server.server, wanted=wanted)
        return MemorySnapshotReader(self._server, self._where)

    def open_views(self, server: str, count: int, tables: Sequence[str]) -> ConsistentViews:
        self.open(server).close()
        with self._server.changed:
            if self._server.failures:
                raise self._server.failures.pop(0)
            end = msgspec.structs.replace(self._server.end(), server=self._server.server)
            view = MemoryView(self._server, end)
            readers = [MemorySnapshotReader(view, self._where) for _ in range(count)]
            for reader in readers:
                self._server.opened(reader)
            return ConsistentViews(readers, end, 0.001)


def _bound(key: Key) -> Bound:
    return tuple(json.dumps(value) for value in key)


def _key(bound: Bound | None) -> Key:
    """() for None, which is before all others."""
    return tuple(json.loads(value) for value in bound or ())
