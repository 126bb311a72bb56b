"""Handlers of events that begin and end transactions: QUERY, XID, XA PREPARE."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, Final

from replicator.decode.binlog import mariadb_compression, statement_settings, unsupported_events
from replicator.decode.binlog.statements import Kind, Statement, classify
from replicator.decode.transactions.loop_guard import LoopGuard
from replicator.decode.transactions.row_events import RowEvents, Work
from replicator.decode.transactions.table_watch import TableWatch
from replicator.decode.transactions.transaction_state import Phase
from replicator.decode.transactions.xa import PreparedTransactions, XaTransaction
from replicator.errors import ReplicatorError
from replicator.model.position import Prepared
from replicator.model.table import Table

__all__ = ["TransactionEvents", "Work"]

_QUERY: Final = struct.Struct("<IIBHH").unpack_from
_QUERY_HEADER: Final = 13
_PIECE: Final = 1 << 20
"""Bytes of events that waited which are decoded before what came of them leaves."""


class TransactionEvents(RowEvents):
    """All handlers of what makes up transactions; see `RowEvents`.

    Args:
        watch: told of statements.
        guard: knows statements that tasks have executed; None: none are skipped.
        read_again: gives the rows of an XA transaction that are not kept.

    Attributes:
        pausing: whether to let the caller of `feed` look after each XA PREPARE.
    """

    def __init__(
        self,
        *arguments: Any,
        watch: TableWatch,
        read_again: Callable[[Prepared], XaTransaction],
        guard: LoopGuard | None = None,
    ) -> None:
        super().__init__(*arguments)
        self._guard = guard
        self._watch = watch
        self.pausing = False
        self._prepared = PreparedTransactions()
        self._read_again = read_again

    def xid(self, b: bytes, p: int, end: int, timestamp: int, server_id: int) -> Work:
        if self.state.phase == Phase.BETWEEN or p + 8 > end:
            raise unsupported_events.structure("a commit (XID) without a transaction")
        if self._xa is not None:
            return self._commit(self._xa, timestamp, server_id)
        if self._attentive:
            self._metadata.finish(timestamp, server_id)
        if self.state.deferred is None:
            self._collector.finish(timestamp)
            return None
        return self._collector.finish(timestamp, int.from_bytes(b[p : p + 8], "little"))

    def _finish(self, timestamp: int, server_id: int) -> Work:
        if self._xa is not None:
            return self._commit(self._xa, timestamp, server_id)
        if self._attentive:
            self._metadata.finish(timestamp, server_id)
        return self._collector.finish(timestamp)

    def compressed_query(self, b: bytes, p: int, end: int, timestamp: int, server_id: int) -> Work:
        _, _, database_size, _, status_size = _QUERY(b, p)
        at = p + 13 + status_size + database_size + 1
        body = b[p:at] + mariadb_compression.event(b, at, end)
        return self.query(body, 0, len(body), timestamp, server_id)

    def query(self, b: bytes, p: int, end: int, timestamp: int, server_id: int) -> Work:
        thread, _, database_size, _, status_size = _QUERY(b, p)
        at = p + _QUERY_HEADER + status_size + database_size + 1
        if at > end:
            raise unsupported_events.structure("a query event is truncated")
        text = b[at:end]
        if text == b"BEGIN":
            self._begin(thread)
        elif text == b"COMMIT" and self.state.phase == Phase.OPEN:
            return self._finish(timestamp, server_id)
        else:
            database = b[at - 1 - database_size : at - 1].decode("utf-8", "replace")
            status = b[p + _QUERY_HEADER : p + _QUERY_HEADER + status_size]
            return self._statement(text, database, thread, timestamp, server_id, status)
        return None

    def _begin(self, thread: int) -> None:
        collector = self._collector
        announced = self.state.phase != Phase.BETWEEN
        collector.open()
        if not announced:
            self._without_gtid(0)
        self.state.thread = thread

    def _statement(
        self, text: bytes, database: str, thread: int, timestamp: int, server_id: int, status: bytes
    ) -> Work:
        collector, statement = self._collector, classify(text)
        kind, shown = statement.kind, text[:200].decode("utf-8", "replace")
        is_open = self.state.phase in (Phase.OPEN, Phase.XA)
        if kind is Kind.BEGIN:
            self._begin(thread)
        elif kind is Kind.XA_START:
            self._begin(thread)
            self.state.phase, self._xa = Phase.XA, XaTransaction(thread)
        elif kind is Kind.CHANGE:
            self._refuse_change(statement, database, shown)
            self._statement_alone(timestamp, server_id)
        elif kind is Kind.OTHER:
            told = text.decode("utf-8", "replace"), database, thread, timestamp, server_id, status
            if self._metadata.barriers:
                return self._apart(*told)
            self._other(*told)
        elif kind in (Kind.XA_COMMIT, Kind.XA_ROLLBACK) and self._xa is None:
            return self._decided(statement, thread, timestamp, server_id)
        elif is_open and kind in (Kind.COMMIT, Kind.XA_COMMIT):
            return self._finish(timestamp, server_id)
        elif is_open and kind in (Kind.ROLLBACK, Kind.XA_ROLLBACK):
            self._end_branch()
            self._metadata.forget()
            collector.roll_back(shown, timestamp)
        elif is_open and kind is Kind.SAVEPOINT:
            (self._xa or collector).savepoint(statement.argument)
        elif is_open and kind is Kind.ROLLBACK_TO:
            (self._xa or collector).roll_back_to(statement.argument, shown)
        elif is_open and kind is Kind.XA_END:
            if self._xa is not None:
                self._xa.thread = self._xa.thread or thread
        else:
            self._statement_alone(timestamp, server_id)
        return None

    def _apart(
        self, text: str, database: str, thread: int, timestamp: int, server_id: int, status: bytes
    ) -> Iterator[bool]:
        """The statement is in a batch of its own."""
        yield True
        self._other(text, database, thread, timestamp, server_id, status)
        yield True

    def _other(self, text: str, database: str, thread: int, timestamp: int, server_id: int, status: bytes) -> None:
        """DDL and the like."""
        if self.state.phase == Phase.BETWEEN:
            self._collector.announce(None, 0)
            self._without_gtid(0)
        self.state.thread = thread
        self._collector.next_event()
        self._watch.statement(text, database)
        skipped = self._guard is not None and self._guard.skips_statement(thread)
        self.state.skipped |= skipped
        settings = statement_settings.read(status)
        known = self._metadata.statement(text, database, timestamp, server_id, settings, skipped=skipped)
        if known is not None:
            self._watch.changes(known.changes)
            self._versions.forget(known.changes, every="DATABASE" in known.kind)
        self._statement_alone(timestamp, server_id)

    def _statement_alone(self, timestamp: int, server_id: int) -> None:
        """A statement that changes no rows: a transaction of its own, unless one is open."""
        self._counters["ddl"] += 1
        if self.state.phase in (Phase.OPEN, Phase.XA):
            return
        if self.state.phase == Phase.BETWEEN:
            self._collector.announce(None, 0)
        self._metadata.finish(timestamp, server_id)
        self._collector.finish(timestamp)

    def _refuse_change(self, statement: Statement, database: str, shown: str) -> None:
        target = statement.target
        if target is None:
            raise unsupported_events.statement(shown, None)
        table = Table(target[0] or database, target[1], ())
        try:
            replicated = self._asked(table) is not None
        except (ReplicatorError, LookupError, ValueError):
            replicated = True  # a plan was begun for it
        if replicated:
            raise unsupported_events.statement(shown, (table.database, table.name))

    # XA transactions

    def xa_prepare(self, b: bytes, p: int, end: int, timestamp: int, server_id: int) -> Work:
        """one_phase: XA COMMIT ... ONE PHASE, an ordinary commit. Else the rows wait for XA COMMIT."""
        branch = self._xa
        if p + 13 > end or branch is None:
            raise unsupported_events.structure("an XA_PREPARE_LOG_EVENT is truncated, or has no transaction before it")
        if b[p]:
            return self._commit(branch, timestamp, server_id)
        xid = xid_text(b[p + 1 : end])
        self._xa = None
        self._progress.prepare(xid, rows=not branch.empty)
        if branch.empty:
            branch.close()
        else:
            self._prepared.keep(xid, branch)
        self._metadata.forget()
        self._collector.finish(timestamp)
        return iter((True,)) if self.pausing else None

    def prepared(self, xid: str) -> XaTransaction | None:
        """Its events, which are the caller's from now on."""
        return self._prepared.take(xid)

    def _end_branch(self) -> None:
        if self._xa is not None:
            self._xa.close()
            self._xa = None

    def _commit(self, branch: XaTransaction, timestamp: int, server_id: int) -> Iterator[bool]:
        """The transaction at hand is the branch's own one."""
        yield from self._replay(branch)
        work = self._finish(timestamp, server_id)
        if work is not None:
            yield from work

    def _replay(self, branch: XaTransaction) -> Iterator[bool]:
        """Its events as those of the transaction at hand."""
        state = self.state
        self._xa = None
        state.phase = Phase.OPEN
        state.thread = branch.thread
        decoded = 0
        for event in branch.events():
            if decoded > _PIECE:
                yield True
                decoded = 0
            decoded += len(event.body)
            if event.is_map:
                self.table_map(event.body, 0, len(event.body), event.timestamp, event.server_id)
            elif event.is_query:
                state.query = event.body or None
            else:
                state.row_events = event.number - 1
                self._made(event.body, event.at, event.timestamp, event.server_id, event.operation)
        branch.close()

    def _decided(self, statement: Statement, thread: int, timestamp: int, server_id: int) -> Work:
        """XA COMMIT or XA ROLLBACK of what was prepared earlier."""
        collector, xid = self._collector, statement.argument
        prepared = self._progress.prepared.get(xid)
        text = f"{statement.kind.value} {xid}"
        if prepared is None and statement.kind is Kind.XA_COMMIT:
            raise unsupported_events.finished_elsewhere(text)
        if self.state.phase == Phase.BETWEEN:
            collector.announce(None, 0)
            self._without_gtid(0)
        collector.open()
        self.state.thread = thread
        if prepared is None or not prepared.offset:
            return self._end_of(xid, timestamp, server_id)
        branch = self._prepared.take(xid)
        if statement.kind is Kind.XA_COMMIT:
            return self._released(branch or self._read_again(prepared), text, xid, timestamp, server_id)
        if branch is not None:
            branch.close()
        self._metadata.xa(text, statement.kind.value, timestamp, server_id)
        return self._end_of(xid, timestamp, server_id)

    def _released(self, branch: XaTransaction, text: str, xid: str, timestamp: int, server_id: int) -> Iterator[bool]:
        self._watch.late(begins=True)
        yield from self._replay(branch)
        self._watch.late(begins=False)
        self._metadata.xa(text, Kind.XA_COMMIT.value, timestamp, server_id)
        work = self._end_of(xid, timestamp, server_id)
        if work is not None:
            yield from work

    def _end_of(self, xid: str, timestamp: int, server_id: int) -> Work:
        work = self._finish(timestamp, server_id)
        if work is None:
            self._progress.decide(xid)
            return None
        return self._and_then_decided(work, xid)

    def _and_then_decided(self, work: Iterator[bool], xid: str) -> Iterator[bool]:
        """While rows of it leave, the position says that it is prepared."""
        yield from work
        self._progress.decide(xid)

    def incident(self, b: bytes, p: int, end: int, timestamp: int, server_id: int) -> None:
        raise unsupported_events.incident(b[p + 3 : end].decode("utf-8", "replace"))


def xid_text(raw: bytes) -> str:
    """As the servers write it in XA COMMIT: X'gtrid',X'bqual',format."""
    form, first, second = struct.unpack_from("<III", raw)
    data = raw[12:]
    if first + second > len(data):
        raise unsupported_events.structure("an XA_PREPARE_LOG_EVENT is truncated")
    return f"X'{data[:first].hex()}',X'{data[first : first + second].hex()}',{form}"
