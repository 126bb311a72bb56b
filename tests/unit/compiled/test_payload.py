"""Compressed transactions: the compiled decoder gives what the Python one gives, and Python sees next to nothing."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import zstandard

from replicator.decode.binlog import transaction_payload
from replicator.decode.decoder import BinlogDecoder
from replicator.decode.native.compiled_decoder import CompiledDecoder
from replicator.decode.transactions.transaction_state import attributes
from replicator.errors import DecodeError
from replicator.model.condition import And, Compare, Condition, Filter, IsNull, Like, Not, Of, OneOf, Or
from replicator.model.position import Position
from tests.unit.compiled import both as pair
from tests.unit.compiled.test_decoder import told_of_statements
from tests.unit.decode.binlog_writer import compressed, event, payload

RECORDINGS = [path for path in pair.recordings() if pair.flavor(path) == "mysql"]
NAMES = [path.name.partition(".")[0] for path in RECORDINGS]
_PAYLOAD, _HEADER = 40, 19
FILTERS: list[
    tuple[Condition, bool]
] = [  # of bench.orders: id, customer_id, sku, quantity, price, status, created, updated, note
    (And((Compare(Of(3), ">", 20), Like(Of(2), "SKU-%"))), True),
    (OneOf(Of(5), ("paid", "new")), True),  # updates move rows in and out
    (Not(Compare(Of(4), ">=", Decimal("0.305"))), True),
    (Or((IsNull(Of(8, "after")), Compare(Of(3, "before"), "<>", Of(3, "after")))), False),
]
_TIMES = 40
START = Position("binlog.000001", 4)


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Transactions of several pieces, which the loop does not decompress by itself: it takes what is in a piece."""
    monkeypatch.setattr(transaction_payload, "PIECE", 700)


def squeezed(path: Path) -> bytes:
    return squeezed_stream(pair.read(path))


def squeezed_stream(raw: bytes) -> bytes:
    return compressed(raw)


@pytest.mark.parametrize("form", pair.FORMATS)
@pytest.mark.parametrize("path", RECORDINGS, ids=NAMES)
def test_recorded_binlogs(path: Path, form: str) -> None:
    raw = squeezed(path)
    for framing, stream in (("file", raw), ("packet", pair.as_packets(raw))):
        twin, ours = pair.both(form, "mysql", framing, pair.cut(stream, 30_011))  # type: ignore[arg-type]
        assert ours == twin


@pytest.mark.parametrize("form", pair.FORMATS)
@pytest.mark.parametrize("path", RECORDINGS, ids=NAMES)
def test_piece_by_piece(path: Path, form: str, small_pieces: None) -> None:
    twin, ours = pair.both(form, "mysql", "file", [squeezed(path)])
    assert ours == twin


@pytest.mark.parametrize("form", ["debezium", "canal"])
def test_with_the_texts_of_statements(form: str) -> None:
    raw = compressed(b"".join(told_of_statements(pair.read(RECORDINGS[NAMES.index("mysql_orders")]))))
    twin, ours = pair.both(form, "mysql", "file", pair.cut(raw, 997))
    assert ours == twin


def test_the_states_are_alike_after_every_read() -> None:
    raw = squeezed(RECORDINGS[NAMES.index("mysql_orders")])
    twin, ours = (pair.decoder(kind, "maxwell", "mysql", "file", START) for kind in (BinlogDecoder, CompiledDecoder))
    for piece in pair.cut(raw, 509):
        twin.feed(piece)
        ours.feed(piece)
        assert attributes(ours._state) == attributes(twin._state)
    assert ours._state.inflated > 0


def test_pieces_leave_before_more_is_decompressed(monkeypatch: pytest.MonkeyPatch) -> None:
    """However small they are compressed: what has come of them is bounded."""
    every = pair.events(squeezed(RECORDINGS[NAMES.index("mysql_orders")]))
    most = 1 << 20
    sizes: list[list[int]] = []
    for kind in (BinlogDecoder, CompiledDecoder):
        decoder = pair.decoder(kind, "debezium", "mysql", "file", START)
        head = every[: next(n for n, event in enumerate(every) if event[4] == 33)]
        decoder.feed(b"".join(head))
        decoder._state.inflated = most - 1  # so that one more is decompressed
        batches = decoder.feed(b"".join(every[len(head) :]))
        assert decoder.more
        while decoder.more:
            batches += decoder.feed(b"")
        sizes.append([len(batch.records) for batch in batches])
    assert sizes[0] == sizes[1] and len(sizes[0]) > 1


def whole(dice: random.Random, raw: bytes) -> bytes:
    return zstandard.compress(raw) + dice.choice((b"", b"", b"", b"x"))


def frames(dice: random.Random, raw: bytes) -> bytes:
    """Several of zstd's, which follow each other."""
    at = dice.randrange(len(raw) + 1)
    return zstandard.compress(raw[:at]) + zstandard.compress(raw[at:])


def cut_off(dice: random.Random, raw: bytes) -> bytes:
    packed = zstandard.compress(raw)
    return packed[: dice.randrange(len(packed))]


def bent(dice: random.Random, event: bytes) -> bytes:
    """A payload with other events inside: damaged, cut short, or with something behind."""
    kind, body = event[4], event[_HEADER:-4]
    if kind != _PAYLOAD or dice.random() < 0.6:
        return event[:-4]
    payload = transaction_payload.header(body, 0, len(body))
    inner = bytearray(zstandard.ZstdDecompressor().decompress(body[payload.start :], max_output_size=1 << 20))
    for _ in range(dice.choice((1, 2))):
        at = dice.randrange(len(inner))
        inner[at] = dice.choice((0, 0xFF, 33, 40, inner[at] ^ 1 << dice.randrange(8), dice.randrange(256)))
    tail = dice.choice((b"", b"", bytes(5), bytes(30)))
    raw = bytes(inner[: dice.choice((len(inner), len(inner), dice.randrange(len(inner))))]) + tail
    stored = dice.random() < 0.3
    packed = raw if stored else dice.choice((whole, whole, frames, cut_off))(dice, raw)
    stated = len(raw) + dice.choice((0, 0, 0, 1, -1))
    fields = [
        (2, b"\xfc\xff\0" if stored else b"\0"),
        (3, b"\xfc" + struct.pack("<H", max(0, stated))),
        (1, b"\xfc" + struct.pack("<H", len(packed))),
    ]
    head = b"".join(bytes((number, len(value))) + value for number, value in fields) + b"\0"
    return event[:_HEADER] + head + packed


def restamped(events: list[bytes]) -> bytes:
    """Sizes, places, and no checksums."""
    found, at = [], 4
    for each in events:
        at += len(each)
        found.append(each[:9] + struct.pack("<II", len(each), at) + each[17:])
    return b"".join(found)


@pytest.mark.parametrize("form", pair.FORMATS)
@pytest.mark.parametrize("name", ["mysql_orders", "mysql_transactions"])
def test_damage_inside(name: str, form: str) -> None:
    """The same records before it, the same error, the same position."""
    events = pair.events(squeezed(RECORDINGS[NAMES.index(name)]))
    described = events[0][:-5] + b"\0" + events[0][-4:]
    dice = random.Random(f"{name} {form}")
    errors = 0
    for _ in range(_TIMES):
        raw = restamped([described, *(bent(dice, event) for event in events[1:60])])
        twin, ours = pair.both(form, "mysql", "file", pair.cut(raw, 40_000))
        assert ours == twin
        errors += any(isinstance(part, tuple) and isinstance(part[0], type) for part in twin)
    assert errors > _TIMES // 2


@pytest.mark.parametrize("name", ["mysql_orders", "mysql_transactions"])
def test_damage_inside_piece_by_piece(name: str, small_pieces: None) -> None:
    test_damage_inside(name, "debezium")


def repacked(raw: bytes, make: Callable[[bytes], bytes], first: int = 0) -> bytes:
    """The stream with other bodies of its payloads from the `first` on; `make`: events inside -> body."""
    found, number = [], 0
    for each in pair.without_checksums(pair.events(raw)):
        body = each[_HEADER:]
        if each[4] == _PAYLOAD:
            start = transaction_payload.header(body, 0, len(body)).start
            inner = zstandard.ZstdDecompressor().decompress(body[start:], max_output_size=1 << 20)
            body = (make if number >= first else payload)(inner)
            number += 1
        found.append(each[:_HEADER] + body)
    return restamped(found)


@pytest.mark.parametrize("name", ["mysql_orders", "mysql_transactions"])
def test_stored_events(name: str) -> None:
    """In the form that a server has for transactions that zstd cannot make shorter."""
    squeezed_too = squeezed(RECORDINGS[NAMES.index(name)])
    raw = repacked(squeezed_too, lambda inner: payload(inner, compression=255))
    twin, ours = pair.both("debezium", "mysql", "file", [raw])
    assert ours == twin
    assert [part[0] for part in ours[:-2]] != []
    assert not any(isinstance(part, tuple) and isinstance(part[0], type) for part in ours)


@pytest.mark.parametrize(
    "make",
    [
        lambda inner: payload(event(_PAYLOAD, payload(inner), checksum=False, end=0)),
        lambda inner: payload(inner + event(_PAYLOAD, payload(inner), checksum=False, end=0)),
        lambda inner: payload(event(15, bytes(80), checksum=False, end=0) + inner),
        lambda inner: payload(event(33, bytes(42), checksum=False, end=0) + inner),
    ],
    ids=["payload", "payload behind", "description", "GTID"],
)
@pytest.mark.parametrize("first", [0, 5])
def test_events_that_are_never_inside(make: Callable[[bytes], bytes], first: int) -> None:
    """In the first transaction, where the table is not known yet, and in one that the loop takes by itself."""
    raw = repacked(squeezed(RECORDINGS[NAMES.index("mysql_orders")]), make, first)
    for pieces in ([raw], pair.events(raw)):
        twin, ours = pair.both("debezium", "mysql", "file", pieces)
        assert ours == twin
        assert any(isinstance(part, tuple) and part[0] is DecodeError for part in ours)


@pytest.mark.parametrize("stated", [0, 1, 100, 1 << 20, (1 << 20) + 1, 1 << 40])
@pytest.mark.parametrize("compression", [0, 255])
def test_other_sizes_than_stated(compression: int, stated: int) -> None:
    squeezed_too = squeezed(RECORDINGS[NAMES.index("mysql_orders")])
    raw = repacked(squeezed_too, lambda inner: payload(inner, compression=compression, uncompressed=stated))
    twin, ours = pair.both("debezium", "mysql", "file", [raw])
    assert ours == twin
    assert any(isinstance(part, tuple) and part[0] is DecodeError for part in ours) == (compression == 0)


def without_last_event(inner: bytes) -> int:
    return sum(len(each) for each in pair.events(inner)[:-1])


@pytest.mark.parametrize("compression", [0, 255])
def test_the_size_of_some_of_the_events(compression: int) -> None:
    """It ends where an event ends: nothing but the size says that more follows."""
    raw = repacked(
        squeezed(RECORDINGS[NAMES.index("mysql_orders")]),
        lambda inner: payload(inner, compression=compression, uncompressed=without_last_event(inner)),
    )
    twin, ours = pair.both("debezium", "mysql", "file", [raw])
    assert ours == twin
    assert any(isinstance(part, tuple) and part[0] is DecodeError for part in ours) == (compression == 0)


@pytest.mark.parametrize("extra", [b"\1\1\5", b"\2\1\0", b"\3\1\5", b"\4\1\5", b"\1\0", b"\3\2\5\5"])
def test_other_fields_in_front(extra: bytes) -> None:
    """Twice, unknown, or of another length."""
    raw = repacked(squeezed(RECORDINGS[NAMES.index("mysql_orders")]), lambda inner: extra + payload(inner))
    twin, ours = pair.both("debezium", "mysql", "file", [raw])
    assert ours == twin
    assert any(isinstance(part, tuple) and part[0] is DecodeError for part in ours) == (extra[0] != 4)


@pytest.mark.parametrize("form", pair.FORMATS)
@pytest.mark.parametrize("make", [lambda raw: raw, squeezed_stream], ids=["plain", "compressed"])
def test_with_a_filter(make: Callable[[bytes], bytes], form: str) -> None:
    """Rows of some only, in transactions of which some have none left."""
    raw = make(pair.read(RECORDINGS[NAMES.index("mysql_orders")]))
    for condition, rows in FILTERS:
        twin, ours = pair.both(form, "mysql", "file", pair.cut(raw, 4001), chosen=Filter(condition, rows=rows))
        assert ours == twin
        assert 0 < sum(len(part[0]) for part in ours if isinstance(part, tuple)) < 110


def test_python_sees_next_to_nothing() -> None:
    raw = squeezed(RECORDINGS[NAMES.index("mysql_orders")])
    decoder = pair.decoder(CompiledDecoder, "debezium", "mysql", "file", START)
    handled: list[int] = []
    python: Any = decoder._handlers

    class Counting(dict[int, Any]):
        def get(self, kind: int, default: Any = None) -> Any:
            handled.append(kind)
            return python.get(kind, default)

    decoder._handlers = Counting()
    assert sum(batch.rows for batch in decoder.feed(raw)) == 100
    assert len(handled) < 15
