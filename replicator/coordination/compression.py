"""Compression of large payloads of znodes, marked by a prefix that no JSON begins with."""

from __future__ import annotations

import zlib
from typing import Final

from replicator.errors import CoordinationError

THRESHOLD: Final = 32_000
"""Bytes from which on a payload is compressed: some milliseconds of CPU for 1,000 tasks."""
_MOST: Final = 64_000_000
"""Bytes that a payload may unpack to."""
_MAGIC: Final = b"zlib1 "


def compressed(data: bytes) -> bytes:
    return data if len(data) < THRESHOLD else _MAGIC + zlib.compress(data, 1)


def decompressed(data: bytes, path: str, wanted: str, fix: str) -> bytes:
    """Raises CoordinationError E4009."""
    if not data.startswith(_MAGIC):
        return data
    try:
        return zlib.decompressobj().decompress(data[len(_MAGIC) :], _MOST)
    except zlib.error as error:
        raise CoordinationError("E4009", f"{path} can't be read: {error}", wanted=wanted, fix=fix) from error
