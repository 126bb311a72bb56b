"""UUIDs for objects without an identity, the same each time that a stream is read.

Of version 8 (RFC 9562): a hash of the transaction's position, and in the last 12 digits the number of the row in it.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b


def row_uuid(position: bytes, row: int) -> str:
    """
    Args:
        position: as in `model.batch.Record`: the transaction's GTID or `file:offset`.
        row: number of the row or message in its transaction.
    """
    return f"{_prefix(position)}{row & 0xFFFFFFFFFFFF:012x}"


@lru_cache(64)
def _prefix(position: bytes) -> str:
    digest = blake2b(position, digest_size=8).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-8{digest[12:15]}-{0x80 | int(digest[15], 16):x}00-"
