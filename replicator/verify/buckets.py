"""Compares two sets of rows that have no common order: by sums of their hashes, then by the hashes that are left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Final

from replicator.verify.compare import Row

BUCKETS: Final = 1 << 16
ROWS: Final = 1_000
"""Rows that are kept with their values, for the report."""
_SIZE: Final = 16
_MASK: Final = (1 << 8 * _SIZE) - 1
_NULL: Final = b"\xff" * 8


def hash_of(row: Row) -> bytes:
    """Each value is hashed with its length, so that no two rows have the same bytes."""
    parts = [_NULL if value is None else len(value).to_bytes(8, "little") + value for value in row]
    return blake2b(b"".join(parts), digest_size=_SIZE).digest()


def hash_of_packet(packet: bytes) -> bytes:
    """Of a row as the server sends it: its values with their lengths, and which of them are NULL."""
    return blake2b(packet, digest_size=_SIZE).digest()


def bucket_of(digest: bytes) -> int:
    return int.from_bytes(digest[:2], "big")


class Sums:
    """Number and sum of the hashes in each bucket: the memory does not depend on the number of rows. Two equal rows
    count twice, which a sum shows and an exclusive OR does not."""

    def __init__(self) -> None:
        self.rows = 0
        self._counts = [0] * BUCKETS
        self._sums = [0] * BUCKETS

    def add(self, digest: bytes) -> None:
        place = bucket_of(digest)
        self.rows += 1
        self._counts[place] += 1
        self._sums[place] = self._sums[place] + int.from_bytes(digest, "little") & _MASK

    def unequal(self, other: Sums) -> dict[int, int]:
        """The buckets whose rows differ, and about how many hashes each of them has."""
        mine, its = zip(self._counts, self._sums, strict=True), zip(other._counts, other._sums, strict=True)
        pairs = enumerate(zip(mine, its, strict=True))
        return {place: max(one[0], two[0]) for place, (one, two) in pairs if one != two}


def chosen(buckets: Mapping[int, int], most: int) -> frozenset[int]:
    """As many of the buckets as have `most` hashes, at least one. The others are not looked at."""
    found, hashes = set[int](), 0
    for place, count in buckets.items():
        hashes += count
        if found and hashes > most:
            break
        found.add(place)
    return frozenset(found)


class Balance:
    """Rows by their hash: how many more of them the source has than the target.

    Args:
        buckets: rows of all others are left out.
        key: columns of the rows' key, if they have one.

    Attributes:
        rows: of hashes that are left, some.
        keys: of hashes that are left.
    """

    def __init__(self, buckets: frozenset[int], key: Sequence[int] = ()) -> None:
        self._buckets, self._key = buckets, key
        self._left: Counter[bytes] = Counter()
        self.rows: dict[bytes, Row] = {}
        self.keys: dict[bytes, Row] = {}

    def source(self, row: Callable[[], Row], digest: bytes) -> None:
        self._add(row, digest, 1)

    def target(self, row: Callable[[], Row], digest: bytes) -> None:
        self._add(row, digest, -1)

    @property
    def left(self) -> dict[bytes, int]:
        """Positive: missing at the target; negative: extra there."""
        return dict(self._left)

    def _add(self, row: Callable[[], Row], digest: bytes, count: int) -> None:
        if bucket_of(digest) not in self._buckets:
            return
        left = self._left[digest] + count
        if not left:
            del self._left[digest]
            self.rows.pop(digest, None)
            self.keys.pop(digest, None)
            return
        self._left[digest] = left
        if self._key or len(self.rows) < ROWS:
            values = row()
            if self._key:
                self.keys[digest] = tuple(values[index] for index in self._key)
            if len(self.rows) < ROWS:
                self.rows[digest] = values


def persistent(former: dict[bytes, int], now: dict[bytes, int]) -> dict[bytes, int]:
    """What both passes have left, as far as both have it."""
    found = {}
    for digest, count in now.items():
        before = former.get(digest, 0)
        if before * count > 0:
            found[digest] = min(abs(before), abs(count)) * (1 if count > 0 else -1)
    return found


def changed(left: Mapping[bytes, int], keys: Mapping[bytes, Row]) -> list[tuple[bytes, bytes]]:
    """Hashes of rows that both sides have under one key: of the source and of the target."""
    missing = {keys[digest]: digest for digest, count in left.items() if count > 0 and digest in keys}
    extra = {keys[digest]: digest for digest, count in left.items() if count < 0 and digest in keys}
    return [(digest, extra[key]) for key, digest in missing.items() if key in extra]
