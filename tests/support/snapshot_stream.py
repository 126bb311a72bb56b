"""A snapshot between the transactions of a stream, over a source in memory; a test plays the stream."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from replicator.config.tables import table_rank
from replicator.model.batch import Batch, Record
from replicator.model.position import Position
from replicator.model.snapshot import Marker, SnapshotMoment, SnapshotProgress
from replicator.pipeline.ports import Chunk, Watcher
from replicator.pipeline.snapshot.session import SnapshotSession
from replicator.source.memory_snapshot import MemorySnapshotSource, MemoryTable, MemoryTables

TABLE = "shop.item"


class Encoder:
    """Records are the row images; their keys are their first byte."""

    def prepare(self, tables: Sequence[str], moment: SnapshotMoment) -> None:
        return

    def begin(self, identity: str) -> Sequence[Batch]:
        return ()

    def begin_table(self, chunk: Chunk, identity: str) -> Sequence[Batch]:
        return ()

    def end_table(self, chunk: Chunk, identity: str, rows: int) -> Sequence[Batch]:
        return ()

    def end(self, identity: str, progress: SnapshotProgress, position: Position) -> Sequence[Batch]:
        return ()

    def rows(self, chunk: Chunk, identity: str, first: Marker, between: Marker, last: Marker) -> Iterator[Batch]:
        """Two rows in each part."""
        images, records = chunk.images, list[Record]()
        for number, (start, end) in enumerate(pairwise([0, *images.ends])):
            records.append(("topic", None, images.data[start:end], identity.encode(), number, ()))
        for first_row in range(0, len(records), 2):
            part = records[first_row : first_row + 2]
            yield Batch(part, chunk.high, boundary=True, rows=len(part))

    def keys(self, chunk: Chunk, key: tuple[str, ...]) -> Sequence[bytes]:
        ends = list(chunk.images.ends)
        return [chunk.images.data[start : start + 1] for start in [0, *ends[:-1]]]


class Decoder:
    watcher: Watcher | None = None

    def watch(self, watcher: Watcher | None) -> None:
        self.watcher = watcher


class Stream:
    """Plays the stream: what it has, and where it stands."""

    def __init__(
        self,
        rows: int,
        chunk_rows: int,
        most_load: int = 0,
        load: int = 1,
        connections: int = 1,
        order: tuple[str, ...] = (),
        **tables: int,
    ) -> None:
        self.connections, self.order = connections, order
        self.log = Position("log.000001", 100, server="memory")
        self.at = self.log
        self.server = MemoryTables(lambda: self.log)
        self.server.load = load
        self.server.tables[TABLE] = MemoryTable(b"map", ("id",), {(n,): bytes((n, 0)) for n in range(rows)})
        for name, first in tables.items():
            self.server.tables[f"shop.{name}"] = MemoryTable(b"map", ("id",), {(1,): bytes((first, 0))})
        self.quarantined: set[str] = set()
        self.removed: set[str] = set()
        self.decoder = Decoder()
        self.begin(SnapshotProgress("initial", 1), chunk_rows, most_load)

    def begin(self, progress: SnapshotProgress, chunk_rows: int = 5, most_load: int = 0) -> None:
        self.session = SnapshotSession(
            progress,
            start=self.at,
            connect=lambda: MemorySnapshotSource(self.server).open("memory"),
            selected=lambda table: table not in self.removed,
            readable=lambda table: table not in self.quarantined,
            encoder=Encoder(),
            decoder=self.decoder,  # type: ignore[arg-type]
            chunk_rows=chunk_rows,
            most_load=most_load,
            connections=self.connections,
            order=progress.order or self.order,
            rank=table_rank(progress.order or self.order),
        )
        self.batches: list[Batch] = []
        self.session.start()

    @property
    def progress(self) -> SnapshotProgress:
        found = self.batches[-1].position.snapshot
        assert found is not None
        return found

    @property
    def values(self) -> list[bytes]:
        return [record[2] or b"" for batch in self.batches for record in batch.records]

    def turn(self) -> None:
        self.session.advance()
        self.batches += self.session.insert(self.at, between=True)

    def until(self, over: Callable[[], object]) -> None:
        """Takes turns, with nothing new in the log."""
        deadline = time.monotonic() + 20
        while not over():
            assert time.monotonic() < deadline, "it does not come"
            self.turn()
            time.sleep(0.001)

    def commit(self) -> None:
        """Something is in the log that the stream has not passed."""
        self.log = Position("log.000001", self.log.offset + 10, server="memory")
