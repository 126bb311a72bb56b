"""Values of one task or machine over consecutive steps, in memory and as the bytes that are stored."""

from __future__ import annotations

import sys
import zlib
from array import array
from collections.abc import Sequence
from math import isnan, nan
from typing import Final

from monitor.history.series import SERIES, Series, Values

_MOST_SERIES: Final = 100
_FIRST_BITS: Final = bytes(byte & 0xFC for byte in range(256))


class Chunk:
    """`slots` values of each of `width` series, NaN where nothing was noted.

    Stored by series, not by step, and the first bytes of all values before their second ones: neighbours are alike, and
    zlib makes a tenth of an idle task's.
    """

    def __init__(self, slots: int, width: int = len(SERIES), data: array[float] | None = None) -> None:
        self.slots = slots
        self._width = width
        self._data = data if data is not None else array("f", [nan]) * (slots * width)

    def put(self, slot: int, values: Values) -> None:
        for number, value in enumerate(values):
            self._data[number * self.slots + slot] = value

    def get(self, slot: int) -> Values:
        return tuple(self._data[number * self.slots + slot] for number in range(self._width))

    def column(self, series: int) -> Sequence[float]:
        return self._data[series * self.slots : (series + 1) * self.slots]

    def encode(self) -> bytes:
        raw = _little(self._data)
        planes = [bytearray(raw[byte::4]) for byte in range(4)]
        planes[0] = bytearray(len(self._data))  # an error of 0.01 %, and a third of the space of a busy task
        for number, series in enumerate(SERIES if self._width == len(SERIES) else ()):
            if series.coarse:  # of 23 bits of a value 5 are left
                first, last = number * self.slots, (number + 1) * self.slots
                planes[1][first:last] = bytes(self.slots)
                planes[2][first:last] = planes[2][first:last].translate(_FIRST_BITS)
        return zlib.compress(b"".join(planes), 1)

    @classmethod
    def decode(cls, stored: bytes, slots: int, width: int = len(SERIES)) -> Chunk | None:
        """None for bytes that are not those of such a chunk. One of another release has more or fewer series."""
        try:
            planes = zlib.decompress(stored, bufsize=4 * slots * width)
        except zlib.error:
            return None
        if not planes or len(planes) % (4 * slots) or len(planes) > _MOST_SERIES * 4 * slots:
            return None
        count = len(planes) // 4
        raw = bytearray(4 * count)
        for byte in range(4):
            raw[byte::4] = planes[byte * count : (byte + 1) * count]
        data = array("f")
        data.frombytes(bytes(raw))
        if sys.byteorder == "big":
            data.byteswap()
        wanted = slots * width
        return cls(slots, width, (data + array("f", [nan]) * max(wanted - count, 0))[:wanted])


def _little(data: array[float]) -> bytes:
    if sys.byteorder == "little":
        return data.tobytes()
    swapped = array("f", data)
    swapped.byteswap()
    return swapped.tobytes()


def reduced(series: Series, values: Sequence[float]) -> float:
    """The value of a longer step; NaN only where none is known."""
    known = [value for value in values if not isnan(value)]
    if not known:
        return nan
    how = series.reduce
    return max(known) if how == "max" else min(known) if how == "min" else sum(known) / len(known)
