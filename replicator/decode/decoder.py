"""The binlog decoder: turns bytes of a stream into batches of records.

    BETWEEN --GTID--> ANNOUNCED --BEGIN--> OPEN --rows--> OPEN --XID, COMMIT--> BETWEEN
                          └-------------------------DDL-----------------------------^

MariaDB's GTID event begins the transaction by itself unless it is flagged standalone. Events are dispatched by a table;
a type that is not in it is skipped only when its header says that it may be.
"""

from __future__ import annotations

import struct
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import Final, Literal
from zlib import crc32

from replicator.decode.binlog import event_types, transaction_payload, unsupported_events
from replicator.decode.binlog.framing import Event, FileFraming, Framing, PacketFraming, ServerError, Take
from replicator.decode.plan.compiler import Renderer
from replicator.decode.plan.plan_variables import PlanVariables
from replicator.decode.plan.row_functions import PYTHON, RowFunctions
from replicator.decode.plan.table_versions import TableVersions
from replicator.decode.renderers import rendering as standard_rendering
from replicator.decode.transactions.batch_collector import BatchCollector
from replicator.decode.transactions.control_events import ControlEvents
from replicator.decode.transactions.dispatch import handlers
from replicator.decode.transactions.loop_guard import LoopGuard
from replicator.decode.transactions.metadata_events import AllTables, MetadataEvents, Selection
from replicator.decode.transactions.progress import Flavor, Progress
from replicator.decode.transactions.resume import Resumed
from replicator.decode.transactions.table_watch import TableWatch
from replicator.decode.transactions.transaction_events import TransactionEvents
from replicator.decode.transactions.transaction_state import Phase, TransactionState
from replicator.decode.transactions.xa import XaTransaction
from replicator.errors import DecodeError, ReplicatorError, SourceError, SourceUnavailable
from replicator.model.batch import Batch
from replicator.model.description import tells_checksum
from replicator.model.position import Position, Prepared
from replicator.pipeline.ports import Catalog, Narrator, Planner, Stream, Watcher

_HEADER: Final = event_types.HEADER.unpack_from
_U32: Final = struct.Struct("<I").unpack_from
# Names of this module: the loop over events looks them up for each one.
_UNSURE: Final = frozenset({event_types.FORMAT_DESCRIPTION, event_types.ROTATE})
_FLAG_ARTIFICIAL: Final = event_types.FLAG_ARTIFICIAL
_DAMAGE: Final = (struct.error, LookupError, ValueError, ArithmeticError, RecursionError)
"""What reading damaged bytes may raise: every read is checked, by us or by the interpreter."""

_SENT_AGAIN: Final = frozenset(
    {
        event_types.FORMAT_DESCRIPTION,
        event_types.ROTATE,
        event_types.PREVIOUS_GTIDS,
        event_types.HEARTBEAT,
        event_types.HEARTBEAT_V2,
        event_types.MARIADB_GTID_LIST,
        event_types.MARIADB_START_ENCRYPTION,
    }
)

_SILENCE: Final = 60.0
"""Seconds that a server may take to send what it has written long ago."""


class BinlogDecoder:
    """See `ports.Decoder`.

    Args:
        planner: asked once per table version.
        narrator: receives events other than rows.
        catalog: receives statements first; supplies what table maps do not say.
        selection: which tables the task carries, for statements.
        row_image: whether rows may come without some of their columns.
        position: where the stream begins; what was delivered of its first transaction is not emitted.
        rule: fingerprint of what decides which records there are (see `Inside`).
        repeats: rows may be delivered twice where it can't be known which of a transaction were.
        follows_events: numbers of records depend on a server's events (`config/numbering.py`).
        framing: as the stream's.
        server_error: makes the error for an ERR packet.
        reread: opens a stream beside the one that is decoded, for rows of XA transactions that were prepared before it
            began; None: they can't be had.
        guard: skips transactions that tasks have written; None: all are delivered.
        rendering: other renderers, in tests.
        clock: wall clock, ns since the epoch.

    Attributes:
        more: see `ports.Decoder.more`.
        position: after the last batch.
        counters: events passed over, by name, and `ddl`: statements that changed no rows.
    """

    def __init__(
        self,
        planner: Planner,
        *,
        position: Position,
        flavor: Flavor,
        framing: Literal["packet", "file"],
        server_error: ServerError,
        narrator: Narrator | None = None,
        catalog: Catalog | None = None,
        selection: Selection | None = None,
        row_image: Literal["require_full", "accept_partial"] = "require_full",
        rule: str = "",
        repeats: bool = False,
        follows_events: bool = False,
        reread: Callable[[Position], Stream] | None = None,
        guard: LoopGuard | None = None,
        rendering: Renderer = standard_rendering,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.counters: Counter[str] = Counter()
        self.position = position
        self._framing: Framing = (
            PacketFraming(server_error, self._take) if framing == "packet" else FileFraming(take=self._take)
        )
        self._in_file = framing == "file"
        self._planner, self._flavor, self._row_image = planner, flavor, row_image
        self._state = self._new_state(clock)
        self._progress = Progress(self._state, position, flavor)
        self._catalog, self._selection = catalog, selection
        self._reread, self._rendering = reread, rendering
        asked = PlanVariables(planner)
        selection = selection or AllTables()
        self._versions = TableVersions(
            asked,
            rendering,
            mariadb=flavor == "mariadb",
            accept_partial=row_image == "accept_partial",
            catalog=catalog,
            selected=selection.matches,
            compile=self._functions.compile,
            guard_of=guard.of if guard is not None else lambda table: None,
        )
        self._watch = TableWatch(self._functions, accept_partial=row_image == "accept_partial")
        resumed = Resumed.at(position, rule, repeats=repeats, follows_events=follows_events)
        self._collector = collector = self._collect(self._state, self._progress, rule, resumed)
        self._metadata = MetadataEvents(narrator, catalog, selection, collector, self._progress, clock)
        self._changes = TransactionEvents(
            asked,
            self._versions,
            collector,
            self._progress,
            self._metadata,
            clock,
            self.counters,
            watch=self._watch,
            read_again=self._read_again,
            guard=guard,
        )
        self._control = ControlEvents(
            self._progress,
            collector,
            self._versions,
            self._metadata,
            self.counters,
            in_file=self._in_file,
        )
        self._handlers = handlers(self._changes, self._control, self._skipped, flavor)
        self._kind = 0
        self._failure: ReplicatorError | None = None
        self.more = False
        self._work: Iterator[bool] = iter(())

    # What a compiled decoder does otherwise

    _take: Take | None = None
    """Takes events in front of us."""
    _functions: RowFunctions = PYTHON
    _collect: type[BatchCollector] = BatchCollector

    def _new_state(self, clock: Callable[[], int]) -> TransactionState:
        return TransactionState()

    def _inside(self, b: bytes, p: int, end: int) -> Iterator[Event]:
        """See `transaction_payload.inside`."""
        return transaction_payload.inside(b, p, end)

    def feed(self, data: bytes) -> list[Batch]:
        """See `ports.Decoder.feed`. When an event can't be read, what was complete before it is still returned, and
        the error comes with the next call; `feed(b"")` will do."""
        if self._failure is not None:
            raise self._failure
        try:
            if self.more and data:  # nobody asked for the rest of the last call's
                deque(self._work, 0)
                self.more = False
            if not self.more:
                self._work = self._events(data)
            self.more = next(self._work, False)
        except ReplicatorError as error:
            self._failure = self._located(error)
        except _DAMAGE as error:
            what, found = f"{event_types.name(self._kind)} can't be read", f"{type(error).__name__}: {error}"
            self._failure = self._located(unsupported_events.structure(what, found))
        self.more = self.more and self._failure is None
        batches = self._collector.batches(failed=self._failure is not None)
        if self._failure is not None and not batches:
            raise self._failure
        if batches:
            self.position = batches[-1].position
        return batches

    @property
    def between(self) -> bool:
        """See `ports.Decoder.between`. Rows of a prepared XA transaction come at its XA COMMIT."""
        return self._collector.settled and not self.more

    def watch(self, watcher: Watcher | None) -> None:
        """See `ports.Decoder.watch`."""
        self._watch.begin(watcher)
        self._versions.watch(self._watch.wrap if watcher is not None else None)

    def end(self) -> None:
        """See `ports.Decoder.end`."""
        framing = self._framing
        if self._failure is None and isinstance(framing, FileFraming):
            try:
                if framing.held:
                    self._kind, self._state.at = framing.kind, self._state.offset
                    raise unsupported_events.structure("the file ends inside an event", f"{framing.held} bytes of it")
                self._control.between()
            except DecodeError as error:
                self._failure = self._located(error)
        if self._failure is not None:
            raise self._failure

    def _read_again(self, prepared: Prepared) -> XaTransaction:
        """The rows of an XA transaction that was prepared before our stream began, through a stream of its own."""
        if self._reread is None:
            raise unsupported_events.finished_elsewhere(f"XA COMMIT {prepared.xid}")
        try:
            stream = self._reread(Position(prepared.file, prepared.offset, prepared.gtid, server=self._progress.server))
        except SourceError as error:
            if error.transient:
                raise
            raise unsupported_events.gone(prepared, error) from error
        try:
            return self._beside(stream).branch(stream, prepared.xid)
        finally:
            stream.close()

    def _beside(self, stream: Stream) -> BinlogDecoder:
        return BinlogDecoder(
            self._planner,
            position=stream.position,
            flavor=self._flavor,
            framing=stream.framing,
            server_error=stream.server_error,
            catalog=self._catalog,  # it is not asked to take anything in: only the one transaction is decoded
            selection=self._selection,
            row_image=self._row_image,
            rendering=self._rendering,
        )

    def branch(self, stream: Stream, xid: str) -> XaTransaction:
        """The rows of the XA transaction that the stream begins with.

        Raises:
            DecodeError: E2302, it begins with something else.
            SourceUnavailable: nothing comes.
        """
        self._changes.pausing = True
        deadline = time.monotonic() + _SILENCE
        while time.monotonic() < deadline:
            ended = sum(batch.transactions for batch in self.feed(stream.read(1.0)))
            branch = self._changes.prepared(xid)
            if branch is not None and ended == 1:
                return branch
            if ended:
                raise unsupported_events.structure(f"XA transaction {xid} is not where it was prepared")
        raise SourceUnavailable("E2002", f"the rows of XA transaction {xid} were not received again")

    def _located(self, error: ReplicatorError) -> ReplicatorError:
        # Without checksums nobody knows whether the event is what the server wrote.
        if not error.table and (error.code != "E2302" or self._control.checksum):
            error.table = self._versions.at_fault
        # Also of what a decoder of our own met in the rows of a prepared transaction: it is ours that needs them.
        error.transaction, error.transaction_end = self._transaction()
        if not isinstance(error, DecodeError) or error.position:
            return error
        fields = {**error.to_dict(), "position": f"{self._progress} ({event_types.name(self._kind)})"}
        return DecodeError(fields.pop("code"), fields.pop("what"), **fields)

    def _transaction(self) -> tuple[str, str]:
        """That is at hand, as in `ReplicatorError`; ("", "") between transactions."""
        state = self._state
        if state.phase == Phase.BETWEEN:
            return "", ""
        end = f"{self._progress.file}:{state.start + state.length}" if state.length else ""
        return state.position.decode(), end

    def _events(self, data: bytes) -> Iterator[bool]:
        """Reads the events that `data` completes; yields True where what has come so far should leave first."""
        progress, state, handlers, around = self._progress, self._state, self._handlers, self._control
        current, view = b"", memoryview(b"")
        for buffer, start, end in self._framing.split(data):
            if buffer is not current:
                current, view = buffer, memoryview(buffer)
                self._changes.text = buffer.decode("latin-1")
            timestamp, kind, server_id, size, log_pos, flags = _HEADER(buffer, start)
            self._kind = kind
            if size != end - start:
                raise unsupported_events.structure(
                    "the size of an event differs from that of its frame", f"{size} and {end - start} bytes"
                )
            if kind in _UNSURE:
                end = self._unsure_end(buffer, start, end, flags)
            elif around.checksum:
                end -= 4
                if end < start + 19 or crc32(view[start:end]) != _U32(buffer, end)[0]:
                    raise unsupported_events.structure("the checksum of an event is wrong")
            at, progress.event_s = state.offset, 0
            if log_pos == at + size and not flags & _FLAG_ARTIFICIAL:  # the usual case, without a call
                state.at, state.offset, progress.event_s = at, log_pos, timestamp
            elif not log_pos:
                self._without_position(size, flags)
            elif not flags & _FLAG_ARTIFICIAL:
                progress.advance(log_pos, size, kind)
            handler = handlers.get(kind)
            if handler is not None:
                work = handler(buffer, start + 19, end, timestamp, server_id)
                if work is not None:
                    yield from work
            elif kind == event_types.TRANSACTION_PAYLOAD:
                yield from self._payload(buffer, start + 19, end)
            else:
                self._unknown(kind, flags)

    def _payload(self, b: bytes, p: int, end: int) -> Iterator[bool]:
        """The events inside go the way of all others; their position stays that of the payload."""
        changes, state, text, current = self._changes, self._state, self._changes.text, b""
        for buffer, start, stop in self._inside(b, p, end):
            if start == stop:  # a piece comes
                if state.inflated >= transaction_payload.PIECE:
                    state.inflated = 0
                    yield True
                state.inflated += len(buffer)
                continue
            if buffer is not current:
                current, changes.text = buffer, buffer.decode("latin-1")
            timestamp, kind, server_id, _, _, flags = _HEADER(buffer, start)
            self._kind = kind
            handler = self._handlers.get(kind)
            if kind in transaction_payload.NOT_INSIDE:
                raise unsupported_events.structure(f"{event_types.name(kind)} inside a compressed transaction")
            if handler is None:
                self._unknown(kind, flags)
            else:
                work = handler(buffer, start + event_types.HEADER_SIZE, stop, timestamp, server_id)
                if work is not None:
                    yield from work
        self._kind, changes.text = event_types.TRANSACTION_PAYLOAD, text

    def _unsure_end(self, b: bytes, start: int, end: int, flags: int) -> int:
        """Where the body ends of an event that may come before the stream has said whether it has checksums: there is
        one if it fits. (Since MySQL 5.6 FORMAT_DESCRIPTION leaves room for one, and says whether it is used.)"""
        body = end - event_types.CHECKSUM_SIZE
        described = self._kind == event_types.FORMAT_DESCRIPTION
        if body <= start + event_types.HEADER_SIZE or (
            described and not tells_checksum(b[start + event_types.HEADER_SIZE : end])
        ):
            return end
        # The flag of a file that is being written is set and cleared in place, without a new checksum.
        flags_at = start + event_types.HEADER_SIZE - 2
        plain = b[start:flags_at] + bytes((b[flags_at] & ~event_types.FLAG_IN_USE,)) + b[flags_at + 1 : body]
        fits = crc32(plain) == _U32(b, body)[0]
        used = b[body - 1] == 1 if described else self._control.checksum and not flags & event_types.FLAG_ARTIFICIAL
        if used and not fits:
            raise unsupported_events.structure("the checksum of an event is wrong")
        return body if fits or described else end

    def _without_position(self, size: int, flags: int) -> None:
        """Made for the stream or sent again at its beginning, or else without an end position of its own."""
        if not flags & event_types.FLAG_ARTIFICIAL and self._kind not in _SENT_AGAIN:
            self._state.at = self._state.offset
            self._state.offset += size

    def _unknown(self, kind: int, flags: int) -> None:
        if not flags & event_types.FLAG_IGNORABLE:
            raise unsupported_events.unreadable(kind)
        self.counters[event_types.name(kind)] += 1

    def _skipped(self, b: bytes, p: int, end: int, timestamp: int, server_id: int) -> None:
        self.counters[event_types.name(self._kind)] += 1
