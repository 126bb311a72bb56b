"""A snapshot between the transactions of a stream, over a source in memory; the test plays the stream."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from replicator.errors import SourceUnavailable
from replicator.model.batch import Batch
from replicator.model.position import Position
from replicator.model.snapshot import SnapshotProgress
from replicator.model.snapshot_report import report
from replicator.pipeline.snapshot.session import SnapshotSession
from replicator.source.memory_snapshot import MemorySnapshotReader, MemorySnapshotSource, MemoryTable
from tests.support.snapshot_stream import TABLE, Encoder, Stream


@pytest.fixture(params=[1, 4], ids=["one connection", "four connections"])
def make(request: pytest.FixtureRequest) -> Iterator[Callable[[int, int], Stream]]:
    made: list[Stream] = []

    def new(rows: int, chunk_rows: int, **options: Any) -> Stream:
        made.append(Stream(rows, chunk_rows, connections=request.param, **options))
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


def test_what_is_before_the_stream_is_shown_before_tables_begin(make: Callable[[int, int], Stream]) -> None:
    """The stream does not have it: it must not be behind the last row."""
    stream = make(3, 5)
    stream.session.close()
    stream.server.show(Position("log.000001", stream.at.offset - 10, server="memory"))
    stream.begin(SnapshotProgress("initial", 1))
    for _ in range(20):
        stream.turn()
        time.sleep(0.002)
    assert not stream.batches
    stream.server.tables[TABLE].rows[(3,)] = bytes((3, 0))
    stream.server.show(None)
    stream.until(lambda: not stream.session.active)
    assert stream.values == [bytes((n, 0)) for n in range(4)]


def test_a_chunk_and_what_is_told_of_its_table_are_one_unit(
    make: Callable[[int, int], Stream], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the batch that ends it has its progress; those before are parts, behind which nobody goes on."""
    told = Batch([("topic", None, b"told", b"id", 0, ())], Position("", 4), boundary=True)
    for method in ("begin", "begin_table", "end_table", "end"):
        monkeypatch.setattr(Encoder, method, lambda *ignored: [told])
    stream = make(10, 3)
    stream.until(lambda: not stream.session.active)
    assert stream.values.count(b"told") == 4
    rows, before, steps = 0, 0, []
    for batch in stream.batches:
        progress = batch.position.snapshot
        assert progress is not None
        rows += sum(record[2] != b"told" for record in batch.records)
        assert progress.rows == (rows if batch.boundary else before)
        assert not (batch.boundary and batch.records)
        if batch.boundary:
            before = rows
            steps.append(progress.step)
    assert len(steps) == len(set(steps)), "one end for each step"


def test_only_the_end_of_a_chunk_moves_the_progress(make: Callable[[int, int], Stream]) -> None:
    """Its parts are committed with their progress, or not at all."""
    stream = make(5, 5)
    stream.until(lambda: not stream.session.active)
    chunk = [batch for batch in stream.batches if batch.records]
    assert [len(batch.records) for batch in chunk] == [2, 2, 1]
    assert not any(batch.boundary or batch.position.rows for batch in chunk)
    steps = [batch.position.snapshot for batch in chunk]
    assert [step.rows for step in steps if step] == [0, 0, 0]
    behind = stream.batches[stream.batches.index(chunk[-1]) + 1]
    assert behind.boundary and behind.position.snapshot is not None and behind.position.snapshot.rows == 5


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


def test_a_table_that_the_configuration_has_lost_is_not_waited_for(make: Callable[..., Stream]) -> None:
    stream = make(6, 2, aaa=10)
    stream.quarantined.add("shop.aaa")
    stream.session.close()
    stream.begin(SnapshotProgress("initial", 1), chunk_rows=2)
    stream.until(lambda: len(stream.values) > 1)
    progress = stream.progress
    assert progress.open is not None and progress.left == ("shop.aaa",)
    stream.session.close()
    stream.removed |= {TABLE, "shop.aaa"}
    stream.begin(progress)
    stream.until(lambda: not stream.session.active)
    assert stream.values == [] and stream.progress.ended_ms and not stream.progress.left


ORDER = ("shop.z*", "shop.item")


def test_tables_of_the_order_come_first(make: Callable[..., Stream]) -> None:
    stream = make(2, 5, order=ORDER, aaa=10, zzb=21, zza=20)
    stream.until(lambda: not stream.session.active)
    assert [value[0] for value in stream.values] == [20, 21, 0, 1, 10]


def test_a_snapshot_keeps_the_order_that_it_began_with(make: Callable[..., Stream]) -> None:
    """Under another one the last table would be another place: here `shop.aaa` would be passed over."""
    stream = make(2, 5, order=ORDER, aaa=10, zzz=20)
    with stream.server.stall(TABLE):  # of four connections another one reads it meanwhile
        stream.until(lambda: stream.values)
        assert stream.progress.last == "shop.zzz" and stream.progress.order == ORDER
    stream.session.close()
    before, stream.order = stream.progress, ()
    stream.begin(before)
    stream.until(lambda: not stream.session.active)
    assert [value[0] for value in stream.values] == [0, 1, 10]


def test_a_table_that_gets_a_name_before_the_place_of_an_order(make: Callable[..., Stream]) -> None:
    """By name it would come later; by the order its turn is over."""
    stream = make(2, 5, order=ORDER, aaa=10, zza=20)
    with stream.server.stall("shop.aaa"):
        stream.until(lambda: stream.values and "shop.aaa" in stream.server.reads)
        assert stream.progress.last == TABLE
        stream.server.tables["shop.zzz"] = stream.server.tables.pop("shop.aaa")
        stream.session.renamed("shop.aaa", "shop.zzz")
    stream.until(lambda: not stream.session.active)
    assert sorted(value[0] for value in stream.values) == [0, 1, 10, 20]


def test_an_unread_table_that_is_renamed_is_read_under_its_new_name(make: Callable[..., Stream]) -> None:
    stream = make(6, 2, zzz=20)
    stream.until(lambda: stream.values)
    with stream.server.changed:
        stream.server.tables["shop.aaa"] = stream.server.tables.pop("shop.zzz")
    stream.session.renamed("shop.zzz", "shop.aaa")
    stream.until(lambda: not stream.session.active)
    assert stream.values.count(bytes((20, 0))) == 1 and stream.progress.ended_ms


@pytest.mark.parametrize("new", ["shop.aaa", "shop.zzz"])
def test_a_table_in_quarantine_that_is_renamed_is_read_under_its_new_name(
    make: Callable[..., Stream], new: str
) -> None:
    stream = make(3, 5)
    stream.session.close()
    stream.quarantined.add(TABLE)
    stream.begin(SnapshotProgress("initial", 1))
    stream.until(lambda: not stream.session.active)
    assert stream.progress.left == (TABLE,) and not stream.session.again and stream.decoder.watcher is not None
    stream.server.tables[new] = stream.server.tables.pop(TABLE)
    stream.session.renamed(TABLE, new)
    progress = stream.session.progress
    assert stream.session.again and progress.step == stream.progress.step + 1
    stream.session.close()
    stream.begin(progress)
    stream.until(lambda: not stream.session.active)
    assert stream.values == [bytes((n, 0)) for n in range(3)] and stream.progress.ended_ms


def test_a_table_that_is_renamed_while_it_is_read_is_read_under_its_new_name(make: Callable[..., Stream]) -> None:
    stream = make(6, 2)
    stream.until(lambda: stream.values)
    with stream.server.changed:
        stream.server.tables["shop.aaa"] = stream.server.tables.pop(TABLE)
    stream.session.renamed(TABLE, "shop.aaa")
    stream.until(lambda: not stream.session.active)
    assert stream.values[-6:] == [bytes((n, 0)) for n in range(6)] and stream.progress.ended_ms


@pytest.mark.parametrize("written", [TABLE, TABLE.upper()], ids=["as it is named", "in other letters"])
def test_rows_that_are_moved_have_their_tables_read_again(make: Callable[..., Stream], written: str) -> None:
    """The one at hand, and one that was complete; rows that moved are in no event of the stream."""
    stream = make(6, 2, aaa=10, zzz=20)
    stream.until(lambda: stream.values.count(bytes((0, 0))))
    assert stream.progress.last == "shop.aaa"
    with stream.server.changed:
        stream.server.tables["shop.aaa"].rows[(1,)] = bytes((11, 0))
        stream.server.tables[TABLE].rows[(1,)] = bytes((12, 0))
    stream.session.moved([written, "shop.aaa"])
    step = stream.progress.step
    stream.until(lambda: not stream.session.active)
    assert stream.values[-8:] == [*(bytes((n, 0)) for n in (0, 12, 2, 3, 4, 5)), bytes((20, 0)), bytes((11, 0))]
    progress = stream.progress
    assert (progress.finished, progress.tables, progress.left) == (3, 3, ()) and progress.step > step


def test_a_table_that_gets_rows_of_another_is_read_though_it_was_created_later(make: Callable[..., Stream]) -> None:
    """Its rows came by CREATE TABLE and an exchange, neither of which has rows in the stream."""
    stream = make(6, 2, zzz=20)
    stream.until(lambda: stream.values)
    with stream.server.changed:
        stream.server.tables["shop.yyy"] = MemoryTable(b"map", ("id",), {(1,): bytes((30, 0))})
    stream.session.moved(["shop.yyy", "shop.zzz"])
    stream.until(lambda: not stream.session.active)
    assert stream.values.count(bytes((30, 0))) == 1 and stream.values.count(bytes((20, 0))) == 1


def test_rows_that_are_moved_between_tables_of_others_change_nothing(make: Callable[..., Stream]) -> None:
    stream = make(6, 2)
    stream.removed.add("shop.other")
    stream.until(lambda: stream.values)
    stream.session.moved(["shop.other"])
    stream.until(lambda: not stream.session.active)
    assert stream.values == [bytes((n, 0)) for n in range(6)]


@pytest.mark.parametrize("restarted", [False, True])
def test_a_table_is_gone_before_the_stream_tells_its_new_name(make: Callable[..., Stream], *, restarted: bool) -> None:
    """The snapshot does not end until then: nobody would be told any more. `restarted`: the list of tables has the new
    name, too."""
    stream = make(6, 2, zzz=20)
    with stream.server.stall("shop.zzz"):
        stream.until(lambda: len(stream.values) == 6)
        progress = stream.progress
        if restarted:
            stream.session.close()
        with stream.server.changed:
            stream.server.tables["shop.aaa"] = stream.server.tables.pop("shop.zzz")
        stream.commit()
    if restarted:
        stream.begin(progress)
    for _ in range(100):
        stream.turn()
        time.sleep(0.001)
    assert stream.session.active
    stream.session.renamed("shop.zzz", "shop.aaa")
    stream.at = stream.log
    stream.until(lambda: not stream.session.active)
    assert stream.values[-1] == bytes((20, 0)) and stream.progress.ended_ms


def test_a_table_is_renamed_before_anything_is_read(
    make: Callable[..., Stream], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While what the first records need is read. They come once, and with the tables of then."""
    preparing, renamed = threading.Event(), threading.Event()
    begun: list[str] = []

    def prepare(encoder: Encoder, tables: Sequence[str], moment: object) -> None:
        preparing.set()
        renamed.wait(10)

    def begin(encoder: Encoder, identity: str) -> Sequence[Batch]:
        begun.append(identity)
        return ()

    monkeypatch.setattr(Encoder, "prepare", prepare)
    monkeypatch.setattr(Encoder, "begin", begin)
    stream = make(6, 2, zzz=20)
    assert preparing.wait(10)
    with stream.server.changed:
        stream.server.tables["shop.aaa"] = stream.server.tables.pop("shop.zzz")
    stream.session.renamed("shop.zzz", "shop.aaa")
    renamed.set()
    stream.until(lambda: not stream.session.active)
    assert stream.values == [bytes((20, 0)), *(bytes((n, 0)) for n in range(6))]
    assert (stream.progress.tables, len(begun)) == (2, 1)


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
    stream.until(lambda: stream.batches[-1].position.snapshot is not None and stream.progress.waits)
    assert stream.server.reads == [] and stream.session.active
    assert report(stream.progress, 9).waits == "waits: the source runs more than 4 statements"
    stream.server.load = 4
    stream.until(lambda: not stream.session.active)
    assert len(stream.values) == 3 and stream.progress.waits == ""


def test_it_can_be_closed_while_it_reads(make: Callable[[int, int], Stream]) -> None:
    stream = make(6, 2)
    with stream.server.stall(TABLE):
        stream.until(lambda: stream.server.reads)
        stream.session.close()
    assert stream.values == []


def test_closing_does_not_wait_for_a_connection(make: Callable[..., Stream]) -> None:
    """Nor for the definitions of many tables. What is opened later is closed then."""
    stream, connecting = make(6, 2), threading.Event()
    stream.session.close()
    opened: list[MemorySnapshotReader] = []

    def connect() -> MemorySnapshotReader:
        connecting.wait(60)
        opened.append(MemorySnapshotSource(stream.server).open("memory"))
        return opened[0]

    session = SnapshotSession(
        SnapshotProgress("initial", 1),
        start=stream.at,
        connect=connect,
        selected=lambda table: True,
        encoder=Encoder(),
        decoder=stream.decoder,  # type: ignore[arg-type]
        chunk_rows=5,
    )
    session.start()
    began = time.monotonic()
    session.close()
    assert time.monotonic() - began < 20
    connecting.set()
    deadline = time.monotonic() + 20
    while any(thread.name == "snapshot" for thread in threading.enumerate()):
        assert time.monotonic() < deadline, "the thread ends"
        time.sleep(0.01)
    with pytest.raises(SourceUnavailable):
        opened[0].tables()


def test_a_dropped_table_counts_when_all_is_read(make: Callable[..., Stream]) -> None:
    """The statement makes what was read stale, and the tables are listed again without it."""
    stream = make(6, 2, zzz=20)
    stream.until(lambda: stream.values)
    with stream.server.changed:
        del stream.server.tables[TABLE]
    stream.session.altered(TABLE)
    stream.until(lambda: not stream.session.active)
    assert stream.values[-1] == bytes((20, 0)) and (stream.progress.finished, stream.progress.tables) == (2, 2)
