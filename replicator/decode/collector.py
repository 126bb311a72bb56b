"""The transaction at hand, and the batches that a call of `feed` returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from replicator.decode import refusals
from replicator.decode.progress import Gtid, Progress, State
from replicator.model.batch import Batch, Record
from replicator.model.happening import Message

Counts: TypeAlias = dict[tuple[str, str], int]
"""Rows by (database, table)."""


class Collector:
    """
    Args:
        skip: rows of the first transaction that an earlier stream delivered; they are counted and not emitted.

    Attributes:
        row: rows of the transaction at hand so far, and messages, which are numbered like rows.
        told: messages of it so far.
        counts: rows of it by table, where somebody asks for that.
        gtid: its GTID; None between transactions, and without.
        commit_us: its commit time when its GTID event has one, else 0.
        append: takes a record.
    """

    def __init__(self, progress: Progress, skip: int) -> None:
        self.state = State.BETWEEN
        self.row = self.told = 0
        self.commit_us = 0
        self.counts: Counts = {}
        self.gtid: Gtid = None
        self.append: Callable[[Record], None]
        self._progress = progress
        self._skip = skip
        self._savepoints: dict[str, tuple[int, int, int, Counts]] = {}  # name -> row, rows that count, told, counts
        self._left = 0  # rows of the transaction that left with earlier calls, or an earlier stream
        self._source_ms = 0
        self._moved = False
        self._clear()

    def _clear(self) -> None:
        self._records: list[Record] = []
        self.append = self._records.append
        self._whole = 0  # records of transactions that are done
        self._rows = self._size = self._transactions = 0  # of those
        self._new_rows = self._new_size = self._new_told = 0  # of the transaction at hand, in this call

    def announce(self, gtid: Gtid, commit_us: int) -> None:
        """A GTID event: a transaction begins with it."""
        if self.state is not State.BETWEEN:
            raise refusals.structure("a transaction begins before the one before it has ended")
        self.state = State.ANNOUNCED
        self.gtid = gtid
        self.commit_us = commit_us
        self.row = self.told = 0
        self._progress.start = self._progress.at

    def open(self) -> None:
        """BEGIN; without a GTID event before it, a transaction begins here."""
        if self.state is State.BETWEEN:
            self.announce(None, 0)
        elif self.state is State.OPEN and self.row:
            raise refusals.structure("a transaction begins before the one before it has ended")
        self.state = State.OPEN

    def took(self, row: int, size: int) -> None:
        """The records of a rows event are appended; `row`: index behind its last row."""
        first, self.row = self.row, row
        self._new_size += size
        self._new_rows += row - first
        if first < self._skip:
            self._drop_delivered(first)

    def _drop_delivered(self, first: int) -> None:
        delivered = min(self._skip, self.row) - first
        self._new_rows -= delivered
        self._left += delivered
        self._keep([record for record in self._records[self._whole :] if record[4] >= self._skip])

    def tell(self, message: Message, position: bytes) -> None:
        """A message in the transaction at hand."""
        row = self.row
        if row >= self._skip:
            self._new_told += 1
        self.told += 1
        self.append((message.topic, message.key, message.value, position, row, message.headers))
        self.took(row + 1, len(message.key or b"") + len(message.value or b""))

    def aside(self, messages: Sequence[Message], position: bytes) -> None:
        """Messages between transactions, of which nothing is remembered."""
        for message in messages:
            self.append((message.topic, message.key, message.value, position, 0, message.headers))
            self._size += len(message.key or b"") + len(message.value or b"")
        self._whole = len(self._records)

    def finish(self, timestamp: int) -> None:
        """The transaction is committed; `timestamp`: of its last event, seconds."""
        if self._skip:
            self._finish_resumed()
        progress, gtid = self._progress, self.gtid
        if gtid is not None:
            progress.execute(gtid)
            self.gtid = None
        progress.settle()
        self.state = State.BETWEEN
        self._source_ms = self.commit_us // 1000 or timestamp * 1000
        self._moved = True
        self._whole = len(self._records)
        self._rows += self._new_rows - self._new_told
        self._size += self._new_size
        self._new_rows = self._new_size = self._new_told = self._left = 0
        self._transactions += 1
        if self._savepoints:
            self._savepoints = {}
        if self.counts:
            self.counts = {}

    def _finish_resumed(self) -> None:
        if self.row < self._skip:
            raise refusals.structure(
                "the transaction at the position has fewer rows than were delivered of it",
                f"{self.row} rows, {self._skip} delivered",
            )
        self._skip = 0

    def boundary(self) -> None:
        """The stream went on between transactions: the position may, too. Not while a half-delivered transaction is
        to come: its rows would be taken for new ones."""
        if not self._skip:
            self._progress.settle()
            self._moved = True

    @property
    def between(self) -> bool:
        return self.state is State.BETWEEN

    @property
    def settled(self) -> bool:
        """Between transactions, none of which is half delivered."""
        return self.state is State.BETWEEN and not self._skip

    # Rolled back in part or whole

    def savepoint(self, name: str) -> None:
        self._savepoints[name] = (self.row, self._left + self._new_rows, self._new_told, dict(self.counts))

    def roll_back_to(self, name: str, statement: str) -> None:
        if name not in self._savepoints:
            raise refusals.structure("ROLLBACK TO a savepoint that was not set", statement)
        row, rows, told, self.counts = self._savepoints[name]
        if self._left > rows:
            raise refusals.undone(statement)
        self._cut(row, rows - self._left)
        self._new_told = min(self._new_told, told)

    def roll_back(self, statement: str, timestamp: int) -> None:
        """The transaction ends without its rows."""
        if self._left:
            raise refusals.undone(statement)
        self._cut(0, 0)
        self._new_told = 0
        self.finish(timestamp)

    def _cut(self, row: int, rows: int) -> None:
        """Keeps what comes before `row`, which is `rows` rows that have not left yet. Numbers are not given again."""
        self._keep([record for record in self._records[self._whole :] if record[4] < row])
        self._new_rows = rows

    def _keep(self, records: list[Record]) -> None:
        self._records[self._whole :] = records
        self._new_size = sum(len(record[1] or b"") + len(record[2] or b"") for record in records)

    # What leaves

    def batches(self, *, failed: bool) -> list[Batch]:
        """Everything done since the last call, then what has come of the transaction at hand (not after a failure)."""
        whole, rest = self._records, self._records[self._whole :]
        progress = self._progress
        batches = []
        if self._moved:
            del whole[self._whole :]
            position, counts = progress.boundary(), (self._rows, self._transactions, self._size)
            batches.append(Batch(whole, position, True, *counts, self._source_ms))
        if self._new_rows and not failed:
            source_ms = self.commit_us // 1000 or self._source_ms
            self._left += self._new_rows
            rows = self._new_rows - self._new_told
            batches.append(Batch(rest, progress.inside(self.row), False, rows, 0, self._new_size, source_ms))
        if batches or failed:
            self._clear()
        self._moved = False
        return batches
