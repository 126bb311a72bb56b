"""Statements that change a table while a snapshot reads it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from dev.cluster import wait_for
from dev.servers.database import Database
from replicator.assembly.snapshots import open_snapshot_source
from replicator.config.load import parse_task
from replicator.model.position import Position
from replicator.model.snapshot import Bound, OpenTable
from replicator.pipeline.pipeline import Pipeline
from replicator.pipeline.ports import Chunk, ConsistentViews, SnapshotReader, SnapshotSource
from tests.integration.test_snapshots import Copy, place
from tests.support.changes import Changes, contents, fill

__all__ = ["place"]

pytestmark = [pytest.mark.servers, pytest.mark.timeout(120)]
Place = tuple[Database, str]
CONNECTIONS = [1]
"""Of the copies that are made."""


@pytest.fixture(params=[1, 4], ids=["one connection", "four connections"], autouse=True)
def connections(request: pytest.FixtureRequest) -> None:
    CONNECTIONS[:] = [request.param]


class _Unhurried(Copy):
    """A copy that reads at most the first chunks until `acted` is set, however slow the machine is."""

    def __init__(self, *args: Any, **snapshot: Any) -> None:
        super().__init__(*args, **snapshot)
        self.acted = threading.Event()
        self._left = 12

    def pipeline(self, **options: Any) -> Pipeline:
        source = open_snapshot_source(parse_task(self.data), {})
        return super().pipeline(snapshot_source=_Limited(source, self._wait), **options)

    def _wait(self) -> None:
        self._left -= 1
        if self._left < 0:
            self.acted.wait(60)


class _Limited:
    """`source`, whose readers call `wait` before each chunk."""

    def __init__(self, source: SnapshotSource, wait: Callable[[], None]) -> None:
        self._source, self._wait = source, wait

    def open(self, server: str) -> SnapshotReader:
        reader = self._source.open(server)
        read = reader.read

        def waited(table: OpenTable, most: int, passed: Position, end: Bound | None = None) -> Chunk:
            self._wait()
            return read(table, most, passed, end)

        reader.read = waited  # type: ignore[method-assign]
        return reader

    def open_views(self, server: str, count: int, tables: Sequence[str]) -> ConsistentViews:
        return self._source.open_views(server, count, tables)


def _during(copy: _Unhurried, act: Callable[[], object]) -> None:
    """Runs the copy, and `act` once a part of the rows has come."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            copy.run()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        wait_for(lambda: failures or len(copy.broker.records) > 500, "a part of the rows", 30, every=0.02)
        act()
    finally:
        copy.acted.set()
        thread.join()
    assert not failures, failures
    copy.run()


def _copy(place: Place, rows: int = 4000) -> tuple[_Unhurried, str]:
    server, shop = place
    table, options = f"{shop}.item", {"chunk_rows": 100, "max_rows_per_s": 3000, "connections": CONNECTIONS[0]}
    fill(server, table, rows)
    return _Unhurried(server, "copy", [f"{shop}.*"], **options), table


def test_a_column_is_added(place: Place) -> None:
    server, _ = place
    copy, table = _copy(place)
    with Changes(server, table, 4000, seed=4, pause=0.002):
        _during(copy, lambda: server.execute(f"ALTER TABLE {table} ADD COLUMN more INT NOT NULL DEFAULT 7 FIRST"))
    copy.run()
    copied = copy.copied("item")
    assert {key: row["version"] for key, row in copied.rows.items()} == {
        key: row["version"] for key, row in contents(server, table).items()
    }
    assert copied.backwards == []
    assert len(copied.read) == len(set(copied.read))
    assert copied.rows[max(copied.rows)]["more"] == 7


def test_the_key_is_changed(place: Place) -> None:
    """The table is begun again: its rows come once more, in the new order."""
    server, _ = place
    copy, table = _copy(place, 2000)
    _during(
        copy,
        lambda: server.execute(f"ALTER TABLE {table} DROP PRIMARY KEY, ADD PRIMARY KEY (version, id)"),
    )
    assert copy.copied("item").rows == contents(server, table)
    last = copy.store.load()
    assert last is not None and last.position.snapshot is not None and last.position.snapshot.ended_ms


def test_it_is_truncated(place: Place) -> None:
    """Consumers learn of it, and no row from before comes behind."""
    server, _ = place
    copy, table = _copy(place)

    def act() -> None:
        server.execute(f"TRUNCATE TABLE {table}")
        server.execute(f"INSERT INTO {table} VALUES (3999, 1, 'after')")

    _during(copy, act)
    copied = copy.copied("item")
    assert 400 <= len(copied.read) < 4000
    assert copied.rows[3999]["version"] == 1 and copied.read.count(3999) <= 1
    behind = [json.loads(record.value or b"") for record in copy.records("item")]
    while behind and behind[0]["op"] == "r":
        del behind[0]
    assert all(record["after"]["version"] == 1 for record in behind), "no row from before comes behind"


@pytest.mark.parametrize("again", [False, True])
def test_it_is_dropped(place: Place, again: bool) -> None:
    server, shop = place
    copy, table = _copy(place)
    fill(server, f"{shop}.zebra", 50)

    def act() -> None:
        server.execute(f"DROP TABLE {table}")
        if again:
            fill(server, table, 30)

    _during(copy, act)
    assert len(copy.copied("zebra").rows) == 50
    assert copy.copied("item").operations.count("r") < 4000
    last = copy.store.load()
    assert last is not None and last.position.snapshot is not None
    assert (last.position.snapshot.finished, last.position.snapshot.tables) == (2, 2)
    if again:
        rows = copy.copied("item").rows
        assert all(rows[key]["text"] == "before" for key in range(30))


@pytest.mark.parametrize("new", ["other", "aaa"])
def test_it_is_renamed(place: Place, new: str) -> None:
    """All of its rows are read under the new name, whether that comes before or behind the old one."""
    server, shop = place
    copy, table = _copy(place, 2000)

    def act() -> None:
        server.execute(f"RENAME TABLE {table} TO {shop}.{new}")
        server.execute(f"UPDATE {shop}.{new} SET version = 9 WHERE id = 1")

    _during(copy, act)
    copied = copy.copied(new)
    assert copied.rows == contents(server, f"{shop}.{new}")
    assert len(copied.read) == len(set(copied.read)) and copied.backwards == []
    assert _ended(copy)


def test_names_that_the_server_stores_in_lower_case(
    make_mariadb: Callable[..., Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statements stand in the log as they were written."""
    monkeypatch.setenv("TEST_PASSWORD", "replicator")
    server = make_mariadb(extra_args=["--lower-case-table-names=1"])
    server.execute("CREATE DATABASE Shop")
    copy, _ = _copy((server, "shop"), 4000)

    def act() -> None:
        server.execute("RENAME TABLE Shop.ITEM TO Shop.AAA")
        server.execute("ALTER TABLE SHOP.AAA ADD COLUMN more INT NOT NULL DEFAULT 7")
        server.execute("UPDATE Shop.Aaa SET version = 9 WHERE id = 1")

    _during(copy, act)
    rows = copy.copied("aaa").rows
    assert rows.keys() == contents(server, "shop.aaa").keys() and rows[1]["version"] == 9
    assert rows[1]["more"] == 7 and _ended(copy)


def test_tables_that_are_not_read_yet_are_rotated(place: Place) -> None:
    server, shop = place
    copy, _ = _copy(place, 2000)
    fill(server, f"{shop}.log", 60)
    server.execute(f"CREATE TABLE {shop}.log_new LIKE {shop}.log")
    server.execute(f"INSERT INTO {shop}.log_new SELECT id + 100, version, text FROM {shop}.log")

    def act() -> None:
        server.execute(f"RENAME TABLE {shop}.log TO {shop}.a_log_old, {shop}.log_new TO {shop}.log")

    _during(copy, act)
    assert copy.copied("a_log_old").rows == contents(server, f"{shop}.a_log_old")
    assert copy.copied("log").rows == contents(server, f"{shop}.log")
    assert len(copy.copied("item").rows) == 2000 and _ended(copy)


@pytest.mark.parametrize("restarted", [False, True])
def test_rows_are_exchanged_with_a_partition(place: Place, restarted: bool) -> None:
    """No event of the stream has them: both tables are read again, the one that is complete and the one at hand.
    `restarted`: the statement is in the log before the next session has read anything."""
    server, shop = place
    copy, table = _copy(place)
    halves = "PARTITION BY RANGE (id) (PARTITION low VALUES LESS THAN (2000), PARTITION high VALUES LESS THAN MAXVALUE)"
    server.execute(f"ALTER TABLE {table} {halves}")
    server.execute(f"CREATE TABLE {shop}.aaa LIKE {table}")
    server.execute(f"ALTER TABLE {shop}.aaa REMOVE PARTITIONING")
    server.execute(f"INSERT INTO {shop}.aaa VALUES (5, 77, 'moved')")

    def act() -> None:
        server.execute(f"ALTER TABLE {table} EXCHANGE PARTITION low WITH TABLE {shop}.aaa")

    if restarted:
        copy.run_a_part()
        act()
        copy.acted.set()
        copy.run()
    else:
        _during(copy, act)
    assert _ended(copy)
    rows, source = copy.copied("item"), contents(server, table)
    assert source[5]["version"] == 77 and len(source) == 2001
    assert {key: rows.rows[key] for key in source} == source
    assert copy.copied("aaa").rows == contents(server, f"{shop}.aaa")


def _ended(copy: Copy) -> bool:
    last = copy.store.load()
    assert last is not None and last.position.snapshot is not None
    return bool(last.position.snapshot.ended_ms)
