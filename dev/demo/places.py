"""Destinations of the demo's records: a real Kafka, or a file where Kafka is not available."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from dev.checker import consumer
from dev.checker.history import Seen
from dev.errors import ServerUnavailable
from dev.servers.kafka import Kafka, kafka_broker
from replicator.host.access import FILE_SINK_DIRECTORY

_WRITTEN = "hot_item"
"""The table that the writer changes and the checker judges."""
Rows: TypeAlias = list[tuple[int, dict[str, object] | None]]


class KafkaPlace:
    """Three partitions, exactly_once."""

    def __init__(self, broker: Kafka) -> None:
        self.broker = broker
        # An external broker may hold the topics of an earlier demo.
        self._prefix = f"demo{os.getpid()}"

    @property
    def sink(self) -> dict[str, Any]:
        return {
            "type": "kafka",
            "bootstrap_servers": [self.broker.address],
            "topic": self._prefix + ".{task}.{database}.{table}",
            "format": "debezium",
            "delivery": "exactly_once",
            "partitions": 3,
        }

    def seen(self) -> list[Seen]:
        return consumer.seen(self.records(_WRITTEN))

    def rows(self) -> Rows:
        return consumer.latest_rows(self.records(_WRITTEN))

    def records(self, table: str) -> Sequence[consumer.Record]:
        """In order per partition."""
        return consumer.read_topics(
            self.broker.address, lambda topic: topic.startswith(self._prefix + ".") and topic.endswith(f".{table}")
        )


class _Line(NamedTuple):
    """A line of the file sink: a `consumer.Record`."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes
    value: bytes | None
    headers: list[tuple[str, bytes]]


class FilePlace:
    """The `file` sink."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="mysql-replicator-demo-file-"))
        self._path = self._folder / "records.jsonl"
        os.environ[FILE_SINK_DIRECTORY] = str(self._folder)  # for the Cores that are started from now on

    @property
    def sink(self) -> dict[str, Any]:
        return {"type": "file", "path": str(self._path), "format": "debezium"}

    def seen(self) -> list[Seen]:
        return consumer.seen(self.records(_WRITTEN))

    def rows(self) -> Rows:
        return consumer.latest_rows(self.records(_WRITTEN))

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def records(self, table: str) -> Sequence[consumer.Record]:
        """In order."""
        with contextlib.suppress(FileNotFoundError):
            lines = [_line(json.loads(line)) for line in self._path.read_text().splitlines()]
            return [line for line in lines if line.topic.endswith(f".{table}")]
        return []


def _line(line: dict[str, Any]) -> _Line:
    value = line["value"]
    return _Line(
        line["topic"],
        line["partition"],
        line["offset"],
        line["timestamp"],
        line["key"].encode(),
        None if value is None else value.encode(),
        [(header["key"], str(header["value"]).encode()) for header in line["headers"]],
    )


Place: TypeAlias = KafkaPlace | FilePlace


def open_place(say: Callable[[str], None]) -> Place:
    broker = kafka_broker(fast=True)
    try:
        broker.start()
        return KafkaPlace(broker)
    except ServerUnavailable as error:
        broker.close()
        say(f"{error}; the same story goes into the file sink")
        return FilePlace()
