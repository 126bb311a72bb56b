"""Batches of one long record: compressed piece by piece, or left as they are before anything is lost."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest

from replicator import compiled
from replicator.kafka.batch import OVERHEAD, Batch
from replicator.sink.kafka.compression import CODECS, Codec
from replicator.sink.kafka.long_batches import compressed_long, pieces_of
from replicator.sink.kafka.records import Stamp, encode
from tests.unit.compiled.test_arena import filled
from tests.unit.sink.test_compression import READERS

pytestmark = pytest.mark.skipif(not compiled.available(), reason=compiled.why_not())

STAMP = Stamp("t", 1)
NOISE = random.Random(1).randbytes(10 << 20)
ROWS = NOISE.hex().encode()


def body_of(value: bytes) -> Any:
    blocks = ((filled([("t", b"key", value, b"f:4", 0, (("h", b"x"),))]), 0, 1),)
    batches = compiled.module("kafka").Batches(STAMP.prefix)
    batches.names(blocks)
    ((_, _, body),) = batches.encode(blocks, [(1, 0, 1000, 64 << 20)])
    return body


def codec_of(name: str) -> Codec:
    codec = CODECS[name]
    assert codec is not None
    return codec


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_others_read_what_is_compressed(name: str) -> None:
    ((_, wanted),) = encode([("t", b"key", ROWS, b"f:4", 0, (("h", b"x"),))], STAMP, 1000, 64 << 20)
    body = body_of(ROWS)
    pieces = compressed_long(body, body.value, codec_of(name))
    assert pieces is not None
    assert READERS[name](b"".join(pieces)[OVERHEAD:]) == wanted
    assert max(map(len, pieces)) < 4 << 20
    assert bytes(body.value).count(0) > len(ROWS) - 3 * 4096, "its memory was given back"


@pytest.mark.parametrize("name", ["snappy", "lz4"])
def test_blocks_of_pieces(name: str) -> None:
    value = ROWS[:1000] * 10_000
    ((_, wanted),) = encode([("t", b"key", value, b"f:4", 0, (("h", b"x"),))], STAMP, 1000, 64 << 20)
    body = body_of(value)
    pieces = compressed_long(body, body.value, codec_of(name))
    assert pieces is not None
    assert READERS[name](b"".join(pieces)[OVERHEAD:]) == wanted


@pytest.mark.parametrize("name", READERS)
def test_what_would_grow_stays_as_it_is(name: str) -> None:
    body = body_of(NOISE)
    before = b"".join(pieces_of(body))
    assert compressed_long(body, body.value, codec_of(name)) is None
    assert b"".join(pieces_of(body)) == before


@pytest.mark.parametrize("name", READERS)
def test_it_never_becomes_larger_once_it_is_begun(name: str) -> None:
    """The worst case: what is tried is a little smaller, and nothing behind it is."""
    saving = b"x" * (1 << 19)
    value = saving + NOISE[: (8 << 20) - (1 << 19)] + NOISE * 4
    body = body_of(value)
    size = sum(map(len, pieces_of(body)))
    pieces = compressed_long(body, body.value, codec_of(name))
    assert pieces is not None
    assert sum(map(len, pieces)) < size


def test_the_header_covers_all_pieces() -> None:
    value = b"v" * (9 << 20)
    pieces = pieces_of(body_of(value))
    ((_, wanted),) = encode([("t", b"key", value, b"f:4", 0, (("h", b"x"),))], STAMP, 1000, 64 << 20)
    whole = memoryview(bytearray(OVERHEAD) + wanted)
    for batch in (
        Batch(("t", 0), pieces[0], 1, 5, lambda error: None, 0, pieces[1:]),
        Batch(("t", 0), whole, 1, 5, print),
    ):
        batch.seal(1, 2, 3, transactional=True)
        assert batch.size == len(whole)
    assert bytes(whole) == b"".join(pieces)
    (size,) = struct.unpack_from(">i", whole, 8)
    assert size == len(whole) - 12
