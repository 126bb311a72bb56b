"""The ring never gives torn bytes, however the writer's steps fall between those of a read."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replicator.source.shared.pace import Pace
from replicator.source.shared.ring import CONTROL, Overtaken, Reader, Writer


def stream(start: int, size: int) -> bytes:
    """Bytes `start` to `start + size` of a stream in which every place differs from those a ring's length away."""
    return bytes((position * 31 + position // 61) % 251 for position in range(start, start + size))


class Interrupted:
    """A ring in which something happens before and after each slice is copied, byte by byte."""

    def __init__(self, ring: memoryview, happens: Callable[[], None]) -> None:
        self._ring, self._happens = ring, happens

    def __getitem__(self, where: slice) -> bytes:
        copied = bytearray()
        for at in range(where.start or 0, where.stop):
            self._happens()
            copied.append(self._ring[at])
        self._happens()
        return bytes(copied)


@settings(max_examples=300, deadline=None)
@given(
    size=st.integers(4, 40),
    before=st.lists(st.integers(1, 12), min_size=1, max_size=30),
    during=st.lists(st.integers(0, 12), max_size=60),
    most=st.integers(1, 64),
)
def test_a_read_gives_the_stream_or_says_that_it_was_overtaken(size, before, during, most):
    control, ring = memoryview(bytearray(CONTROL)), memoryview(bytearray(size))
    writer = Writer(control, ring)
    turns = iter(during)

    def write(length: int) -> None:
        piece = memoryview(stream(writer.end, min(length, size)))
        if piece:
            writer.write(piece)
            writer.publish(writer.end)

    reader = Reader(control, Interrupted(ring, lambda: write(next(turns, 0))), size, 3)
    reader.begin(0)
    for length in before:
        write(length)
        start = reader.cursor
        try:
            data = reader.read(most)
        except Overtaken:
            assert writer.floor > start
            reader.begin(writer.end)
            continue
        assert data == stream(start, len(data))
        assert reader.cursor == start + len(data)


def test_what_is_half_overwritten_is_refused():
    """The writer has raised its floor and written nothing yet: the old bytes are still there, and no longer given."""
    control, ring = memoryview(bytearray(CONTROL)), memoryview(bytearray(8))
    writer, reader = Writer(control, ring), Reader(control, ring, 8, 0)
    reader.begin(0)
    writer.write(memoryview(b"12345678"))
    writer.publish(8)
    writer.write(memoryview(b"9"))
    with pytest.raises(Overtaken):
        reader.read(8)


def test_only_what_is_published_is_read():
    control, ring = memoryview(bytearray(CONTROL)), memoryview(bytearray(8))
    writer, reader = Writer(control, ring), Reader(control, ring, 8, 0)
    reader.begin(0)
    writer.write(memoryview(b"abcd"))
    writer.publish(2)
    assert reader.read(8) == b"ab"
    assert reader.wait()
    assert writer.waiting([0]) == [0]
    assert writer.waiting([0]) == []
    writer.publish(4)
    assert not reader.wait()
    assert writer.cursors([0, 1]) == [2]
    writer.free(0)
    assert writer.cursors([0]) == []


def waited(pace: Pace, cursors: list[int], now: float, floor: int = 0, after: int = 10) -> float:
    """Seconds that the writer waits in all when nobody moves; at most a minute."""
    spent = 0.0
    while (wait := pace.wait(floor, after, cursors, now + spent)) and spent < 60:
        spent += wait
    return spent


def test_the_writer_never_leaves_everybody_behind():
    assert waited(Pace(), [3, 9], 100.0) >= 60


def test_the_writer_goes_on_without_readers_and_without_those_that_are_lost():
    assert waited(Pace(), [], 100.0) == 0
    assert waited(Pace(), [3, 9], 100.0, floor=20, after=30) == 0
    assert waited(Pace(), [3, 50], 100.0, floor=20, after=30) == 0


def test_a_slow_reader_holds_the_others_up_for_half_a_second_and_seldom():
    pace = Pace()
    assert waited(pace, [3, 50], 100.0) == pytest.approx(0.5, abs=0.05)
    assert waited(pace, [3, 50], 101.0) < 0.05
    assert waited(pace, [3, 50], 200.0) == pytest.approx(0.5, abs=0.05)
