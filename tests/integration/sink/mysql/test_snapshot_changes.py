"""Orders for snapshots into a running server, and statements that change tables while they are filled."""

from __future__ import annotations

from typing import Any

import pytest

from replicator.config.table_choice import added, choice_of
from replicator.model.added_tables import add
from replicator.model.quarantine import TaskOrders
from replicator.model.quarantine_orders import put, replay
from replicator.model.snapshot_orders import SnapshotOrders, pause, start, stop
from tests.integration.sink.mysql.test_snapshots import CHANGES, _no_password, count, equal, filling, prepared, same
from tests.support.filled import Fill, writers
from tests.support.verified import Pair, verify
from tests.support.waiting import eventually

__all__ = ["_no_password", "same"]

pytestmark = [pytest.mark.timeout(200)]

SLOW = {"mode": "initial", "chunk_rows": 100, "max_rows_per_s": 3000}
SMALL = "CREATE TABLE {} (id INT PRIMARY KEY, u INT UNIQUE, v VARCHAR(100))"


def small(two: Pair, *tables: str, rows: int = 2000) -> None:
    values = ",".join(f"({n},{n},'{n}')" for n in range(1, rows + 1))
    for table in tables:
        two.here(SMALL.format(table), f"INSERT INTO {table} VALUES {values}")


def part(fill: Fill, rows: int, at_least: str = "") -> None:
    """Waits until so many rows are filled, and a table is begun. On a busy machine it may be complete by then."""

    def reached() -> bool:
        if fill.failed is not None:
            raise fill.failed
        progress = fill.snapshot
        if progress is None or progress.rows < rows:
            return False
        return progress.open is None or progress.open.table.rpartition(".")[2] >= at_least

    eventually(reached, 60)


def ordered(fill: Fill, two: Pair, *tables: str, orders: SnapshotOrders | None = None) -> TaskOrders:
    names = [f"{two.database}.{table}" for table in tables]
    return TaskOrders(snapshots=start(orders or SnapshotOrders(), fill.snapshot, names, "", 100, 5))


@pytest.mark.parametrize(("policy", "connections"), [("refuse", 1), ("replace", 3)])
def test_order_repairs_tables(same: Pair, policy: str, connections: int) -> None:
    """Rows that are missing, differ, or have the unique value of another one; writers change them meanwhile."""
    prepared(same, 3000)
    options = {"mode": "initial", "chunk_rows": 100, "connections": connections, "max_rows_per_s": 6000}
    fill = filling(same, existing_rows=policy)
    with fill.running():
        fill.complete()
        equal(same, fill)
    same.there(
        "SET FOREIGN_KEY_CHECKS = 0",
        "DELETE FROM a WHERE id % 7 = 0",
        "UPDATE a SET u = u + 1000000, t = 'wrong' WHERE id % 5 = 0",
        "UPDATE a SET u = 11 WHERE id = 2501 AND 11 NOT IN (SELECT * FROM (SELECT u FROM a WHERE u = 11) x)",
        "UPDATE a SET u = NULL WHERE id = 2000",
        "UPDATE a SET u = 2000 WHERE id = 3",
        "DELETE FROM z WHERE id % 3 = 0",
        "UPDATE c SET p = NULL WHERE x % 4 = 0",
    )
    fill.config = same.config(
        source={"snapshot": options},
        sink={"position_database": same.other, "create_tables": True, "existing_rows": policy},
    )
    with writers(same, CHANGES), fill.running(ordered(fill, same, "a", "c", "z")):
        eventually(lambda: fill.failed or (fill.snapshot is not None and fill.snapshot.id == "order-1"), 30)
        fill.complete()
        equal(same, fill)
    assert fill.errors == []


def test_pause_resume_stop(same: Pair) -> None:
    small(same, "a", "m", "z")
    fill = filling(same, SLOW | {"max_rows_per_s": 1000})  # on a busy machine it is not to reach z before it is stopped
    with fill.running():
        part(fill, 2500)
    paused = TaskOrders(snapshots=pause(SnapshotOrders(), paused=True))
    with fill.running(paused):
        done = fill.position().snapshot
        same.here("UPDATE a SET v = 'x' WHERE id = 1", "UPDATE m SET v = 'x' WHERE id IN (1, 1999)")
        same.here("DELETE FROM z WHERE id = 5", "UPDATE z SET id = 9000 WHERE id = 6")
        eventually(lambda: fill.failed or count(same, "z") == 1, 20)
        assert fill.failed is None and done is not None and fill.snapshot is not None
        assert fill.snapshot.rows == done.rows
    with fill.running():
        part(fill, done.rows + 300)
    over = stop(SnapshotOrders(), fill.snapshot)
    with fill.running(TaskOrders(snapshots=over)):
        eventually(lambda: fill.failed or (fill.snapshot is not None and fill.snapshot.stopped), 20)
        assert fill.snapshot is not None and 0 < fill.snapshot.rows < 4000
        same.here("INSERT INTO z VALUES (9001, 9001, 'new')")
        eventually(lambda: fill.failed or count(same, "z") == 2, 20)
        same.here("UPDATE z SET v = 'x' WHERE id = 1500")
        assert fill.stopped().code == "E3423"
    fill.failed = None
    with fill.running(ordered(fill, same, "a", "m", "z", orders=over)):
        eventually(lambda: fill.failed or (fill.snapshot is not None and fill.snapshot.id != "initial"), 20)
        fill.complete()
        equal(same, fill)
    assert fill.errors == []


def test_added_tables(same: Pair) -> None:
    """While the initial snapshot runs, and behind it; a table that CREATE TABLE makes comes by the stream."""
    small(same, "a", "m", "z")

    def configured(*tables: str) -> Any:
        names = [f"{same.database}.{table}" for table in tables]
        place = {"position_database": same.other, "create_tables": True}
        return same.config(source={"snapshot": SLOW, "tables": names}, sink=place)

    fill = Fill(configured("m"))
    with fill.running():
        part(fill, 600)
    orders = SnapshotOrders()
    for version, tables in enumerate((["m", "z"], ["a", "m", "z", "later"]), 1):
        known = choice_of(fill.config.source)
        fill.config = configured(*tables)
        orders = add(orders, fill.snapshot, added(known, fill.config.source), known, version, 5, begun=True)
        with fill.running(TaskOrders(snapshots=orders)):
            same.here("UPDATE z SET v = 'x' WHERE id < 9", "DELETE FROM z WHERE id = 1000")
            part(fill, 300)
    with fill.running(TaskOrders(snapshots=orders)):
        same.here(SMALL.format("later"), "INSERT INTO later VALUES (1, 1, 'x')")
        eventually(lambda: fill.failed or (fill.snapshot is not None and fill.snapshot.id == "order-2"), 60)
        fill.complete()
        found = equal(same, fill)
    assert found == {"a": 2000, "m": 2000, "z": 1999, "later": 1}
    assert fill.errors == []


def test_purged_position(same: Pair, request: pytest.FixtureRequest) -> None:
    """`when_needed` brings all rows again. Rows that were deleted meanwhile stay, as docs/snapshots.md says."""
    server = request.getfixturevalue("make_" + same.source.release.flavour)()
    server.execute(f"CREATE DATABASE {same.database}")
    two = Pair(server, same.database, same.target, same.other)
    small(two, "a", "z")
    fill = filling(two, {"mode": "when_needed"})
    with fill.running():
        fill.complete()
    two.here("UPDATE a SET v = 'meanwhile' WHERE id < 100", "DELETE FROM a WHERE id = 200")
    two.here("UPDATE z SET u = NULL WHERE id < 100", "UPDATE z SET u = id - 1 WHERE id BETWEEN 2 AND 100")
    two.here("INSERT INTO z VALUES (3000, 3000, 'new')", "DELETE FROM a WHERE id = 300")
    server.execute("FLUSH BINARY LOGS")
    last = server.execute("SHOW BINARY LOGS")[-1][0]

    def purged() -> bool:  # not while the connection that was reading ends
        server.execute(f"PURGE BINARY LOGS TO '{last}'")
        return len(server.execute("SHOW BINARY LOGS")) == 1

    eventually(purged, 20)
    with fill.running():
        eventually(lambda: fill.failed or (fill.snapshot is not None and fill.snapshot.id == "needed-1"), 30)
        fill.complete()
        two.here("UPDATE z SET v = 'later' WHERE id = 7", "DELETE FROM z WHERE id = 8")
        eventually(lambda: fill.failed or count(two, "z") == 2000, 20)
        found = verify(fill.config, wait=60)
    assert found["z"].result == "equal"
    assert (found["a"].missing, found["a"].extra, found["a"].different) == (0, 2, 0)


@pytest.mark.parametrize("connections", [1, 3])
def test_consistent(same: Pair, connections: int) -> None:
    prepared(same, 3000)
    fill = filling(same, {**SLOW, "consistent": True, "connections": connections, "max_rows_per_s": 8000})
    with writers(same, CHANGES):
        with fill.running():
            part(fill, 3000)
        with fill.running():
            fill.complete()
            equal(same, fill)
    assert fill.errors == []


STATEMENTS = {
    "column": [
        "ALTER TABLE {t} ADD COLUMN more INT NOT NULL DEFAULT 7 AFTER id",
        "UPDATE {t} SET more = 8 WHERE id % 9 = 0",
    ],
    "column_dropped": ["ALTER TABLE {t} DROP COLUMN v", "UPDATE {t} SET u = -u WHERE id % 9 = 0"],
    "type": [
        "ALTER TABLE {t} MODIFY v VARCHAR(2000), MODIFY u BIGINT",
        "UPDATE {t} SET v = REPEAT('x', 900) WHERE id % 9 = 0",
    ],
    "key": ["ALTER TABLE {t} DROP PRIMARY KEY, ADD PRIMARY KEY (v, id)", "UPDATE {t} SET v = 'x' WHERE id % 9 = 0"],
    "truncate": ["TRUNCATE TABLE {t}", "INSERT INTO {t} VALUES (1999, 5, 'x'), (20, 7, 'y')"],
    "drop": ["DROP TABLE {t}"],
    "again": [
        "DROP TABLE {t}",
        "CREATE TABLE {t} (id INT PRIMARY KEY, w INT)",
        "INSERT INTO {t} VALUES (20, 1), (1999, 1)",
    ],
    "rename": ["RENAME TABLE {t} TO {t}_new", "UPDATE {t}_new SET v = 'x' WHERE id % 9 = 0"],
    "rename_front": ["RENAME TABLE {t} TO b_{t}", "UPDATE b_{t} SET v = 'x' WHERE id % 9 = 0"],
    "swap": [
        "CREATE TABLE n_{t} LIKE {t}",
        "INSERT INTO n_{t} SELECT id, u, 'copy' FROM {t} WHERE id < 1500",
        "RENAME TABLE {t} TO o_{t}, n_{t} TO {t}",
        "UPDATE {t} SET v = 'x' WHERE id % 9 = 0",
        "UPDATE o_{t} SET v = 'y' WHERE id % 9 = 0",
    ],
}


@pytest.mark.parametrize("case", STATEMENTS)
def test_definitions_change(same: Pair, case: str) -> None:
    """Of a table that is complete, one that is being copied, and one that is not begun."""
    small(same, "a", "m", "z")
    fill = filling(same, SLOW)
    with fill.running():
        part(fill, 2500, "m")
        for table in ("m", "z", "a"):
            same.here(*[text.format(t=table) for text in STATEMENTS[case]])
        fill.complete()
        same.here("CREATE TABLE last_one (id INT PRIMARY KEY)", "INSERT INTO last_one VALUES (1)")
        equal(same, fill)
    assert fill.errors == []


@pytest.mark.parametrize("there", [False, True])
def test_names_with_points(same: Pair, there: bool) -> None:
    names = f"{same.database}.x", f"{same.other}.y"
    for server, name in zip((same.source, same.target), names, strict=True):
        server.execute(f"CREATE DATABASE `{name}`")
    try:
        two = Pair(same.source, names[0].replace(".", "?"), same.target, names[1])  # "." ends the database in a pattern
        same.source.execute(f"CREATE TABLE `{names[0]}`.`t.t` (id INT PRIMARY KEY)")
        same.source.execute(f"INSERT INTO `{names[0]}`.`t.t` VALUES (1), (2)")
        if there:
            same.target.execute(f"CREATE TABLE `{names[1]}`.`t.t` (id INT PRIMARY KEY)")
            same.target.execute(f"INSERT INTO `{names[1]}`.`t.t` VALUES (5)")
        fill = filling(two)
        with fill.running():
            if there:
                assert fill.stopped().code == "E3460"
                return
            fill.complete()
            same.source.execute(f"DELETE FROM `{names[0]}`.`t.t` WHERE id = 2")
            rows = f"SELECT * FROM `{names[1]}`.`t.t`"
            eventually(lambda: fill.failed or same.target.execute(rows) == [(1,)], 20)
        assert fill.failed is None
    finally:
        for server, name in zip((same.source, same.target), names, strict=True):
            server.execute(f"DROP DATABASE `{name}`")


def test_order_keeps_rows(same: Pair) -> None:
    small(same, "a")
    fill = filling(same, existing_rows="keep")
    with fill.running():
        fill.complete()
    same.there("DELETE FROM a WHERE id % 2 = 0", "UPDATE a SET v = 'kept' WHERE id < 4")
    with fill.running(ordered(fill, same, "a")):
        eventually(lambda: fill.failed or (fill.snapshot is not None and fill.snapshot.id == "order-1"), 30)
        fill.complete()
        assert count(same, "a") == 2000
    kept = same.target.execute(f"SELECT id FROM {same.other}.a WHERE v = 'kept'")
    assert sorted(kept) == [(1,), (3,)] and fill.errors == []


def test_tables_of_waiting_orders(same: Pair) -> None:
    """Rows that are missing are no reason to stop before the order that brings them has begun, and after a RENAME."""
    small(same, "a", "z", "y")
    fill = filling(same, {"mode": "initial", "max_rows_per_s": 1500})
    with fill.running():
        fill.complete()
    same.there("DELETE FROM z", "DELETE FROM y")
    orders = ordered(fill, same, "z", "y", orders=ordered(fill, same, "a").snapshots)
    with fill.running(orders):
        eventually(lambda: fill.failed or (fill.snapshot is not None and fill.snapshot.id == "order-1"), 30)
        same.here("UPDATE z SET v = 'x' WHERE id = 5", "RENAME TABLE y TO w", "UPDATE w SET v = 'x' WHERE id = 6")
        eventually(lambda: fill.failed or (fill.snapshot is not None and fill.snapshot.id == "order-2"), 30)
        fill.complete()
        equal(same, fill)
    assert fill.errors == []


def test_replay_of_a_table_that_is_not_complete(same: Pair) -> None:
    """Left out in the middle of its copy, and replayed while the snapshot is open."""
    small(same, "a", "m", "z")
    fill = filling(same, SLOW)
    with fill.running():
        part(fill, 2500, "m")
    table = f"{same.database}.m"
    out = put(TaskOrders(), (), table, 1000)
    with fill.running(out):
        same.here("UPDATE m SET v = 'x' WHERE id % 3 = 0", "DELETE FROM m WHERE id % 7 = 0")
        same.here("UPDATE m SET id = id + 10000 WHERE id > 1900", "INSERT INTO z VALUES (5000, 5000, 'new')")
        eventually(lambda: fill.failed or count(same, "z"), 60)
    known = fill.store.load()
    assert known is not None and fill.failed is None
    with fill.running(replay(out, known.quarantined, table, 2000)):
        fill.complete()
        equal(same, fill)
    assert fill.errors == []
