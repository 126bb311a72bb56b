"""Between the Python decoder and the compiled loop: the state of the one goes into the other, and comes back.

The loop takes only what is quite ordinary; this is where it is decided that nothing extraordinary is going on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

import msgspec

from replicator import compiled
from replicator.decode.binlog import event_types
from replicator.decode.native.arena_collector import ArenaCollector
from replicator.decode.plan.deferred_fields import DeferredText
from replicator.decode.plan.table_versions import TableVersions
from replicator.decode.transactions.progress import Gtid, Progress, State
from replicator.decode.transactions.transaction_events import TransactionEvents
from replicator.model.batch import Headers
from replicator.model.happening import Moment
from replicator.model.plan import Text, Var

_TAKEN: Final = frozenset(
    {
        event_types.QUERY,
        event_types.XID,
        event_types.TABLE_MAP,
        *range(event_types.WRITE_ROWS_V1, event_types.DELETE_ROWS_V1 + 1),
        event_types.ROWS_QUERY,
        *range(event_types.WRITE_ROWS, event_types.DELETE_ROWS + 1),
        event_types.GTID,
        event_types.ANONYMOUS_GTID,
        event_types.MARIADB_ANNOTATE_ROWS,
        event_types.MARIADB_GTID,
    }
)
_LATEST_US: Final = 1 << 52
_UUID_LENGTH: Final = 36
_NO_UUID: Final = b""
_NOT_KNOWN: Final = -1
_OF_MYSQL: Final = 1
_OF_MARIADB: Final = 2
_MOST_ENDINGS: Final = 1000
_STATES: Final = tuple(State)


class Taking:
    """`framing.Take` of one decoder.

    Args:
        packets: the framing of its stream.
        clock: the decoder's.
    """

    def __init__(
        self,
        changes: TransactionEvents,
        collector: ArenaCollector,
        progress: Progress,
        versions: TableVersions,
        *,
        packets: bool,
        clock: Callable[[], int],
    ) -> None:
        self._changes = changes
        self._collector = collector
        self._progress = progress
        self._ids = versions.ids
        self._metadata = changes._metadata
        self._kind_at = 9 if packets else 4
        self._programs: dict[DeferredText, Any] = {}
        self._loop: Any = compiled.module("loop").Loop(
            packets, self._late, self._messages, None if clock is time.time_ns else clock
        )
        self._loop.queries = self._metadata.queries
        self._loop.mariadb = not self._is_mysql

    def __call__(self, buffer: bytes, at: int, *, checksum: bool) -> int:
        place = at + self._kind_at
        if place >= len(buffer) or buffer[place] not in _TAKEN or not self._ordinary():
            return at
        if not self._begin(checksum):
            return at
        behind: int = self._loop.run(buffer, at)
        if behind != at:
            self._end(buffer)
        return behind

    @property
    def kind(self) -> int:
        """Type of the last event that was taken."""
        return self._loop.kind  # type: ignore[no-any-return]

    def _ordinary(self) -> bool:
        collector, changes = self._collector, self._changes
        return not (
            (changes._attentive and not changes.only_queries)
            or changes._xa is not None
            or collector._skip is not None
            or collector._buffer is not None
            or collector._savepoints
            or collector.state is State.BRANCH
            or self._progress._after is not None
            or collector.commit_us >= _LATEST_US
            or (collector.gtid is not None and not _is_plain(collector.gtid))
        )

    def _begin(self, checksum: bool) -> bool:
        loop, collector, progress, context = self._loop, self._collector, self._progress, self._changes.context
        late, gtid = collector.late, collector.gtid
        if late is not None and self._late(late) is None:
            return False
        if gtid is None:
            loop.set_gtid(0, _NO_UUID, 0, 0, 0)
        elif len(gtid) == 2:
            loop.set_gtid(1, bytes.fromhex(gtid[0].replace("-", "")), 0, 0, gtid[1])
        else:
            loop.set_gtid(2, _NO_UUID, *gtid)
        loop.checksum = checksum
        loop.state = int(collector.state)
        loop.offset, loop.at, loop.start = progress.offset, progress.at, progress.start
        loop.row, loop.commit_us, loop.whole = collector.row, collector.commit_us, collector._whole
        loop.row_event = collector.event
        loop.length = collector.length
        loop.rows, loop.size, loop.transactions = collector._rows, collector._size, collector._transactions
        loop.new_rows, loop.new_size = collector._new_rows, collector._new_size
        loop.told, loop.new_told = collector.told, collector._new_told
        loop.query, loop.asked = self._metadata.query if loop.queries else None, self._metadata.asked
        loop.source_ms, loop.moved = collector._source_ms, collector._moved
        loop.most_held = collector._most_held
        loop.ts_us, loop.now_ns, loop.event_s = context.ts_us, context.now_ns, context.event_s
        loop.pos, loop.server_id = context.pos, context.server_id
        loop.thread = context.thread if isinstance(context.thread, int) else _NOT_KNOWN
        loop.standalone = self._changes._standalone
        file, text = context.file.encode("latin-1"), context.gtid.encode("latin-1")
        loop.begin(collector.arena, self._ids, file, text, context.position, late)
        return True

    def _end(self, buffer: bytes) -> None:
        loop, collector, progress, changes = self._loop, self._collector, self._progress, self._changes
        context = changes.context
        text, context.position = loop.texts()
        context.gtid = text.decode("latin-1")
        context.ts_us, context.now_ns, context.event_s = loop.ts_us, loop.now_ns, loop.event_s
        context.pos, context.server_id = loop.pos, loop.server_id
        context.thread = loop.thread if loop.thread != _NOT_KNOWN else "null"
        changes._standalone = loop.standalone
        if loop.query_at >= 0:
            self._metadata.query = buffer[loop.query_at : loop.query_end]
            changes._query_of = loop.query_of
        elif loop.queries:
            self._metadata.query = loop.query
        self._metadata.asked = loop.asked
        for raw, domain, server, first, last in loop.executed():
            if self._is_mysql:
                progress.mysql.add_range(self._tsid(raw), first, last)
            else:
                progress.mariadb.add(domain, server, last)
            progress._text = None
        if loop.boundary >= 0:
            progress.at, progress.offset, progress.event_s = loop.boundary_at, loop.boundary, loop.boundary_s
            progress.settle()
        progress.offset, progress.at, progress.start = loop.offset, loop.at, loop.start
        collector.state = _STATES[loop.state]
        collector.gtid = self._gtid()
        collector.row, collector.commit_us, collector._whole = loop.row, loop.commit_us, loop.whole
        collector.event = loop.row_event
        collector.length = loop.length
        collector._rows, collector._size, collector._transactions = loop.rows, loop.size, loop.transactions
        collector._new_rows, collector._new_size = loop.new_rows, loop.new_size
        collector.told, collector._new_told = loop.told, loop.new_told
        collector._source_ms, collector._moved = loop.source_ms, loop.moved
        if loop.boundary >= 0:
            collector._left = 0
            collector.counts = {}
            self._metadata.passed()
        collector.late = loop.late
        collector.add_rows(collector.row, 0)  # puts records that wait add_messages_between when they are many

    def _gtid(self) -> Gtid:
        kind, uuid, domain, server, number = self._loop.get_gtid()
        if kind == _OF_MYSQL:
            return self._tsid(uuid), number
        return (domain, server, number) if kind == _OF_MARIADB else None

    def _messages(
        self,
        text: bytes,
        event_s: int,
        ts_us: int,
        now_ns: int,
        gtid: bytes,
        offset: int,
        end: int,
        server_id: int,
        thread: int,
    ) -> list[tuple[str, bytes | None, bytes | None, Headers, bytes | None]]:
        """What the format says of the statement behind rows."""
        known = "" if gtid == b"null" else gtid[1:-1].decode()
        moment = Moment(
            event_s=event_s,
            ts_us=ts_us,
            now_ns=now_ns,
            gtid=known,
            executed="",
            file=self._progress.file,
            offset=offset,
            end=end,
            server_id=server_id,
            thread=thread if thread != _NOT_KNOWN else None,
        )
        return [
            (message.topic, message.key, message.value, message.headers, message.route)
            for message in self._metadata.query_messages(text, moment)
        ]

    def _tsid(self, raw: bytes) -> str:
        return self._changes._uuids[raw]

    @property
    def _is_mysql(self) -> bool:
        return self._progress._flavor == "mysql"

    def _late(self, deferred_text: DeferredText) -> Any:
        """The compiled form; None where it has none."""
        if deferred_text not in self._programs:
            if len(self._programs) >= _MOST_ENDINGS:
                self._programs.clear()
            make, late = compiled.module("late").LateProgram, deferred_text.late
            try:
                self._programs[deferred_text] = make(deferred_text, _steps(late.row), _steps(late.last))
            except (KeyError, ValueError):
                self._programs[deferred_text] = None
        return self._programs[deferred_text]


def _is_plain(gtid: tuple[str, int] | tuple[int, int, int]) -> bool:
    """Without a tag, and with a number that can be."""
    return gtid[-1] >= 0 and (len(gtid) == 3 or len(gtid[0]) == _UUID_LENGTH)


def _steps(steps: tuple[Text | Var, ...]) -> list[bytes | tuple[str, bytes | None]]:
    made: list[bytes | tuple[str, bytes | None]] = []
    for step in steps:
        if isinstance(step, Text):
            made.append(step.text.encode())
        elif msgspec.structs.replace(step, before=None) == Var(step.name):
            made.append((step.name, None if step.before is None else step.before.encode()))
        else:
            raise ValueError(step)
    return made
