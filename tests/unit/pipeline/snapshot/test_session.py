"""A snapshot between the transactions of a stream, over a source in memory; the test plays the stream."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from replicator.errors import SourceUnavailable
from replicator.model.batch import Batch
from replicator.model.position import Position
from replicator.model.snapshot import Marker, SnapshotProgress
from replicator.pipeline.ports import Chunk, Watcher
from replicator.pipeline.snapshot.session import SnapshotSession
from replicator.source.memory_snapshot import MemorySnapshotSource, MemoryTable, MemoryTables

TABLE = "shop.item"


class Encoder:
    """Records are the row images; their keys are their first byte."""

    def prepare(self, tables: Sequence[str]) -> None:
        return

    def begin(self, identity: str) -> Sequence[Batch]:
        return ()

    def begin_table(self, chunk: Chunk, identity: str) -> Sequence[Batch]:
        return ()

    def end_table(self, chunk: Chunk, identity: str, rows: int) -> Sequence[Batch]:
        return ()

    def end(self, identity: str, rows: int, time_s: int) -> Sequence[Batch]:
        return ()

    def rows(self, chunk: Chunk, identity: str, first: Marker, between: Marker, last: Marker) -> Batch:
        images, start, records = chunk.images, 0, []
        for number, end in enumerate(images.ends):
            records.append(("topic", None, images.data[start:end], identity.encode(), number, ()))
            start = end
        return Batch(records, chunk.high, boundary=True, rows=len(records))

    def keys(self, chunk: Chunk, key: tuple[str, ...]) -> Sequence[bytes]:
        ends = list(chunk.images.ends)
        return [chunk.images.data[start : start + 1] for start in [0, *ends[:-1]]]


class Decoder:
    watcher: Watcher | None = None

    def watch(self, watcher: Watcher | None) -> None:
        self.watcher = watcher


class Stream:
    """Plays the stream: what it has, and where it stands."""

    def __init__(self, rows: int, chunk_rows: int, most_load: int = 0, load: int = 1, **tables: int) -> None:
        self.log = Position("log.000001", 100, server="memory")
        self.at = self.log
        self.server = MemoryTables(lambda: self.log)
        self.server.load = load
        self.server.tables[TABLE] = MemoryTable(b"map", ("id",), {(n,): bytes((n, 0)) for n in range(rows)})
        for name, first in tables.items():
            self.server.tables[f"shop.{name}"] = MemoryTable(b"map", ("id",), {(1,): bytes((first, 0))})
        self.quarantined: set[str] = set()
        self.decoder = Decoder()
        self.begin(SnapshotProgress("initial", 1), chunk_rows, most_load)

    def begin(self, progress: SnapshotProgress, chunk_rows: int = 5, most_load: int = 0) -> None:
        self.session = SnapshotSession(
            progress,
            connect=lambda: MemorySnapshotSource(self.server).open("memory"),
            selected=lambda table: True,
            readable=lambda table: table not in self.quarantined,
            encoder=Encoder(),
            decoder=self.decoder,  # type: ignore[arg-type]
            chunk_rows=chunk_rows,
            most_load=most_load,
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


@pytest.fixture
def make() -> Iterator[Callable[[int, int], Stream]]:
    made: list[Stream] = []

    def new(rows: int, chunk_rows: int, **options: int) -> Stream:
        made.append(Stream(rows, chunk_rows, **options))
        return made[-1]

    yield new
    for stream in made:
        stream.session.close()
        assert threading.active_count() < 20


def test_all_rows_come_in_order(make: Callable[[int, int], Stream]) -> None:
    stream = make(10, 3)
    stream.until(lambda: not stream.session.active)
    assert stream.values == [bytes((n, 0)) for n in range(10)]
    steps = [batch.position.snapshot for batch in stream.batches]
    assert [step.step for step in steps if step] == sorted(step.step for step in steps if step)
    last = steps[-1]
    assert last is not None and (last.rows, last.finished, last.open) == (10, 1, None) and last.ended_ms
    assert stream.decoder.watcher is None


def test_a_chunk_waits_for_its_place(make: Callable[[int, int], Stream]) -> None:
    stream = make(2, 5)
    stream.until(lambda: stream.session.tables)
    stream.commit()
    time.sleep(0.05)
    for _ in range(5):
        stream.turn()
    held = list(stream.values)
    stream.at = stream.log
    stream.until(lambda: not stream.session.active)
    assert stream.values == [b"\0\0", b"\1\0"] and held in ([], stream.values)


def test_what_the_stream_has_changed_is_left_to_it(make: Callable[[int, int], Stream]) -> None:
    stream = make(3, 5)
    with stream.server.stall(TABLE):
        stream.until(lambda: stream.server.reads)
        stream.session.changed(TABLE, [b"\1"])
    stream.until(lambda: not stream.session.active)
    assert stream.values == [b"\0\0", b"\2\0"]
    last = stream.batches[-1].position.snapshot
    assert last is not None and last.rows == 2


def test_a_chunk_of_an_altered_table_is_read_again(make: Callable[[int, int], Stream]) -> None:
    stream = make(3, 5)
    with stream.server.stall(TABLE):
        stream.until(lambda: stream.server.reads)
        stream.session.altered(TABLE)
    stream.until(lambda: not stream.session.active)
    assert stream.values == [b"\0\0", b"\1\0", b"\2\0"]
    assert stream.server.reads == [TABLE] * 2


def test_the_last_chunk_too_when_all_is_read(make: Callable[[int, int], Stream]) -> None:
    """The thread that reads has nothing more to do by then."""
    stream = make(3, 5)
    with stream.server.stall(TABLE):
        stream.until(lambda: stream.server.reads)
        stream.commit()  # so that the chunk waits for the stream
    while not stream.session.waiting:
        time.sleep(0.001)
    time.sleep(0.05)
    stream.session.altered(TABLE)
    stream.at = stream.log
    stream.until(lambda: not stream.session.active)
    assert stream.values == [b"\0\0", b"\1\0", b"\2\0"]
    assert stream.server.reads == [TABLE] * 2


def test_a_table_with_another_key_is_begun_again(make: Callable[[int, int], Stream]) -> None:
    stream = make(6, 2)
    stream.until(lambda: stream.values)
    with stream.server.changed:
        stream.server.tables[TABLE] = MemoryTable(b"map", ("name",), {("a",): b"a0"})
    stream.until(lambda: not stream.session.active)
    assert stream.values[-1] == b"a0"


def test_a_table_that_is_gone_counts_as_read(make: Callable[[int, int], Stream]) -> None:
    stream = make(6, 2)
    stream.until(lambda: stream.values)
    with stream.server.changed:
        del stream.server.tables[TABLE]
    stream.until(lambda: not stream.session.active)
    last = stream.batches[-1].position.snapshot
    assert last is not None and last.finished == 1


def test_a_table_in_quarantine_is_read_when_it_is_released(make: Callable[..., Stream]) -> None:
    """A table that was passed over must not count as read."""
    stream = make(1, 5, aaa=10, zzz=20)
    stream.quarantined.add("shop.aaa")
    stream.session.close()
    stream.begin(SnapshotProgress("initial", 1))
    stream.until(lambda: not stream.session.active)
    assert stream.values == [b"\0\0", bytes((20, 0))]
    assert not stream.progress.ended_ms and stream.progress.left == ("shop.aaa",)
    stream.quarantined.clear()
    stream.session.close()
    stream.begin(stream.progress)
    stream.until(lambda: not stream.session.active)
    assert stream.values == [bytes((10, 0))] and stream.progress.ended_ms and not stream.progress.left


def test_a_table_that_is_being_read_goes_into_quarantine(make: Callable[..., Stream]) -> None:
    stream = make(6, 2)
    stream.until(lambda: stream.values)
    progress = stream.progress
    stream.session.close()
    stream.quarantined.add(TABLE)
    stream.begin(progress)
    stream.until(lambda: not stream.session.active)
    assert stream.values == [] and stream.progress.left == (TABLE,) and stream.progress.open is None
    stream.quarantined.clear()
    stream.session.close()
    stream.begin(stream.progress)
    stream.until(lambda: not stream.session.active)
    assert len(stream.values) == 6 and stream.progress.ended_ms


def test_an_unread_table_that_is_renamed_is_read_under_its_new_name(make: Callable[..., Stream]) -> None:
    stream = make(6, 2, zzz=20)
    stream.until(lambda: stream.values)
    with stream.server.changed:
        stream.server.tables["shop.aaa"] = stream.server.tables.pop("shop.zzz")
    stream.session.renamed("shop.zzz", "shop.aaa")
    stream.until(lambda: not stream.session.active)
    assert stream.values.count(bytes((20, 0))) == 1 and stream.progress.ended_ms


def test_a_table_that_is_renamed_while_it_is_read_is_read_under_its_new_name(make: Callable[..., Stream]) -> None:
    stream = make(6, 2)
    stream.until(lambda: stream.values)
    with stream.server.changed:
        stream.server.tables["shop.aaa"] = stream.server.tables.pop(TABLE)
    stream.session.renamed(TABLE, "shop.aaa")
    stream.until(lambda: not stream.session.active)
    assert stream.values[-6:] == [bytes((n, 0)) for n in range(6)] and stream.progress.ended_ms


def test_a_table_that_was_read_may_be_renamed(make: Callable[..., Stream]) -> None:
    stream = make(6, 2, aaa=10)
    stream.until(lambda: len(stream.values) > 2)
    with stream.server.changed:
        stream.server.tables["shop.aab"] = stream.server.tables.pop("shop.aaa")
    stream.session.renamed("shop.aaa", "shop.aab")
    stream.until(lambda: not stream.session.active)
    assert stream.values == [bytes((10, 0)), *(bytes((n, 0)) for n in range(6))]


def test_what_ends_the_reading_ends_the_stream(make: Callable[[int, int], Stream]) -> None:
    stream = make(6, 2)
    with stream.server.changed:
        stream.server.failures.append(SourceUnavailable("E2002", "planted"))
    with pytest.raises(SourceUnavailable, match="planted"):
        stream.until(lambda: not stream.session.active)


def test_it_waits_while_the_source_is_busy(make: Callable[..., Stream]) -> None:
    stream = make(3, 5, most_load=4, load=5)
    for _ in range(100):
        stream.turn()
        time.sleep(0.001)
    assert stream.server.reads == [] and stream.session.active
    stream.server.load = 4
    stream.until(lambda: not stream.session.active)
    assert len(stream.values) == 3


def test_it_can_be_closed_while_it_reads(make: Callable[[int, int], Stream]) -> None:
    stream = make(6, 2)
    with stream.server.stall(TABLE):
        stream.until(lambda: stream.server.reads)
        stream.session.close()
    assert stream.values == []


def test_a_dropped_table_counts_when_all_is_read(make: Callable[..., Stream]) -> None:
    """The statement makes what was read stale, and the tables are listed again without it."""
    stream = make(6, 2, zzz=20)
    stream.until(lambda: stream.values)
    with stream.server.changed:
        del stream.server.tables[TABLE]
    stream.session.altered(TABLE)
    stream.until(lambda: not stream.session.active)
    assert stream.values[-1] == bytes((20, 0)) and (stream.progress.finished, stream.progress.tables) == (2, 2)
