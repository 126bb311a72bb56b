"""Definitions that are read from a server which is ahead of the stream, on servers that do not log column names."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from dev.servers import Database
from replicator.checkpoint.history import MemoryHistory
from replicator.config.task import FilePosition
from replicator.errors import DecodeError, ReplicatorError
from replicator.model.batch import Batch
from replicator.schema.history import History
from replicator.schema.manual_definitions import manual_definition
from tests.servers import new_database
from tests.support.catalogs import Reader, rows
from tests.support.settings import set_global

PAIR = (
    "CREATE TABLE a (id INT PRIMARY KEY, one INT)",
    "CREATE TABLE b (id INT PRIMARY KEY, two INT)",
    "INSERT INTO a VALUES (1,1)",
)
SWAP = "RENAME TABLE a TO c, b TO a, c TO b"
CHANGES = {
    "swap": (SWAP,),
    "swap by ALTER": ("ALTER TABLE a RENAME TO c", "ALTER TABLE b RENAME TO a", "ALTER TABLE c RENAME TO b"),
    "drop and create": ("DROP TABLE a", "CREATE TABLE a (id INT PRIMARY KEY, two INT)"),
    "rename a column": ("ALTER TABLE a RENAME COLUMN one TO two",),
    "another type": ("ALTER TABLE a MODIFY one INT UNSIGNED",),
    "drop the database": ("DROP DATABASE {0}", "CREATE DATABASE {0}", "USE {0}", *PAIR[:2]),
}


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READER_PASSWORD", "replicator")


@pytest.fixture(params=["mysql", "mariadb"])
def server(request: pytest.FixtureRequest) -> Iterator[Database]:
    found: Database = request.getfixturevalue(request.param)
    with set_global(found, "binlog_row_metadata", "'MINIMAL'" if request.param == "mysql" else "'NO_LOG'"):
        yield found


@pytest.fixture
def name(server: Database) -> Iterator[str]:
    with new_database(server) as found:
        yield found


def run(server: Database, name: str, *statements: str) -> None:
    connection = server.connect(database=name)
    with contextlib.closing(connection), connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement.format(name))


def read(reader: Reader, store: MemoryHistory, **where: Any) -> tuple[list[Any], ReplicatorError | None]:
    """Rows before the error, if there is one."""
    found: list[Batch] = []
    try:
        found += reader.batches(store, **where)
    except ReplicatorError as error:
        return [row for batch in found for row in rows(batch)], error
    return [row for batch in found for row in rows(batch)], None


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_no_row_before_a_change_is_named_with_what_came_after(
    server: Database, name: str, change: tuple[str, ...]
) -> None:
    run(server, name, *PAIR)
    reader = Reader(server, f"{name}.*")
    run(server, name, "INSERT INTO a VALUES (2,2)", *change, "INSERT INTO a VALUES (3,3)")
    found, error = read(reader, MemoryHistory())
    assert found == [], "nothing may leave with a name of which nobody has_definition whether it is right"
    assert isinstance(error, DecodeError) and error.code == "E2306", error
    assert error.table == f"{name}.a"
    behind = reader.source.end_position()
    run(server, name, "INSERT INTO a VALUES (4,4)")
    (row,), error = read(reader, MemoryHistory(), position=behind)
    assert error is None
    wanted = "one" if "UNSIGNED" in change[0] or change[0].startswith("DROP DATABASE") else "two"
    assert row[3] == {"id": 4, wanted: 4}


def test_rows_are_named_where_nothing_separates_them_from_the_definitions(server: Database, name: str) -> None:
    run(server, name, *PAIR)
    reader = Reader(server, f"{name}.*")
    run(
        server,
        name,
        "INSERT INTO a VALUES (2,2)",
        "ALTER TABLE b RENAME COLUMN two TO three",
        "CREATE INDEX i ON a (one)",
    )
    run(
        server, name, "CREATE TABLE IF NOT EXISTS a (x INT)", "INSERT INTO a VALUES (3,3)", "INSERT INTO b VALUES (1,1)"
    )
    store = MemoryHistory()
    found, error = read(reader, store)
    assert error is None
    assert [row[3] for row in found] == [{"id": 2, "one": 2}, {"id": 3, "one": 3}, {"id": 1, "three": 1}]
    assert read(reader, store) == (found, None), "and once more with the history that this has left"


def test_the_remedy_names_the_rows_before_and_the_stream_goes_on_behind(server: Database, name: str) -> None:
    run(server, name, *PAIR)
    reader = Reader(server, f"{name}.*")
    run(server, name, "INSERT INTO a VALUES (2,2)", SWAP, "INSERT INTO a VALUES (3,3)", "INSERT INTO b VALUES (4,4)")
    store = MemoryHistory()
    assert read(reader, store)[1] is not None
    history = History(store, mariadb=reader.config.source.type == "mariadb")
    for table, column in (("a", "one"), ("b", "two")):
        text = f"CREATE TABLE {name}.{table} (id INT PRIMARY KEY, {column} INT)"
        store.append(manual_definition(history, text, reader.start))
    found, error = read(reader, store)
    assert error is None
    assert [row[3] for row in found] == [{"id": 2, "one": 2}, {"id": 3, "two": 3}, {"id": 4, "one": 4}]


def test_a_start_by_file_is_no_other(server: Database, name: str) -> None:
    """As `fork --at` and `source.start` give it on a server without GTIDs."""
    run(server, name, *PAIR)
    start = Reader(server, f"{name}.*").start
    run(server, name, "INSERT INTO a VALUES (2,2)", SWAP, "FLUSH BINARY LOGS", "INSERT INTO a VALUES (3,3)")
    reader = Reader(server, f"{name}.*", start={"file": start.file, "position": start.offset})
    assert isinstance(reader.config.source.start, FilePosition)
    bare = msgspec.structs.replace(reader.start, gtid="")
    for position in (reader.start, bare):
        found, error = read(reader, MemoryHistory(), position=position)
        assert found == []
        assert error is not None and error.code == "E2306"


def test_a_table_that_is_added_is_read_with_its_definition_of_then(server: Database, name: str) -> None:
    run(server, name, *PAIR)
    narrow = Reader(server, f"{name}.b")
    store = narrow.begin()
    wide = Reader(server, f"{name}.*")
    run(server, name, "INSERT INTO a VALUES (2,2)", "INSERT INTO b VALUES (2,2)")
    found, error = read(wide, store)
    assert error is None
    assert [row[3] for row in found] == [{"id": 2, "one": 2}, {"id": 2, "two": 2}]
    elsewhere = Reader(server, "elsewhere.*")
    read(elsewhere, store)
    behind = elsewhere.source.end_position()
    run(server, name, SWAP, "INSERT INTO a VALUES (3,3)")
    read(elsewhere, store, position=behind)
    now = wide.source.end_position()
    run(server, name, "INSERT INTO a VALUES (4,4)")
    found, error = read(wide, store, position=now)
    assert error is None
    assert [row[3] for row in found] == [{"id": 4, "two": 4}]


def test_definitions_that_are_read_while_tables_are_swapped(server: Database, name: str) -> None:
    """The value of a row says which of the two it is: each history tells it right or not at all."""
    run(server, name, *PAIR)
    reader = Reader(server, f"{name}.*")
    ending = threading.Event()

    def swap() -> None:
        number, now = 10, 2
        while not ending.is_set():
            run(server, name, SWAP, f"INSERT INTO a VALUES ({number}, {now})")
            number, now = number + 1, 3 - now

    thread = threading.Thread(target=swap)
    thread.start()
    told_right = refused = 0
    try:
        for _ in range(6):
            start = reader.source.end_position()
            found, error = read(reader, MemoryHistory(), position=start)
            for *_, after in found:
                assert after in ({"id": after["id"], "one": 1}, {"id": after["id"], "two": 2})
            told_right += len(found)
            refused += error is not None
            assert error is None or error.code in ("E2306", "E2216"), error
    finally:
        ending.set()
        thread.join(30)
    assert refused or told_right
