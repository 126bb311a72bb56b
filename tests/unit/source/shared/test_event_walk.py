"""Where events end, over every way to cut a stream into reads; the compiled loop and Python agree."""

from __future__ import annotations

import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replicator import compiled
from replicator.source.binlog_layout import packets
from replicator.source.shared.event_walk import EventWalk, _skip_nothing, compiled_skip

FILE = "binlog.000007"
ARTIFICIAL = 0x20
SKIPS = [_skip_nothing, *([compiled_skip()] if compiled.available() else [])]


def event(kind: int, end: int, body: bytes, flags: int = 0) -> bytes:
    return struct.pack("<IBIIIH", 1, kind, 1, 19 + len(body), end & 0xFFFFFFFF, flags) + body


def rotate(file: str, offset: int, *, checksum: bool = False) -> bytes:
    body = struct.pack("<Q", offset) + file.encode()
    if not checksum:
        return event(4, 0, body, ARTIFICIAL)
    head = struct.pack("<IBIIIH", 1, 4, 1, 19 + len(body) + 4, 0, ARTIFICIAL) + body
    return head + struct.pack("<I", zlib.crc32(head))


Kinds = st.sampled_from(["event", "event", "event", "heartbeat", "artificial", "rotate", "annotated"])


@st.composite
def streams(draw):
    """(bytes, [(end in the stream, file, offset)])"""
    file, offset = FILE, draw(st.sampled_from([4, 1000, (1 << 32) - 60]))
    data = packets(rotate(file, offset, checksum=draw(st.booleans())))
    ends = [(len(data), file, offset)]
    for number in range(draw(st.integers(0, 12))):
        kind = draw(Kinds)
        body = bytes(draw(st.integers(0, 40)))
        if kind == "event" or kind == "annotated":
            gap = 77 if kind == "annotated" else 0  # an event that was not asked for lies between
            offset += 19 + len(body) + gap
            data += packets(event(30, offset, body))
        elif kind == "heartbeat":
            data += packets(event(27, offset, file.encode()))
        elif kind == "artificial":
            data += packets(event(15, 0, body, ARTIFICIAL))
        else:
            data += packets(event(4, offset + 50, b"\4" + bytes(7) + b"next"))
            ends.append((len(data), file, offset + 50))
            file, offset = f"binlog.{number + 8:06}", 4
            data += packets(rotate(file, 4))
        ends.append((len(data), file, offset))
    return data, ends


def feed(walk: EventWalk, data: bytes, cuts: list[int]) -> None:
    for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        walk.feed(memoryview(data)[start:end])


@pytest.mark.parametrize("skip", SKIPS)
@settings(max_examples=200, deadline=None)
@given(stream=streams(), rest=st.randoms())
def test_the_place_is_that_of_the_last_whole_event(skip, stream, rest):
    data, ends = stream
    size = rest.randint(0, len(data))
    cuts = sorted(rest.randint(0, size) for _ in range(rest.randint(0, 6)))
    walk = EventWalk(skip)
    feed(walk, data[:size], cuts)
    last = max((end for end in ends if end[0] <= size), default=(0, "", 0))
    assert (walk.boundary, walk.file, walk.offset) == last
    assert walk.boundary <= walk.safe <= size == walk.total
    assert walk.between == (last[0] == size)
    assert not walk.ended and not walk.lost


@pytest.mark.parametrize("skip", SKIPS)
@settings(max_examples=100, deadline=None)
@given(stream=streams(), number=st.integers(0, 20))
def test_a_target_is_met_exactly(skip, stream, number):
    data, ends = stream
    places = [end for end in ends if end[1] == FILE]
    begin, target = places[0], places[min(number, len(places) - 1)]
    if target[2] == begin[2]:
        return
    walk = EventWalk(skip)
    walk.file, walk.offset = FILE, begin[2]
    walk.feed(memoryview(data)[begin[0] :], target[2])
    first = next(end for end in places if end[2] == target[2])
    assert begin[0] + walk.boundary == first[0]


@pytest.mark.parametrize("skip", SKIPS)
@pytest.mark.parametrize("step", [1, 7, 1 << 25])
def test_an_event_of_several_packets_is_one_event(skip, step):
    long = packets(event(30, 4 + 19 + 0xFFFFFF, bytes(0xFFFFFF - 20 + 1)))  # its last packet is empty or short
    data = packets(rotate(FILE, 4)) + long + packets(event(30, 4 + 19 + 0xFFFFFF + 19, b""))
    walk = EventWalk(skip)
    head, tail = data[:200], data[200:]
    for at in range(0, len(head), step):
        walk.feed(memoryview(head)[at : at + step])
    assert walk.file == FILE and walk.offset == 4 and walk.boundary < 100
    assert walk.safe == 200
    walk.feed(memoryview(tail))
    assert walk.boundary == len(data) and walk.offset == 4 + 19 + 0xFFFFFF + 19


@pytest.mark.parametrize("skip", SKIPS)
@pytest.mark.parametrize("status", [b"\xff\x01\x02gone", b"\xfe\x00\x00\x02\x00"])
@pytest.mark.parametrize("step", [1, 3, 1000])
def test_nothing_of_an_error_or_an_end_is_safe(skip, status, step):
    good = packets(rotate(FILE, 4)) + packets(event(30, 100, bytes(8)))
    data = good + struct.pack("<I", len(status)) + status
    walk = EventWalk(skip)
    for at in range(0, len(data), step):
        walk.feed(memoryview(data)[at : at + step])
        assert walk.safe <= len(good)
    assert walk.ended and walk.safe == len(good)


@pytest.mark.parametrize("skip", SKIPS)
def test_a_stream_that_goes_back_is_lost(skip):
    walk = EventWalk(skip)
    walk.feed(memoryview(packets(rotate(FILE, 1000)) + packets(event(30, 500, bytes(8)))))
    assert walk.lost
