"""What is large: a transaction, a row, many tables, many columns. Resident memory of a process that streams it, against
the same process before its first row. The figures stand in docs/limits.md."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest
from kafka import KafkaConsumer, TopicPartition
from kafka.admin import KafkaAdminClient

from dev.servers import Kafka, MySQL
from dev.servers.database import Database, MariaDB
from dev.servers.kafka import kafka_broker
from tests.servers import started
from tests.support.settings import set_global
from tests.support.streamed import REFERENCE, Streamed, streamed

pytestmark = pytest.mark.servers
LARGE_MB = int(os.environ.get("LARGE_TRANSACTION_MB", "100"))
"""2048 for the real thing; it takes as much on the disks of source and broker, several times over."""

TABLES = int(os.environ.get("MANY_TABLES", "300"))
"""10000 takes minutes: most of it is spent on making a plan and its program for each."""

ROW = 3000  # bytes

MOST_MB = 150
"""What a snapshot may take, with rows of 64 MB too."""


def log_end(server: Database) -> dict[str, Any]:
    file, offset = server.end_of_log()
    return {"file": file, "position": offset}


def task(server: Database, name: str, database: str, start: dict[str, Any], sink: dict[str, Any]) -> dict[str, Any]:
    kind = "mariadb" if isinstance(server, MariaDB) else "mysql"
    source = {"type": kind, "port": server.port, "user": "replicator", "password": REFERENCE}
    return {"name": name, "source": {**source, "tables": [f"{database}.*"], "start": start}, "sink": sink}


def shown(what: str, done: Streamed) -> None:
    print(
        f"\n{what}: {done.rows} rows, {done.peak_mb - done.idle_mb:.0f} MB over {done.idle_mb:.0f} MB, {done.seconds} s"
    )


@pytest.fixture(scope="module")
def large_kafka() -> Iterator[Kafka]:
    """A broker holds a request of 64 MB in its heap several times: with the heap that others have it runs out of memory
    and hangs, and every test of the session that shares it fails."""
    server = started(kafka_broker(fast=True, modest=True, heap="1536m"))
    yield server
    server.close()


@pytest.fixture
def to_kafka(large_kafka: Kafka, topic_prefix: str) -> Iterator[dict[str, Any]]:
    """A sink; what was written to it is thrown away at once, as it is large."""
    kafka = large_kafka
    yield {"type": "kafka", "bootstrap_servers": [kafka.bootstrap], "transaction_timeout_ms": 600_000}
    admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    admin.delete_topics([name for name in admin.list_topics() if name.startswith(topic_prefix)])
    admin.close()


def test_a_large_transaction(mysql: Any, database: str, topic_prefix: str, to_kafka: dict[str, Any]) -> None:
    rows = LARGE_MB * (1 << 20) // ROW
    mysql.execute(f"CREATE TABLE {database}.seed (id INT AUTO_INCREMENT PRIMARY KEY, b VARCHAR(4000))")
    mysql.execute(f"CREATE TABLE {database}.t LIKE {database}.seed")
    mysql.execute(f"INSERT INTO {database}.seed (b) VALUES (REPEAT('x', {ROW}))")
    for _ in range(12):
        mysql.execute(f"INSERT INTO {database}.seed (b) SELECT b FROM {database}.seed")
    start = log_end(mysql)
    mysql.execute(f"INSERT INTO {database}.t (b) SELECT a.b FROM {database}.seed a, {database}.seed b LIMIT {rows}")
    done = streamed(task(mysql, topic_prefix + "copy", database, start, to_kafka), timeout=900)
    shown(f"one transaction of {LARGE_MB} MB", done)
    assert (done.error, done.rows) == ("", rows)
    assert done.peak_mb - done.idle_mb < 200


@pytest.mark.parametrize("oversize", ["dead_letter", "sent"])
def test_a_row_of_64_mb(
    mysql: Any, database: str, topic_prefix: str, large_kafka: Kafka, to_kafka: dict[str, Any], oversize: str
) -> None:
    size = 64 << 20
    mysql.execute(f"CREATE TABLE {database}.t (id INT PRIMARY KEY, b LONGBLOB)")
    start = log_end(mysql)
    with set_global(mysql, "max_allowed_packet", str(256 << 20)):
        connection: pymysql.connections.Connection[Any] = mysql.connect()
        connection.cursor().execute(f"INSERT INTO {database}.t VALUES (1, REPEAT('x', {size}))")
        connection.close()
        if oversize == "dead_letter":
            to_kafka["oversize"] = "dead_letter"
        else:
            to_kafka |= {"max_record_bytes": 100 << 20}
            large_kafka.create_topic(
                f"{topic_prefix}copy.{database}.t", partitions=1, **{"max.message.bytes": str(100 << 20)}
            )
        done = streamed(task(mysql, topic_prefix + "copy", database, start, to_kafka))
    shown(f"one row of 64 MB, {oversize}", done)
    assert (done.error, done.rows, done.dead_letters) == ("", 1, int(oversize == "dead_letter"))
    assert done.peak_mb - done.idle_mb < 12 * 64


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
@pytest.mark.parametrize("connections", [1, 4])
def test_a_snapshot_of_rows_of_64_mb(
    mysql: Any,
    database: str,
    topic_prefix: str,
    large_kafka: Kafka,
    to_kafka: dict[str, Any],
    connections: int,
    delivery: str,
) -> None:
    """One at a time, and once. Several connections read as many rows ahead as they know to be small."""
    mysql.execute(f"CREATE TABLE {database}.t (id INT PRIMARY KEY, b LONGTEXT)")
    with set_global(mysql, "max_allowed_packet", str(256 << 20)):
        connection: pymysql.connections.Connection[Any] = mysql.connect()
        for number in range(4):
            connection.cursor().execute(f"INSERT INTO {database}.t VALUES ({number}, REPEAT('x', {64 << 20}))")
        connection.commit()
        connection.close()
        to_kafka |= {"max_record_bytes": 100 << 20, "delivery": delivery}
        large_kafka.create_topic(
            f"{topic_prefix}copy.{database}.t", partitions=1, **{"max.message.bytes": str(100 << 20)}
        )
        config = task(mysql, topic_prefix + "copy", database, {}, to_kafka)
        del config["source"]["start"]
        config["source"]["snapshot"] = {"mode": "initial", "connections": connections}
        done = streamed(config)
    shown(f"a snapshot of 4 rows of 64 MB, {connections} connections, {delivery}", done)
    assert (done.error, done.rows) == ("", 4)
    assert done.peak_mb - done.idle_mb < MOST_MB


LONG = {"blob": ("debezium", "none"), "compressed": ("debezium", "zstd")}
LONG |= {"mixed": ("maxwell", "lz4"), "mixed_canal": ("canal", "none")}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", LONG)
def test_values_of_64_mb_in_a_snapshot(
    mysql: Any, database: str, topic_prefix: str, large_kafka: Kafka, to_kafka: dict[str, Any], kind: str
) -> None:
    """Values that a compressor can hardly shorten, alone or among small rows, and what consumers find."""
    form, compression = LONG[kind]
    small, long = (4000, (1000, 3000)) if kind.startswith("mixed") else (0, (1, 2))
    wanted = long_table(mysql, database, small, long)
    topic = f"{topic_prefix}copy.{database}.t"
    to_kafka |= {"max_record_bytes": 100 << 20, "format": form, "compression": compression}
    to_kafka["topic"] = "{task}.{database}.{table}"
    large_kafka.create_topic(topic, partitions=1, **{"max.message.bytes": str(100 << 20)})
    config = task(mysql, topic_prefix + "copy", database, {}, to_kafka)
    del config["source"]["start"]
    config["source"]["snapshot"] = {"mode": "initial"}
    done = streamed(config)
    shown(f"64 MB in a snapshot: {kind}, {form}, {compression}", done)
    assert (done.error, done.rows) == ("", small + len(long))
    assert done.peak_mb - done.idle_mb < MOST_MB
    assert long_values(large_kafka, topic, form) == wanted


@pytest.mark.timeout(120)
def test_values_of_64_mb_to_a_database(
    mysql: Any, database: str, make_mysql: Callable[..., MySQL], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among small rows, applied by BINLOG."""
    monkeypatch.setenv("REPL_NONE", "")
    target = make_mysql(extra_args=["--max-allowed-packet=256M"])
    wanted = long_table(mysql, database, 4000, (1000, 3000))
    target.execute(f"CREATE DATABASE {database}")
    target.execute(f"CREATE TABLE {database}.t (id INT PRIMARY KEY, b LONGBLOB)")
    sink = {"type": "mysql", "port": target.port, "user": "root", "password": "env:REPL_NONE", "apply": "binlog"}
    config = task(mysql, "copy", database, {}, {**sink, "position_database": database})
    del config["source"]["start"]
    config["source"]["snapshot"] = {"mode": "initial"}
    done = streamed(config)
    shown("64 MB in a snapshot: mixed, to MySQL", done)
    assert (done.error, done.rows) == ("", 4002)
    assert done.peak_mb - done.idle_mb < MOST_MB
    assert dict(target.execute(f"SELECT id, SHA2(b, 256) FROM {database}.t WHERE LENGTH(b) > 1000")) == wanted
    assert target.execute(f"SELECT COUNT(*) FROM {database}.t") == [(4002,)]


def long_table(server: Database, database: str, small: int, long: tuple[int, ...]) -> dict[int, str]:
    """`small` rows, and between them those with 64 MB of noise. The digests of these."""
    server.execute(f"CREATE TABLE {database}.t (id INT PRIMARY KEY, b LONGBLOB)")
    first, *others = (2 * number + 1 for number in long)
    value = os.urandom(64 << 20).translate(bytes(32 + byte % 64 for byte in range(256)))
    with set_global(server, "max_allowed_packet", str(256 << 20)):
        connection: pymysql.connections.Connection[Any] = server.connect()
        cursor = connection.cursor()
        rows = [(2 * number, b"small" * 100) for number in range(1, small + 1)]
        cursor.executemany(f"INSERT INTO {database}.t VALUES (%s, %s)", rows)
        cursor.execute(f"INSERT INTO {database}.t VALUES (%s, _binary %s)", (first, value))
        for other in others:
            cursor.execute(f"INSERT INTO {database}.t SELECT {other}, b FROM {database}.t WHERE id = {first}")
        connection.commit()
        connection.close()
    return dict.fromkeys((first, *others), hashlib.sha256(value).hexdigest())


def long_values(kafka: Kafka, topic: str, form: str) -> dict[int, str]:
    """The digests of the long values in a topic."""
    consumer = KafkaConsumer(
        bootstrap_servers=kafka.bootstrap,
        isolation_level="read_committed",
        fetch_max_bytes=120 << 20,
        max_partition_fetch_bytes=120 << 20,
    )
    place, found = TopicPartition(topic, 0), {}
    consumer.assign([place])
    consumer.seek_to_beginning(place)
    (end,) = consumer.end_offsets([place]).values()
    while consumer.position(place) < end:
        for record in consumer.poll(5000).get(place, ()):
            if record.value is not None and len(record.value) > 60 << 20:
                row, value = long_value(json.loads(record.value), form)
                found[row] = hashlib.sha256(value).hexdigest()
    consumer.close()
    return found


def long_value(message: dict[str, Any], form: str) -> tuple[int, bytes]:
    if form == "canal":
        rows = [row for row in message["data"] if len(row["b"]) > 1000]
        return int(rows[0]["id"]), rows[0]["b"].encode("latin-1")
    row = message["after"] if form == "debezium" else message["data"]
    return row["id"], base64.b64decode(row["b"])


@pytest.mark.parametrize("kind", ["mysql", "mariadb"])
def test_a_table_of_1000_columns(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    server: Database = request.getfixturevalue(kind)
    database = request.getfixturevalue("database" if kind == "mysql" else "mariadb_database")
    columns = ", ".join(f"column_{number} INT" for number in range(1, 1000))
    server.execute(f"CREATE TABLE {database}.t (id INT PRIMARY KEY AUTO_INCREMENT, {columns})")
    start = log_end(server)
    server.execute(f"INSERT INTO {database}.t (column_7) VALUES (1)")
    for _ in range(10):
        server.execute(f"INSERT INTO {database}.t (column_7, column_999) SELECT column_7, id FROM {database}.t")
    sink = {"type": "file", "path": str(tmp_path / "out.jsonl")}
    done = streamed(task(server, "wide", database, start, sink))
    shown(f"1,000 columns on {kind}", done)
    assert (done.error, done.rows) == ("", 1024)
    assert done.peak_mb - done.idle_mb < 150


def test_many_tables(mysql: Any, tmp_path: Path) -> None:
    """Their definitions are in the log itself: no server is needed to have so many."""
    sink = {"type": "file", "path": str(tmp_path / "out.jsonl")}
    config = task(mysql, "many", "*", log_end(mysql), sink)
    done = streamed({**config, "many_tables": TABLES}, timeout=900)
    shown(f"{TABLES} tables of 10 columns", done)
    assert (done.error, done.rows) == ("", TABLES)
    assert done.peak_mb - done.idle_mb < 50 + TABLES * 0.02
