"""Handlers of GTID, TABLE_MAP, row and ROWS_QUERY events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from replicator.decode.binlog import gtid_events, mariadb_compression, unsupported_events
from replicator.decode.plan.plan_variables import PlanVariables
from replicator.decode.plan.table_versions import TableVersions
from replicator.decode.transactions.batch_collector import BatchCollector
from replicator.decode.transactions.metadata_events import MetadataEvents
from replicator.decode.transactions.progress import Progress
from replicator.decode.transactions.transaction_state import Phase
from replicator.decode.transactions.xa import XaTransaction

_DUMMY_TABLE: Final = 0xFFFFFF
_STATEMENT_END: Final = 1
"""Flag of a rows event: the statement has no more of them."""
_DEAR: Final = frozenset({"executed", "tsid", "query", "order", "table_order"})
"""Variables that are made only for plans that print them."""
Work: TypeAlias = Iterator[bool] | None
UPDATE: Final = 1
"""Operations are 0 (insert), 1 and 2 (delete), as the event types count."""


class RowEvents:
    """Every handler gets (buffer, first byte of the body, end of the body, timestamp, server id). One that returns an
    iterator has not done all: that continues with it, and gives True wherever the batches should leave.

    Attributes:
        text: the buffer as latin-1.
        state: of the current transaction.
    """

    def __init__(
        self,
        asked: PlanVariables,
        versions: TableVersions,
        collector: BatchCollector,
        progress: Progress,
        narration: MetadataEvents,
        clock: Callable[[], int],
        counters: Counter[str],
    ) -> None:
        self.text = ""
        self.state = progress.state
        self._asked = asked
        self._metadata = narration
        self._versions = versions
        self._ids = versions.ids
        self._collector = collector
        self._progress = progress
        self._clock = clock
        self._counters = counters
        self._uuids = gtid_events.UuidTexts()
        self._attentive = narration.listening
        self._xa: XaTransaction | None = None  # the XA transaction at hand

    @property
    def ordinary(self) -> bool:
        """True if no XA transaction is open, formats receive no more of rows than their statements, and no plan prints
        expensive variables."""
        if self._xa is not None:
            return False
        return not self._attentive or (self._metadata.queries and not self._asked.variables & _DEAR)

    # GTIDs

    def mysql_gtid(self, b: bytes, p: int, end: int, timestamp: int, server_id: int) -> None:
        uuid, number, commit_us, length = gtid_events.mysql(b, p, end)
        self._announce_mysql(self._uuids[uuid], number, commit_us, length)

    def tagged_gtid(self, b: bytes, p: int, end: int, timestamp: int, server_id: int) -> None:
        gtid = gtid_events.tagged(b, p, end)
        self._announce_mysql(gtid.tsid, gtid.number, gtid.commit_us, 0)

    def _announce_mysql(self, tsid: str, number: int, commit_us: int, length: int) -> None:
        self._collector.announce((tsid, number), commit_us, length)
        state = self.state
        text = f"{tsid}:{number}"
        state.gtid_json = f'"{text}"'
        state.position = text.encode()
        state.ts_us = commit_us
        state.thread = "null"

    def anonymous_gtid(self, b: bytes, p: int, end: int, timestamp: int, server_id: int) -> None:
        _, _, commit_us, length = gtid_events.mysql(b, p, end)
        self._collector.announce(None, commit_us, length)
        self._without_gtid(commit_us)

    def _without_gtid(self, commit_us: int) -> None:
        state = self.state
        state.gtid_json = state.thread = "null"
        state.position = f"{self._progress.file}:{state.start}".encode()
        state.ts_us = commit_us

    def mariadb_gtid(self, b: bytes, p: int, end: int, timestamp: int, server_id: int) -> None:
        number, domain, flags = gtid_events.mariadb(b, p, end)
        self._collector.announce((domain, server_id, number), 0)
        state = self.state
        state.standalone = bool(flags & gtid_events.STANDALONE)
        text = f"{domain}-{server_id}-{number}"
        state.gtid_json = f'"{text}"'
        state.position = text.encode()
        state.ts_us = 0
        state.thread = "null"
        if not state.standalone:
            self._collector.open()
        if flags & gtid_events.PREPARED_XA:  # there is no XA START behind it
            state.phase, self._xa = Phase.XA, XaTransaction(0)

    # Rows

    def table_map(self, b: bytes, p: int, end: int, timestamp: int, server_id: int) -> None:
        if p + 8 > end:
            raise unsupported_events.structure("a table map is truncated")
        table_id = int.from_bytes(b[p : p + 6], "little")
        raw = b[p + 6 : end]
        version = self._ids.get(table_id)
        if version is None or version.raw != raw:
            self._versions.map(table_id, raw)
            if not self._attentive and self._asked.variables & _DEAR:
                self._attentive = True
                if self.state.query_start != self.state.start:
                    self._metadata.statement_ended()

    def rows_v1(self, b: bytes, p: int, end: int, timestamp: int, server_id: int, operation: int) -> None:
        self._rows(b, p, p + 8, end, timestamp, server_id, operation)

    def rows_v2(self, b: bytes, p: int, end: int, timestamp: int, server_id: int, operation: int) -> None:
        extra = b[p + 8] | b[p + 9] << 8
        if extra < 2:
            raise unsupported_events.structure("the extra data of a row event has an invalid length", f"{extra} bytes")
        self._rows(b, p, p + 8 + extra, end, timestamp, server_id, operation)

    def _rows(self, b: bytes, p: int, at: int, end: int, timestamp: int, server_id: int, operation: int) -> None:
        collector, state = self._collector, self.state
        if state.phase == Phase.XA and self._xa is not None:
            self._xa.count += 1
        else:
            collector.next_event()
        table_id = int.from_bytes(b[p : p + 6], "little")
        version = self._ids.get(table_id)
        if version is None:
            if table_id == _DUMMY_TABLE:  # says only that a statement ends
                self._metadata.statement_ended()
                return
            raise unsupported_events.structure("a row event without its table map", f"table id {table_id}")
        if state.phase != Phase.OPEN:
            if state.phase == Phase.XA and self._xa is not None:
                if self._xa.count == 1 and version.guard is not None:
                    self._xa.skipped = state.skipped = version.guard(b[at:end], 0, operation)
                if version.plan is not None and not self._xa.skipped:
                    event = (operation, at - p, timestamp, server_id, b[p:end])
                    self._xa.rows(version.raw, self.state.query, event)
                if b[p + 6] & _STATEMENT_END:
                    self._metadata.statement_ended()
                return
            raise unsupported_events.structure("a row event outside a transaction", version.table.qualified)
        if state.row_events == 1 and version.guard is not None:
            state.skipped = version.guard(b[at:end], 0, operation)
        attentive = self._attentive
        if version.plan is None or state.skipped:
            if attentive and b[p + 6] & _STATEMENT_END:
                self._metadata.statement_ended()
            return
        state.pos = state.at
        state.server_id = server_id
        state.row_flags = b[p + 6] | b[p + 7] << 8
        state.now_ns = self._clock()
        state.event_s = timestamp
        if not state.commit_us:
            state.ts_us = timestamp * 1_000_000
        if version.deferred is not None:
            state.deferred = version.deferred
        if attentive:
            self._metadata.before_rows(version.table, self._asked.variables, timestamp, server_id)
        try:
            rows = version.functions[operation] or version.compile(operation)
            row, size = rows(b, self.text, at, end, state.row, collector.append, state)
        except Exception:
            self._versions.at_fault = version.table.qualified
            raise
        if attentive:
            self._metadata.after_rows(version.table, row - state.row, ended=bool(b[p + 6] & _STATEMENT_END))
        collector.add_rows(row, size)

    def rows_query(self, b: bytes, p: int, end: int, timestamp: int, server_id: int) -> None:
        """A length (of one byte, to be ignored), then the statement's text."""
        self.state.query, self.state.query_start = b[p + 1 : end], self.state.start

    def annotate_rows(self, b: bytes, p: int, end: int, timestamp: int, server_id: int) -> None:
        self.state.query, self.state.query_start = b[p:end], self.state.start

    def partial_rows(self, b: bytes, p: int, end: int, timestamp: int, server_id: int) -> None:
        """Updates with JSON values as changes to those before."""
        at = p + 8 + (b[p + 8] | b[p + 9] << 8)
        version = self._ids.get(int.from_bytes(b[p : p + 6], "little"))
        if version is None or version.plan is None:
            self._rows(b, p, at, end, timestamp, server_id, UPDATE)
        else:
            try:
                body = b[p:at] + version.whole_rows(b, at, end)
            except Exception:
                self._versions.at_fault = version.table.qualified
                raise
            self._made(body, at - p, timestamp, server_id, UPDATE)

    def _made(self, body: bytes, at: int, timestamp: int, server_id: int, operation: int) -> None:
        """A row event that does not stand like this in the stream."""
        text, self.text = self.text, body.decode("latin-1")
        self._rows(body, 0, at, len(body), timestamp, server_id, operation)
        self.text = text

    # MariaDB's log_bin_compress

    def compressed_rows_v1(self, b: bytes, p: int, end: int, timestamp: int, server_id: int, operation: int) -> None:
        self._compressed_rows(b, p, p + 8, end, timestamp, server_id, operation)

    def compressed_rows_v2(self, b: bytes, p: int, end: int, timestamp: int, server_id: int, operation: int) -> None:
        self._compressed_rows(b, p, p + 8 + (b[p + 8] | b[p + 9] << 8), end, timestamp, server_id, operation)

    def _compressed_rows(
        self, b: bytes, p: int, at: int, end: int, timestamp: int, server_id: int, operation: int
    ) -> None:
        version = self._ids.get(int.from_bytes(b[p : p + 6], "little"))
        if version is None or (version.plan is None and version.guard is None):
            self._rows(b, p, at, end, timestamp, server_id, operation)
            return
        start = mariadb_compression.rows_at(b, at, end, 2 if operation == UPDATE else 1)
        self._made(b[p:start] + mariadb_compression.event(b, start, end), at - p, timestamp, server_id, operation)
