"""Builds the snapshots of a task from its configuration: source of the rows, and encoder of the records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from replicator.assembly.catalogs import read_snapshot_definitions
from replicator.assembly.planners import Planners
from replicator.config.secrets import resolve
from replicator.config.tables import TableFilter
from replicator.config.task import TaskConfig
from replicator.decode.plan.compiler import Renderer
from replicator.decode.snapshot.chunk_decoder import ChunkDecoder
from replicator.model.batch import Batch, Record
from replicator.model.happening import Message
from replicator.model.position import Position
from replicator.model.snapshot import INITIAL, Marker, SnapshotProgress
from replicator.model.snapshot_orders import SnapshotOrders, request_of
from replicator.model.snapshot_steps import (
    SnapshotBegins,
    SnapshotDefinitions,
    SnapshotEnds,
    SnapshotStep,
    TableBegins,
    TableEnds,
)
from replicator.pipeline.ports import Catalog, Chunk, Decoder, SnapshotReader, SnapshotSource, Stream
from replicator.pipeline.snapshot.session import SnapshotSession

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
        self._initial, self._moment = progress.id == INITIAL, progress.moment
        self._definitions: SnapshotDefinitions | None = None
        planner = cache(lambda marker: planners.snapshot(marker, self._moment))
        mariadb = config.source.type == "mariadb"
        self._decoder = ChunkDecoder(planner, mariadb=mariadb, catalog=catalog, rendering=renderers)

    def prepare(self, tables: Sequence[str]) -> None:
        if self._initial and self._planners.defines_tables:
            self._definitions = read_snapshot_definitions(self._config, tables)

    def begin(self, identity: str) -> Sequence[Batch]:
        return self._messages(SnapshotBegins(self._definitions), identity)

    def rows(self, chunk: Chunk, identity: str, first: Marker, between: Marker, last: Marker) -> Batch:
        return self._decoder.rows(chunk, identity, first, between, last)

    def begin_table(self, chunk: Chunk, identity: str) -> Sequence[Batch]:
        return self._messages(TableBegins(self._decoder.table(chunk), chunk.time_s), identity)

    def end_table(self, chunk: Chunk, identity: str, rows: int) -> Sequence[Batch]:
        return self._messages(TableEnds(self._decoder.table(chunk), chunk.time_s, rows), identity)

    def end(self, identity: str, rows: int, time_s: int) -> Sequence[Batch]:
        return self._messages(SnapshotEnds(time_s, rows), identity)

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
        chosen = TableFilter(request.tables if request else options.tables)
        replicated, now = self._config.source.selection(), self._selection()
        where = options.where if request is None else dict.fromkeys(request.tables, request.where)
        server = stream.position.server

        def connect() -> SnapshotReader:
            return self._source({table: text for table, text in where.items() if text}).open(server)

        def selected(table: str) -> bool:
            return chosen.chooses(table) and replicated.chooses(table)

        return SnapshotSession(
            progress,
            connect=connect,
            selected=selected,
            readable=now.chooses,
            encoder=SnapshotEncoder(self._config, self._planners, progress, catalog, self._renderers),
            decoder=decoder,
            chunk_rows=(request.chunk_rows if request else 0) or options.chunk_rows,
            rows_per_s=options.max_rows_per_s or 0,
            without_key=options.without_key,
            most_load=options.max_load or 0,
        )

    def _source(self, where: Mapping[str, str]) -> SnapshotSource:
        return self._given if self._given is not None else open_snapshot_source(self._config, where)


def open_snapshot_source(config: TaskConfig, where: Mapping[str, str]) -> SnapshotSource:
    """Connects nothing yet. `where`: `database.table` -> condition. Raises ConfigError for a password that can't be
    had."""
    from replicator.source.mysql.snapshot import MySQLSnapshotSource  # the database client, as in open_source

    source = config.source
    return MySQLSnapshotSource(source, resolve(source.password), where)
