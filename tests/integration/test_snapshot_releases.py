"""Snapshots of older and newer releases: every row once for each kind of key, by a range of the key's index."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import msgspec
import pymysql
import pytest

from dev.fetch.releases import MARIADB, MYSQL, OLDER
from dev.servers import Database
from replicator.config.task import MySQLSource as Config
from replicator.mysql import chunk_query
from replicator.mysql.server import read_server
from replicator.mysql.session import Session
from replicator.source.mysql import MySQLSource
from replicator.source.mysql.snapshot import MySQLSnapshotSource, definition
from tests.integration.test_snapshot_chunks import TABLES
from tests.servers import started
from tests.support.releases import server_of

pytestmark = pytest.mark.servers

BY_NUMBER = {"choices", "sets"}
"""ENUM and SET are found in an index by their text alone: by their number these keys are read from the beginning."""
FEWEST = 15
"""Tables that every release can have: some lack fractions of a second, utf8mb4 keys, or zero dates."""


@pytest.fixture(params=[*OLDER, MYSQL, MARIADB], ids=lambda release: release.name)
def older(request: pytest.FixtureRequest) -> Iterator[Database]:
    server = started(server_of(request.param))
    try:
        yield server
    finally:
        server.close()


def filled(server: Database) -> dict[str, int]:
    """Tables that the server has taken, and their rows."""
    server.execute("CREATE DATABASE d")
    connection = server.connect(database="d")
    with contextlib.closing(connection), connection.cursor() as cursor:
        cursor.execute("SET sql_mode = '', time_zone = '+00:00'")
        for name, (columns, rows) in TABLES.items():
            with contextlib.suppress(pymysql.err.MySQLError):
                cursor.execute(f"CREATE TABLE {name} ({columns}) CHARACTER SET utf8mb4")
                cursor.execute(f"INSERT INTO {name} VALUES {rows}")
                cursor.execute(f"ALTER TABLE {name} ADD pad VARCHAR(500) NOT NULL DEFAULT '{'x' * 500}'")
    found = {str(name): 0 for (name,) in server.execute("SHOW TABLES FROM d")}
    return {name: server.execute(f"SELECT COUNT(*) FROM d.{name}")[0][0] for name in found}


def test_every_row_once_by_a_range_of_the_key(older: Database) -> None:
    tables = filled(older)
    assert len(tables) >= FEWEST
    settings = {"type": older.release.flavour, "port": older.port, "user": "replicator", "password": "env:X"}
    config = Config.model_validate(settings | {"tables": ["d.*"]})
    passed = MySQLSource(config, "t", "replicator").end_position()
    reader = MySQLSnapshotSource(config, "replicator").open("")
    scans = {}
    with contextlib.closing(reader), Session(config.model_copy(update={"host": "127.0.0.1"}), "replicator") as session:
        session.rows("SET time_zone = '+00:00', sql_mode = ''")
        server = read_server(session)
        assert {size.table for size in reader.tables()} == {f"d.{name}" for name in tables}
        for name, count in tables.items():
            table, images = reader.begin(f"d.{name}"), set[bytes]()
            assert table is not None
            known = definition.read(session, server, table.table, 1)
            assert known is not None
            rows = 0
            for _ in range(count + 1):
                chunk = reader.read(table, 2, passed)
                rows += len(chunk.images)
                starts = [0, *chunk.images.ends]
                images |= {chunk.images.data[a:b] for a, b in zip(starts, chunk.images.ends, strict=False)}
                if chunk.final:
                    break
                table = msgspec.structs.replace(table, done=chunk.last)
                tree = server.version >= (8,) and not server.mariadb
                end = reader.cut(table, 2)
                plan = explained(session, chunk_query.of(known, table, end, 2, ""), tree=tree)
                if plan[:2] != ("range", known.key.name if known.key else None):
                    scans[name] = plan
            assert (rows, len(images)) == (count, count), name
    assert scans.keys() <= BY_NUMBER, scans


def test_a_range_is_cut_without_reading_the_rows_before_it(older: Database) -> None:
    """Of a table of 16,384 rows, by the index alone, wherever the range begins."""
    older.execute("CREATE DATABASE d")
    older.execute("CREATE TABLE d.t (a INT, b INT, pad VARCHAR(50) NOT NULL DEFAULT 'x', PRIMARY KEY (a, b))")
    older.execute("INSERT INTO d.t (a, b) VALUES (0, 0)")
    for power in range(14):
        older.execute(f"INSERT INTO d.t (a, b) SELECT (b + {1 << power}) DIV 16, b + {1 << power} FROM d.t")
    older.execute("ANALYZE TABLE d.t")
    settings = {"type": older.release.flavour, "port": older.port, "user": "replicator", "password": "env:X"}
    config = Config.model_validate(settings | {"tables": ["d.*"]})
    with (
        contextlib.closing(MySQLSnapshotSource(config, "replicator").open("")) as reader,
        Session(config.model_copy(update={"host": "127.0.0.1"}), "replicator") as session,
    ):
        table = reader.begin("d.t")
        known = definition.read(session, read_server(session), "d.t", 1)
        assert table is not None and known is not None
        told = reader.survey()
        assert reader.path(table) == "range" and bool(told.proof) == (told.wait_s == 0)
        for start in (0, 10, 8_000, 16_000):
            table = msgspec.structs.replace(table, done=(str(start // 16), str(start)))
            assert reader.cut(table, 100) == (str((start + 100) // 16), str(start + 100))
            before = handled(session)
            session.rows(chunk_query.cut(known, table, 100))
            assert handled(session) - before < 200, start


def handled(session: Session) -> int:
    """Rows that the engine has given for the session's statements."""
    rows = session.rows("SHOW SESSION STATUS LIKE 'Handler_read%'")
    return sum(int(str(value)) for name, value in rows if "rnd" not in str(name))


def explained(session: Session, sql: str, *, tree: bool) -> tuple[str, str, str]:
    """Kind of access, key, extra. `tree`: it answers in another form by default."""
    with session.connection.cursor(pymysql.cursors.DictCursor) as cursor:
        cursor.execute(("EXPLAIN FORMAT=TRADITIONAL " if tree else "EXPLAIN ") + sql)
        (row,) = cursor.fetchall()
    return str(row["type"]), str(row["key"]), str(row["Extra"])
