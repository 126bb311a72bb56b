"""The interfaces between the pipeline and its stages.

Each has an implementation in memory, and one conformance suite (tests/conformance) runs over every implementation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

import msgspec

from replicator.errors import ReplicatorError, SourceError
from replicator.model.batch import Batch
from replicator.model.checkpoint import Checkpoint
from replicator.model.conflicts import ConflictCounts
from replicator.model.metadata_event import Message, Moment, Statement
from replicator.model.plan import TablePlan
from replicator.model.position import Begin, Position
from replicator.model.schema_history import SchemaRecord
from replicator.model.snapshot import Bound, Marker, OpenTable, RowImages, SnapshotMoment, SnapshotProgress
from replicator.model.snapshot_steps import SnapshotStep
from replicator.model.source_end import SourceEnd
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

        Raises SourceUnavailable: connection lost, server silent for longer than two heartbeats, end of the stream.
        """

    def server_error(self, errno: int, sqlstate: str, message: str) -> ReplicatorError:
        """The error for an ERR packet that the decoder met in the stream (purged binlog, server id taken, ...)."""

    def close(self) -> None: ...


class Source(Protocol):
    """Somewhere transactions come from."""

    def start_position(self, begin: Begin | None = None) -> Position:
        """What the configured `start` means now, or `begin` in its place. Raises SourceError."""

    def end_position(self) -> Position:
        """Where the source's log ends now: for `--until-current`. Raises SourceError."""

    def observe(self, delivered: Position | None = None) -> SourceEnd:
        """Of the server that is read, for lag; how far it is from `delivered`. From any thread. Raises
        SourceUnavailable, SourceError."""

    def retention_headroom(self, position: Position, behind_s: float, speed: float) -> float | None:
        """Seconds until the source may purge what comes after `position`; None when it never does.

        Args:
            behind_s: age of the last delivered transaction.
            speed: seconds of the source's log that are delivered in a second.

        Raises SourceUnavailable, SourceError.
        """

    def open(self, position: Position) -> Stream:
        """Raises SourceUnavailable (try again) or SourceError (purged, refused: stop)."""


class TableChanged(Exception):
    """The table has no longer the key by which it was cut, or is gone: it has to be begun again."""


class TableSize(msgspec.Struct, frozen=True):
    """A table that a snapshot reads, `database.table`; rows and bytes that the source expects in it; its database."""

    table: str
    rows: int
    size: int
    database: str = ""


class Chunk(msgspec.Struct):
    """Rows of one table as one SELECT has found them.

    Attributes:
        table_map: body of the TABLE_MAP event (as with binlog_row_metadata = FULL) that the images belong to.
        images: the rows.
        high: end of the source's log, read after the SELECT. `high.server` names the server alone: compare it with
            `Origin.parse(...).server` of a stream's position.
        last: key up to which the table is read; None without a key, or if it is not known as no row was found.
        final: nothing of the table is left behind it.
        time_s: when it was read, s since the epoch.
        covered: rows of the table that it was made of, where a condition has left some out; 0: as many as it has.
        seconds: that the source took for it, without the wait until it could be read.
    """

    table_map: bytes
    images: RowImages
    high: Position
    last: Bound | None
    final: bool
    time_s: int
    covered: int = 0
    seconds: float = 0.0


AccessPath: TypeAlias = Literal["range", "scan", "sort"]
"""How a source finds the rows of a chunk: by a range of the index, by reading the index or table from its beginning, or
by sorting rows, which takes temporary space."""


class SourceSurvey(msgspec.Struct, frozen=True):
    """What a source says before a snapshot begins.

    Attributes:
        retention_s: after which it purges its log, s; None: never.
        retention_variable: of the source, which says that.
        retention_bytes: of log above which it purges, whatever the age; 0: no limit.
        proof: by what it proves that a SELECT sees the transactions that the stream has passed; "": by nothing.
        wait_s: instead of a proof, s that a chunk may wait.
        numbered: the account may see what tells of rows that are exchanged below a consistent view.
    """

    retention_s: float | None = None
    retention_variable: str = ""
    retention_bytes: int = 0
    proof: str = ""
    wait_s: float = 0.0
    numbered: bool = True


class SnapshotReader(Protocol):
    """Reads tables of one server. Not thread-safe, but for `close`, which ends a read.

    All methods raise SourceUnavailable (close it, and try again with another one) and SourceError.
    """

    def tables(self) -> Sequence[TableSize]:
        """The tables that the task replicates, sorted by `database.table`, byte for byte."""

    def settle(self, passed: Position) -> None:
        """Waits until all transactions before `passed` are visible to every statement: a server sends transactions
        that its engine does not show yet. The tables and last rows that are asked for afterwards include them."""

    def load(self, enough: int) -> int:
        """Statements that the server runs at this moment, the reader's own among them. The server counts each replica
        as one: those are left out where there would be more than `enough` with them."""

    def end(self) -> Position:
        """End of the source's log now; see `Chunk.high`."""

    def survey(self) -> SourceSurvey: ...

    def views_refused(self, tables: Sequence[str]) -> SourceError | None:
        """What `SnapshotSource.open_views` would raise now; nothing is locked for it."""

    def path(self, table: OpenTable) -> AccessPath:
        """Of chunks of a table with a key, as the source would read them now. Raises TableChanged."""

    def begin(self, table: str) -> OpenTable | None:
        """Chooses the key and finds the last row. None: there is no such table."""

    def cut(self, table: OpenTable, rows: int) -> Bound | None:
        """Key of the row that is the `rows`-th one behind `table.done`, whatever a condition wants; None: there are
        fewer up to `table.limit`, or it is the last one. It asks for the key alone.

        Raises:
            TableChanged.
        """

    def read(self, table: OpenTable, most: int, passed: Position, end: Bound | None = None) -> Chunk:
        """The next rows behind `table.done`, at most `most`, and fewer where they are long. Where rows have to meet a
        condition, those that are wanted of the next `most`.

        With `end`, a bound of `cut`, nothing behind it is read: `last` is `end` once everything up to it is read.

        A table without a key is one SELECT, in one view: each call gives its next rows, and `table.chunks` is the
        number of calls so far; 0 begins it. Nothing of it can be read again but all of it: what else is asked for is
        TableChanged. Rows are as old as the first call, so what changed since then counts for every chunk.

        The SELECT begins only once it can see every transaction before `passed`: a server sends transactions
        that its engine does not show yet.

        Raises:
            TableChanged.
        """

    def close(self) -> None: ...


class ConsistentViews(msgspec.Struct):
    """Readers that see the rows of one moment, also of tables without a key, which any of them may read.

    They raise SourceUnavailable E2225 where rows of that moment can't be had any more.

    Attributes:
        position: end of the source's log at that moment; `high` of all chunks.
        lock_s: how long the source's writers were locked, s.
    """

    readers: Sequence[SnapshotReader]
    position: Position
    lock_s: float


class SnapshotSource(Protocol):
    """Where the rows of a snapshot come from."""

    def open(self, server: str) -> SnapshotReader:
        """`server`: the one whose log the stream reads, as in `Position.server`.

        Raises SourceUnavailable, SourceError."""

    def open_views(self, server: str, count: int, tables: Sequence[str]) -> ConsistentViews:
        """`count`: of readers. `tables`: to be read; none of them may be altered until it is read.

        Raises SourceUnavailable E2224, the lock was not granted in time; SourceError E2104, E2226."""


Interest: TypeAlias = Literal["statement", "transaction", "query", "heartbeat", "xa", "executed", "barrier"]
"""What a format wants; "executed": `Moment.executed`, which is dear to make; "barrier": statements in own batches."""


class Narrator(Protocol):
    """Records that are not of rows. Each method is called only when its interest is listed, so that nothing is paid
    for what nobody prints. The same calls must give the same number of messages: a resumed stream counts them.
    """

    interests: frozenset[Interest]

    def statement(self, statement: Statement, moment: Moment) -> Sequence[Message]:
        """DDL and the like, and (interest "xa") XA COMMIT and XA ROLLBACK."""

    def begin(self, moment: Moment) -> Sequence[Message]:
        """A transaction begins: before its first row that is replicated, or its statement."""

    def end(self, moment: Moment, rows: Mapping[tuple[str, str], int]) -> Sequence[Message]:
        """It ends. `rows`: by (database, table), replicated ones."""

    def query(self, text: str, moment: Moment) -> Sequence[Message]:
        """The statement behind the rows that follow (ROWS_QUERY, ANNOTATE_ROWS)."""

    def heartbeat(self, moment: Moment) -> Sequence[Message]:
        """The source has nothing new. Between transactions only; these are not counted."""


class Format(Narrator, Protocol):
    """A file of `encode/`: builds plans and the few records that are not of rows."""

    def plan(self, table: Table, topic: str) -> TablePlan: ...

    def snapshot_plan(self, table: Table, topic: str, marker: Marker, moment: SnapshotMoment) -> TablePlan:
        """For rows of a snapshot. Only `insert` is used; no record is `Deferred`."""

    @property
    def defines_tables(self) -> bool:
        """Whether the messages of `SnapshotBegins` are made of its definitions, which are dear to read."""

    def snapshot_messages(self, step: SnapshotStep, topic: str, moment: SnapshotMoment) -> Iterable[Message]:
        """The records of a snapshot that are not of rows. The same arguments give the same messages.

        Args:
            step: its table, if it has one, is the one that the plans of its rows are made for.
            topic: of that table's rows; of `SnapshotEnds` the one for a record of it; "" without.
        """


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

    def statement(self, database: str, text: str, position: Position, gtid: str) -> Statement:
        """Takes DDL in; remembered durably, as of `position` (before the statement) and `gtid`, when it returns. One
        that was taken in already changes nothing.

        Raises DecodeError: E2309, it can't be understood and touches a replicated table.
        """


class Watcher(Protocol):
    """Told by a decoder of the changes of tables that a snapshot reads, in the thread that calls `Decoder.feed`, before
    the batch that has them is returned."""

    @property
    def tables(self) -> Mapping[str, tuple[str, ...]]:
        """`database.table` -> the columns of which keys are made; without any: all."""

    def changed(self, table: str, keys: Sequence[bytes]) -> None:
        """Rows with these keys have changed: of an update, before and after. Keys as `RowKeys` makes them."""

    def late(self, *, begins: bool) -> None:
        """The changes that follow are of an XA transaction that was prepared before, or that was all of them. Servers
        may show it only some time after they have sent its XA COMMIT, whatever they say of what they show."""

    def altered(self, table: str | None) -> None:
        """A statement (DDL, TRUNCATE, ...) has changed the table; None: it may have changed any."""

    def renamed(self, old: str, new: str) -> None:
        """A table has another name now, `database.table`; told of every table."""

    def moved(self, tables: Sequence[str]) -> None:
        """A statement has moved rows between these tables that are not in the stream. Names are as it has them."""


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

        Raises DecodeError: with position and event type; nothing after the last returned batch was delivered.
        """

    @property
    def between(self) -> bool:
        """Nothing of a transaction behind the position of the last batch has been read."""

    def watch(self, watcher: Watcher | None) -> None:
        """From the next event on `watcher` is told; called again when its tables have changed."""

    def end(self) -> None:
        """The stream has ended. Raises the error that waited for the next call of `feed`; DecodeError E2302 for a file
        that ends inside an event or a transaction."""


class ChunkEncoder(Protocol):
    """Turns a snapshot into records. Positions of its batches mean nothing.

    Calls come from the thread of the stream's decoder, but for `prepare`.
    """

    def prepare(self, tables: Sequence[str], moment: SnapshotMoment) -> None:
        """Before anything else, in the thread that reads chunks: reads what the records of the beginning need. Not
        called where an earlier session has begun the snapshot. `moment`: its beginning, as records print it.

        Raises SourceUnavailable, SourceError."""

    def begin(self, identity: str) -> Sequence[Batch]:
        """Records that the snapshot begins with. `identity`: what records have instead of a transaction's position."""

    def rows(self, chunk: Chunk, identity: str, first: Marker, between: Marker, last: Marker) -> Iterator[Batch]:
        """In parts, each made when it is asked for; the images are not kept longer than they are needed.

        Args:
            first, between, last: of the first row, of those between, of the last one, and of an only one.

        Raises:
            DecodeError.
        """

    def begin_table(self, chunk: Chunk, identity: str) -> Sequence[Batch]:
        """Records in front of the rows of the table that `chunk` is of."""

    def end_table(self, chunk: Chunk, identity: str, rows: int) -> Sequence[Batch]:
        """Records behind them. `rows`: of the table, in all chunks."""

    def end(self, identity: str, progress: SnapshotProgress, position: Position) -> Sequence[Batch]:
        """Records behind everything. `progress`: the last one; `position`: of the stream, from which on the copy is
        consistent."""

    def keys(self, chunk: Chunk, key: tuple[str, ...]) -> Sequence[bytes]:
        """For each row what a decoder's watcher is told when the row changes."""


class Sink(Protocol):
    """Somewhere records go. Calls come from one thread. `acknowledged()` never runs ahead of what is durable: it is a
    contiguous prefix."""

    @property
    def dead_letters(self) -> int:
        """Records written so far in whose place a reference went elsewhere, as they were too large."""

    @property
    def conflicts(self) -> ConflictCounts:
        """Rows met so far, in what was committed, that were not what the source says they were."""

    @property
    def waited_s(self) -> float:
        """Seconds for which `write` has waited for room in flight. It only grows."""

    @property
    def by_sql(self) -> bool:
        """After `open`: rows are written by SQL statements instead of row images."""

    @property
    def holds_position(self) -> bool:
        """Positions are committed with the records, and none is acknowledged before `open` would return it."""

    holds_rows: bool
    """Records are rows of the server that has the position: what one of them lacks, the other one lacks, too."""

    @property
    def unfinished(self) -> bool:
        """A commit has begun, and the next calls end it."""

    @property
    def left(self) -> Position | None:
        """After `open`: the position that an earlier task of the same name has left here, if one has."""

    def open(self, term: Term) -> Position | None:
        """Connects and fences earlier terms out; called again after a transient error, with the same term.

        Returns the position that the sink itself holds, read after fencing, or None when it holds none.
        Raises SinkUnavailable, SinkError, SinkFenced.
        """

    def write(self, batch: Batch) -> None:
        """Takes a batch; blocks while too many bytes are in flight. Checks `term` before anything leaves."""

    def commit(self, position: Position) -> None:
        """Makes everything written so far, and `position`, one unit. Returns when it is committed. at_least_once, and
        where it is `unfinished`: returns at once, `acknowledged()` follows."""

    def acknowledged(self) -> Position | None:
        """The latest committed position whose records, and all before them, are durable. Raises what went wrong with
        a send in the background."""

    def flush(self, timeout: float, progress: Callable[[], None] | None = None) -> None:
        """Blocks until everything written and committed is acknowledged. Calls `progress`, from the calling thread, as
        parts of it are. Raises SinkUnavailable when nothing is acknowledged for `timeout` s."""

    def close(self) -> None:
        """Drops what is not committed. Never blocks for more than a few seconds; never raises."""


class CheckpointStore(Protocol):
    """Where `replicator run` and the worker of a Core put their progress."""

    def load(self) -> Checkpoint | None: ...

    def save(self, checkpoint: Checkpoint) -> None:
        """Durable when it returns, or soon after where the store paces its writes (the first one is always durable).
        Raises LeadershipLost when the term no longer holds."""


class HistoryStore(Protocol):
    """The store of a task's schema history, next to its checkpoint. Calls come from one thread."""

    def load(self) -> Sequence[SchemaRecord]:
        """The last base and everything appended after it, in that order; empty without a history."""

    def append(self, record: SchemaRecord) -> None:
        """Durable when it returns. A base takes the place of everything before it, all at once.
        Raises LeadershipLost when the term no longer holds."""
