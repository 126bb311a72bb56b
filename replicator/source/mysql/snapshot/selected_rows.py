"""Rows of one SELECT as row images, taken in parts."""

from __future__ import annotations

from typing import Final

from replicator import compiled
from replicator.errors import SourceError
from replicator.model.snapshot import Bound, RowImages
from replicator.mysql.prepared import Answer
from replicator.mysql.row_images.compiled_rows import CompiledRows
from replicator.mysql.row_images.packet_rows import PacketRows
from replicator.mysql.session import Session
from replicator.mysql.table_key import literals
from replicator.source.mysql.snapshot.definition import Definition

ENOUGH: Final = 16 << 20
"""Bytes of images with which a part ends, however few its rows are."""


class SelectedRows:
    """
    Raises:
        SourceUnavailable, SourceError: as `Session.rows`; E2211, a row that can't be read.
    """

    def __init__(self, session: Session, definition: Definition, answer: Answer, *, mariadb: bool) -> None:
        self._shape, self._key = definition.shape, definition.key
        self._where = f"{self._shape.database}.{self._shape.name} of {session.where}"
        made: type[CompiledRows | PacketRows] = CompiledRows if compiled.available() else PacketRows
        try:
            self._rows = made(answer, self._shape, self._key, mariadb=mariadb)
        except ValueError as error:
            raise self._unreadable(error) from error

    @property
    def ended(self) -> bool:
        """All rows have been taken."""
        return self._rows.ended

    def take(self, most: int) -> tuple[RowImages, Bound | None]:
        """At most `most` rows and the key of the last of them; fewer at the end, or with `ENOUGH` bytes."""
        try:
            data, ends, values = self._rows.take(most, ENOUGH)
        except ValueError as error:
            raise self._unreadable(error) from error
        bound = literals(self._shape.columns, self._key, values) if self._key is not None and values else None
        return RowImages(data, ends), bound

    def _unreadable(self, error: Exception) -> SourceError:
        return SourceError("E2211", f"a row of {self._where} can't be read", found=str(error))
