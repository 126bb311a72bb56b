"""Collects the records of the current transaction and returns them as batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from replicator.decode.binlog import unsupported_events
from replicator.decode.plan.deferred_fields import DeferredText, fill
from replicator.decode.transactions.progress import Progress
from replicator.decode.transactions.resume import Resumed
from replicator.decode.transactions.transaction_buffer import TransactionBuffer
from replicator.decode.transactions.transaction_state import Gtid, Phase, TransactionState
from replicator.model.batch import Batch, Record
from replicator.model.metadata_event import Message
from replicator.model.position import Inside
from replicator.model.target_table import STATEMENT

_MOST_HELD: Final = 32 << 20
"""Bytes that records which wait may take in memory; then all of them, and whatever comes, go to disk in pieces."""
_PIECE: Final = 1 << 20
_MOST: Final = 1 << 60
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
        state: of the current transaction, and of what has not left yet.
        counts: rows of the transaction by table, where somebody asks for that.
        append: takes a record.
    """

    def __init__(
        self, state: TransactionState, progress: Progress, rule: str = "", resumed: Resumed | None = None
    ) -> None:
        self.state = state
        self.counts: Counts = {}
        self.append: Callable[[Record], None]
        self._progress = progress
        self._buffer: TransactionBuffer | None = None
        self._rule = rule
        self._skip = resumed
        self._savepoints: dict[str, tuple[int, int, int, Counts]] = {}  # name -> row, rows that count, messages, counts
        self._left = 0  # rows of the transaction that left with earlier calls, or an earlier stream
        self._barrier = False
        state.most_pending = _MOST_HELD
        self._clear([])

    def _clear(self, records: list[Record]) -> None:
        """`records`: of the transaction at hand."""
        state = self.state
        self._records = records
        self.append = records.append
        state.finished_records = 0  # records of transactions that are done
        state.finished_rows = state.finished_size = state.finished_transactions = state.finished_skipped = 0  # of those

    def announce(self, gtid: Gtid, commit_us: int, length: int = 0) -> None:
        """A GTID event: a transaction begins with it."""
        state = self.state
        if not (0 <= commit_us < _MOST and 0 <= length < _MOST):
            raise unsupported_events.structure("a GTID event has an invalid time or length")
        if state.phase != Phase.BETWEEN:
            raise unsupported_events.structure("a transaction begins before the previous one has ended")
        state.phase = Phase.ANNOUNCED
        state.gtid = gtid
        state.commit_us, state.length = commit_us, length
        state.row = state.messages = state.row_events = 0
        state.skipped = False
        progress = self._progress
        state.start = state.at
        if self._skip is not None and not self._skip.begin(progress.file, state.start):
            progress.begin_again()
            self._skip = None

    def open(self) -> None:
        """BEGIN; without a GTID event before it, a transaction begins here."""
        state = self.state
        if state.phase == Phase.BETWEEN:
            self.announce(None, 0)
        elif state.phase == Phase.OPEN and state.row:
            raise unsupported_events.structure("a transaction begins before the previous one has ended")
        state.phase = Phase.OPEN

    def next_event(self) -> None:
        """A row event of any table comes next, or messages that do not go with one."""
        state = self.state
        state.row_events += 1
        if self._skip is not None and self._skip.over(state.row, state.row_events):
            self._resume(self._skip)

    def _resume(self, skip: Resumed) -> None:
        """What follows is not delivered yet. Numbers are not given again, also where fewer rows are counted by now."""
        self.state.row, self._left = max(self.state.row, skip.rows), max(self._left, skip.rows)
        self._skip = None

    def add_rows(self, row: int, size: int) -> None:
        """The records of a rows event are appended; `row`: index behind its last row."""
        state = self.state
        self._count(row, size)
        if state.deferred is not None and state.pending_size + _RECORD * state.pending_rows > state.most_pending:
            self._buffer_records()

    def _count(self, row: int, size: int) -> None:
        state = self.state
        first, state.row = state.row, row
        state.pending_size += size
        state.pending_rows += row - first
        if self._skip is not None:
            self._drop_delivered(self._skip, first)

    def _drop_delivered(self, skip: Resumed, first: int) -> None:
        state = self.state
        kept = [
            record for record in self._records[state.finished_records :] if not skip.covers(record[4], state.row_events)
        ]
        delivered = sum(skip.covers(row, state.row_events) for row in range(first, state.row))
        state.pending_rows -= delivered
        self._left += delivered
        self._keep(kept)

    def add_message(self, message: Message, position: bytes) -> None:
        """A message in the transaction at hand. It goes with the row event that it is before, if it does: nothing
        is held between the two, as a position is between events."""
        state = self.state
        row = state.row
        if self._skip is None or not self._skip.covers(row, state.row_events):
            state.pending_messages += 1
        state.messages += 1
        self._barrier = self._barrier or message.topic == STATEMENT
        self.append(_record(message, position, row))
        self._count(row + 1, len(message.key or b"") + len(message.value or b""))

    def add_messages_between(self, messages: Sequence[Message], position: bytes) -> None:
        """Messages between transactions, of which nothing is remembered."""
        for message in messages:
            self.append(_record(message, position, 0))
            self.state.finished_size += len(message.key or b"") + len(message.value or b"")
        self.state.finished_records = len(self._records)

    def finish(self, timestamp: int, xid: int | None = None) -> Iterator[bool] | None:
        """The transaction is committed.

        Args:
            timestamp: of its last event, seconds.
            xid: number of its XID event.

        Returns None when that is all, else what goes on with it: it gives True wherever the batches should leave.
        """
        state = self.state
        if state.deferred is not None:
            if self._buffer is not None:
                return self._release(self._buffer, state.deferred, timestamp, xid)
            self._complete(state.deferred, xid)
            state.deferred = None
        if self._skip is not None:
            self._skip.check_end(state.row, state.row_events)
            self._skip = None
        progress = self._progress
        if state.gtid is not None:
            progress.execute(state.gtid)
            state.gtid = None
        progress.settle()
        state.phase = Phase.BETWEEN
        state.source_ms = state.commit_us // 1000 or timestamp * 1000
        if not state.finished_records:
            state.first_ms = state.source_ms
        state.moved = True
        state.finished_records = len(self._records)
        state.finished_rows += state.pending_rows - state.pending_messages
        state.finished_size += state.pending_size
        state.pending_rows = state.pending_size = state.pending_messages = self._left = 0
        state.finished_transactions += 1
        state.finished_skipped += state.skipped
        if self._savepoints:
            self._savepoints = {}
        if self.counts:
            self.counts = {}
        return None

    def passed(self) -> None:
        """Transactions have ended beside the handlers."""
        self._left = 0
        if self.counts:
            self.counts = {}

    @property
    def ordinary(self) -> bool:
        """Nothing of the current transaction was delivered earlier, is buffered, or may be rolled back to."""
        return self._skip is None and self._buffer is None and not self._savepoints

    def boundary(self) -> None:
        """The stream went on between transactions: the position may, too. Not while a half-delivered transaction is
        to come: its rows would be taken for new ones."""
        if self._skip is None:
            self._progress.settle()
            self.state.moved = True

    @property
    def between(self) -> bool:
        return self.state.phase == Phase.BETWEEN

    @property
    def settled(self) -> bool:
        """Between transactions, none of which is half delivered."""
        return self.state.phase == Phase.BETWEEN and self._skip is None

    # Buffered until the end of the transaction

    def _complete(self, deferred: DeferredText, xid: int | None) -> None:
        """Puts what is known now into the records of the transaction at hand."""
        self._keep(self._filled(self._records[self.state.finished_records :], deferred, xid, last=True))

    def _filled(self, records: list[Record], deferred: DeferredText, xid: int | None, *, last: bool) -> list[Record]:
        return fill(records, deferred, xid=xid, end_pos=self.state.offset, context=self.state, last=last)

    def _buffer_records(self) -> None:
        """Buffers what has come of the transaction at hand."""
        state = self.state
        if self._buffer is None:
            self._buffer = TransactionBuffer()
        self._buffer.add(
            state.row,
            state.row_events,
            state.pending_rows,
            state.pending_messages,
            list(self._records[state.finished_records :]),
        )
        del self._records[state.finished_records :]
        state.pending_rows = state.pending_size = state.pending_messages = 0
        state.most_pending = _PIECE

    def _release(
        self, held: TransactionBuffer, deferred: DeferredText, timestamp: int, xid: int | None
    ) -> Iterator[bool]:
        state = self.state
        if state.pending_rows:
            self._buffer_records()
        state.deferred = self._buffer = None
        state.most_pending = _MOST_HELD
        last = held.last_waiting
        for number, piece in enumerate(held.pieces()):
            if number:
                yield True
            filled = self._filled(piece.records, deferred, xid, last=number == last)
            self._records += filled
            state.row, state.row_events = piece.row, piece.event
            state.pending_rows += piece.rows
            state.pending_messages += piece.told
            state.pending_size += sum(map(_size, filled))
        held.close()
        self.finish(timestamp)

    # Rolled back in part or whole

    def savepoint(self, name: str) -> None:
        state = self.state
        rows, told = (self._buffer.rows, self._buffer.told) if self._buffer is not None else (0, 0)
        counts = dict(self.counts)
        self._savepoints[name] = (
            state.row,
            self._left + rows + state.pending_rows,
            told + state.pending_messages,
            counts,
        )

    def roll_back_to(self, name: str, statement: str) -> None:
        if name not in self._savepoints:
            raise unsupported_events.structure("ROLLBACK TO SAVEPOINT of an unknown savepoint", statement)
        row, rows, told, self.counts = self._savepoints[name]
        if self._skip is not None:
            # An earlier stream that has come past this had sent nothing of it.
            over = self._skip.over(self.state.row, self.state.row_events + 1)
            self._left = max(self._left, self._skip.rows) if over else min(self._left, rows)
        if self._left > rows:
            raise unsupported_events.undone(statement)
        self._cut(row, rows - self._left, told)

    def roll_back(self, statement: str, timestamp: int) -> None:
        """The transaction ends without its rows."""
        if self._left:
            raise unsupported_events.undone(statement)
        self._cut(0, 0, 0)
        self.state.deferred = None
        self.finish(timestamp)

    def _cut(self, row: int, rows: int, told: int) -> None:
        """Keeps what comes before `row`, which is `rows` rows that have not left yet. Numbers are not given again."""
        state = self.state
        kept = [record for record in self._records[state.finished_records :] if record[4] < row]
        if self._buffer is not None:
            kept = self._buffer.cut(row) + kept
            rows, told = rows - self._buffer.rows, told - self._buffer.told
            if not self._buffer.rows:
                self._buffer.close()
                self._buffer = None
        self._keep(kept)
        state.pending_rows, state.pending_messages = rows, min(told, rows)

    def _keep(self, records: list[Record]) -> None:
        self._records[self.state.finished_records :] = records
        self.state.pending_size = sum(map(_size, records))

    # What leaves

    def batches(self, *, failed: bool) -> list[Batch]:
        """Everything done since the last call, then what has come of the transaction at hand, unless it has failed or
        must wait."""
        state = self.state
        rest = self._records[state.finished_records :]
        progress = self._progress
        batches = []
        if state.moved:
            done = self._records[: state.finished_records]
            counts = state.finished_rows, state.finished_transactions, state.finished_size
            place, skipped = progress.boundary(), state.finished_skipped
            batch = Batch(done, place, True, *counts, state.source_ms, barrier=self._barrier, skipped=skipped)
            batch.first_ms = state.first_ms if state.finished_records else 0
            batches.append(batch)
        if state.pending_rows and not failed and state.deferred is None:
            source_ms = state.commit_us // 1000 or state.source_ms
            self._left += state.pending_rows
            rows = state.pending_rows - state.pending_messages
            place = progress.inside(state.row, Inside(self._rule, state.row_events))
            sizes = rows, 0, state.pending_size, source_ms, state.length
            first_ms = state.commit_us // 1000
            batches.append(Batch(rest, place, False, *sizes, barrier=self._barrier, first_ms=first_ms))
            state.pending_rows = state.pending_size = state.pending_messages = 0
            rest = []
        if batches:
            self._clear(rest)
        state.moved = self._barrier = False
        return batches


def _size(record: Record) -> int:
    return len(record[1] or b"") + len(record[2] or b"")


def _record(message: Message, position: bytes, row: int) -> Record:
    record = message.topic, message.key, message.value, position, row, message.headers
    return record if message.route is None else (*record, message.route)
