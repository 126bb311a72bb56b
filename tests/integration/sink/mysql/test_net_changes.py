"""Many source transactions in one of the target: what comes of their changes is the same as one by one."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from dev.servers import Database
from replicator.sink.mysql import row_groups
from replicator.sink.mysql.image_values import Layout
from replicator.sink.mysql.net_changes import divided
from replicator.sink.mysql.row_runs import Run
from replicator.sink.mysql.row_sections import Changes
from tests.servers import new_database
from tests.support.row_records import joined, packed
from tests.support.site_pair import Pair

CREATE = (
    "CREATE TABLE plain (id INT PRIMARY KEY, v VARCHAR(20), n INT) CHARACTER SET utf8mb4",
    "CREATE TABLE named (name VARCHAR(20) PRIMARY KEY, v INT) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
    "CREATE TABLE wide (a INT, b VARCHAR(9), t TEXT, u INT, PRIMARY KEY (b, a), UNIQUE (u))",
    "CREATE TABLE parent (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE child (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES parent (id))",
    "CREATE TABLE keyless (id INT, v INT)",
)
TABLES = ("plain", "named", "wide", "parent", "child", "keyless")


@pytest.fixture
def joins(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """(table, whether its changes were joined) of each statement."""
    found: list[tuple[str, bool]] = []

    def seen(parts: list[Run | Changes], layout: Layout, most: int, count: int) -> list[list[Run]] | None:
        made = divided(parts, layout, most, count)
        found.append((parts[0].topic.partition(".")[2].partition("#")[0], made is not None))
        return made

    monkeypatch.setattr(row_groups, "divided", seen)
    return found


def statements(chance: random.Random, count: int) -> Iterator[str]:
    for _ in range(count):
        one, other, number = chance.randrange(12), chance.randrange(12), chance.randrange(100)
        name = chance.choice(["a", "A", "b", "B ", "é", "E", "long name"])
        yield chance.choice(
            (
                f"REPLACE INTO plain VALUES ({one}, 'v{number}', {number})",
                f"UPDATE plain SET n = {number} WHERE id = {one}",
                f"UPDATE IGNORE plain SET id = {other} WHERE id = {one}",
                f"DELETE FROM plain WHERE id = {one}",
                f"INSERT INTO plain VALUES ({one}, NULL, {number}) ON DUPLICATE KEY UPDATE n = n + 1",
                f"REPLACE INTO named VALUES ('{name}', {number})",
                f"UPDATE IGNORE named SET name = '{name}' WHERE v < {number}",
                f"DELETE FROM named WHERE name = '{name}'",
                f"REPLACE INTO wide VALUES ({one % 3}, '{name}', REPEAT('x', {number}), {other})",
                f"UPDATE IGNORE wide SET u = {number % 12} WHERE a = {one % 3}",
                f"UPDATE wide SET t = '{number}' WHERE u = {other}",
                f"DELETE FROM wide WHERE u = {other}",
                f"INSERT IGNORE INTO parent VALUES ({one}, {number})",
                f"INSERT IGNORE INTO child VALUES ({number}, {one})",
                f"DELETE FROM child WHERE parent = {one}",
                f"DELETE IGNORE FROM parent WHERE id = {one}",
                f"UPDATE parent SET v = {number} WHERE id = {one}",
                f"INSERT INTO keyless VALUES ({one}, {number})",
                f"DELETE FROM keyless WHERE id = {one} LIMIT 1",
            )
        )


@pytest.mark.parametrize(("seed", "arenas", "apply"), [(1, False, "auto"), (2, True, "auto"), (1, True, "sql")])
def test_random_transactions(pair: Pair, joins: list[tuple[str, bool]], seed: int, arenas: bool, apply: str) -> None:
    chance = random.Random(seed)
    pair.both(*CREATE)
    if apply == "sql":
        pair.both("ALTER TABLE keyless ADD COLUMN k INT AUTO_INCREMENT PRIMARY KEY INVISIBLE")
    sink = pair.opened(apply=apply)
    for _ in range(12):
        batches = pair.at_source(*statements(chance, 120))
        sink.write(packed(batches) if arenas else joined(batches))
        sink.commit(batches[-1].position)
        for table in TABLES:
            here, there = pair.rows(table, "1, 2")
            assert here == there, table
    assert {"plain", "named"} <= {table for table, done in joins if done}
    assert ("wide", False) in joins, "a value of its unique key changed hands"
    assert not {"parent", "child", *(["keyless"] if apply == "auto" else [])} & {table for table, _ in joins}


def test_changes_that_come_to_nothing(same: Pair, joins: list[tuple[str, bool]]) -> None:
    """A transaction of the position alone; of two parts, too."""
    same.both(*CREATE)
    batches = same.at_source(
        "INSERT INTO plain VALUES (1, 'a', 1)", "UPDATE plain SET n = 2", "DELETE FROM plain", "DELETE FROM plain"
    )
    sink = same.opened()
    sink.write(joined(batches))
    sink.commit(batches[-1].position)
    assert joins == [("plain", True)]
    assert same.rows("plain") == ([], [])
    assert sink.acknowledged() == batches[-1].position


def test_a_row_that_is_refused_is_named_although_changes_are_joined(same: Pair) -> None:
    same.both(*CREATE)
    same.at_target("INSERT INTO plain VALUES (5, 'here', 0)")
    batches = same.at_source(
        "INSERT INTO plain VALUES (1, 'a', 1)",
        "UPDATE plain SET n = 2",
        "INSERT INTO plain VALUES (5, 'b', 1)",
        "UPDATE plain SET n = 3",
    )
    sink = same.opened()
    sink.write(joined(batches))
    with pytest.raises(Exception, match=r"E3424.*PRIMARY") as caught:
        sink.commit(batches[-1].position)
    assert getattr(caught.value, "position", "") == str(batches[2].records[0][3].decode())
    assert same.rows("plain")[1] == [(5, "here", 0)]


@pytest.fixture
def unlogged(mariadb: Database) -> Iterator[Pair]:
    """A source that does not log what foreign keys do."""
    with new_database(mariadb) as here, new_database(mariadb) as there, new_database(mariadb) as place:
        pair = Pair(mariadb, mariadb, here, there, place)
        yield pair
        pair.close()


def test_a_parent_whose_children_are_not_in_the_transaction(unlogged: Pair) -> None:
    """A row that is deleted and inserted again has lost its children at the source."""
    same = unlogged
    same.both(
        "CREATE TABLE parent (id INT PRIMARY KEY, v INT)",
        "CREATE TABLE child (id INT PRIMARY KEY, parent INT, "
        "FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE CASCADE)",
        "INSERT INTO parent VALUES (1, 1), (2, 2)",
        "INSERT INTO child VALUES (1, 1), (2, 2)",
    )
    batches = same.at_source(
        "DELETE FROM parent WHERE id = 1",
        "INSERT INTO parent VALUES (1, 1)",
        "DELETE FROM parent WHERE id = 2",
        "INSERT INTO parent VALUES (2, 3)",
    )
    sink = same.opened()
    sink.write(joined(batches))
    sink.commit(batches[-1].position)
    assert same.rows("parent")[0] == same.rows("parent")[1]
    assert same.rows("child") == ([], [])
