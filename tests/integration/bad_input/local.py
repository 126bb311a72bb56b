"""A task of `replicator run`: its table, its file, what was committed to the one and what was delivered from it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import yaml

from dev.checker.consumer import read_topics
from dev.cluster import wait_for
from dev.servers import MariaDB
from dev.servers.database import Database
from tests.integration.bad_input.command import Ended, Replicator, Running
from tests.support.present import present

ROW = "INSERT INTO {table} (note) VALUES (%s)"


class Local:
    """Rows of `table` are numbered by the server; `committed` are those that consumers must get, in order.

    Args:
        name: of task and database.
        sink: its keys; default: a file.
    """

    def __init__(
        self, server: Database, database: str, replicator: Replicator, sink: dict[str, Any] | None = None
    ) -> None:
        self.server, self.name, self.replicator = server, database, replicator
        self.table = f"{database}.item"
        self.path = replicator.folder / "task.yaml"
        self.output = replicator.folder / "out.jsonl"
        self.committed: list[int] = []
        self.config: dict[str, Any] = {
            "name": database,
            "source": {
                "type": "mariadb" if isinstance(server, MariaDB) else "mysql",
                "host": server.host,
                "port": server.port,
                "user": server.replicator[0],
                "password": "env:REPL_PASSWORD",
                "tables": [f"{database}.*"],
                "heartbeat_s": 1,
            },
            "sink": sink or {"type": "file", "path": str(self.output), "topic": "{table}"},
        }
        server.execute(f"CREATE TABLE {self.table} (id INT AUTO_INCREMENT PRIMARY KEY, note LONGTEXT, data JSON)")

    def write(self, text: str | None = None) -> None:
        self.path.write_text(yaml.safe_dump(self.config, sort_keys=False) if text is None else text)

    # The user's side

    def run(self, *arguments: str, timeout: float = 60.0) -> Ended:
        """Up to the end of the binlog."""
        self.write()
        return self.replicator("run", "-f", str(self.path), "--until-current", *arguments, timeout=timeout)

    def start(self, *arguments: str) -> Running:
        """Until it is stopped."""
        self.write()
        return self.replicator.start("run", "-f", str(self.path), *arguments)

    def begin(self) -> None:
        """The task has a position and one delivered row."""
        self.run().ok()
        self.insert()
        self.arrives()

    def arrives(self) -> None:
        """The same command again with the same state: everything is there, once, in order."""
        self.run().ok()
        assert self.delivered() == self.committed

    def elsewhere(self, name: str) -> None:
        """From now on the sink is another file of the same folder."""
        self.output = self.output.with_name(name)
        self.config["sink"]["path"] = str(self.output)

    # The applications' side

    def insert(self, rows: int = 1, note: str = "x") -> None:
        """One transaction for each row."""
        connection = self.server.connect()
        try:
            with connection.cursor() as cursor:
                for _ in range(rows):
                    cursor.execute(ROW.format(table=self.table), (note,))
                    self.committed.append(cursor.lastrowid)
        finally:
            connection.close()

    def in_session(self, *statements: str) -> None:
        """On a connection of their own; what they change is not counted as committed."""
        connection = self.server.connect(database=self.name)
        try:
            with connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
        finally:
            connection.close()

    def end_of_binlog(self) -> dict[str, Any]:
        """As a task's `start`."""
        file, offset = self.server.end_of_log()
        return {"file": file, "position": offset}

    def events_since(self, at: dict[str, Any]) -> Sequence[Any]:
        """Of the binlog file of `at`: what is before it may be of other tests, and too large for the server to show."""
        return self.server.execute(f"SHOW BINLOG EVENTS IN '{at['file']}' FROM {at['position']}")

    # The consumers' side

    def delivered(self) -> list[int]:
        """Numbers of the rows, in order; with at_least_once each at its first appearance."""
        numbers = [value["after"]["id"] for value in self._values() if value]
        once = self.config["sink"].get("delivery") != "at_least_once"
        return numbers if once else list(dict.fromkeys(numbers))

    def wait_delivered(self, timeout: float = 40.0) -> None:
        wait_for(lambda: self.delivered() == self.committed, f"{self.committed} in {self.output}", timeout, every=0.2)

    def _values(self) -> list[Any]:
        sink = self.config["sink"]
        if sink["type"] == "kafka":
            records = read_topics(sink["bootstrap_servers"][0], lambda topic: topic == sink["topic"])
            return [json.loads(present(record.value)) for record in records]
        if not self.output.exists():
            return []
        return [json.loads(json.loads(line)["value"]) for line in self.output.read_text().splitlines()]
