"""Who reads, and that nothing is lost, doubled or turned around where one hands over to the other."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.errors import DecodeError, ReplicatorError, SourceUnavailable
from replicator.model.batch import Batch
from replicator.model.position import Position
from replicator.pipeline import reader
from replicator.pipeline.buffer import Buffer
from replicator.pipeline.ports import Watcher
from replicator.pipeline.reader import Reader
from tests.support.scripted import part, row, whole

LARGE = reader._BACKLOG_BYTES


class Pieces:
    """Stream and decoder: what a read brings is put in by the test.

    Attributes:
        readers: the threads that have read.
    """

    framing: Literal["packet", "file"] = "packet"

    def __init__(self) -> None:
        self.position = Position("b.1", 0)
        self.given: queue.Queue[tuple[int, list[Batch]] | Exception] = queue.Queue()
        self.decoded: list[Batch] = []
        self.more = False
        self.between = True
        self.readers: list[int] = []
        self.asked: list[float] = []
        self.ended = 0

    def server_error(self, errno: int, sqlstate: str, message: str) -> ReplicatorError:
        raise AssertionError("not asked for")

    def close(self) -> None: ...

    def watch(self, watcher: Watcher | None) -> None: ...

    def put(self, *batches: Batch, size: int = 1) -> None:
        self.given.put((size, list(batches)))

    def read(self, timeout: float) -> bytes:
        self.readers.append(threading.get_ident())
        self.asked.append(timeout)
        try:
            found = self.given.get(timeout=timeout)
        except queue.Empty:
            return b""
        if isinstance(found, Exception):
            raise found
        size, batches = found
        self.decoded += batches
        return bytes(size)

    def feed(self, data: bytes) -> list[Batch]:
        made, self.decoded = self.decoded[:1], self.decoded[1:]
        self.more = bool(self.decoded)
        return made

    def end(self) -> None:
        self.ended += 1


class Half:
    """A reader, and what it stands between."""

    def __init__(self, end: int | None = None, careful: int = 0, limit: int = 1 << 20) -> None:
        self.pieces = Pieces()
        self.stopping = threading.Event()
        self.buffer = Buffer(limit)
        self.reader = Reader(
            self.pieces,
            self.pieces,
            self.buffer,
            stopping=self.stopping,
            is_end=lambda position: end is not None and position.offset >= end,
            ends=end is not None,
            seen=None,
            careful=careful,
        )

    def take(self, count: int) -> list[int]:
        """Ends of the transactions that come, until they are as many."""
        taken: list[int] = []
        until = time.monotonic() + 10
        while len(taken) < count and time.monotonic() < until:
            batch = self.reader.get(0.05)
            if batch is not None:
                taken.append(batch.position.offset)
        return taken

    def rested(self) -> None:
        """Until the thread has given the stream back."""
        until = time.monotonic() + 10
        while self.reader._away:
            assert time.monotonic() < until
            time.sleep(0.005)


@pytest.fixture
def half() -> Iterator[Half]:
    made = Half()
    yield made
    made.stopping.set()
    made.buffer.abandon()
    made.reader.join()


@pytest.fixture
def shortly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_BACKLOG_SECONDS", 0.5)
    monkeypatch.setattr(reader, "_THREAD_PATIENCE", 0.02)


def test_while_little_comes_whoever_takes_it_reads(half: Half) -> None:
    half.pieces.put(whole(0))
    half.pieces.put(whole(1))
    half.pieces.put()
    half.pieces.put(whole(2))
    assert half.take(3) == [1, 2, 3]
    assert set(half.pieces.readers) == {threading.get_ident()}
    assert half.reader._thread is None
    assert half.reader.low


def test_it_waits_no_longer_than_it_was_asked_to(half: Half) -> None:
    began = time.monotonic()
    assert half.reader.get(0.05) is None
    assert time.monotonic() - began < 5
    assert half.pieces.asked == [0.05]
    assert not half.reader.finished()


@pytest.mark.usefixtures("shortly")
def test_a_backlog_is_read_beside_and_then_no_more(half: Half) -> None:
    half.pieces.put(whole(0), size=LARGE)
    assert half.take(1) == [1]
    assert half.reader._away
    half.pieces.put(whole(1))
    assert half.take(1) == [2]
    assert threading.get_ident() not in half.pieces.readers[1:]
    half.rested()
    half.pieces.put(whole(2))
    assert half.take(1) == [3]
    assert half.pieces.readers[-1] == threading.get_ident()
    half.pieces.put(whole(3), size=LARGE)
    assert half.take(1) == [4]
    assert half.reader._away, "as often as there is one"


def test_what_a_read_brings_in_many_pieces_is_decoded_beside(half: Half) -> None:
    """A compressed transaction may be small and become large; and `low` would have each piece committed alone."""
    half.pieces.put(*[whole(number) for number in range(50)])
    first = half.reader.get(1)
    assert first is not None
    assert half.reader._thread is not None
    assert half.take(49) == list(range(2, 51))


def test_a_thread_that_is_read_by_nobody_waits(half: Half) -> None:
    half = Half(limit=150)
    half.pieces.put(*[whole(number, size=100) for number in range(20)], size=LARGE)
    assert half.take(1) == [1]
    time.sleep(0.05)
    assert half.buffer.size <= 200
    half.stopping.set()
    half.buffer.abandon()
    half.reader.join()


@pytest.mark.usefixtures("shortly")
def test_giving_back_while_somebody_waits(half: Half) -> None:
    """He goes on by reading himself."""
    half.pieces.put(whole(0), size=LARGE)
    assert half.take(1) == [1]
    came: list[int] = []
    taker = threading.Thread(target=lambda: came.extend(half.take(1)))
    taker.start()
    half.rested()
    half.pieces.put(whole(1))
    taker.join(10)
    assert came == [2]
    assert taker.ident in half.pieces.readers


@pytest.mark.usefixtures("shortly")
@given(
    st.lists(st.tuples(st.sampled_from([1, 1, 1, LARGE]), st.integers(0, 3), st.sampled_from([0.0, 0.0, 0.03, 0.08])))
)
def test_everything_comes_once_and_in_order(reads: list[tuple[int, int, float]]) -> None:
    half, number = Half(), 0

    def write() -> None:
        nonlocal number
        for size, count, pause in reads:
            half.pieces.put(*[whole(number + each) for each in range(count)], size=size)
            number += count
            time.sleep(pause / 10)

    writer = threading.Thread(target=write)
    writer.start()
    wanted = sum(count for _, count, _ in reads)
    taken = half.take(wanted)
    writer.join()
    assert taken == list(range(1, wanted + 1))
    half.stopping.set()
    half.buffer.abandon()
    half.reader.join()


@pytest.mark.parametrize("size", [1, LARGE], ids=["here", "beside"])
def test_an_error_comes_behind_what_was_read_before_it(half: Half, size: int) -> None:
    half.pieces.put(whole(0), size=size)
    half.pieces.given.put(SourceUnavailable("E2002", "lost"))
    assert half.take(1) == [1]
    assert half.take(0) == []
    until = time.monotonic() + 10
    with pytest.raises(SourceUnavailable):
        while time.monotonic() < until:
            assert half.reader.get(0.05) is None
            assert not half.reader.finished()
    assert half.pieces.ended == 1, "the decoder says more where it stands inside an event"


@pytest.mark.parametrize("size", [1, LARGE], ids=["here", "beside"])
def test_what_the_decoder_refuses(half: Half, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(data: bytes) -> list[Batch]:
        if data:
            raise DecodeError("E2302", "an event can't be read")
        return []

    monkeypatch.setattr(half.pieces, "feed", refuse)
    half.pieces.put(size=size)
    until = time.monotonic() + 10
    with pytest.raises(DecodeError):
        while time.monotonic() < until:
            assert half.reader.get(0.05) is None
            half.reader.finished()


@pytest.mark.parametrize("size", [1, LARGE], ids=["here", "beside"])
def test_whoever_is_to_stop_delivers_what_was_read(half: Half, size: int) -> None:
    half.pieces.put(whole(0), size=size)
    half.pieces.put(whole(1), whole(2), size=size)
    assert half.take(2) == [1, 2]
    half.stopping.set()
    half.pieces.given.put(SourceUnavailable("E2002", "closed by us"))
    rest = [batch.position.offset for batch in iter(lambda: half.reader.get(0.3), None)]
    assert rest == [3][: len(rest)]
    assert half.reader.finished()


@pytest.mark.parametrize("size", [1, LARGE], ids=["here", "beside"])
def test_nothing_behind_the_given_end(size: int) -> None:
    half = Half(end=2)
    half.pieces.put(*[whole(number) for number in range(5)], size=size)
    assert half.take(2) == [1, 2]
    assert half.reader.get(0.5) is None
    assert half.reader.finished()
    half.reader.join()
    assert len(half.pieces.readers) == 1


def test_few_rows_of_an_unfinished_transaction_wait_for_its_end(half: Half) -> None:
    half.pieces.put(part(0, 2, size=10))
    half.pieces.put(Batch([row(0)], Position("b.1", 1), True, 1, 1, 10, 5))
    batch = half.reader.get(1)
    assert batch is None or batch.boundary
    batch = batch or half.reader.get(1)
    assert batch is not None
    assert (batch.boundary, len(batch.records)) == (True, 3)


def test_carefully_in_small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    half = Half(careful=1000)
    fed: list[int] = []
    feed: Callable[[bytes], list[Batch]] = half.pieces.feed

    def noted(data: bytes) -> list[Batch]:
        fed.append(len(data))
        return feed(data)

    monkeypatch.setattr(half.pieces, "feed", noted)
    half.pieces.put(size=150)
    assert half.reader.get(0.05) is None
    assert fed == [64, 64, 22]
    assert half.reader.careful == 850
