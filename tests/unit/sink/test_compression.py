"""Each codec against another implementation of its form, and what becomes of a batch."""

from __future__ import annotations

import gzip
import random
import struct
from collections.abc import Callable

import cramjam
import lz4.frame
import pytest
import zstandard

from replicator.config.task import KafkaSink
from replicator.kafka.batch import Batch
from replicator.sink.kafka.batch_producer import batch_of, compressed
from replicator.sink.kafka.compression import CODECS
from replicator.sink.kafka.records import BATCH_OVERHEAD


def unsnappy(data: bytes) -> bytes:
    """snappy-java's stream: magic, version 1, compatible with 1, then length and block, repeatedly."""
    assert data[:16] == b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
    at, parts = 16, []
    while at < len(data):
        (length,) = struct.unpack_from(">i", data, at)
        parts.append(bytes(cramjam.snappy.decompress_raw(data[at + 4 : at + 4 + length])))
        at += 4 + length
    return b"".join(parts)


READERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.decompress,
    "snappy": unsnappy,
    "lz4": lz4.frame.decompress,
    "zstd": lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
}
ROWS = b'{"id":7,"customer":"someone","price":"12.50"}' * 20_000
NOISE = random.Random(1).randbytes(150_000)


def test_every_choice_of_the_configuration_has_a_codec() -> None:
    choices = KafkaSink.model_json_schema()["properties"]["compression"]["enum"]
    assert sorted(CODECS) == sorted(choices)
    assert CODECS.keys() - {"none"} == READERS.keys()


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("data", [b"", b"x", ROWS, NOISE, ROWS[:65_536], ROWS[:65_537]], ids=len)
def test_others_read_what_is_written(name: str, data: bytes) -> None:
    codec = CODECS[name]
    assert codec is not None
    assert READERS[name](codec.compress(memoryview(data))) == data


def test_blocks_of_lz4_are_independent() -> None:
    codec = CODECS["lz4"]
    assert codec is not None
    described = lz4.frame.get_frame_info(codec.compress(memoryview(ROWS)))
    assert not described["block_linked"]  # the Java client refuses linked ones
    assert described["block_size"] == 65_536


@pytest.mark.parametrize("name", READERS)
def test_a_batch_says_how_it_is_compressed(name: str) -> None:
    codec = CODECS[name]
    assert codec is not None
    room, code = compressed(batch_of(ROWS), codec)
    assert len(room) < len(ROWS) // 5
    Batch(("t", 0), room, 20_000, 1, lambda error: None, code).seal(1, 2, 3, transactional=True)
    (attributes,) = struct.unpack_from(">h", room, 21)
    assert attributes == codec.code | 0x10
    assert READERS[name](bytes(room[BATCH_OVERHEAD:])) == ROWS


@pytest.mark.parametrize("name", READERS)
def test_what_would_grow_stays_as_it_is(name: str) -> None:
    codec = CODECS[name]
    assert codec is not None
    room = batch_of(NOISE)
    assert compressed(room, codec) == (room, 0)
