"""Decodes chunks of a snapshot: row images become records by the same row functions as those of the stream."""

from __future__ import annotations

import struct
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from replicator.decode.binlog import column_presence, table_map, unsupported_events
from replicator.decode.native.row_functions import row_functions
from replicator.decode.plan.compiler import Renderer
from replicator.decode.plan.row_functions import RowFunctions
from replicator.decode.plan.table_versions import Version
from replicator.decode.renderers import rendering as standard_rendering
from replicator.decode.transactions.row_keys import RowKeys
from replicator.decode.transactions.transaction_state import TransactionState
from replicator.errors import ReplicatorError
from replicator.model.batch import Batch, Record
from replicator.model.position import Position
from replicator.model.snapshot import Marker, RowImages
from replicator.model.table import Table
from replicator.pipeline.ports import Catalog, Chunk, Planner

_ID: Final = 6
"""Bytes of the table id, which a table map begins with."""
_EVENT: Final = 128 << 10
"""Bytes of images that one call of a row function decodes."""
_GROUPED_EVENT: Final = 8 << 10
"""The same of plans that make one record of an event: what a server puts into one (binlog_row_event_max_size)."""
_PART: Final = 640 << 10
"""Bytes of records with which a batch ends: about as much as one write takes, and few enough for the caches of a
processor."""
_MOST_EXPECTED: Final = 2 << 20
_MOST_VERSIONS: Final = 100
_DAMAGE: Final = (struct.error, LookupError, ValueError, ArithmeticError, RecursionError)


class ChunkDecoder:
    """Decodes the chunks of one snapshot. Not thread-safe, as its catalog is not: use it in the thread that calls
    `Decoder.feed`.

    A table is described for each chunk as the catalog knows it then, so that nobody has to tell when its definition
    changes; plans and functions are kept for as long as the description is the same.

    Args:
        planner: the planner of rows with a marker (`Format.snapshot_plan`, topic, transforms, choice of tables).
            Asked once per marker and table version; plans without `Deferred`.
        mariadb: the source is a MariaDB: types are rendered as in its stream.
        catalog: the stream's.
        rendering: the stream's renderers, with the keys of masks.
        functions: other row functions, in tests.
        clock: wall clock, ns since the epoch.
    """

    def __init__(
        self,
        planner: Callable[[Marker], Planner],
        *,
        mariadb: bool,
        catalog: Catalog | None = None,
        rendering: Renderer = standard_rendering,
        functions: RowFunctions | None = None,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._planner, self._mariadb, self._catalog = planner, mariadb, catalog
        self._rendering, self._clock = rendering, clock
        self._functions = functions or row_functions()
        self._versions: dict[tuple[bytes, Marker], Version] = {}
        self._expected = 0

    def rows(
        self, chunk: Chunk, identity: str, first: Marker, between: Marker, last: Marker, *, spend: bool = False
    ) -> Iterator[Batch]:
        """The records of the chunk's rows, in parts: of a chunk no more is in memory than its images and one part.

        Their position text is `identity`, their number that of the row in the chunk; variables are those of a row event
        without GTID, file, thread and server id, at `chunk.time_s`. Rows that a filter leaves out are counted, as they
        are in the stream.

        Args:
            chunk: its images are not kept when the last part is handed out.
            identity: ASCII; what names the chunk in the headers of records.
            first, between, last: markers of the first row, of those between, of the last one. An only row takes `last`,
                unless that is as `between`: then `first`.
            spend: nobody else has the images: the memory of a long row is given back while its record is written.

        Returns:
            Batches; their position means nothing. `source_ms` is 0: a row of a snapshot does not say how far behind
            the stream is.

        Raises:
            DecodeError: as a decoder does; with the table. ValueError: a plan has `Deferred`.
        """
        state = _state(chunk, identity, self._clock())
        table = self.table(chunk)
        raw, high, images = chunk.table_map[_ID:], chunk.high, chunk.images
        del chunk
        events = [
            (version, *event)
            for marker, begin, end in _runs(len(images), first, between, last)
            if (version := self._version(raw, table, marker)).plan is not None
            for event in _events(images, begin, end, _GROUPED_EVENT if version.plan.grouped else _EVENT)
        ]
        collected = [self._functions.collect(self._expected)]
        size, before = 0, 0
        for number, event in enumerate(events, 1):
            size += self._decode(images, *event, state, collected[0][1], spend=spend and number == len(events))
            if number == len(events):
                del images
            elif size < _PART:
                continue
            yield _part(collected.pop()[0], high, state.row - before, size)  # and keeps nothing of it
            self._expected = min(size, _MOST_EXPECTED)
            size, before = 0, state.row
            if number < len(events):
                collected.append(self._functions.collect(self._expected))

    def keys(self, chunk: Chunk, key: tuple[str, ...]) -> list[bytes]:
        """Of each row what a decoder's watcher is told when the row changes; see `RowKeys`.

        Raises:
            DecodeError: as a decoder does; with the table.
        """
        table = self._parsed(chunk)
        header = column_presence.usual_header(table, "insert")
        body = header + chunk.images.data
        with _at_fault(table):
            return RowKeys(table, key, self._functions).of("insert", body, 0, len(body))

    def _parsed(self, chunk: Chunk) -> Table:
        return table_map.parse(chunk.table_map[_ID:], mariadb=self._mariadb).table

    def table(self, chunk: Chunk) -> Table:
        """The chunk's table as plans are made for it. Raises DecodeError as a decoder does."""
        table = self._parsed(chunk)
        return table if self._catalog is None else self._catalog.describe(table, named=True)

    def _version(self, raw: bytes, table: Table, marker: Marker) -> Version:
        version = self._versions.get((raw, marker))
        if version is None or version.table != table:
            plan = self._planner(marker)(table)
            version = Version(raw, table, plan, self._rendering, accept_partial=False, compile=self._functions.compile)
            if version.deferred is not None:
                raise ValueError(f"the plan of snapshots of {table.qualified} has `Deferred`")
            if len(self._versions) >= _MOST_VERSIONS:
                self._versions.clear()
            self._versions[raw, marker] = version
        return version

    def _decode(
        self,
        images: RowImages,
        version: Version,
        first: int,
        end: int,
        state: TransactionState,
        append: Callable[[Record], None],
        *,
        spend: bool,
    ) -> int:
        """The rows from `first` on, before `end`. Returns the bytes of their records. `spend`: see `DecodeImages`."""
        header = column_presence.usual_header(version.table, "insert")
        state.table_rows = state.row
        with _at_fault(version.table):
            rows = version.functions[0] or version.compile(0)
            start, behind = _start(images, first), images.ends[end - 1]
            state.row, size = self._functions.images(
                rows, header, images.data, start, behind, state.row, append, state, spend=spend
            )
        return size


def _part(records: Sequence[Record], high: Position, rows: int, size: int) -> Batch:
    return Batch(records[: len(records)], high, high.boundary, rows, size=size)


def _state(chunk: Chunk, identity: str, now_ns: int) -> TransactionState:
    """What plans print of a chunk's rows."""
    state = TransactionState()
    state.position = identity.encode("ascii")
    state.file_json = '""'
    state.event_s, state.ts_us, state.now_ns = chunk.time_s, chunk.time_s * 1_000_000, now_ns
    return state


@contextmanager
def _at_fault(table: Table) -> Iterator[None]:
    try:
        yield
    except ReplicatorError as error:
        error.table = error.table or table.qualified
        raise
    except _DAMAGE as error:
        found = f"{type(error).__name__}: {error}"
        made = unsupported_events.structure(f"selected rows of {table.qualified} can't be read", found)
        made.table = table.qualified
        raise made from error


def _start(images: RowImages, row: int) -> int:
    return images.ends[row - 1] if row else 0


def _runs(count: int, first: Marker, between: Marker, last: Marker) -> Iterator[tuple[Marker, int, int]]:
    """(marker, first row, behind the last one): rows that follow each other and have one marker."""
    alone = count == 1 and last == between
    begin, end = int(count > 0 and first != between and (count > 1 or alone)), count
    end -= int(end > begin and last != between)
    runs = ((first, 0, begin), (between, begin, end), (last, end, count))
    return (run for run in runs if run[1] < run[2])


def _events(images: RowImages, first: int, last: int, most: int) -> Iterator[tuple[int, int]]:
    """The rows in pieces of at most `most` bytes, or of one row."""
    while first < last:
        fits = bisect_right(images.ends, _start(images, first) + most, first, last)
        end = max(fits, first + 1)
        yield first, end
        first = end
