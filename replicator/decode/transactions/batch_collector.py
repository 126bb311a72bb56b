"""Collects the records of the current transaction and returns them as batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from replicator.decode.binlog import unsupported_events
from replicator.decode.plan.deferred_fields import DeferredText, fill
from replicator.decode.plan.variable_values import Context
from replicator.decode.transactions.progress import Gtid, Progress, State
from replicator.decode.transactions.resume import Resumed
from replicator.decode.transactions.transaction_buffer import TransactionBuffer
from replicator.model.batch import Batch, Record
from replicator.model.happening import Message
from replicator.model.position import Inside

_MOST_HELD: Final = 32 << 20
"""Bytes that records which wait may take in memory; then all of them, and whatever comes, go to disk in pieces."""
_PIECE: Final = 1 << 20
_RECORD: Final = 250
"""Bytes that a record takes beside key and value."""

Counts: TypeAlias = dict[tuple[str, str], int]
"""Rows by (database, table)."""


class BatchCollector:
    """
    Args:
        rule: fingerprint of what decides which records there are (see `Inside`).
        resumed: the first transaction, if an earlier stream delivered a part of it, which is counted and not emitted.

    Attributes:
        event: row events of the transaction at hand so far, whosever rows they have.
        row: rows of the transaction at hand so far, and messages, which are numbered like rows.
        told: messages of it so far.
        counts: rows of it by table, where somebody asks for that.
        gtid: its GTID; None between transactions, and without.
        late: what its records wait for; None: they leave as they come.
        commit_us: its commit time when its GTID event has one, else 0.
        length: bytes that it takes in the binlog when its GTID event says so, else 0.
        append: takes a record.
    """

    def __init__(self, progress: Progress, context: Context, rule: str = "", resumed: Resumed | None = None) -> None:
        self.state = State.BETWEEN
        self.row = self.told = self.event = 0
        self.commit_us = self.length = 0
        self.counts: Counts = {}
        self.gtid: Gtid = None
        self.late: DeferredText | None = None
        self.append: Callable[[Record], None]
        self._progress = progress
        self._context = context
        self._buffer: TransactionBuffer | None = None
        self._most_held = _MOST_HELD
        self._rule = rule
        self._skip = resumed
        self._savepoints: dict[str, tuple[int, int, int, Counts]] = {}  # name -> row, rows that count, told, counts
        self._left = 0  # rows of the transaction that left with earlier calls, or an earlier stream
        self._source_ms = 0
        self._moved = False
        self._new_rows = self._new_size = self._new_told = 0  # of the transaction at hand, that have not left
        self._clear([])

    def _clear(self, records: list[Record]) -> None:
        """`records`: of the transaction at hand."""
        self._records = records
        self.append = records.append
        self._whole = 0  # records of transactions that are done
        self._rows = self._size = self._transactions = 0  # of those

    def announce(self, gtid: Gtid, commit_us: int, length: int = 0) -> None:
        """A GTID event: a transaction begins with it."""
        if self.state is not State.BETWEEN:
            raise unsupported_events.structure("a transaction begins before the one before it has ended")
        self.state = State.ANNOUNCED
        self.gtid = gtid
        self.commit_us, self.length = commit_us, length
        self.row = self.told = self.event = 0
        progress = self._progress
        progress.start = progress.at
        if self._skip is not None and not self._skip.begin(progress.file, progress.start):
            progress.begin_again()
            self._skip = None

    def open(self) -> None:
        """BEGIN; without a GTID event before it, a transaction begins here."""
        if self.state is State.BETWEEN:
            self.announce(None, 0)
        elif self.state is State.OPEN and self.row:
            raise unsupported_events.structure("a transaction begins before the one before it has ended")
        self.state = State.OPEN

    def next_event(self) -> None:
        """A row event of any table comes next, or messages that do not go with one."""
        self.event += 1
        if self._skip is not None and self._skip.over(self.row, self.event):
            self._resume(self._skip)

    def _resume(self, skip: Resumed) -> None:
        """What follows is not delivered yet. Numbers are not given again, also where fewer rows are counted by now."""
        self.row, self._left = max(self.row, skip.rows), max(self._left, skip.rows)
        self._skip = None

    def add_rows(self, row: int, size: int) -> None:
        """The records of a rows event are appended; `row`: index behind its last row."""
        self._count(row, size)
        if self.late is not None and self._new_size + _RECORD * self._new_rows > self._most_held:
            self._buffer_records()

    def _count(self, row: int, size: int) -> None:
        first, self.row = self.row, row
        self._new_size += size
        self._new_rows += row - first
        if self._skip is not None:
            self._drop_delivered(self._skip, first)

    def _drop_delivered(self, skip: Resumed, first: int) -> None:
        kept = [record for record in self._records[self._whole :] if not skip.covers(record[4], self.event)]
        delivered = sum(skip.covers(row, self.event) for row in range(first, self.row))
        self._new_rows -= delivered
        self._left += delivered
        self._keep(kept)

    def add_message(self, message: Message, position: bytes) -> None:
        """A message in the transaction at hand. It goes with the row event that it stands before, if it does: nothing
        is held between the two, as a position is between events."""
        row = self.row
        if self._skip is None or not self._skip.covers(row, self.event):
            self._new_told += 1
        self.told += 1
        self.append(_record(message, position, row))
        self._count(row + 1, len(message.key or b"") + len(message.value or b""))

    def add_messages_between(self, messages: Sequence[Message], position: bytes) -> None:
        """Messages between transactions, of which nothing is remembered."""
        for message in messages:
            self.append(_record(message, position, 0))
            self._size += len(message.key or b"") + len(message.value or b"")
        self._whole = len(self._records)

    def finish(self, timestamp: int, xid: int | None = None) -> Iterator[bool] | None:
        """The transaction is committed.

        Args:
            timestamp: of its last event, seconds.
            xid: number of its XID event.

        Returns None when that is all, else what goes on with it: it gives True wherever the batches should leave.
        """
        if self.late is not None:
            if self._buffer is not None:
                return self._release(self._buffer, self.late, timestamp, xid)
            self._complete(self.late, xid)
            self.late = None
        if self._skip is not None:
            self._skip.check_end(self.row, self.event)
            self._skip = None
        progress = self._progress
        if self.gtid is not None:
            progress.execute(self.gtid)
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
        return None

    def boundary(self) -> None:
        """The stream went on between transactions: the position may, too. Not while a half-delivered transaction is
        to come: its rows would be taken for new ones."""
        if self._skip is None:
            self._progress.settle()
            self._moved = True

    @property
    def between(self) -> bool:
        return self.state is State.BETWEEN

    @property
    def settled(self) -> bool:
        """Between transactions, none of which is half delivered."""
        return self.state is State.BETWEEN and self._skip is None

    # TransactionBuffer until the end of the transaction

    def _complete(self, late: DeferredText, xid: int | None) -> None:
        """Puts what is known now into the records of the transaction at hand."""
        self._keep(self._filled(self._records[self._whole :], late, xid, last=True))

    def _filled(self, records: list[Record], late: DeferredText, xid: int | None, *, last: bool) -> list[Record]:
        return fill(records, late, xid=xid, end_pos=self._progress.offset, context=self._context, last=last)

    def _buffer_records(self) -> None:
        """Puts add_messages_between what has come of the transaction at hand."""
        if self._buffer is None:
            self._buffer = TransactionBuffer()
        self._buffer.add(self.row, self.event, self._new_rows, self._new_told, list(self._records[self._whole :]))
        del self._records[self._whole :]
        self._new_rows = self._new_size = self._new_told = 0
        self._most_held = _PIECE

    def _release(self, held: TransactionBuffer, late: DeferredText, timestamp: int, xid: int | None) -> Iterator[bool]:
        if self._new_rows:
            self._buffer_records()
        self.late = self._buffer = None
        self._most_held = _MOST_HELD
        last = held.last_waiting
        for number, piece in enumerate(held.pieces()):
            if number:
                yield True
            filled = self._filled(piece.records, late, xid, last=number == last)
            self._records += filled
            self.row, self.event = piece.row, piece.event
            self._new_rows += piece.rows
            self._new_told += piece.told
            self._new_size += sum(map(_size, filled))
        held.close()
        self.finish(timestamp)

    # Rolled back in part or whole

    def savepoint(self, name: str) -> None:
        rows, told = (self._buffer.rows, self._buffer.told) if self._buffer is not None else (0, 0)
        counts = dict(self.counts)
        self._savepoints[name] = (self.row, self._left + rows + self._new_rows, told + self._new_told, counts)

    def roll_back_to(self, name: str, statement: str) -> None:
        if name not in self._savepoints:
            raise unsupported_events.structure("ROLLBACK TO a savepoint that was not set", statement)
        row, rows, told, self.counts = self._savepoints[name]
        if self._skip is not None:
            # An earlier stream that has come past this had sent nothing of it.
            over = self._skip.over(self.row, self.event + 1)
            self._left = max(self._left, self._skip.rows) if over else min(self._left, rows)
        if self._left > rows:
            raise unsupported_events.undone(statement)
        self._cut(row, rows - self._left, told)

    def roll_back(self, statement: str, timestamp: int) -> None:
        """The transaction ends without its rows."""
        if self._left:
            raise unsupported_events.undone(statement)
        self._cut(0, 0, 0)
        self.late = None
        self.finish(timestamp)

    def _cut(self, row: int, rows: int, told: int) -> None:
        """Keeps what comes before `row`, which is `rows` rows that have not left yet. Numbers are not given again."""
        kept = [record for record in self._records[self._whole :] if record[4] < row]
        if self._buffer is not None:
            kept = self._buffer.cut(row) + kept
            rows, told = rows - self._buffer.rows, told - self._buffer.told
            if not self._buffer.rows:
                self._buffer.close()
                self._buffer = None
        self._keep(kept)
        self._new_rows, self._new_told = rows, min(told, rows)

    def _keep(self, records: list[Record]) -> None:
        self._records[self._whole :] = records
        self._new_size = sum(map(_size, records))

    # What leaves

    def batches(self, *, failed: bool) -> list[Batch]:
        """AllTables done since the last call, then what has come of the transaction at hand, unless it has failed or
        must wait."""
        rest = self._records[self._whole :]
        progress = self._progress
        batches = []
        if self._moved:
            done = self._records[: self._whole]
            position, counts = progress.boundary(), (self._rows, self._transactions, self._size)
            batches.append(Batch(done, position, True, *counts, self._source_ms))
        if self._new_rows and not failed and self.late is None:
            source_ms = self.commit_us // 1000 or self._source_ms
            self._left += self._new_rows
            rows = self._new_rows - self._new_told
            place = progress.inside(self.row, Inside(self._rule, self.event))
            batches.append(Batch(rest, place, False, rows, 0, self._new_size, source_ms, self.length))
            self._new_rows = self._new_size = self._new_told = 0
            rest = []
        if batches:
            self._clear(rest)
        self._moved = False
        return batches


def _size(record: Record) -> int:
    return len(record[1] or b"") + len(record[2] or b"")


def _record(message: Message, position: bytes, row: int) -> Record:
    record = message.topic, message.key, message.value, position, row, message.headers
    return record if message.route is None else (*record, message.route)
