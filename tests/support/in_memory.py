"""A task on a real server whose records stay in this process."""

from __future__ import annotations

import json
import threading
from typing import Any

import pymysql

from dev.servers.database import Database, MariaDB
from replicator.assembly.pipeline import build_pipeline, build_source
from replicator.checkpoint.history import MemoryHistory
from replicator.checkpoint.memory_store import MemoryStore
from replicator.config.load import parse_task
from replicator.coordination.clock import now_ms
from replicator.errors import ReplicatorError
from replicator.model.position import Position
from replicator.model.quarantine import Quarantined, TaskOrders
from replicator.model.quarantine_orders import put, release, replay
from replicator.model.term import Term
from replicator.sink.memory_sink import MemoryBroker, MemorySink
from replicator.source.binlog_layout import HEADER

PATIENCE = 60.0
"""Seconds that a run may take; nothing that tests read here takes a tenth of it."""


class Unseen:
    def streaming(self, position: Position) -> None: ...

    def waiting(self, error: ReplicatorError) -> None:
        if error.transient:
            raise error

    def progress(self, checkpoint: object, figures: object) -> None: ...


class Task:
    """One task over its restarts."""

    def __init__(self, server: Database, name: str, tables: list[str], start: Position, until: Position | None) -> None:
        kind = "mariadb" if isinstance(server, MariaDB) else "mysql"
        source = {"type": kind, "port": server.port, "user": "replicator", "password": "env:TEST_PASSWORD"}
        source |= {"tables": tables, "start": {"file": start.file, "position": start.offset}}
        if until is not None:
            source["until"] = {"file": until.file, "position": until.offset}
        self._data: dict[str, Any] = {"name": name, "source": source, "sink": {"type": "stdout"}}
        self._server, self._until, self.orders = server, until, TaskOrders()
        self.broker, self.store, self.history = MemoryBroker(), MemoryStore(), MemoryHistory()

    def put(self, table: str) -> None:
        self.orders = put(self.orders, self.marks(), table, now_ms())

    def release(self, table: str) -> None:
        self.orders = release(self.orders, self.marks(), table, now_ms())

    def replay(self, table: str) -> None:
        orders = replay(self.orders, self.marks(), table, now_ms())
        assert orders is not None, "it is in quarantine"
        self.orders = orders

    def run(self, **source: Any) -> None:
        """To the end of the log as it is now, as another term. `source`: more keys of it."""
        changed = {**self._data["source"], **source}
        config = parse_task({**self._data, "source": changed})
        sink, term = MemorySink(config.name, self.broker), Term.unlimited(config.name)
        pipeline = build_pipeline(
            config, term=term, store=self.store, observer=Unseen(), sink=sink, history=self.history, orders=self.orders
        )
        until = None if self._until else build_source(config).end_position()
        watch = threading.Timer(PATIENCE, pipeline.drain)
        watch.start()
        last = pipeline.run(until)
        late = not watch.is_alive()
        watch.cancel()
        assert not late, (
            f"no end in {PATIENCE} s: at {last}, wanted {until or self._until}\n{self._seen_by_the_server()}"
        )

    def _seen_by_the_server(self) -> str:
        """Where its log ends, and what its readers do."""
        status = self._server.end_of_log()
        try:
            events = self._server.execute(f"SHOW BINLOG EVENTS IN '{status[0]}' FROM {self._from(status[0])}")[-20:]
        except pymysql.Error as error:  # refuses a file with an event over max_allowed_packet, of another test
            events = [(error,)]
        return "\n".join(map(str, [status, *self._server.execute("SHOW PROCESSLIST"), *events]))

    def _from(self, file: str) -> int:
        start = self._data["source"].get("start", {})
        return int(start["position"]) if start.get("file") == file else HEADER

    def rows(self, table: str) -> list[int]:
        found = [record for record in self.broker.records if record.topic.endswith(f".{table}")]
        return [json.loads(record.value or b"")["after"]["id"] for record in found]

    def marks(self) -> tuple[Quarantined, ...]:
        last = self.store.load()
        return last.quarantined if last is not None else ()
