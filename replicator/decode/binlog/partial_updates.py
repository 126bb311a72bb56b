"""Converts PARTIAL_UPDATE_ROWS events (binlog_row_value_options = PARTIAL_JSON) to UPDATE_ROWS.

Each row is its image before, then value options (length-encoded; bit 0: partial bits follow, one for every JSON column
of the table), then its image after, in which a JSON value whose bit is set is a list of changes to the one before. What
comes out is decoded like any other update.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from replicator.decode.binlog import column_presence
from replicator.decode.binlog.column_presence import IMAGES
from replicator.decode.values import json_diff
from replicator.decode.values.byte_reader import ByteReader
from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.column_sizes import fixed_size, prefix_size
from replicator.model.table import Table

_PARTIAL_JSON: Final = 1


class PartialRows:
    """Of one table version.

    Args:
        accept_partial: also rows that come without some of their columns.

    Raises:
        DecodeError: E2301 for columns that can't be read.
    """

    def __init__(self, table: Table, *, accept_partial: bool = False) -> None:
        self._table = table
        self._accept_partial = accept_partial
        self._fixed = [fixed_size(column) for column in table.columns]
        self._prefixes = [
            prefix_size(column) if size is None else 0 for column, size in zip(table.columns, self._fixed, strict=True)
        ]
        self._json = [column.index for column in table.columns if column.type == types.JSON]
        self._header = column_presence.usual_header(table, "update")
        self._every = range(len(table.columns))

    def whole(self, b: bytes, p: int, end: int) -> bytes:
        """Column count, bitmaps and rows of an UPDATE_ROWS event; `p`: where the column count is.

        Raises:
            DecodeError: E2302; E2304 without the image or the document before.
        """
        at = p + len(self._header)
        before, after = self._columns(b[p:at])
        out = [b[p:at]]
        while at < end:
            start = at
            at, values = self._image(b, at, end, before)
            out.append(b[start:at])
            at = self._after(b, at, end, (before, after), values, out)
        return b"".join(out)

    def _columns(self, header: bytes) -> tuple[Sequence[int], Sequence[int]]:
        """Which columns the images have."""
        if header == self._header:
            return self._every, self._every
        found = column_presence.parse(self._table, "update", header, accept_partial=self._accept_partial)
        before, after = ([index for index in self._every if found.has(image, index)] for image in IMAGES["update"])
        return before, after

    def _image(self, b: bytes, at: int, end: int, columns: Sequence[int]) -> tuple[int, dict[int, tuple[int, int]]]:
        """(its end, where its JSON values that are not NULL stand: column -> length prefix, end)."""
        bitmap = (len(columns) + 7) // 8
        nulls = int.from_bytes(b[at : at + bitmap], "little")
        at += bitmap
        values = {}
        for place, index in enumerate(columns):
            if nulls >> place & 1:
                continue
            size = self._fixed[index]
            if size is None:
                start, prefix = at, self._prefixes[index]
                at += prefix + int.from_bytes(b[at : at + prefix], "little")
                if index in self._json:
                    values[index] = start, at
            else:
                at += size
        if at > end:
            raise self._damaged("a row beyond the end of the event")
        return at, values

    def _after(
        self,
        b: bytes,
        at: int,
        end: int,
        columns: tuple[Sequence[int], Sequence[int]],
        before: dict[int, tuple[int, int]],
        out: list[bytes],
    ) -> int:
        """Appends the image after, whole, and gives its end. `columns`: of both images."""
        reader = ByteReader(b, at, end, f"a partial update of {self._table.qualified}")
        options = reader.packed()
        if options & ~_PARTIAL_JSON:
            raise self._damaged(f"value options {options}")
        partial = int.from_bytes(reader.take((len(self._json) + 7) // 8), "little") if options else 0
        start = reader.at
        at, values = self._image(b, start, end, columns[1])
        for place, index in enumerate(self._json):
            if partial >> place & 1 and index in values:
                if index not in columns[0]:
                    what = "has changes to a JSON document, but not the document before them"
                    fix = "With SET GLOBAL binlog_row_value_options = '', complete documents are logged."
                    column_presence.refuse(self._table, what, self._table.columns[index].name, fix)
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
            raise self._damaged(f"changes that do not match the earlier value of '{name}': {error}") from error

    def _damaged(self, found: str) -> DecodeError:
        return DecodeError(
            "E2302", f"a partial update of {self._table.qualified} can't be read", found=found, wanted="complete rows"
        )
