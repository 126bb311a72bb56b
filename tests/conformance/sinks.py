"""The sinks under one interface for the conformance suite: how to make one, and what its consumers see."""

from __future__ import annotations

import base64
import json
import struct
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from dev.servers import Database
from replicator.config.task import FileSink as FileConfig
from replicator.config.task import KafkaSink
from replicator.model import types
from replicator.model.batch import Batch, Record
from replicator.model.position import Position
from replicator.model.table import Column
from replicator.model.target_table import TargetTable, TargetTables
from replicator.model.term import Term
from replicator.pipeline.ports import Sink
from replicator.sink import open_sink
from replicator.sink.memory_sink import MemoryBroker, MemorySink
from tests.support import target
from tests.support.consume import read_all

MAX_RECORD = 200_000


class Seen(NamedTuple):
    """A record as consumers see it, in the order of its partition."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: dict[str, bytes]


class Subject(Protocol):
    """One implementation of the port, with a place of its own to write to. transactional: what is not committed can't
    be seen; holds_position: `open` gives the position that was committed last."""

    name: str
    task: str
    transactional: bool
    holds_position: bool
    max_in_flight: int

    def make(self) -> Sink: ...

    def seen(self) -> list[Seen]: ...

    def topic(self, name: str) -> str: ...


class Lease:
    """A lease that ends when the test says so."""

    def __init__(self) -> None:
        self.until = float("inf")

    def term(self, task: str, epoch: int = 1, uid: str = "u1", purged: Sequence[str] = ()) -> Term:
        return Term(task, uid, epoch, lambda: self.until, purged=frozenset(purged))

    def end(self) -> None:
        self.until = 0.0


class MemorySubject:
    max_in_flight = 0

    def __init__(self, delivery: Any) -> None:
        self.name = f"memory-{delivery}"
        self.task = "copy"
        self.transactional = self.holds_position = delivery == "exactly_once"
        self._delivery = delivery
        self._broker = MemoryBroker(partitions=3)

    def make(self) -> Sink:
        return MemorySink(self.task, self._broker, self._delivery, max_record_bytes=MAX_RECORD)

    def topic(self, name: str) -> str:
        return name

    def seen(self) -> list[Seen]:
        records = [Seen(r.topic, r.partition, r.key, r.value, dict(r.headers)) for r in self._broker.records]
        return sorted(records, key=lambda r: (r.topic, r.partition))


class FileSubject:
    name = "file"
    task = "copy"
    transactional = False
    holds_position = True
    max_in_flight = 0

    def __init__(self, folder: Path) -> None:
        self._path = folder / "out.jsonl"

    def make(self) -> Sink:
        return open_sink(FileConfig(type="file", path=str(self._path)), self.task)

    def topic(self, name: str) -> str:
        return name

    def seen(self) -> list[Seen]:
        if not self._path.exists():
            return []
        lines = [json.loads(line) for line in self._path.read_text().splitlines()]
        return [
            Seen(
                line["topic"],
                line["partition"],
                _bytes(line, "key"),
                _bytes(line, "value"),
                {header["key"]: _bytes(header, "value") or b"" for header in line["headers"]},
            )
            for line in lines
        ]


def _bytes(line: dict[str, Any], name: str) -> bytes | None:
    if f"{name}_base64" in line:
        return base64.b64decode(line[f"{name}_base64"])
    text: str | None = line[name]
    return None if text is None else text.encode()


class KafkaSubject:
    def __init__(self, bootstrap: str, delivery: Any, *, batches: bool = True) -> None:
        self.name = f"kafka-{delivery}"
        self.task = f"copy-{uuid.uuid4().hex[:8]}"
        self.transactional = self.holds_position = delivery == "exactly_once"
        self.max_in_flight = 1 << 20
        self._batches = batches
        self._topics: set[str] = set()
        self._bootstrap = bootstrap
        self.config = KafkaSink(
            type="kafka",
            bootstrap_servers=(bootstrap,),
            delivery=delivery,
            partitions=3,
            max_record_bytes=MAX_RECORD,
            max_in_flight_bytes=self.max_in_flight,
        )

    def make(self) -> Sink:
        sink: Any = open_sink(self.config, self.task)
        sink._batches = self._batches
        made: Sink = sink
        return made

    def topic(self, name: str) -> str:
        self._topics.add(f"{self.task}.{name}")
        return f"{self.task}.{name}"

    def seen(self) -> list[Seen]:
        found = read_all(self._bootstrap, self._topics)
        return [Seen(r.topic, r.partition, r.key, r.value, dict(r.headers)) for r in found]


class DatabaseSubject:
    """A table for each topic, one row for each record; the server numbers them in order."""

    transactional = True
    holds_position = True
    max_in_flight = 0

    def __init__(self, server: Database, database: str) -> None:
        self.name: str = server.release.flavour
        self.task = f"copy-{uuid.uuid4().hex[:8]}"
        self._server, self._database = server, database
        self._tables = TargetTables()
        self._topics: dict[str, str] = {}

    def make(self) -> Sink:
        return RecordsAsRows(target.sink(self._server, self._tables, self._database, self.task, ""), self._topics)

    def topic(self, name: str) -> str:
        if name not in self._topics:
            columns = tuple(
                Column(index, column, types.BLOB, 4, collation=types.BINARY_COLLATION)
                for index, column in enumerate(("k", "v"))
            )
            self._server.execute(
                f"CREATE TABLE {self._database}.{name} (k LONGBLOB, v LONGBLOB, n BIGINT AUTO_INCREMENT PRIMARY KEY)"
            )
            self._topics[name] = self._tables.name(TargetTable(self._database, name, columns))
        return name

    def seen(self) -> list[Seen]:
        return [
            Seen(topic, 0, key, value, {})
            for topic in self._topics
            for key, value in self._server.execute(f"SELECT k, v FROM {self._database}.{topic} ORDER BY n")
        ]


class RecordsAsRows:
    """A database sink that is given the suite's records."""

    def __init__(self, sink: Any, topics: dict[str, str]) -> None:
        self._sink, self._topics = sink, topics

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sink, name)

    def write(self, batch: Batch) -> None:
        records: list[Record] = [
            (self._topics[record[0]], None, b"I" + _image(record[1], record[2]), *record[3:6])
            for record in batch.records
        ]
        self._sink.write(msgspec.structs.replace(batch, records=records))


def _image(*values: bytes | None) -> bytes:
    nulls = sum(1 << index for index, value in enumerate(values) if value is None)
    texts = [struct.pack("<I", len(value)) + value for value in values if value is not None]
    return bytes((nulls,)) + b"".join(texts)


def at(offset: int, rows: int = 0) -> Position:
    return Position("binlog.000001", offset, rows=rows)


def batch(offset: int, *records: tuple[str, bytes | None, bytes | None], first_row: int = 0) -> Batch:
    """A whole transaction: (topic, key, value) each."""
    made: list[Record] = [
        (topic, key, value, b"binlog.000001:%d" % offset, row, ())
        for row, (topic, key, value) in enumerate(records, first_row)
    ]
    size = sum(len(record[1] or b"") + len(record[2] or b"") for record in made)
    return Batch(made, at(offset), True, rows=len(made), transactions=1, size=size)


def values(seen: Sequence[Seen]) -> list[bytes | None]:
    return [record.value for record in seen]
