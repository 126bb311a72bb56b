"""A bounds-checked cursor over bytes of a binlog event."""

from __future__ import annotations

from collections.abc import Iterator

from replicator.errors import DecodeError


class ByteReader:
    """A cursor over `raw` up to `end`; reading over it raises DecodeError E2302, which says that `what` is damaged."""

    def __init__(self, raw: bytes, at: int, end: int, what: str = "a table map") -> None:
        self.raw, self.at, self.end, self.what = raw, at, end, what

    def take(self, size: int) -> bytes:
        at = self.at
        if size < 0 or at + size > self.end:
            raise DecodeError("E2302", f"{self.what} is truncated", found=f"{size} bytes required at byte {at}")
        self.at = at + size
        return self.raw[at : self.at]

    def byte(self) -> int:
        return self.take(1)[0]

    def packed(self) -> int:
        """A length-encoded integer."""
        first = self.byte()
        if first < 251:
            return first
        if first in (251, 255):
            raise DecodeError("E2302", f"{self.what} contains an invalid length", found=f"byte {first}")
        return int.from_bytes(self.take((2, 3, 8)[first - 252]), "little")

    def name(self, size: int) -> str:
        return self.take(size).decode("utf-8", "replace")

    def part(self, size: int) -> ByteReader:
        """A cursor over the next `size` bytes, which this one leaves behind."""
        start = self.at
        self.take(size)
        return ByteReader(self.raw, start, self.at, self.what)

    def __bool__(self) -> bool:
        return self.at < self.end

    def numbers(self) -> Iterator[int]:
        while self:
            yield self.packed()
