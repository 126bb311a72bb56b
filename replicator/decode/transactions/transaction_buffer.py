"""Buffers records that wait for the end of their transaction, on disk when they are many."""

from __future__ import annotations

import marshal
from collections.abc import Iterator
from typing import NamedTuple

from replicator.decode.plan.deferred_fields import last_row
from replicator.decode.transactions.spill_file import SpillFile
from replicator.model.batch import Record


class Piece(NamedTuple):
    """Of a transaction: `row`: index behind its last row; `event`: number of its last row event; `rows`: rows and
    messages in it; `told`: messages;
    `waits`: some of its records have deferred fields."""

    row: int
    event: int
    rows: int
    told: int
    waits: bool
    records: list[Record]


def _decode(chunk: bytes) -> list[Record]:
    """What this process wrote a moment ago into a file that nobody else can open."""
    records: list[Record] = marshal.loads(chunk)  # noqa: S302
    return records


class TransactionBuffer:
    """Pieces in order. `rows`, `told`: of them all."""

    def __init__(self) -> None:
        self.rows = self.told = 0
        self._spill = SpillFile(0)
        self._pieces: list[tuple[int, Piece]] = []  # where it begins; without its records

    def add(self, row: int, event: int, rows: int, told: int, records: list[Record]) -> None:
        at = self._spill.size
        self._spill.add(marshal.dumps(records))
        self._pieces.append((at, Piece(row, event, rows, told, last_row(records) >= 0, [])))
        self.rows += rows
        self.told += told

    def pieces(self) -> Iterator[Piece]:
        for (_, piece), chunk in zip(self._pieces, self._spill.chunks(), strict=True):
            yield piece._replace(records=_decode(chunk))

    @property
    def last_waiting(self) -> int:
        """Number of the last piece that waits; -1: none does."""
        return max((number for number, (_, piece) in enumerate(self._pieces) if piece.waits), default=-1)

    def cut(self, row: int) -> list[Record]:
        """Drops everything from `row` on. Returns what was in front of it in the piece where the cut is, which is no
        longer here."""
        left: list[Record] = []
        while self._pieces and self._pieces[-1][1].row > row:
            at, piece = self._pieces.pop()
            left = [record for record in _decode(next(self._spill.chunks(at))) if record[4] < row]
            self._spill.truncate(at)
            self.rows -= piece.rows
            self.told -= piece.told
        return left

    def close(self) -> None:
        self._spill.close()
