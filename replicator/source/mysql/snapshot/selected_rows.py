"""Rows of one SELECT as row images, taken in parts."""

from __future__ import annotations

import struct
from typing import Final

from replicator.errors import SourceError
from replicator.model.snapshot import Bound, RowImages
from replicator.source.mysql.session import Session
from replicator.source.mysql.snapshot.definition import Definition
from replicator.source.mysql.snapshot.key import Bounds
from replicator.source.mysql.snapshot.prepared import Answer
from replicator.source.mysql.snapshot.row_image import RowImages as Transcoder

ENOUGH: Final = 16 << 20
"""Bytes of images with which a part ends, however few its rows are."""


class SelectedRows:
    """
    Attributes:
        ended: all rows have been taken.

    Raises:
        SourceUnavailable, SourceError: as `Session.rows`.
    """

    def __init__(self, session: Session, definition: Definition, answer: Answer, *, mariadb: bool) -> None:
        shape, key = definition.shape, definition.key
        self._where = f"{shape.database}.{shape.name} of {session.where}"
        self._packets = answer.rows()
        try:
            self._images = Transcoder(shape.columns, answer.types, mariadb=mariadb)
        except ValueError as error:
            raise self._unreadable(error) from error
        self._bounds = Bounds(shape, key, answer.types) if key else None
        self._next = next(self._packets, None)

    @property
    def ended(self) -> bool:
        return self._next is None

    def take(self, most: int) -> tuple[RowImages, Bound | None]:
        """At most `most` rows and the key of the last of them; fewer at the end, or with `ENOUGH` bytes."""
        out, ends, last = bytearray(), list[int](), b""
        while self._next is not None and len(ends) < most and len(out) < ENOUGH:
            last = self._next
            try:
                out += self._images.image(last)
            except (ValueError, IndexError, struct.error) as error:
                raise self._unreadable(error) from error
            ends.append(len(out))
            self._next = next(self._packets, None)
        bound = self._bounds.of(last) if self._bounds is not None and ends else None
        return RowImages(bytes(out), ends), bound

    def _unreadable(self, error: Exception) -> SourceError:
        return SourceError("E2211", f"a row of {self._where} can't be read", found=str(error))
