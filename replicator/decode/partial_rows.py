"""PARTIAL_UPDATE_ROWS events (binlog_row_value_options = PARTIAL_JSON) made into the rows of an UPDATE_ROWS event.

Each row is its image before, then value options (length-encoded; bit 0: partial bits follow, one for every JSON column
of the table), then its image after, in which a JSON value whose bit is set is a list of changes to the one before. What
comes out is decoded like any other update.
"""

from __future__ import annotations

import struct
from typing import Final

from replicator.decode import json_diff, presence
from replicator.decode.extents import fixed_size, prefix_size
from replicator.decode.metadata import Reader
from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.table import Table

_PARTIAL_JSON: Final = 1


class PartialRows:
    """Of one table version. Raises DecodeError E2301 for columns that can't be read."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._fixed = [fixed_size(column) for column in table.columns]
        self._prefixes = [
            prefix_size(column) if size is None else 0 for column, size in zip(table.columns, self._fixed, strict=True)
        ]
        self._json = [column.index for column in table.columns if column.type == types.JSON]
        self._bitmap = (len(table.columns) + 7) // 8
        self._header = presence.usual_header(table, "update")

    def whole(self, b: bytes, p: int, end: int) -> bytes:
        """Column count, bitmaps and rows of an UPDATE_ROWS event; `p`: where the column count stands.

        Raises:
            DecodeError: E2302; E2304 without the image before.
        """
        at = p + len(self._header)
        if b[p:at] != self._header:
            presence.parse(self._table, "update", b[p:at], accept_partial=False)
        out = [b[p:at]]
        while at < end:
            start = at
            at, values = self._image(b, at, end)
            out.append(b[start:at])
            at = self._after(b, at, end, values, out)
        return b"".join(out)

    def _image(self, b: bytes, at: int, end: int) -> tuple[int, dict[int, tuple[int, int]]]:
        """(its end, where its JSON values that are not NULL stand: column -> length prefix, end)."""
        nulls = int.from_bytes(b[at : at + self._bitmap], "little")
        at += self._bitmap
        values = {}
        for index, size in enumerate(self._fixed):
            if nulls >> index & 1:
                continue
            if size is None:
                start, prefix = at, self._prefixes[index]
                at += prefix + int.from_bytes(b[at : at + prefix], "little")
                if index in self._json:
                    values[index] = start, at
            else:
                at += size
        if at > end:
            raise self._damaged("a row over the end")
        return at, values

    def _after(self, b: bytes, at: int, end: int, before: dict[int, tuple[int, int]], out: list[bytes]) -> int:
        """Appends the image after, whole, and gives its end."""
        reader = Reader(b, at, end, f"a partial update of {self._table.qualified}")
        options = reader.packed()
        if options & ~_PARTIAL_JSON:
            raise self._damaged(f"value options {options}")
        partial = int.from_bytes(reader.take((len(self._json) + 7) // 8), "little") if options else 0
        start = reader.at
        at, values = self._image(b, start, end)
        for place, index in enumerate(self._json):
            if partial >> place & 1 and index in values:
                prefix, stop = values[index]
                out.append(b[start:prefix])
                out.append(self._value(b, index, before.get(index), prefix, stop))
                start = stop
        out.append(b[start:at])
        return at

    def _value(self, b: bytes, index: int, before: tuple[int, int] | None, start: int, stop: int) -> bytes:
        """The value of a JSON column behind its length."""
        name, prefix = self._table.columns[index].name, self._prefixes[index]
        if before is None:
            raise self._damaged(f"changes to a '{name}' that was NULL")
        try:
            value = json_diff.apply(b[before[0] + prefix : before[1]], b[start + prefix : stop])
            return len(value).to_bytes(prefix, "little") + value
        except (ValueError, LookupError, ArithmeticError, struct.error) as error:
            raise self._damaged(f"changes that do not fit '{name}' before them: {error}") from error

    def _damaged(self, found: str) -> DecodeError:
        return DecodeError(
            "E2302", f"a partial update of {self._table.qualified} can't be read", found=found, wanted="whole rows"
        )
