"""Row images of one answer, made in Python: packet by packet. The compiled one is in `compiled_rows.py`."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from replicator.mysql.prepared import Answer
from replicator.mysql.row_images.row_image import RowImages
from replicator.mysql.table_key import Bounds, Key
from replicator.mysql.table_shape import TableShape

_LARGE: Final = 8 << 20
"""Bytes of a packet; a longer row comes alone."""


class PacketRows:
    """
    Args:
        mariadb: see `row_image.RowImages`.

    Raises:
        SourceUnavailable, SourceError: as `Answer.rows`.
        ValueError: what is sent are not rows of this table.
    """

    def __init__(self, answer: Answer, shape: TableShape, key: Key | None, *, mariadb: bool) -> None:
        self._packets = answer.rows()
        self._images = RowImages(shape.columns, answer.types, mariadb=mariadb)
        self._bounds = Bounds(shape, key, answer.types) if key else None
        self._next = next(self._packets, None)

    @property
    def ended(self) -> bool:
        return self._next is None

    def take(self, most: int, enough: int) -> tuple[bytes, Sequence[int], Sequence[bytes]]:
        """Images, where each ends, values of the last one's key: of at most `most` rows, fewer at the end, before a row
        of more than 8 MB, or when the images have `enough` bytes. No values without a row or key."""
        out, ends, last = bytearray(), list[int](), b""
        while self._next is not None and len(ends) < most and len(out) < enough:
            if ends and len(self._next) > _LARGE:
                break
            last = self._next
            try:
                out += self._images.image(last)
            except (IndexError, struct.error) as error:
                raise ValueError(str(error)) from error
            ends.append(len(out))
            self._next = next(self._packets, None)
        return bytes(out), ends, self._bounds.values(last) if self._bounds is not None and ends else ()
