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

from replicator.errors import ReplicatorError, SourceUnavailable
from replicator.model.origin import Origin
from replicator.model.position import Position
from replicator.model.snapshot import Bound, OpenTable, RowImages
from replicator.pipeline.ports import Chunk, TableChanged, TableSize

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
        stalled: tables whose reads wait.
        shown: what the engine shows; None: all that is in the log.
        failures: raised by the next reads, one each.
        reads: tables of all reads that were begun.
        load: what readers are told.
    """

    def __init__(self, end: Callable[[], Position], server: str = "memory") -> None:
        self.end, self.server = end, server
        self.tables: dict[str, MemoryTable] = {}
        self.stalled: set[str] = set()
        self.shown: Position | None = None
        self.failures: list[ReplicatorError] = []
        self.reads: list[str] = []
        self.load = 1
        self.changed = threading.Condition()
        self._open: list[MemorySnapshotReader] = []

    @contextlib.contextmanager
    def stall(self, table: str) -> Iterator[None]:
        """Reads of the table wait until it is left."""
        with self.changed:
            self.stalled.add(table)
        try:
            yield
        finally:
            with self.changed:
                self.stalled.discard(table)
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

    def load(self) -> int:
        with self._server.changed:
            self._check()
            return self._server.load

    def begin(self, table: str) -> OpenTable | None:
        with self._server.changed:
            self._check()
            self._pass = None
            found = self._server.tables.get(table)
            if found is None:
                return None
            limit = _bound(max(found.rows)) if found.key and found.rows else None
            return OpenTable(table, found.key, limit=limit, estimate=len(found.rows))

    def read(self, table: OpenTable, most: int, passed: Position) -> Chunk:
        with self._server.changed:
            self._check()
            self._server.reads.append(table.table)
            if self._server.failures:
                raise self._server.failures.pop(0)
            self._wait(table.table, passed)
            found = self._server.tables.get(table.table)
            if table.key or found is None or found.key:
                self._pass = None
                return self._read_chunk(table, found, most)
            return self._read_pass(table, found, most)

    def close(self) -> None:
        self._closed = True
        with self._server.changed:
            self._server.changed.notify_all()

    def _wait(self, table: str, passed: Position) -> None:
        deadline = time.monotonic() + _WAIT_S
        while table in self._server.stalled or not self._shows(passed):
            if not self._server.changed.wait(deadline - time.monotonic()):
                raise SourceUnavailable("E2002", f"{table} can't be read", found=f"nothing for {_WAIT_S:.0f} s")
            self._check()

    def _shows(self, passed: Position) -> bool:
        return self._server.shown is None or self._server.shown.order >= passed.order

    def _read_chunk(self, table: OpenTable, found: MemoryTable | None, most: int) -> Chunk:
        if found is None:
            raise TableChanged(f"{table.table} is gone")
        if found.key != table.key:
            raise TableChanged(f"{table.table} has the key {found.key}")
        if table.limit is None:
            return self._chunk(found, [], None, final=True)
        done, limit, wanted = _key(table.done), _key(table.limit), self._wanted(table.table)
        keys = [key for key in sorted(found.rows) if done < key <= limit and wanted(found.rows[key])][:most]
        last = _bound(keys[-1]) if keys else None
        final = len(keys) < most or last == table.limit
        return self._chunk(found, [found.rows[key] for key in keys], last, final=final)

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
        high = msgspec.structs.replace(self._server.end(), server=self._server.server)
        return Chunk(found.table_map, RowImages(bytes(data), ends), high, last, final, int(time.time()))

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


def _bound(key: Key) -> Bound:
    return tuple(json.dumps(value) for value in key)


def _key(bound: Bound | None) -> Key:
    """() for None, which is before all others."""
    return tuple(json.loads(value) for value in bound or ())
