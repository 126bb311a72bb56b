"""Passes transactions and statements to the format, and adds its messages to the transaction.

A message is numbered like a row, so that a stream that is resumed inside a transaction skips it as it skips rows. All
of this is paid for only by transactions of tasks whose format listens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

import msgspec

from replicator.decode.binlog import statement_tables
from replicator.decode.transactions.batch_collector import BatchCollector
from replicator.decode.transactions.progress import Progress
from replicator.decode.transactions.transaction_state import Gtid, Phase
from replicator.model.json_string import quote
from replicator.model.metadata_event import Message, Moment, Statement, StatementSettings, TableChange
from replicator.model.table import Table
from replicator.pipeline.ports import Catalog, Interest, Narrator

_UNKNOWN: Final = "null"


class Selection(Protocol):
    """Which tables a task carries."""

    def matches(self, database: str, table: str) -> bool: ...

    def touches(self, database: str) -> bool:
        """Whether a table of the database could match."""
        ...


class AllTables:
    """A `Selection` of all tables."""

    def matches(self, database: str, table: str) -> bool:
        return True

    def touches(self, database: str) -> bool:
        return True


class MetadataEvents:
    """
    Args:
        narrator: the format; None: nobody listens.
        catalog: the schema history that statements go to first.

    Attributes:
        listening: something is to be done at rows, too.
        queries: it wants to be, and of nothing else at rows that is not in them.
    """

    def __init__(
        self,
        narrator: Narrator | None,
        catalog: Catalog | None,
        selection: Selection,
        collector: BatchCollector,
        progress: Progress,
        clock: Callable[[], int],
    ) -> None:
        interests: frozenset[Interest] = narrator.interests if narrator is not None else frozenset()
        self.listening = bool(interests & {"transaction", "query"})
        self._narrator = narrator
        self._catalog = catalog
        self._selection = selection
        self._collector = collector
        self._progress = progress
        self._state = progress.state
        self._clock = clock
        self._statements = "statement" in interests
        self._transactions = "transaction" in interests
        self._queries = "query" in interests
        self._sets = "executed" in interests
        self.queries = self._queries and not self._transactions and not self._sets
        self._xa = "xa" in interests
        self.barriers = "barrier" in interests
        self._heartbeats = "heartbeat" in interests
        self._begun = False  # the transaction at hand was announced

    # Transactions

    def before_rows(self, table: Table, variables: frozenset[str], timestamp: int, server_id: int) -> None:
        """Rows that are replicated come next. `variables`: that some plan prints."""
        state = self._state
        if not self._begun:
            self._begin(timestamp, server_id)
            state.executed_json = _json(self._progress.executed(state.gtid)) if "executed" in variables else _UNKNOWN
            state.tsid_json = _tsid(state.gtid)
        if state.query is not None and state.query_json == _UNKNOWN and "query" in variables:
            state.query_json = _json(state.query.decode("utf-8", "replace"))
        if self._queries and not state.query_told and state.query is not None and self._narrator is not None:
            state.query_told = True
            self._tell(self.query_messages(state.query, self._moment(timestamp, server_id)))
        state.table_rows = self._collector.counts.get((table.database, table.name), 0)

    def query_messages(self, query: bytes, moment: Moment) -> Sequence[Message]:
        """What the format says of the statement behind rows."""
        return self._narrator.query(query.decode("utf-8", "replace"), moment) if self._narrator is not None else ()

    def after_rows(self, table: Table, rows: int, *, ended: bool) -> None:
        """`ended`: the statement has no more."""
        counts, name = self._collector.counts, (table.database, table.name)
        counts[name] = counts.get(name, 0) + rows
        if ended:
            self.statement_ended()

    def statement_ended(self) -> None:
        state = self._state
        state.query, state.query_told = None, False
        state.query_json = _UNKNOWN

    def _begin(self, timestamp: int, server_id: int) -> None:
        self._begun = True
        if self._transactions and self._narrator is not None:
            self._tell(self._narrator.begin(self._moment(timestamp, server_id)))

    def finish(self, timestamp: int, server_id: int) -> None:
        """The transaction is about to be finished, and its rows stay."""
        if self._begun and self._transactions and self._narrator is not None:
            self._collector.next_event()
            self._tell(self._narrator.end(self._moment(timestamp, server_id), dict(self._collector.counts)))
        self.forget()

    def forget(self) -> None:
        """The transaction is over."""
        self._begun = False
        if self._state.query is not None:
            self.statement_ended()

    def passed(self) -> None:
        """Transactions have ended of which nothing was told but their statements."""
        self._begun = False

    # Statements

    def statement(
        self,
        text: str,
        database: str,
        timestamp: int,
        server_id: int,
        settings: StatementSettings | None = None,
        *,
        skipped: bool = False,
    ) -> Statement | None:
        """DDL and the like. Returns what the schema history made of it, when there is one. `skipped`: the format is not
        told."""
        told = None
        if self._catalog is not None:
            gtid = "" if self._state.gtid_json == _UNKNOWN else self._state.gtid_json[1:-1]
            told = self._catalog.statement(database, text, self._progress.before(), gtid)
        if self._statements and self._narrator is not None and not skipped:
            subject = statement_tables.subject(text, database)
            statement = self._chosen(told or Statement(database, text, subject.kind), subject)
            if statement is not None:
                statement = msgspec.structs.replace(statement, settings=settings)
                if not self._begun:
                    self._begin(timestamp, server_id)
                self._tell(self._narrator.statement(statement, self._moment(timestamp, server_id)))
        return told

    def xa(self, text: str, kind: str, timestamp: int, server_id: int) -> None:
        """XA COMMIT, XA ROLLBACK of a transaction with rows that are replicated."""
        if self._xa and self._narrator is not None:
            statement = Statement("", text, kind)
            self._collector.next_event()
            self._tell(self._narrator.statement(statement, self._moment(timestamp, server_id)))

    def _chosen(self, statement: Statement, subject: statement_tables.Subject) -> Statement | None:
        """The statement with its changes to replicated tables; None when it is of no concern to the task."""
        matches = self._selection.matches
        if statement.changes:
            changes = tuple(change for change in statement.changes if self._concerns(change))
            return msgspec.structs.replace(statement, changes=changes) if changes else None
        if subject.tables:
            return statement if any(matches(*table) for table in subject.tables) else None
        return statement if not subject.database or self._selection.touches(subject.database) else None

    def _concerns(self, change: TableChange) -> bool:
        matches = self._selection.matches
        return matches(change.database, change.name) or (change.new_name is not None and matches(*change.new_name))

    # Between transactions

    def heartbeat(self, timestamp: int, server_id: int) -> None:
        if self._heartbeats and self._narrator is not None and self._collector.settled:
            position = str(self._progress).encode()
            self._collector.add_messages_between(self._narrator.heartbeat(self._moment(timestamp, server_id)), position)

    def _tell(self, messages: Sequence[Message]) -> None:
        for message in messages:
            self._collector.add_message(message, self._state.position)

    def _moment(self, timestamp: int, server_id: int) -> Moment:
        state = self._state
        progress = self._progress
        inside = state.phase != Phase.BETWEEN
        gtid = state.gtid_json[1:-1] if inside and state.gtid_json != _UNKNOWN else ""
        return Moment(
            event_s=timestamp,
            ts_us=(inside and state.commit_us) or timestamp * 1_000_000,
            now_ns=self._clock(),
            gtid=gtid,
            executed=progress.executed(state.gtid) if self._sets else "",
            file=progress.file,
            offset=state.at,
            end=state.offset,
            server_id=server_id,
            thread=state.thread if inside and isinstance(state.thread, int) else None,
        )


def _json(text: str) -> str:
    """JSON text as generated functions want it: latin-1 of UTF-8 bytes; null for an empty one."""
    return quote(text).encode().decode("latin-1") if text else _UNKNOWN


def _tsid(gtid: Gtid) -> str:
    """A GTID without its number."""
    return _UNKNOWN if gtid is None else f'"{"-".join(str(part) for part in gtid[:-1])}"'
