"""Row images of one answer by the compiled transcoder, from large reads of the socket. The twin: `packet_rows.py`."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from replicator import compiled
from replicator.model import types
from replicator.mysql.prepared import Answer
from replicator.mysql.row_images import json_document
from replicator.mysql.row_images.row_image import FIXED
from replicator.mysql.table_key import Key
from replicator.mysql.table_shape import BINARY, WIDE, ColumnShape, TableShape

_TIMES = {
    types.DATE: "date",
    types.DATETIME2: "datetime",
    types.TIMESTAMP2: "timestamp",
    types.TIME2: "time",
}


class CompiledRows:
    """See `packet_rows.PacketRows`. Only where `compiled.available()`."""

    def __init__(self, answer: Answer, shape: TableShape, key: Key | None, *, mariadb: bool) -> None:
        module = compiled.module("row_images")
        kinds: dict[str, int] = module.KINDS
        places = {column: place for place, column in enumerate(key.columns)} if key else {}
        steps = []
        for index, (column, sent) in enumerate(zip(shape.columns, answer.types, strict=True)):
            name, *numbers = _step(column, sent)
            steps.append((kinds[name], *numbers, places.get(index, -1)))
        unused = -len(shape.columns) % 8
        filler = 0xFF << 8 - unused & 0xFF if mariadb and unused else 0
        self._answer = answer
        self._rows = module.RowImages(steps, filler, json_document.encode)
        self._keyed = key is not None
        self._advance(0, 0)

    @property
    def ended(self) -> bool:
        return bool(self._rows.ended)

    def take(self, most: int, enough: int) -> tuple[bytes, Sequence[int], Sequence[bytes]]:
        """See `packet_rows.PacketRows`."""
        self._advance(most, enough)
        data, raw = self._rows.take()
        ends = array("q", raw)
        return data, ends, self._rows.key() if self._keyed and ends else ()

    def _advance(self, most: int, enough: int) -> None:
        if self.ended:
            return
        while (done := self._rows.run(most, enough)) is not True:
            if done is not False:
                raise self._answer.failed(done)
            with self._rows.room() as view:
                size = self._answer.receive_into(view)
            self._rows.filled(size)
        if self.ended:
            self._answer.close()


def _step(column: ColumnShape, sent: int) -> tuple[str, int, int, int, int, int]:
    """Kind, bytes given, bytes wanted, digits or precision, scale, padding."""
    kind, meta = column.type, column.meta
    if kind in FIXED:
        if sent != kind:
            raise ValueError(f"{column.name}: {types.NAMES.get(sent, sent)} sent for {types.NAMES[kind]}")
        return "fixed", *FIXED[kind], 0, 0, 0
    if kind == types.YEAR:
        return "year", 2, 1, 0, 0, 0
    if kind in (types.ENUM, types.SET):
        return "fixed", FIXED[sent][0], meta, 0, 0, 0
    if kind == types.NEWDECIMAL:
        return "decimal", 0, 0, meta >> 8, meta & 0xFF, 0
    if kind in _TIMES:
        return _TIMES[kind], 0, 0, meta, 0, 0
    if kind == types.BIT:
        return "raw", 0, 0, 0, 0, 0
    if kind == types.JSON:
        return "json", 0, meta, 0, 0, 0
    if kind == types.STRING and column.charset not in WIDE:
        return "trimmed", 0, 2 if meta > 255 else 1, 0, 0, 0 if column.collation == BINARY else 32
    if kind in (types.VARCHAR, types.STRING):
        return "sized", 0, 2 if meta > 255 else 1, 0, 0, 0
    return "sized", 0, meta, 0, 0, 0
