"""Builds the snapshots of a task from its configuration: source of the rows, and encoder of the records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial

import msgspec

from replicator.assembly.catalogs import read_snapshot_definitions
from replicator.assembly.planners import Planners
from replicator.assembly.snapshot_names import unmatched
from replicator.config.mysql_sink import MySQLSink
from replicator.config.secrets import resolve
from replicator.config.table_choice import chooser
from replicator.config.tables import TableFilter, table_rank
from replicator.config.task import TaskConfig
from replicator.decode.plan.compiler import Renderer
from replicator.decode.snapshot.chunk_decoder import ChunkDecoder
from replicator.model.added_tables import later
from replicator.model.batch import Batch, Record
from replicator.model.metadata_event import Message
from replicator.model.pause_windows import PauseWindows
from replicator.model.position import Position
from replicator.model.snapshot import Marker, SnapshotMoment, SnapshotProgress
from replicator.model.snapshot_orders import SnapshotOrders, SnapshotRequest, named_tables, request_of
from replicator.model.snapshot_steps import (
    SnapshotBegins,
    SnapshotDefinitions,
    SnapshotEnds,
    SnapshotStep,
    TableBegins,
    TableEnds,
)
from replicator.pipeline.ports import Catalog, Chunk, ConsistentViews, Decoder, SnapshotReader, SnapshotSource, Stream
from replicator.pipeline.snapshot.chunk_thread import all_matched
from replicator.pipeline.snapshot.consistent_session import ConsistentSession
from replicator.pipeline.snapshot.consistent_thread import is_consistent
from replicator.pipeline.snapshot.session import SnapshotSession
from replicator.transform.pushdown import Pushdown

_NOWHERE = Position("", 4)


class SnapshotEncoder:
    """See `ports.ChunkEncoder`."""

    def __init__(
        self,
        config: TaskConfig,
        planners: Planners,
        progress: SnapshotProgress,
        catalog: Catalog | None,
        renderers: Renderer,
    ) -> None:
        self._config, self._planners = config, planners
        self._initial, self._moment = not progress.ordered, progress.moment
        self._definitions: SnapshotDefinitions | None = None
        planner = cache(lambda marker: planners.snapshot(marker, self._moment))
        mariadb = config.source.type == "mariadb"
        self._decoder = ChunkDecoder(planner, mariadb=mariadb, catalog=catalog, rendering=renderers)

    def prepare(self, tables: Sequence[str], moment: SnapshotMoment) -> None:
        self._moment = moment
        if self._initial and self._planners.defines_tables:
            self._definitions = read_snapshot_definitions(self._config, tables)

    def begin(self, identity: str) -> Sequence[Batch]:
        return self._messages(SnapshotBegins(self._definitions), identity)

    def rows(self, chunk: Chunk, identity: str, first: Marker, between: Marker, last: Marker) -> Iterator[Batch]:
        return self._decoder.rows(chunk, identity, first, between, last, spend=True)

    def begin_table(self, chunk: Chunk, identity: str) -> Sequence[Batch]:
        return self._messages(TableBegins(self._decoder.table(chunk), chunk.time_s), identity)

    def end_table(self, chunk: Chunk, identity: str, rows: int) -> Sequence[Batch]:
        return self._messages(TableEnds(self._decoder.table(chunk), chunk.time_s, rows), identity)

    def end(self, identity: str, progress: SnapshotProgress, position: Position) -> Sequence[Batch]:
        step = SnapshotEnds(
            progress.ended_ms // 1000,
            progress.rows,
            progress.id,
            progress.begun_ms,
            progress.tables,
            progress.ordered,
            str(position),
            position.gtid,
            progress.ended_ms,
            self._config.name,
        )
        return self._messages(step, identity)

    def keys(self, chunk: Chunk, key: tuple[str, ...]) -> Sequence[bytes]:
        return self._decoder.keys(chunk, key)

    def _messages(self, step: SnapshotStep, identity: str) -> list[Batch]:
        records = list(_records(self._planners.snapshot_messages(step, self._moment), identity.encode()))
        size = sum(len(record[1] or b"") + len(record[2] or b"") for record in records)
        return [Batch(records, _NOWHERE, boundary=True, size=size)] if records else []


def _records(messages: Iterable[Message], identity: bytes) -> Iterable[Record]:
    for row, message in enumerate(messages):
        record = (message.topic, message.key, message.value, identity, row, message.headers)
        yield record if message.route is None else (*record, message.route)


class Snapshots:
    """Opens the snapshots of one pipeline. `source`: instead of the configured one. `orders`: of operators."""

    def __init__(
        self,
        config: TaskConfig,
        planners: Planners,
        renderers: Renderer,
        selection: Callable[[], TableFilter],
        source: SnapshotSource | None = None,
        orders: SnapshotOrders | None = None,
    ) -> None:
        self._config, self._planners, self._renderers = config, planners, renderers
        self._selection = selection
        self._orders = orders or SnapshotOrders()
        self._given = source

    def open(
        self, progress: SnapshotProgress, stream: Stream, decoder: Decoder, catalog: Catalog | None
    ) -> SnapshotSession:
        options = self._config.source.snapshots
        request = request_of(self._orders, progress)
        named = request if request is not None and not request.version else None
        selected = self._selected(named.tables if named else options.tables, request, progress)
        now = self._selection()
        where = options.where if named is None else _Condition(named.tables, named.where)
        server = stream.position.server
        order = progress.order if progress.tables else options.order

        def connect() -> SnapshotReader:
            return self._source(where).open(server)

        def open_views(count: int, tables: Sequence[str]) -> ConsistentViews:
            return self._source(where).open_views(server, count, tables)

        session: Callable[..., SnapshotSession] = SnapshotSession
        if is_consistent(progress, wanted=options.consistent):
            session = partial(ConsistentSession, open_views=open_views)
        elif progress.cut_open:  # the configuration has changed: the rest is read beside the stream, behind the view
            progress = msgspec.structs.replace(progress, cut_ms=0, cut_open=False, lock_ms=0.0)
        return session(
            progress,
            start=stream.position,
            connect=connect,
            selected=selected,
            readable=now.chooses,
            encoder=SnapshotEncoder(self._config, self._planners, progress, catalog, self._renderers),
            decoder=decoder,
            chunk_rows=(request.chunk_rows if request else 0) or options.chunk_rows,
            rows_per_s=options.max_rows_per_s or 0,
            without_key=options.without_key,
            most_load=options.max_load or 0,
            order=order,
            rank=table_rank(order),
            windows=PauseWindows(options.pause_windows),
            connections=options.connections,
            orders=named_tables(self._orders, progress),
            replicated=self._config.source.selection().chooses,
            added=self._added(progress),
            unmatched=partial(unmatched, options) if request is None else all_matched,
        )

    def _selected(
        self, patterns: Sequence[str], request: SnapshotRequest | None, progress: SnapshotProgress
    ) -> Callable[[str], bool]:
        """Tells whether the snapshot has a table. One that a later request adds is left to that request."""
        chosen, replicated = TableFilter(patterns), self._config.source.selection()
        named = request is not None and not request.version
        is_new = _newness(request) if request is not None and request.version else None
        others = [] if named else [_newness(one) for one in later(self._orders, progress)]

        def selected(table: str) -> bool:
            if not (chosen.chooses(table) and replicated.chooses(table)) or (is_new is not None and not is_new(table)):
                return False
            return not any(is_other(table) for is_other in others)

        return selected

    def _added(self, progress: SnapshotProgress) -> Callable[[str], bool] | None:
        """Tells whether a request that waits adds a table. None: there is no such request."""
        requests = [_newness(one) for one in later(self._orders, progress)]
        if not requests:
            return None
        chosen, replicated = TableFilter(self._config.source.snapshots.tables), self._config.source.selection()

        def added(table: str) -> bool:
            return chosen.chooses(table) and replicated.chooses(table) and any(is_new(table) for is_new in requests)

        return added

    def _source(self, where: Mapping[str, str]) -> SnapshotSource:
        return self._given if self._given is not None else open_snapshot_source(self._config, where)


class _Condition(Mapping[str, str]):
    """One for all tables of an order, also under names that they are given later."""

    def __init__(self, tables: Sequence[str], text: str) -> None:
        self._tables, self._text = tables, text

    def __getitem__(self, table: str) -> str:
        return self._text

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


def _newness(request: SnapshotRequest) -> Callable[[str], bool]:
    """Tells whether a table is one that the request adds."""
    known = [chooser(choice) for choice in request.known]
    return lambda table: not all(knows(table) for knows in known)


def open_snapshot_source(config: TaskConfig, where: Mapping[str, str]) -> SnapshotSource:
    """Connects nothing yet. `where`: `database.table` -> condition. Raises ConfigError for a password that can't be
    had."""
    from replicator.source.mysql.snapshot import MySQLSnapshotSource  # the database client, as in open_source

    source = config.database
    tests, logged_only = Pushdown(config.transforms.filter).tests, isinstance(config.sink, MySQLSink)
    return MySQLSnapshotSource(source, resolve(source.password), where, tests, logged_only=logged_only)
