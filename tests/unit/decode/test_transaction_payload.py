"""Compressed transactions: piece by piece, resumed, and everything that can be wrong with one."""

import struct
import tracemalloc
from zlib import crc32

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from replicator.decode.binlog import event_types, transaction_payload
from replicator.errors import DecodeError
from replicator.model.position import Inside, Position
from tests.data.binlog import read
from tests.support.present import present
from tests.unit.decode.binlog_writer import IDS, Log, compressed, decoder, event, records, table_map
from tests.unit.decode.binlog_writer import payload as packed

CODES = ("E2209", "E2301", "E2302", "E2303", "E2304", "E2305", "E2306", "E2307")


def inner(kind, body=b"", flags=0):
    return event(kind, body, checksum=False, end=0, flags=flags)


def query(text):
    return inner(event_types.QUERY, struct.pack("<IIBHH", 9, 0, 4, 0, 0) + b"shop\0" + text.encode())


def inserted(first, count):
    body = b"".join(b"\0" + struct.pack("<i", value) for value in range(first, first + count))
    return inner(event_types.WRITE_ROWS, (1).to_bytes(6, "little") + b"\x01\0\x02\0\x01\xff" + body)


def transaction(*parts):
    return b"".join(
        [query("BEGIN"), inner(event_types.TABLE_MAP, table_map(IDS)), *parts, inner(event_types.XID, bytes(8))]
    )


def log(*parts, **lies):
    return Log().gtid(1).add(event_types.TRANSACTION_PAYLOAD, packed(transaction(*parts), **lies)).insert(2, 7)


def fails(body, code="E2302"):
    made = decoder()
    with pytest.raises(DecodeError) as caught:
        for piece in (Log().gtid(1).add(event_types.TRANSACTION_PAYLOAD, body).raw, b"", b""):
            assert records(made.feed(piece)) == []
    assert caught.value.code == code
    assert caught.value.position.startswith("binlog.000001:")
    return caught.value


def rows(batches):
    return [(struct.unpack("<i", bytes.fromhex(present(r[2])[2:-2].decode()))[0], r[4]) for r in records(batches)]


def test_the_position_is_that_of_the_payload():
    made = decoder()
    stream = log(inserted(1, 2))
    first = Log().gtid(1).at
    (batch,) = made.feed(stream.raw)
    assert rows([batch]) == [(1, 0), (2, 1), (7, 0)]
    assert (batch.position.offset, batch.transactions) == (stream.at, 2)
    made = decoder()
    (before,) = made.feed(Log().insert(1, 1).raw)
    head = Log().gtid(1).add(event_types.TRANSACTION_PAYLOAD, packed(transaction(inserted(1, 1))))
    (after,) = decoder().feed(head.raw)
    assert after.position.offset == head.at > first
    assert before.records == after.records


@pytest.mark.parametrize("compression", [0, 255])
def test_stored_or_compressed(compression):
    assert rows(decoder().feed(log(inserted(1, 3), compression=compression).raw)) == [(1, 0), (2, 1), (3, 2), (7, 0)]


def test_several_frames_are_one_payload():
    body = transaction(inserted(1, 3))
    whole = packed(body)
    frames = b"".join(zstandard.compress(body[at : at + 20]) for at in range(0, len(body), 20))
    size = len(zstandard.compress(body))
    head = whole[:-size].replace(b"\x01\x01" + bytes((size,)), b"\x01\x01" + bytes((len(frames),)))
    assert len(frames) < 251
    stream = Log().gtid(1).add(event_types.TRANSACTION_PAYLOAD, head + frames)
    assert rows(decoder().feed(stream.raw)) == [(1, 0), (2, 1), (3, 2)]


def test_it_leaves_piece_by_piece_and_every_place_resumes(monkeypatch):
    monkeypatch.setattr(transaction_payload, "PIECE", 100)
    stream = log(*(inserted(first, 10) for first in range(0, 200, 10)))
    made = decoder()
    batches = made.feed(stream.raw)
    assert made.more
    while made.more:
        batches += made.feed(b"")
    wanted = [*((value, value) for value in range(200)), (7, 0)]
    assert rows(batches) == wanted
    assert len(batches) > 10
    assert max(len(batch.records) for batch in batches[:-1]) <= 20  # the last one has the next transaction, too
    seen = 0
    for batch in batches[:-1]:
        seen += len(batch.records)
        assert batch.position == Position("binlog.000001", Log().at, "", seen, inside=Inside("", seen // 10))
        rest = decoder(position=batch.position)
        resumed = rest.feed(Log(at=batch.position.offset).raw + stream.raw[len(Log().raw) :])
        while rest.more:
            resumed += rest.feed(b"")
        assert rows(resumed) == wanted[seen:]


def test_who_does_not_ask_for_the_rest_gets_it_with_the_next_data(monkeypatch):
    monkeypatch.setattr(transaction_payload, "PIECE", 100)
    stream = log(*(inserted(first, 10) for first in range(0, 200, 10))).raw
    made = decoder()
    batches = [batch for at in range(0, len(stream), 50) for batch in made.feed(stream[at : at + 50])]
    while made.more:
        batches += made.feed(b"")
    assert rows(batches) == [*((value, value) for value in range(200)), (7, 0)]


def test_an_error_comes_behind_what_was_whole(monkeypatch):
    monkeypatch.setattr(transaction_payload, "PIECE", 100)
    body = transaction(*(inserted(first, 10) for first in range(0, 100, 10)), inserted(0, 1)[:-1])
    stream = Log().insert(1, 7).gtid(2).add(event_types.TRANSACTION_PAYLOAD, packed(body))
    made = decoder()
    batches = made.feed(stream.raw)
    with pytest.raises(DecodeError, match="E2302"):
        while True:
            batches += made.feed(b"")
            assert made.more or not batches[-1].boundary or len(batches) == 1
    assert not made.more
    assert [batch.boundary for batch in batches] == [True, *[False] * (len(batches) - 1)]


def test_memory_is_bounded_by_the_piece():
    """300 MB of rows in about 30 kB."""
    many = inserted(0, 50_000)
    body = zstandard.ZstdCompressor()
    stream = body.compressobj()
    out, size = [], 0
    for part in (
        query("BEGIN"),
        inner(event_types.TABLE_MAP, table_map(IDS)),
        *[many] * 1200,
        inner(event_types.XID, bytes(8)),
    ):
        size += len(part)
        out.append(stream.compress(part))
    small = b"".join([*out, stream.flush()])
    assert size > 300_000_000 > 1000 * len(small)
    whole = packed(b"", uncompressed=size, size=len(small))
    raw = Log().gtid(1).add(event_types.TRANSACTION_PAYLOAD, whole[: -len(zstandard.compress(b""))] + small).raw
    made = decoder(planner=lambda table: None)
    tracemalloc.start()
    try:
        batches = made.feed(raw)
        pieces = 0
        while made.more:
            batches += made.feed(b"")
            pieces += 1
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()
    assert pieces > 100
    assert batches[-1].transactions == 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        packed(transaction(inserted(1, 1)))[:-1],
        packed(transaction(inserted(1, 1))) + b"\0",
        packed(transaction(inserted(1, 1)), size=5),
        packed(transaction(inserted(1, 1)), uncompressed=50),
        packed(transaction(inserted(1, 1)), uncompressed=5000),
        packed(transaction(inserted(1, 1))[:-1]),
        packed(transaction(inserted(1, 1))) + packed(transaction()),
        packed(transaction(inserted(1, 1)) + b"?"),
        packed(query("BEGIN") + struct.pack("<IBIIIH", 0, event_types.XID, 7, transaction_payload.LONGEST + 1, 0, 0)),
        packed(query("BEGIN") + struct.pack("<IBIIIH", 0, event_types.XID, 7, 18, 0, 0)),
        packed(transaction(inner(event_types.TRANSACTION_PAYLOAD, packed(transaction(inserted(1, 1)))))),
        packed(transaction(inner(event_types.GTID, bytes(60)))),
        packed(transaction(inner(event_types.ROTATE, bytes(8) + b"binlog.000009"))),
        packed(transaction(inserted(1, 1)[:-1])),
        packed(inserted(1, 1)),
        b"\1\1\2\1\1\2\0??",
        b"\1\2\2\2\0??",
        b"\2\1\0\0",
        b"\xfe" + b"\xff" * 8,
    ],
)
def test_damage(body):
    fails(body)


def test_what_came_after_these_versions():
    assert "binlog_transaction_compression" in fails(b"\2\1\7\1\1\1\0?", "E2301").fix
    assert "event type 99" in fails(packed(transaction(inner(99))), "E2301").what
    stream = (
        Log().gtid(1).add(event_types.TRANSACTION_PAYLOAD, b"\x09\x02\xfb\xff" + packed(transaction(inserted(1, 1))))
    )
    assert rows(decoder().feed(stream.raw)) == [(1, 0)], "a field that is not known is passed over"
    skippable = inner(99, flags=event_types.FLAG_IGNORABLE)
    assert rows(decoder().feed(log(skippable, inserted(1, 1)).raw)) == [(1, 0), (7, 0)]


def test_recorded_transactions_are_all_compressed_in_these_tests():
    raw = compressed(read("mysql_transactions")[4:])
    kinds, at = [], 0
    while at < len(raw):
        kinds.append(raw[at + 4])
        at += int.from_bytes(raw[at + 9 : at + 13], "little")
    assert kinds.count(event_types.TRANSACTION_PAYLOAD) >= 10
    assert not {event_types.WRITE_ROWS, event_types.UPDATE_ROWS, event_types.DELETE_ROWS, event_types.TABLE_MAP} & set(
        kinds
    )


@settings(max_examples=300, deadline=2000)
@given(st.data())
def test_damage_inside(data):
    """Bytes that decompress well and mean nothing: an error or another value, and the size that was stated."""
    raw = bytearray(transaction(inserted(1, 3), inserted(4, 3)))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    made = decoder()
    try:
        made.feed(Log().gtid(1).add(event_types.TRANSACTION_PAYLOAD, packed(bytes(raw))).raw)
        made.feed(b"")
    except DecodeError as error:
        assert error.code in CODES


@settings(max_examples=300, deadline=2000)
@given(st.data())
def test_damage_outside(data):
    """Compressed bytes or their header are damaged, and the event's checksum fits: a coded error, or other bytes of
    the stated length, as zstd has no checksum of its own here."""
    raw = bytearray(packed(transaction(inserted(1, 3))))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    stream = Log().gtid(1).add(event_types.TRANSACTION_PAYLOAD, bytes(raw)).raw
    assert crc32(stream[-len(raw) - 23 : -4]) == int.from_bytes(stream[-4:], "little")
    made = decoder()
    try:
        made.feed(stream)
        made.feed(b"")
    except DecodeError as error:
        assert error.code in CODES


@settings(max_examples=200, deadline=2000)
@given(st.binary(max_size=80))
def test_garbage(body):
    made = decoder()
    try:
        made.feed(Log().gtid(1).add(event_types.TRANSACTION_PAYLOAD, body).raw)
        made.feed(b"")
    except DecodeError as error:
        assert error.code in CODES
