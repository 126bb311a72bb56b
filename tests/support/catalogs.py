"""A stream of a real server with its schema history, decoded without a sink."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dev.servers import Database, MariaDB
from replicator.assembly.catalogs import build_catalog
from replicator.checkpoint.history import MemoryHistory
from replicator.config.load import parse_task
from replicator.config.tables import TableFilter
from replicator.config.task import StdoutSink, TaskConfig
from replicator.decode.decoder import BinlogDecoder
from replicator.encode import formats
from replicator.encode.topics import Topics
from replicator.model.batch import Batch
from replicator.model.plan import TablePlan
from replicator.model.position import Position
from replicator.model.table import Table
from replicator.pipeline.ports import HistoryStore
from replicator.schema.catalog import SchemaCatalog
from replicator.source.mysql.source import MySQLSource


class Reader:
    """A task over `tables` that starts now.

    Attributes:
        seen: tables as the format got them, one per version.
        catalog: of the last stream.
    """

    def __init__(self, server: Database, *tables: str, **source: Any) -> None:
        self.server = server
        self.config = _config(server, tables, source)
        self.source = MySQLSource(self.config.database, "reader", "replicator")
        self.start = self.source.start_position()
        self.seen: list[Table] = []
        self.catalog: SchemaCatalog | None = None

    def begin(self) -> MemoryHistory:
        """A history that begins now."""
        store = MemoryHistory()
        build_catalog(self.config, store)(self.start)
        return store

    def batches(self, store: HistoryStore, position: Position | None = None, piece: int = 1 << 20) -> Iterator[Batch]:
        """From `position`, or the start, to what is the end now, fed in pieces of so many bytes."""
        debezium = formats["debezium"]("reader", StdoutSink(type="stdout"), "mysql")
        topics = Topics("{table}", "reader")

        def plan(table: Table) -> TablePlan | None:
            if not selection.matches(table.database, table.name):
                return None
            self.seen.append(table)
            return debezium.plan(table, topics.topic(table))

        selection = TableFilter(self.config.source.tables)
        end, at = self.source.end_position(), position or self.start
        catalog = build_catalog(self.config, store)(at)
        assert isinstance(catalog, SchemaCatalog)
        self.catalog = catalog
        stream = self.source.open(at)
        decoder = BinlogDecoder(
            plan,
            position=stream.position,
            flavor=self.config.database.type,
            framing=stream.framing,
            server_error=stream.server_error,
            catalog=catalog,
            selection=selection,
        )
        try:
            while at.order < end.order:
                data = stream.read(1.0)
                for start in range(0, max(1, len(data)), piece):
                    for batch in decoder.feed(data[start : start + piece]):
                        yield batch
                        at = batch.position
        finally:
            stream.close()

    def rows(self, store: HistoryStore, position: Position | None = None) -> list[tuple[str, Any, Any, Any]]:
        """(topic, key, before, after) of every record."""
        return [row for batch in self.batches(store, position) for row in rows(batch)]


def rows(batch: Batch) -> list[tuple[str, Any, Any, Any]]:
    found = []
    for topic, key, value, *_ in batch.records:
        body = json.loads(value) if value else {}
        found.append((topic, json.loads(key) if key else None, body.get("before"), body.get("after")))
    return found


def _config(server: Database, tables: tuple[str, ...], source: dict[str, Any]) -> TaskConfig:
    user, _ = server.replicator
    return parse_task(
        {
            "name": "reader",
            "source": {
                "type": "mariadb" if isinstance(server, MariaDB) else "mysql",
                "host": server.host,
                "port": server.port,
                "user": user,
                "password": "env:READER_PASSWORD",
                "tables": list(tables),
                **source,
            },
            "sink": {"type": "stdout"},
        }
    )
