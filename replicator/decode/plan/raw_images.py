"""Row images as records have them for database targets (`plan.RawImage`): whole, or put together from some columns."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from replicator.decode.binlog.column_presence import damaged
from replicator.decode.renderers.contract import Rendering
from replicator.decode.renderers.raw_values import renderer
from replicator.decode.values import charsets
from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.column_sizes import fixed_size, prefix_size
from replicator.model.plan import RawImage, RawText
from replicator.model.table import Column, Table

Renderer: TypeAlias = Callable[[str, Column, Table], Rendering]


_AS_UTF8: Final = frozenset({"utf8mb4", "utf8mb3", "ascii"})


def copied(step: RawImage, table: Table, present: int) -> bool:
    """Whether the image is written as it is. `present`: number of columns that images of the event have."""
    return not step.texts and present == len(table.columns) and step.columns == tuple(range(present))


def sized(image: str) -> str:
    """`image`, latin-1 text as in generated functions, behind its length."""
    return len(image).to_bytes(4, "little").decode("latin-1") + image


def text_rendering(name: str, column: Column, table: Table, rendering: Renderer) -> Rendering:
    """The renderer of a column that has another value.

    Raises:
        DecodeError: E2310, the rest of the value is shown, and is text of which UTF-8 is no superset.
    """
    kept = name.startswith("mask:last:") and name.endswith(":text")
    charset = charsets.charset(column.collation) if kept and column.collation is not None else ""
    if column.type in types.COMPRESSED and kept:
        charset = "COMPRESSED"
    if charset and charset not in _AS_UTF8:
        raise DecodeError(
            "E2310",
            f"transforms.mask can't keep a part of {table.qualified}.{column.name} for a sink that is a database",
            found=f"keep_last, {charset}",
            wanted="a column in utf8mb4, or another mask",
        )
    made = rendering(name, column, table)
    made.check(column)
    return made


class ImageCutter:
    """Puts the images of one set of columns together. The compiled form is `compiled/raw_images.pxd`.

    Args:
        present: columns that the images have, in order.

    Raises:
        DecodeError: as `text_rendering` and `rendering`.
    """

    def __init__(self, step: RawImage, table: Table, present: Sequence[Column], rendering: Renderer) -> None:
        self._step: Final = step
        self._sizes: Final = [(column.index, fixed_size(column)) for column in present]
        self._prefixes: Final = {
            column.index: prefix_size(column)
            for column, (_, size) in zip(present, self._sizes, strict=True)
            if size is None
        }
        self._texts: Final = {text.place: _text(text, table, step, rendering) for text in step.texts}

    def __call__(self, b: bytes, p: int) -> str:
        """The image that begins at `p`, put together, as latin-1 text."""
        found, count = self._values(b, p), len(self._step.columns)
        nulls = (1 << 8 * ((count + 7) // 8)) - (1 << count)
        values: list[bytes] = []
        for place, index in enumerate(self._step.columns):
            value = found[index]
            if place in self._texts and value is not None:
                value = self._texts[place](value[self._prefixes.get(index, 0) :])
            if value is None:
                nulls |= 1 << place
            else:
                values.append(value)
        return (nulls.to_bytes((count + 7) // 8, "little") + b"".join(values)).decode("latin-1")

    def _values(self, b: bytes, p: int) -> dict[int, bytes | None]:
        """Column -> value behind its length, None for NULL."""
        bitmap = (len(self._sizes) + 7) // 8
        nulls = int.from_bytes(b[p : p + bitmap], "little")
        p += bitmap
        found: dict[int, bytes | None] = {}
        for place, (index, size) in enumerate(self._sizes):
            if nulls >> place & 1:
                found[index] = None
                continue
            if size is None:
                prefix = self._prefixes[index]
                size = prefix + int.from_bytes(b[p : p + prefix], "little")
            found[index] = b[p : p + size]
            p += size
        return found


def _text(text: RawText, table: Table, step: RawImage, rendering: Renderer) -> Callable[[bytes], bytes | None]:
    """Raw value -> the one that is written, behind its length."""
    if text.renderer is None:
        return lambda raw: None
    column = table.columns[step.columns[text.place]]
    written = renderer(text_rendering(text.renderer, column, table, rendering))

    def replaced(raw: bytes) -> bytes:
        value = str(json.loads(written(raw).encode("latin-1"))).encode("utf-8", "replace")
        if len(value) >> 8 * text.prefix:
            damaged(f"the masked value of {table.qualified}.{column.name} has {len(value)} bytes")
        return len(value).to_bytes(text.prefix, "little") + value

    return replaced
