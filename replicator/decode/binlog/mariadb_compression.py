"""Decompresses MariaDB's compressed events (log_bin_compress) and COMPRESSED column values.

Event (`binlog_buf_compress` in log_event.cc): a byte 0x80 | bytes of the length (1 to 4), the length big-endian, a zlib
stream. Value (`Field_longstr::compress`, `compress_zlib` in field.cc): nothing for the empty value; a byte 0 and the
value as it is; or a byte 0x80 | 8 for a stream without zlib's header | bytes of the length, the length, the stream.
"""

from __future__ import annotations

import zlib

from replicator.decode.binlog import unsupported_events
from replicator.decode.binlog.transaction_payload import LONGEST
from replicator.decode.values.byte_reader import ByteReader


def event(b: bytes, p: int, end: int) -> bytes:
    """The decompressed bytes of what starts at `p`. Raises DecodeError E2302."""
    if p >= end or b[p] & 0xF0 != 0x80:
        raise unsupported_events.structure(
            "a compressed event is not compressed with zlib", b[p : min(end, p + 8)].hex()
        )
    return _inflate(memoryview(b)[p + 1 : end], b[p] & 7, zlib.MAX_WBITS, "a compressed event")


def value(raw: bytes) -> bytes:
    """The value of a COMPRESSED column. Raises DecodeError E2302."""
    if not raw:
        return raw
    method = raw[0] & 0xF0
    if not method:
        return raw[1:]
    if method != 0x80:
        raise unsupported_events.structure("a value of a COMPRESSED column is not compressed with zlib", raw[:8].hex())
    bits = -zlib.MAX_WBITS if raw[0] & 8 else zlib.MAX_WBITS
    return _inflate(memoryview(raw)[1:], raw[0] & 7, bits, "a value of a COMPRESSED column")


def rows_at(b: bytes, p: int, end: int, images: int) -> int:
    """Where the rows of a row event start whose column count is at `p`."""
    reader = ByteReader(b, p, end, "a compressed row event")
    columns = reader.packed()
    reader.take((columns + 7) // 8 * images)
    return reader.at


def _inflate(raw: memoryview, width: int, bits: int, what: str) -> bytes:
    """`width`: bytes of the length in front. No more is held than was stated, nor than zlib can make of the bytes."""
    length = int.from_bytes(raw[:width], "big")
    if not 1 <= width <= 4 or length > LONGEST:
        raise unsupported_events.structure(f"{what} has an invalid length field", f"{length} in {width} bytes")
    inflater = zlib.decompressobj(bits)
    try:
        found = inflater.decompress(raw[width:], length + 1)
    except zlib.error as error:
        raise unsupported_events.structure(f"{what} can't be decompressed", str(error)) from error
    if len(found) != length or not inflater.eof or inflater.unused_data:
        raise unsupported_events.structure(f"{what} does not have its stated length", f"{len(found)} of {length} bytes")
    return found
