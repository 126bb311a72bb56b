"""The contract between the row compiler and the renderers: how one column becomes text in a generated row function.

The generated function has the packet as bytes `b` and as latin-1 text `s` (so that slices of UTF-8 text are free), and
a cursor `p`. For each column it cuts the raw value out as `v` and evaluates the rendering's expression, which gives
the JSON value as latin-1 text of the UTF-8 bytes to be written.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import msgspec

from replicator.model.column_sizes import fixed_size
from replicator.model.table import Column


class Rendering(msgspec.Struct, frozen=True):
    """
    Attributes:
        cut: how the raw value is given to the expression. A struct format with byte order for values of fixed size,
            which must have exactly the size that the type and its metadata say ("<q", ">I", "<3s", ">5s", "B"):
            `v` is the unpacked int, float or bytes. "text" or "bytes" for values behind a length prefix:
            `v` is the latin-1 text or the bytes without the prefix.
        expression: a Python expression over `v` and the names below; gives str. Evaluated at most once per row.
        names: what the expression refers to beside `v`; keys must be unique per (renderer, column parameters), for
            instance by ending in the column's index.
        hint: upper bound of len(text) / len(raw), for sizing buffers; 6 by default (JSON \\uXXXX).
    """

    cut: str
    expression: str
    names: Mapping[str, Any] = {}
    hint: int = 6

    def check(self, column: Column) -> None:
        """Raises ValueError when `cut` is not what a value of the column is."""
        size, cut = fixed_size(column), self.cut
        behind_prefix = cut in ("text", "bytes")
        right = behind_prefix if size is None else not behind_prefix and struct.calcsize(cut) == size
        if not right:
            raise ValueError(f"a renderer cuts '{cut}' out of column type {column.type} with {size} bytes")
