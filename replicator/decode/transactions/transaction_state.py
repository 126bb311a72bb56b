"""State of the current transaction and batch, which both decoders advance: event handlers and the compiled loop.

This class is for the Python decoder. `compiled.transactions.Transactions` has the same attributes, as C fields; a test
holds the two together.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from replicator.model.uuids import row_uuid

if TYPE_CHECKING:
    from replicator.decode.plan.deferred_fields import DeferredText

Gtid: TypeAlias = "tuple[str, int] | tuple[int, int, int] | None"
"""(tsid, number) on MySQL, (domain, server, sequence) on MariaDB."""
UNKNOWN = "null"


class Phase(IntEnum):
    BETWEEN = 0
    """At a transaction boundary."""
    ANNOUNCED = 1
    """A GTID event has come, and nothing of its transaction yet."""
    OPEN = 2
    XA = 3
    """In an XA transaction: its rows wait for its end."""


class TransactionState:
    """
    Attributes:
        offset, at: end and first byte of the current event.
        start: first byte of the current transaction.

        phase: a `Phase`.
        gtid: of the current transaction; None between transactions, and without.
        commit_us: commit time in us since the epoch when the GTID event has one, else 0.
        length: bytes of the transaction in the binlog when its GTID event says so, else 0.
        row: rows of it so far, and messages, which are numbered like rows.
        messages: messages of it so far.
        row_events: row events of it so far, those of tables that are not replicated among them.
        deferred: fields that its records wait for; None: they leave as they come.
        standalone: MariaDB: the transaction ends without a commit.
        skipped: its rows are not delivered: a task has written them (see `LoopGuard`).

        finished_records, finished_rows, finished_size, finished_transactions, finished_skipped: of complete
            transactions that have not left yet.
        pending_rows, pending_size, pending_messages: of the current transaction, that have not left yet.
        source_ms: time of the last commit, ms since the epoch.
        first_ms: the same of the first complete transaction with records that has not left yet.
        moved: a transaction boundary has come since batches left.
        inflated: bytes of compressed transactions that were decompressed since batches left for their sake.
        most_pending: bytes of records that may wait in memory for the end of their transaction.

        ts_us, now_ns, event_s, pos, server_id, thread: of the current row event, see `model.plan.Variable`.
        gtid_json, executed_json, tsid_json, query_json, file_json: JSON text, as latin-1 of UTF-8 bytes, or "null".
        position: `model.batch.Record`'s.
        row_flags: flags of the current row event.
        table_rows: rows of the event's table that the transaction had before this event.

        query: text of the statement whose rows come next, as it is in the event; None: it is not known.
        query_start: start of the transaction that the last such text belongs to.
        query_told: the format was told of it.
    """

    __slots__ = (
        "at",
        "commit_us",
        "deferred",
        "event_s",
        "executed_json",
        "file_json",
        "finished_records",
        "finished_rows",
        "finished_size",
        "finished_skipped",
        "finished_transactions",
        "first_ms",
        "gtid",
        "gtid_json",
        "inflated",
        "length",
        "messages",
        "most_pending",
        "moved",
        "now_ns",
        "offset",
        "pending_messages",
        "pending_rows",
        "pending_size",
        "phase",
        "pos",
        "position",
        "query",
        "query_json",
        "query_start",
        "query_told",
        "row",
        "row_events",
        "row_flags",
        "server_id",
        "skipped",
        "source_ms",
        "standalone",
        "start",
        "table_rows",
        "thread",
        "ts_us",
        "tsid_json",
    )

    def __init__(self) -> None:
        self.offset = self.at = self.start = 0
        self.phase: int = Phase.BETWEEN
        self.gtid: Gtid = None
        self.commit_us = self.length = 0
        self.row = self.messages = self.row_events = 0
        self.deferred: DeferredText | None = None
        self.standalone = self.skipped = False
        self.finished_records = self.finished_rows = self.finished_size = self.finished_transactions = 0
        self.finished_skipped = 0
        self.pending_rows = self.pending_size = self.pending_messages = 0
        self.source_ms = self.first_ms = 0
        self.moved = False
        self.inflated = 0
        self.most_pending = 0
        self.ts_us = self.now_ns = self.event_s = self.pos = self.server_id = 0
        self.thread: int | str = UNKNOWN
        self.gtid_json = self.executed_json = self.tsid_json = self.query_json = self.file_json = UNKNOWN
        self.position = b""
        self.row_flags = self.table_rows = 0
        self.query: bytes | None = None
        self.query_start = -1
        self.query_told = False

    def uuid(self, row: int) -> str:
        """JSON text."""
        return f'"{row_uuid(self.position, row)}"'


def attributes(state: Any) -> dict[str, Any]:
    """All of them by name; the same for the compiled class."""
    return {name: getattr(state, name) for name in TransactionState.__slots__}
