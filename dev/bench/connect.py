"""Debezium's connector in Kafka Connect, tuned: one worker in standalone mode, told over its REST interface where to
read from."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import httpx

from dev import plain_http
from dev.cluster import wait_for
from dev.fetch.jars import java
from dev.fetch.peers import connect_libs, connectors
from dev.servers.base import Server
from dev.servers.database import Database
from dev.servers.kafka import Kafka

NAME = "orders"
TOPIC = "debezium.bench.orders"
_PREFIX = "debezium"


class Connect(Server):
    """The connector is made stopped; `read` starts it at a place of the binlog."""

    name = "Connect"
    start_timeout = 120.0

    def __init__(self, database: Database, kafka: Kafka) -> None:
        super().__init__(fast=True)
        self._database = database
        self._kafka = kafka
        self._url = f"http://{self.address}"

    @property
    def _history(self) -> Path:
        return self.folder / "data" / "history"

    def _prepare(self) -> None:
        (self.folder / "data").mkdir()
        (self.folder / "worker.properties").write_text(_properties(self._worker()))

    def _worker(self) -> dict[str, Any]:
        plain = {"key.converter.schemas.enable": "false", "value.converter.schemas.enable": "false"}
        converter = "org.apache.kafka.connect.json.JsonConverter"
        return {
            "bootstrap.servers": self._kafka.bootstrap,
            "key.converter": converter,
            "value.converter": converter,
            **plain,
            "offset.storage.file.filename": self.folder / "data" / "offsets",
            "offset.flush.interval.ms": 10_000,
            "listeners": self._url,
            "plugin.path": connectors(),
            "producer.acks": "all",
            "producer.linger.ms": 20,
            "producer.batch.size": 262_144,
        }

    def _command(self) -> list[str]:
        main = "org.apache.kafka.connect.cli.ConnectStandalone"
        options = ["-Xmx2G", "-XX:+UseG1GC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
        return [java(), *options, "-cp", f"{connect_libs()}/*", main, str(self.folder / "worker.properties")]

    def _serves(self) -> bool:
        try:
            return plain_http.get(f"{self._url}/connectors", timeout=5).status_code == 200
        except httpx.HTTPError:
            return False

    def make(self) -> None:
        """The connector, halted. It reads only what is written after this: its history of the tables begins here."""
        self._call("PUT", f"/connectors/{NAME}/config", self._connector("no_data"))
        self._until("RUNNING")
        wait_for(self._knows_tables, "Debezium to have read the tables", 60, every=0.3)
        self.halt()

    def make_initial(self) -> None:
        """The connector, halted, that `copy` lets read the tables."""
        body = {"name": NAME, "config": self._connector("initial"), "initial_state": "STOPPED"}
        self._call("POST", "/connectors", body)
        self._until("STOPPED")

    def _connector(self, mode: str, **others: str) -> dict[str, str]:
        user, password = self._database.replicator
        history = {
            "schema.history.internal": "io.debezium.storage.file.history.FileSchemaHistory",
            "schema.history.internal.file.filename": str(self._history),
        }
        return {
            "connector.class": "io.debezium.connector.mysql.MySqlConnector",
            "database.hostname": self._database.host,
            "database.port": str(self._database.port),
            "database.user": user,
            "database.password": password,
            "database.server.id": "7003",
            "database.ssl.mode": "disabled",
            "driver.allowPublicKeyRetrieval": "true",
            "topic.prefix": _PREFIX,
            "table.include.list": "bench.orders",
            "snapshot.mode": mode,
            "snapshot.locking.mode": "none",
            "include.schema.changes": "false",
            "max.batch.size": "4096",
            "max.queue.size": "16384",
            "poll.interval.ms": "1",
            **history,
            **others,
        }

    def copy(self, **options: str) -> None:
        """Begins the initial snapshot, as if there had been none before. options: of the connector, with _ for the
        dot. The connector has to be halted."""
        self._history.unlink(missing_ok=True)
        settings = {name.replace("_", "."): value for name, value in options.items()}
        self._call("DELETE", f"/connectors/{NAME}/offsets")
        self._call("PUT", f"/connectors/{NAME}/config", self._connector("initial", **settings))
        self._call("PUT", f"/connectors/{NAME}/resume")
        self._until("RUNNING")

    def read(self, file: str, start: int, gtids: str) -> None:
        """Begins at a place of the binlog, before which `gtids` were executed: a server that has GTIDs is asked by
        them. The connector has to be halted."""
        partition = {"server": _PREFIX}
        offset = {"file": file, "pos": start, "gtids": gtids, "ts_sec": 0}
        self._call("DELETE", f"/connectors/{NAME}/offsets")
        self._call("PATCH", f"/connectors/{NAME}/offsets", {"offsets": [{"partition": partition, "offset": offset}]})
        self._call("PUT", f"/connectors/{NAME}/resume")
        self._until("RUNNING")

    def halt(self) -> None:
        self._call("PUT", f"/connectors/{NAME}/stop")
        self._until("STOPPED")

    def check(self) -> None:
        """Raises RuntimeError when the task has failed."""
        for task in self._status().get("tasks", ()):
            if task["state"] == "FAILED":
                trace = task.get("trace", "").splitlines()
                causes = [line for line in trace if line.startswith("Caused by")] or trace[:1]
                raise RuntimeError(f"Debezium: {'; '.join(causes)[:600]}")

    def _knows_tables(self) -> bool:
        """The history has been written, and no more for a while. An offset there is only with the first record."""
        self.check()
        history = self._history
        return history.exists() and "orders" in history.read_text() and time.time() - history.stat().st_mtime > 3

    def _status(self) -> dict[str, Any]:
        answer = plain_http.get(f"{self._url}/connectors/{NAME}/status", timeout=10)
        return dict(answer.json()) if answer.status_code == 200 else {}

    def _until(self, state: str) -> None:
        def reached() -> bool:
            self.check()
            status = self._status()
            tasks = [task["state"] for task in status.get("tasks", ())]
            there = status.get("connector", {}).get("state") == state
            return there and (tasks == [state] or (state == "STOPPED" and not tasks))

        wait_for(reached, f"the connector {state}", 60, every=0.1)

    def _call(self, verb: str, path: str, body: object = None) -> None:
        answer = httpx.request(verb, self._url + path, json=body, timeout=30)
        if answer.status_code >= 300:
            raise RuntimeError(f"Connect answers {verb} {path} with {answer.status_code}: {answer.text[:500]}")


def _properties(values: dict[str, Any]) -> str:
    return "".join(f"{key}={value}\n" for key, value in values.items())
