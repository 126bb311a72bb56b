"""`sink.compression`: the records of a batch, in the forms that Kafka's consumers know (KIP-98, KIP-57, KIP-110).

Only the bodies of whole batches are compressed (`bulk.py`), outside the interpreter lock. What each form is:
gzip: RFC 1952; snappy: blocks of 32 KiB behind the header of snappy-java; lz4: a frame of independent blocks of 64 KiB
(the Java client refuses dependent ones); zstd: one frame.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from typing import Final, NamedTuple

import cramjam

_SNAPPY_HEADER: Final = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
_SNAPPY_BLOCK: Final = 32 << 10

_LZ4_HEADER: Final = bytes.fromhex("04224d18604082")  # magic, independent blocks, of 64 KiB at most, checksum of these
_LZ4_BLOCK: Final = 64 << 10
_LZ4_PLAIN: Final = 1 << 31  # in a block's length: its bytes are not compressed
_LZ4_END: Final = bytes(4)

_GZIP_LEVEL, _ZSTD_LEVEL = 1, 3  # faster than the defaults by several times, for a few percent more bytes
_GZIP_WINDOW: Final = 31  # with gzip's header


class Codec(NamedTuple):
    """`code`: bits 0 to 2 of a batch's attributes. `compress`: bytes-like -> bytes."""

    code: int
    compress: Callable[[memoryview], bytes]


def _gzip(data: memoryview) -> bytes:
    packer = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
    return packer.compress(data) + packer.flush()


def _snappy(data: memoryview) -> bytes:
    parts = [_SNAPPY_HEADER]
    for start in range(0, len(data), _SNAPPY_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _SNAPPY_BLOCK]))
        parts += [struct.pack(">i", len(block)), block]
    return b"".join(parts)


def _lz4(data: memoryview) -> bytes:
    parts = [_LZ4_HEADER]
    for start in range(0, len(data), _LZ4_BLOCK):
        plain = data[start : start + _LZ4_BLOCK]
        block = bytes(cramjam.lz4.compress_block(plain, store_size=False))
        if len(block) < len(plain):
            parts += [struct.pack("<I", len(block)), block]
        else:
            parts += [struct.pack("<I", len(plain) | _LZ4_PLAIN), bytes(plain)]
    return b"".join([*parts, _LZ4_END])


def _zstd(data: memoryview) -> bytes:
    return bytes(cramjam.zstd.compress(data, level=_ZSTD_LEVEL))


CODECS: Final[dict[str, Codec | None]] = {
    "none": None,
    "gzip": Codec(1, _gzip),
    "snappy": Codec(2, _snappy),
    "lz4": Codec(3, _lz4),
    "zstd": Codec(4, _zstd),
}
