"""A snapshot of a live server as records: the reader of its tables, the decoder of chunks, the planners of the task."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from functools import cache
from typing import Any
from unittest.mock import patch

from dev.servers import MySQL
from replicator.assembly.catalogs import build_catalog, read_snapshot_definitions
from replicator.assembly.pipeline import build_pipeline, build_rendering
from replicator.assembly.planners import Planners
from replicator.checkpoint.history import MemoryHistory
from replicator.checkpoint.memory_store import MemoryStore
from replicator.config.load import parse_task
from replicator.config.secrets import resolve
from replicator.config.tables import TableFilter
from replicator.config.task import MySQLSource, TaskConfig
from replicator.decode.snapshot.chunk_decoder import ChunkDecoder
from replicator.model.position import Position
from replicator.model.snapshot import Marker, OpenTable, SnapshotMoment
from replicator.model.snapshot_steps import SnapshotBegins, SnapshotEnds, SnapshotStep, TableBegins, TableEnds
from replicator.model.term import Term
from replicator.pipeline.ports import Chunk, SnapshotReader
from replicator.sink.memory_sink import MemoryBroker, MemorySink
from replicator.source.mysql.snapshot.source import MySQLSnapshotSource
from tests.golden.compare import OURS, Record, Variation
from tests.support.in_memory import Unseen

_MOST = 1_000_000
_TIME_S = 1_795_252_131


def snapshot_records(server: MySQL, variation: Variation) -> list[Record]:
    """As a task with `variation`'s options writes them: definitions of all tables, rows of `variation.snapshot`."""
    user, password = server.replicator
    with patch.dict(os.environ, {"REPL_GOLDEN": password}):
        return list(_Run(server, user, variation).records())


def pipeline_records(server: MySQL, variation: Variation, tables: list[str]) -> list[Record]:
    """As the whole pipeline of such a task writes them. `tables`: patterns of those that its snapshot has."""
    user, password = server.replicator
    with patch.dict(os.environ, {"REPL_GOLDEN": password}):
        config = _task(server, user, variation, mode="initial", tables=tables, without_key="read")
        broker = MemoryBroker()
        pipeline = build_pipeline(
            config,
            term=Term.unlimited(config.name),
            store=MemoryStore(),
            observer=Unseen(),
            sink=MemorySink(config.name, broker),
            history=MemoryHistory(),
            snapshot_only=True,
        )
        watch = threading.Timer(60, pipeline.drain)
        watch.start()
        pipeline.run()
        watch.cancel()
    found = []
    for one in broker.records:
        headers = tuple((name, text.decode()) for name, text in one.headers if name not in OURS)
        found.append(Record(one.topic, one.key, one.value, headers))
    return found


class _Run:
    def __init__(self, server: MySQL, user: str, variation: Variation) -> None:
        self._config = _task(server, user, variation)
        self._rows_of = TableFilter(variation.snapshot)
        self._planners = Planners(self._config)

    def records(self) -> Iterator[Record]:
        assert isinstance(self._config.source, MySQLSource)
        reader = MySQLSnapshotSource(self._config.source, resolve(self._config.source.password)).open("")
        try:
            yield from self._read(reader)
        finally:
            reader.close()

    def _read(self, reader: SnapshotReader) -> Iterator[Record]:
        names = [size.table for size in reader.tables()]
        wanted = [name for name in names if self._rows_of.chooses(name)]
        chunks = [self._chunk(reader, name) for name in wanted]
        full = [chunk for chunk in chunks if len(chunk.images)]
        moment = SnapshotMoment(full[0].high.file, full[0].high.offset, _TIME_S * 1000)
        catalog = build_catalog(self._config, MemoryHistory())(full[0].high)
        planner = cache(lambda marker: self._planners.snapshot(marker, moment))
        decoder = ChunkDecoder(
            planner, mariadb=False, catalog=catalog, rendering=build_rendering(self._config), clock=lambda: _TIME_S
        )

        def said(step: SnapshotStep) -> Iterator[Record]:
            for message in self._planners.snapshot_messages(step, moment):
                headers = tuple((name, text.decode()) for name, text in message.headers)
                yield Record(message.topic, message.key, message.value, headers)

        yield from said(SnapshotBegins(read_snapshot_definitions(self._config, names)))
        for number, chunk in enumerate(full):
            table = decoder.table(chunk)
            yield from said(TableBegins(table, _TIME_S))
            last: Marker = "last_in_data_collection" if number < len(full) - 1 else "last"
            first: Marker = "first_in_data_collection" if number else "first"
            for batch in decoder.rows(chunk, "snapshot", first, "true", last):
                for topic, key, value, _, _, headers, *_ in batch.records:
                    yield Record(topic, key, value, tuple((name, text.decode()) for name, text in headers))
            yield from said(TableEnds(table, _TIME_S, len(chunk.images)))
        yield from said(SnapshotEnds(_TIME_S, sum(len(chunk.images) for chunk in full)))

    def _chunk(self, reader: SnapshotReader, name: str) -> Chunk:
        table = reader.begin(name)
        assert isinstance(table, OpenTable)
        chunk = reader.read(table, _MOST, Position("", 0))
        assert chunk.final, name
        return chunk


def _task(server: MySQL, user: str, variation: Variation, **snapshot: Any) -> TaskConfig:
    source: dict[str, Any] = {
        "type": "mysql",
        "host": server.host,
        "port": server.port,
        "user": user,
        "password": "env:REPL_GOLDEN",
        "tables": list(variation.tables),
    }
    if snapshot:
        source["snapshot"] = snapshot
    sink = {"type": "stdout", **variation.options}
    return parse_task({"name": variation.task, "source": source, "sink": sink})
