"""A table that goes into quarantine, comes out of it and is replayed: every row once, on a real server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dev.servers.database import Database, MariaDB
from replicator.assembly import build_pipeline, build_source
from replicator.checkpoint.memory import MemoryStore
from replicator.config.load import parse_task
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.sink.memory import MemoryBroker, MemorySink

pytestmark = pytest.mark.servers


class Unseen:
    def streaming(self, position: Position) -> None: ...

    def waiting(self, error: Exception) -> None:
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
        self._until = until
        self.broker, self.store = MemoryBroker(), MemoryStore()

    def run(self, *quarantine: str) -> None:
        """To the end of the log as it is now, as another term."""
        config = parse_task({**self._data, "source": {**self._data["source"], "quarantine": list(quarantine)}})
        sink, term = MemorySink(config.name, self.broker), Term.unlimited(config.name)
        pipeline = build_pipeline(config, term=term, store=self.store, observer=Unseen(), sink=sink)
        pipeline.run(None if self._until else build_source(config).end_position())

    def rows(self, table: str) -> list[int]:
        found = [record for record in self.broker.records if record.topic.endswith(f".{table}")]
        return [json.loads(record.value or b"")["after"]["id"] for record in found]


@pytest.mark.parametrize("kind", ["mysql", "mariadb"])
def test_the_others_flow_and_nothing_of_it_is_lost(
    kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_PASSWORD", "replicator")
    server: Database = request.getfixturevalue(kind)
    shop: str = request.getfixturevalue("database" if kind == "mysql" else "mariadb_database")
    file, offset, *_ = server.execute("SHOW MASTER STATUS" if kind == "mariadb" else "SHOW BINARY LOG STATUS")[0]
    for table in ("ill", "well"):
        server.execute(f"CREATE TABLE {shop}.{table} (id INT PRIMARY KEY)")

    def insert(number: int) -> None:
        for table in ("ill", "well"):
            server.execute(f"INSERT INTO {shop}.{table} VALUES ({number})")

    task = Task(server, "copy", [f"{shop}.*"], Position(file, offset), None)
    insert(1)
    task.run()
    insert(2)
    task.run(f"{shop}.ill")
    insert(3)
    task.run(f"{shop}.ill")
    assert task.rows("well") == [1, 2, 3]
    assert task.rows("ill") == [1]
    insert(4)
    last = task.store.load()
    assert last is not None and last.quarantined[0].until is None
    task.run()
    insert(5)
    task.run()
    assert (task.rows("well"), task.rows("ill")) == ([1, 2, 3, 4, 5], [1, 4, 5])
    last = task.store.load()
    assert last is not None
    (mark,) = last.quarantined
    assert mark.until is not None
    replay = Task(server, "copy.replay", [f"{shop}.ill"], mark.since, mark.until)
    replay.run()
    assert (replay.rows("ill"), replay.rows("well")) == ([2, 3], [])
