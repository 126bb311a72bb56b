"""A consistent snapshot, over a source in memory: where the stream waits, and what becomes of a lost view."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from replicator.errors import SourceUnavailable
from replicator.model.position import Position
from replicator.model.snapshot import SnapshotProgress
from replicator.pipeline.ports import ConsistentViews
from replicator.pipeline.snapshot.consistent_session import ConsistentSession
from replicator.pipeline.snapshot.consistent_thread import is_consistent
from replicator.pipeline.snapshot.session import SnapshotSession
from replicator.pipeline.snapshot.stream_hold import StreamHold, relation_of
from replicator.source.memory_snapshot import MemorySnapshotSource
from tests.support.snapshot_stream import TABLE, Encoder, Stream

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


class Held(Stream):
    """Its session reads from views."""

    def begin(self, progress: SnapshotProgress, chunk_rows: int = 5, most_load: int = 0) -> None:
        def open_views(count: int, tables: Sequence[str]) -> ConsistentViews:
            views = MemorySnapshotSource(self.server).open_views("memory", count, tables)
            self.views.append(views)
            return views

        self.views: list[ConsistentViews] = []
        self.session: SnapshotSession = ConsistentSession(
            progress,
            open_views=open_views,
            start=self.at,
            connect=lambda: MemorySnapshotSource(self.server).open("memory"),
            selected=lambda table: True,
            encoder=Encoder(),
            decoder=self.decoder,
            chunk_rows=chunk_rows,
            connections=self.connections,
        )
        self.batches = []
        self.session.start()


@pytest.fixture(params=[1, 4], ids=["one connection", "four connections"])
def held(request: pytest.FixtureRequest) -> Iterator[Callable[..., Held]]:
    made: list[Held] = []

    def new(rows: int, zzz: int = 200) -> Held:
        made.append(Held(rows, 5, connections=request.param, zzz=zzz))
        return made[-1]

    yield new
    for stream in made:
        stream.session.close()


def test_rows_are_those_of_the_view_and_nothing_of_the_stream_is_in_between(held: Callable[..., Held]) -> None:
    stream = held(30)
    with stream.server.stall(TABLE):
        stream.until(lambda: stream.session.arrived)
        assert stream.session.holds and stream.values == []
        with stream.server.changed:
            stream.server.tables[TABLE].rows |= {(n,): bytes((n, 9)) for n in range(10, 40)}
        stream.commit()
    stream.until(lambda: not stream.session.active)
    assert stream.values == [bytes((n, 0)) for n in range(30)] + [bytes((200, 0))]
    assert not stream.session.holds
    progress = stream.progress
    assert (progress.cuts, progress.again, progress.cut_open) == (1, 0, False)
    assert progress.view == progress.consistent_since == "log.000001:100"


def test_the_stream_goes_on_to_the_place_of_the_view(held: Callable[..., Held]) -> None:
    """It has stopped before the view was opened, so that it cannot have passed it."""
    stream = held(3)
    behind, stream.log = stream.log, Position("log.000001", 130, server="memory")
    stream.until(lambda: stream.session.exact and stream.views)
    for offset in (behind.offset, 110, 120):
        stream.at = Position("log.000001", offset, server="memory")
        for _ in range(20):
            stream.turn()
            time.sleep(0.001)
        assert not stream.session.holds and stream.values == []
    stream.at = stream.log
    stream.until(lambda: not stream.session.active)
    assert len(stream.values) == 4 and stream.progress.view == "log.000001:130"


def test_a_stream_that_is_not_at_the_place_of_the_view_ends_the_session(held: Callable[..., Held]) -> None:
    stream = held(3)
    stream.log = Position("log.000001", 130, server="memory")
    stream.until(lambda: stream.views)
    stream.at = Position("log.000001", 140, server="memory")
    with pytest.raises(SourceUnavailable) as caught:
        stream.until(lambda: not stream.session.active)
    assert caught.value.code == "E2225" and stream.values == []


def test_what_takes_over_begins_again_from_a_new_view(held: Callable[..., Held]) -> None:
    stream = held(30)
    with stream.server.stall(TABLE, ("14",)):
        stream.until(lambda: len(stream.values) >= 15)
        stream.until(lambda: stream.progress.rows == 15)
        before = stream.progress
        stream.session.close()
    assert before.cut_open
    with stream.server.changed:
        stream.server.tables[TABLE].rows = {(n,): bytes((n, 1)) for n in range(10)}
    stream.commit()
    stream.at = stream.log
    stream.begin(before)
    stream.until(lambda: not stream.session.active)
    assert stream.values == [*(bytes((n, 1)) for n in range(10)), bytes((200, 0))]
    progress = stream.progress
    assert (progress.cuts, progress.again, progress.rows) == (2, 15, 11) and progress.view == "log.000001:110"


def test_a_table_that_has_changed_loses_the_view(held: Callable[..., Held]) -> None:
    stream = held(30)
    with stream.server.stall(TABLE):
        stream.until(lambda: stream.server.reads)
        stream.server.failures.append(SourceUnavailable("E2225", "the consistent view is lost"))
    with pytest.raises(SourceUnavailable) as caught:
        stream.until(lambda: not stream.session.active)
    assert caught.value.code == "E2225"


def test_it_can_be_closed_while_the_stream_waits(held: Callable[..., Held]) -> None:
    stream = held(30)
    with stream.server.stall(TABLE):
        stream.until(lambda: stream.session.holds and stream.session.arrived)
        stream.session.close()
    assert stream.values == []


BEGUN = SnapshotProgress("initial", 1, tables=2)


@pytest.mark.parametrize(
    ("progress", "wanted", "expected"),
    [
        (SnapshotProgress("initial", 1), True, True),
        (SnapshotProgress("initial", 1), False, False),
        (SnapshotProgress("needed-2", 1), True, True),
        (SnapshotProgress("order-7", 1), True, False),
        (BEGUN, True, False),  # without a view
        (SnapshotProgress("initial", 1, tables=2, cut_ms=5, cut_open=True), True, True),
        (SnapshotProgress("initial", 1, tables=2, cut_ms=5), True, False),  # what was in quarantine
        (SnapshotProgress("initial", 1, tables=2, cut_ms=5, ended_ms=9), True, False),
    ],
)
def test_which_snapshots_are_read_from_a_view(progress: SnapshotProgress, wanted: bool, expected: bool) -> None:
    assert is_consistent(progress, wanted=wanted) is expected


def at(offset: int, gtid: str = "", file: str = "log.000002", server: str = f"{UUID}@9") -> Position:
    return Position(file, offset, gtid, server=server)


@pytest.mark.parametrize(
    ("position", "place", "expected"),
    [
        (at(100), at(100), "same"),
        (at(90), at(100), "behind"),
        (at(110), at(100), "ahead"),
        (at(900, file="log.000001"), at(100), "behind"),
        (at(4, file="log.000003"), at(100), "ahead"),
        (at(4, f"{UUID}:1-5", "log.000003"), at(100, f"{UUID}:1-5"), "same"),  # a new file, and nothing in it
        (at(4, f"{UUID}:1-6", "log.000003"), at(100, f"{UUID}:1-5"), "ahead"),
        (at(100, file="other.000002"), at(100), "unknown"),
    ],
)
def test_where_the_stream_is_seen_from_the_view(position: Position, place: Position, expected: str) -> None:
    assert relation_of(position, place) == expected


def test_a_hold_stops_first_and_then_goes_on_to_the_place() -> None:
    hold = StreamHold()
    hold.seen(at(50))
    assert not hold.holds
    hold.asked = True
    hold.seen(at(60))
    assert hold.holds and not hold.arrived
    hold.place = at(80)
    assert not hold.holds
    hold.seen(at(70))
    assert not hold.holds
    hold.seen(at(80))
    assert hold.holds and hold.arrived
    hold.seen(at(999))
    assert hold.holds
