"""Runs the compiled loop over ordinary events, and applies what it has finished to the Python decoder.

The loop advances the decoder's own state (`TransactionState`), so nothing is copied between the two.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from replicator import compiled
from replicator.decode.binlog import event_types, transaction_payload
from replicator.decode.native.arena_collector import ArenaCollector
from replicator.decode.plan.deferred_fields import DeferredText
from replicator.decode.plan.table_versions import TableVersions
from replicator.decode.transactions.metadata_events import MetadataEvents
from replicator.decode.transactions.progress import Progress
from replicator.decode.transactions.transaction_events import TransactionEvents
from replicator.model.batch import Headers
from replicator.model.metadata_event import Moment
from replicator.model.plan import Text, Var

if TYPE_CHECKING:
    from replicator.compiled.deferred_fields import DeferredProgram
    from replicator.compiled.loop import Loop

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
        event_types.TRANSACTION_PAYLOAD,
        event_types.MARIADB_ANNOTATE_ROWS,
        event_types.MARIADB_GTID,
    }
)
_NOT_KNOWN: Final = -1
_MOST_PROGRAMS: Final = 1000


def new_loop(*, packets: bool, mariadb: bool, clock: Callable[[], int]) -> Loop:
    """The state of a compiled decoder. See `Loop`."""
    loop: Loop = compiled.module("loop").Loop(packets, mariadb, None if clock is time.time_ns else clock)
    return loop


class EventLoop:
    """`framing.Take` of one decoder.

    Args:
        loop: the decoder's state.
        noted: told of the keys of rows that a watcher wants.
        packets: the framing of its stream.
    """

    def __init__(
        self,
        loop: Loop,
        changes: TransactionEvents,
        metadata: MetadataEvents,
        collector: ArenaCollector,
        progress: Progress,
        versions: TableVersions,
        noted: Callable[[str, Sequence[bytes]], None],
        *,
        packets: bool,
    ) -> None:
        self.loop = loop
        self._noted = noted
        self._changes = changes
        self._metadata = metadata
        self._collector = collector
        self._progress = progress
        self._kind_at = 9 if packets else 4
        self._programs: dict[DeferredText, DeferredProgram | None] = {}
        loop.connect(
            versions.ids,
            self._deferred_program,
            self._messages,
            metadata.queries,
            transaction_payload.Inflater(),
            transaction_payload.PIECE,
        )

    def __call__(self, buffer: bytes, at: int, *, checksum: bool) -> int:
        place = at + self._kind_at
        if place >= len(buffer) or buffer[place] not in _TAKEN or not self._ordinary():
            return at
        behind = self.loop.run(buffer, at, self._collector.arena, checksum)
        self._note()
        if behind != at or self.loop.inside_payload:
            self._apply()
        return behind

    def inside(self, buffer: bytes, at: int, whole: bool) -> int:
        """See `transaction_payload.Take`."""
        if not self._ordinary():
            return at
        behind = self.loop.run_inside(buffer, at, self._collector.arena, whole, self._progress.event_s)
        self._note()
        if behind != at:
            self._apply()
        return behind

    def _ordinary(self) -> bool:
        """Whether nothing is going on that only the handlers know."""
        return (
            self.loop.ordinary
            and self._changes.ordinary
            and self._collector.ordinary
            and not self._progress.executed_ahead
        )

    def _note(self) -> None:
        for table, keys in self.loop.noted():
            self._noted(table, keys)

    def _apply(self) -> None:
        """What the handlers would have done beside the state."""
        loop, progress = self.loop, self._progress
        for gtids in loop.executed():
            progress.execute_range(*gtids)
        if loop.boundary >= 0:
            progress.settle_at(loop.boundary, loop.boundary_at, loop.boundary_s)
            self._collector.passed()
            self._metadata.passed()
        self._collector.add_rows(loop.row, 0)  # buffers records that wait when they are many

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
        """The format's messages of the statement behind rows."""
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

    def _deferred_program(self, deferred: DeferredText) -> DeferredProgram | None:
        """The compiled form; None where it has none."""
        if deferred not in self._programs:
            if len(self._programs) >= _MOST_PROGRAMS:
                self._programs.clear()
            make, field = compiled.module("deferred_fields").DeferredProgram, deferred.field
            try:
                self._programs[deferred] = make(deferred, _steps(field.row), _steps(field.last))
            except (KeyError, ValueError):
                self._programs[deferred] = None
        return self._programs[deferred]


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
