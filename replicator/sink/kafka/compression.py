"""`sink.compression`: the records of a batch, in the forms that Kafka's consumers know (KIP-98, KIP-57, KIP-110).

Only the bodies of whole batches are compressed (`bulk.py`), outside the interpreter lock. What each form is:
gzip: RFC 1952; snappy: blocks of 32 KiB behind the header of snappy-java; lz4: a frame of independent blocks of 64 KiB
(the Java client refuses dependent ones); zstd: one frame.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

import cramjam
import zstandard

_SNAPPY_HEADER: Final = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
_SNAPPY_BLOCK: Final = 32 << 10

_LZ4_HEADER: Final = bytes.fromhex("04224d18604082")  # magic, independent blocks, of 64 KiB at most, checksum of these
_LZ4_BLOCK: Final = 64 << 10
_LZ4_PLAIN: Final = 1 << 31  # in a block's length: its bytes are not compressed
_LZ4_END: Final = bytes(4)

_GZIP_LEVEL, _ZSTD_LEVEL = 1, 3  # faster than the defaults by several times, for a few percent more bytes
_GZIP_WINDOW: Final = 31  # with gzip's header


class Codec(NamedTuple):
    """`code`: bits 0 to 2 of a batch's attributes. `compress`: bytes-like -> bytes. `parts`: the same of data that come
    piece by piece, of which none is kept when the next one is asked for."""

    code: int
    compress: Callable[[memoryview], bytes]
    parts: Callable[[Iterable[memoryview]], Iterator[bytes]]


def _gzip_parts(pieces: Iterable[memoryview]) -> Iterator[bytes]:
    packer = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
    for piece in pieces:
        yield packer.compress(piece)
    yield packer.flush()


def _snappy_parts(pieces: Iterable[memoryview]) -> Iterator[bytes]:
    yield _SNAPPY_HEADER
    for piece in pieces:
        for start in range(0, len(piece), _SNAPPY_BLOCK):
            block = bytes(cramjam.snappy.compress_raw(piece[start : start + _SNAPPY_BLOCK]))
            yield struct.pack(">i", len(block)) + block


def _lz4_parts(pieces: Iterable[memoryview]) -> Iterator[bytes]:
    yield _LZ4_HEADER
    for piece in pieces:
        for start in range(0, len(piece), _LZ4_BLOCK):
            plain = piece[start : start + _LZ4_BLOCK]
            block = bytes(cramjam.lz4.compress_block(plain, store_size=False))
            if len(block) < len(plain):
                yield struct.pack("<I", len(block)) + block
            else:
                yield struct.pack("<I", len(plain) | _LZ4_PLAIN) + plain
    yield _LZ4_END


def _zstd(data: memoryview) -> bytes:
    return bytes(cramjam.zstd.compress(data, level=_ZSTD_LEVEL))


def _zstd_parts(pieces: Iterable[memoryview]) -> Iterator[bytes]:
    packer = zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compressobj()
    for piece in pieces:
        yield packer.compress(piece)
    yield packer.flush()


def _at_once(parts: Callable[[Iterable[memoryview]], Iterator[bytes]]) -> Callable[[memoryview], bytes]:
    return lambda data: b"".join(parts((data,)))


CODECS: Final[dict[str, Codec | None]] = {
    "none": None,
    "gzip": Codec(1, _at_once(_gzip_parts), _gzip_parts),
    "snappy": Codec(2, _at_once(_snappy_parts), _snappy_parts),
    "lz4": Codec(3, _at_once(_lz4_parts), _lz4_parts),
    "zstd": Codec(4, _zstd, _zstd_parts),
}
