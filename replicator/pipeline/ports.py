"""The interfaces between the pipeline and its stages.

Each has an implementation in memory, and one conformance suite (tests/conformance) runs over every implementation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

import msgspec

from replicator.errors import ReplicatorError
from replicator.model.batch import Batch
from replicator.model.checkpoint import Checkpoint
from replicator.model.happening import Message, Moment, Statement
from replicator.model.plan import TablePlan
from replicator.model.position import Position
from replicator.model.schema_history import SchemaRecord
from replicator.model.snapshot import Bound, Marker, OpenTable, RowImages, SnapshotMoment
from replicator.model.snapshot_steps import SnapshotStep
from replicator.model.table import Table
from replicator.model.term import Term


class Stream(Protocol):
    """An open binlog stream. Not thread-safe, but for `close`, which may come from any thread and ends a read."""

    framing: Literal["packet", "file"]
    """packet: each event behind a 4-byte packet header and a status byte, as on the wire; file: events back to back."""

    position: Position
    """Where it was opened: start of a transaction. `position.rows` is for the decoder to skip."""

    def read(self, timeout: float) -> bytes:
        """The next bytes, at most 1 MB; b"" when none came within `timeout` seconds. Pieces may end anywhere.

        Raises:
            SourceUnavailable: connection lost, server silent for longer than two heartbeats, end of the stream.
        """
        ...

    def server_error(self, errno: int, sqlstate: str, message: str) -> ReplicatorError:
        """The error for an ERR packet that the decoder met in the stream (purged binlog, server id taken, ...)."""
        ...

    def close(self) -> None: ...


class Source(Protocol):
    """Somewhere transactions come from."""

    def start_position(self) -> Position:
        """The position that the configured `start` means now. Raises SourceError."""
        ...

    def end_position(self) -> Position:
        """Where the source's log ends now: for lag and for `--until-current`. Raises SourceError."""
        ...

    def retention_headroom(self, position: Position, behind_s: float, speed: float) -> float | None:
        """Seconds until the source may purge what comes after `position`; None when it never does.

        Args:
            behind_s: age of the last delivered transaction.
            speed: seconds of the source's log that are delivered in a second.

        Raises SourceUnavailable, SourceError.
        """
        ...

    def open(self, position: Position) -> Stream:
        """Raises SourceUnavailable (try again) or SourceError (purged, refused: stop)."""
        ...


class TableChanged(Exception):
    """The table has no longer the key by which it was cut, or is gone: it has to be begun again."""


class TableSize(msgspec.Struct, frozen=True):
    """A table that a snapshot reads, `database.table`, with the rows and bytes that the source expects in it."""

    table: str
    rows: int
    size: int


class Chunk(msgspec.Struct):
    """Rows of one table as one SELECT has found them.

    Attributes:
        table_map: body of the TABLE_MAP event (as with binlog_row_metadata = FULL) that the images belong to.
        images: the rows.
        high: end of the source's log, read after the SELECT. `high.server` names the server alone: compare it with
            `Origin.parse(...).server` of a stream's position.
        last: key of the last row; None without rows, or without a key.
        final: nothing of the table is left behind it.
        time_s: when it was read, s since the epoch.
    """

    table_map: bytes
    images: RowImages
    high: Position
    last: Bound | None
    final: bool
    time_s: int


class SnapshotReader(Protocol):
    """Reads tables of one server. Not thread-safe, but for `close`, which ends a read.

    All methods raise SourceUnavailable (close it, and try again with another one) and SourceError.
    """

    def tables(self) -> Sequence[TableSize]:
        """The tables that the task replicates, sorted by `database.table`, byte for byte."""
        ...

    def load(self) -> int:
        """Statements that the server runs at this moment, the reader's own among them."""
        ...

    def begin(self, table: str) -> OpenTable | None:
        """Chooses the key and finds the last row. None: there is no such table."""
        ...

    def read(self, table: OpenTable, most: int, passed: Position) -> Chunk:
        """The next rows behind `table.done`, at most `most`, and fewer where they are long.

        A table without a key is one SELECT, in one view: each call gives its next rows, and `table.chunks` is the
        number of calls so far; 0 begins it. Nothing of it can be read again but all of it: what else is asked for is
        TableChanged. Rows are as old as the first call, so what changed since then counts for every chunk.

        The SELECT begins only once it can see every transaction before `passed`: a server sends transactions
        that its engine does not show yet.

        Raises:
            TableChanged.
        """
        ...

    def close(self) -> None: ...


class SnapshotSource(Protocol):
    """Where the rows of a snapshot come from."""

    def open(self, server: str) -> SnapshotReader:
        """`server`: the one whose log the stream reads, as in `Position.server`.

        Raises SourceUnavailable, SourceError."""
        ...


Interest: TypeAlias = Literal["statement", "transaction", "query", "heartbeat", "xa", "executed"]
"""What a format wants to be told of; "executed": its messages print `Moment.executed`, which is dear to make."""


class Narrator(Protocol):
    """Records that are not of rows. Each method is called only when its interest is listed, so that nothing is paid
    for what nobody prints. The same calls must give the same number of messages: a resumed stream counts them.
    """

    interests: frozenset[Interest]

    def statement(self, statement: Statement, moment: Moment) -> Sequence[Message]:
        """DDL and the like, and (interest "xa") XA COMMIT and XA ROLLBACK."""
        ...

    def begin(self, moment: Moment) -> Sequence[Message]:
        """A transaction begins: before its first row that is replicated, or its statement."""
        ...

    def end(self, moment: Moment, rows: Mapping[tuple[str, str], int]) -> Sequence[Message]:
        """It ends. `rows`: by (database, table), replicated ones."""
        ...

    def query(self, text: str, moment: Moment) -> Sequence[Message]:
        """The statement behind the rows that follow (ROWS_QUERY, ANNOTATE_ROWS)."""
        ...

    def heartbeat(self, moment: Moment) -> Sequence[Message]:
        """The source has nothing new. Between transactions only; these are not counted."""
        ...


class Format(Narrator, Protocol):
    """A file of `encode/`: builds plans and the few records that are not of rows."""

    def plan(self, table: Table, topic: str) -> TablePlan: ...

    def snapshot_plan(self, table: Table, topic: str, marker: Marker, moment: SnapshotMoment) -> TablePlan:
        """For rows of a snapshot. Only `insert` is used; no record is `Deferred`."""
        ...

    @property
    def defines_tables(self) -> bool:
        """Whether the messages of `SnapshotBegins` are made of its definitions, which are dear to read."""
        ...

    def snapshot_messages(self, step: SnapshotStep, topic: str, moment: SnapshotMoment) -> Iterable[Message]:
        """The records of a snapshot that are not of rows. The same arguments give the same messages.

        Args:
            step: its table, if it has one, is the one that the plans of its rows are made for.
            topic: of that table's rows, "" without.
        """
        ...


class Planner(Protocol):
    """Format, topic and transforms joined: what the decoder asks once per table version. None: not replicated."""

    def __call__(self, table: Table) -> TablePlan | None: ...


class Catalog(Protocol):
    """What CREATE TABLE says and TABLE_MAP events do not: the schema history, as of the position of the stream."""

    def describe(self, table: Table, *, named: bool) -> Table:
        """`table` with what is known beside the event. `named` False: the event has no column names
        (binlog_row_metadata = MINIMAL), nor keys, members, character sets; all of these come from here.

        Raises:
            DecodeError: E2306, the names are needed and the history does not have the table or does not fit it.
        """
        ...

    def statement(self, database: str, text: str, position: Position, gtid: str) -> Statement:
        """Takes DDL in; remembered durably, as of `position` (before the statement) and `gtid`, when it returns. One
        that was taken in already changes nothing.

        Raises:
            DecodeError: E2309, it can't be understood and touches a replicated table.
        """
        ...


class Watcher(Protocol):
    """Told by a decoder of the changes of tables that a snapshot reads, in the thread that calls `Decoder.feed`, before
    the batch that has them is returned."""

    @property
    def tables(self) -> Mapping[str, tuple[str, ...]]:
        """`database.table` -> the columns of which keys are made; without any: all."""
        ...

    def changed(self, table: str, keys: Sequence[bytes]) -> None:
        """Rows with these keys have changed: of an update, before and after. Keys as `RowKeys` makes them."""
        ...

    def altered(self, table: str | None) -> None:
        """A statement (DDL, TRUNCATE, ...) has changed the table; None: it may have changed any."""
        ...

    def renamed(self, old: str, new: str) -> None:
        """A table has another name now, `database.table`; told of every table."""
        ...


class Decoder(Protocol):
    more: bool
    """The last call left some of its bytes undecoded, as a little compressed data can be very many rows. `feed(b"")`
    goes on with them; a call with data does so, too, and to their end, but then holds all that they become."""

    def feed(self, data: bytes) -> list[Batch]:
        """Decodes the next bytes of the stream; keeps an incomplete tail for the next call.

        Per call at most one batch that ends at a transaction boundary (everything completed so far) followed by at
        most one that does not (rows of the unfinished transaction), so that memory stays bounded by the size of
        `data`, whatever the size of the transaction. A boundary batch may have no records (DDL, filtered tables,
        heartbeats): it moves the position.

        Raises:
            DecodeError: with position and event type; nothing after the last returned batch was delivered.
        """
        ...

    @property
    def between(self) -> bool:
        """Nothing of a transaction behind the position of the last batch has been read."""
        ...

    def watch(self, watcher: Watcher | None) -> None:
        """From the next event on `watcher` is told; called again when its tables have changed."""
        ...

    def end(self) -> None:
        """The stream has ended. Raises the error that waited for the next call of `feed`; DecodeError E2302 for a file
        that ends inside an event or a transaction."""
        ...


class ChunkEncoder(Protocol):
    """Turns a snapshot into records. Positions of its batches mean nothing.

    Calls come from the thread of the stream's decoder, but for `prepare`.
    """

    def prepare(self, tables: Sequence[str]) -> None:
        """Before anything else, in the thread that reads chunks: reads what the records of the beginning need.

        Raises SourceUnavailable, SourceError."""
        ...

    def begin(self, identity: str) -> Sequence[Batch]:
        """Records that the snapshot begins with. `identity`: what records have instead of a transaction's position."""
        ...

    def rows(self, chunk: Chunk, identity: str, first: Marker, between: Marker, last: Marker) -> Batch:
        """
        Args:
            first, between, last: of the first row, of those between, of the last one, and of an only one.

        Raises:
            DecodeError.
        """
        ...

    def begin_table(self, chunk: Chunk, identity: str) -> Sequence[Batch]:
        """Records in front of the rows of the table that `chunk` is of."""
        ...

    def end_table(self, chunk: Chunk, identity: str, rows: int) -> Sequence[Batch]:
        """Records behind them. `rows`: of the table, in all chunks."""
        ...

    def end(self, identity: str, rows: int, time_s: int) -> Sequence[Batch]:
        """Records behind everything. `rows`: of all tables; `time_s`: now, s since the epoch."""
        ...

    def keys(self, chunk: Chunk, key: tuple[str, ...]) -> Sequence[bytes]:
        """For each row what a decoder's watcher is told when the row changes."""
        ...


class Sink(Protocol):
    """Somewhere records go. Calls come from one thread.

    A sink never lets `acknowledged()` run ahead of what is durable: it is a contiguous prefix.
    """

    @property
    def dead_letters(self) -> int:
        """Records written so far in whose place a reference went elsewhere, as they were too large."""
        ...

    @property
    def holds_position(self) -> bool:
        """Positions are committed with the records, and none is acknowledged before `open` would return it."""
        ...

    @property
    def left(self) -> Position | None:
        """After `open`: the position that an earlier task of the same name has left here, if one has."""
        ...

    def open(self, term: Term) -> Position | None:
        """Connects and fences earlier terms out; called again after a transient error, with the same term.

        Returns the position that the sink itself holds, read after fencing, or None when it holds none.
        Raises SinkUnavailable, SinkError, SinkFenced.
        """
        ...

    def write(self, batch: Batch) -> None:
        """Takes a batch; blocks while too many bytes are in flight. Checks `term` before anything leaves."""
        ...

    def commit(self, position: Position) -> None:
        """Makes everything written so far, and `position`, one unit. exactly_once: returns when committed.
        at_least_once: returns at once, `acknowledged()` follows."""
        ...

    def acknowledged(self) -> Position | None:
        """The latest committed position whose records, and all before them, are durable. Raises what went wrong with
        a send in the background."""
        ...

    def flush(self, timeout: float, progress: Callable[[], None] | None = None) -> None:
        """Blocks until everything written and committed is acknowledged. Calls `progress`, from the calling thread, as
        parts of it are. Raises SinkUnavailable when nothing is acknowledged for `timeout` s."""
        ...

    def close(self) -> None:
        """Drops what is not committed. Never blocks for more than a few seconds; never raises."""
        ...


class CheckpointStore(Protocol):
    """Where `replicator run` and the worker of a Core put their progress."""

    def load(self) -> Checkpoint | None: ...

    def save(self, checkpoint: Checkpoint) -> None:
        """Durable when it returns, or soon after where the store paces its writes (the first one is always durable).
        Raises LeadershipLost when the term no longer holds."""
        ...


class HistoryStore(Protocol):
    """The store of a task's schema history, next to its checkpoint. Calls come from one thread."""

    def load(self) -> Sequence[SchemaRecord]:
        """The last base and everything appended after it, in that order; empty without a history."""
        ...

    def append(self, record: SchemaRecord) -> None:
        """Durable when it returns. A base takes the place of everything before it, all at once.
        Raises LeadershipLost when the term no longer holds."""
        ...
