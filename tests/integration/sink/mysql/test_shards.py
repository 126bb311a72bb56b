"""Several tables of a source are merged into one of the target: by a column of its key, and with disjoint keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from replicator.assembly.target_checks import check_target
from replicator.config.load import parse_task
from replicator.config.mysql_sink import MySQLSink
from replicator.coordination.tasks.skips import skip
from replicator.errors import ReplicatorError
from replicator.model.finding import Finding
from tests.integration.sink.mysql.test_statements import Copy, made

pytestmark = [pytest.mark.servers, pytest.mark.timeout(180)]

ITEM = "(id INT PRIMARY KEY, name VARCHAR(20), email VARCHAR(40), UNIQUE KEY mail (email)) DEFAULT CHARSET=utf8mb4"
SHARDS = ("item_00", "item_01", "item_02")


@pytest.fixture(params=["mysql-mysql", "mysql-mariadb", "mariadb-mysql"])
def copy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Copy]:
    yield from made(request, monkeypatch, *request.param.split("-"))


@pytest.fixture
def one(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Copy]:
    yield from made(request, monkeypatch, "mysql", "mysql")


def merged(copy: Copy, *, disjoint: bool = False, **sink: Any) -> Copy:
    """The tables item_NN go to item."""
    rename = {"tables": [f"{copy.here}.item_*"], "database": copy.there, "table": "item"}
    add = {"match": rf"{copy.here}\.item_(\d+)", "columns": {"shard": "s$1"}, "key": True}
    others = {"tables": [f"{copy.here}.*"], "database": copy.there}
    copy.data["transforms"] = {"rename": [rename | ({"keys": "disjoint"} if disjoint else {}), others]}
    copy.data["transforms"] |= {} if disjoint else {"add": [add]}
    copy.data["sink"] |= sink
    return copy


def union(copy: Copy, *columns: str, shards: tuple[str, ...] = SHARDS) -> tuple[list[Any], list[Any]]:
    """Rows of all tables at the source with their shard, and those of the target."""
    names = ", ".join(columns)
    parts = (f"SELECT {names}, 's{table[-2:]}' AS shard FROM {copy.here}.{table}" for table in shards)
    return (
        copy.source.execute(" UNION ALL ".join(parts) + " ORDER BY shard, id"),
        copy.target.execute(f"SELECT {names}, shard FROM {copy.there}.item ORDER BY shard, id"),
    )


def create_all(copy: Copy, definition: str = ITEM) -> None:
    copy.at_source(*(f"CREATE TABLE {table} {definition}" for table in SHARDS))


def key_columns(copy: Copy, index: str) -> list[str]:
    rows = copy.target.execute(f"SHOW INDEX FROM {copy.there}.item")
    return [str(row[4]) for row in rows if row[2] == index]


def test_rows_of_three_tables_with_equal_keys(copy: Copy) -> None:
    """Also in one transaction, and over restarts."""
    merged(copy).begin()
    create_all(copy)
    for number, table in enumerate(SHARDS):
        copy.at_source(f"INSERT INTO {table} VALUES (1, '{number}', 'a@x'), (2, '{number}', 'b@x')")
    copy.run()
    assert key_columns(copy, "PRIMARY") == ["id", "shard"] and key_columns(copy, "mail") == ["email", "shard"]
    copy.at_source(
        "BEGIN",
        "UPDATE item_00 SET name = 'first', id = 3 WHERE id = 1",
        "DELETE FROM item_01 WHERE id = 1",
        "INSERT INTO item_01 VALUES (3, 'again', 'a@x')",
        "UPDATE item_02 SET name = 'third' WHERE id = 1",
        "UPDATE item_00 SET name = 'last' WHERE id = 3",
        "COMMIT",
        "DELETE FROM item_02 WHERE id = 2",
    )
    copy.run()
    ours, theirs = union(copy, "id", "name", "email")
    assert len(ours) == 5 and ours == theirs
    copy.at_source("UPDATE item_01 SET name = 'once more'")
    copy.run()
    ours, theirs = union(copy, "id", "name", "email")
    assert ours == theirs


def test_statements_of_each_table(copy: Copy) -> None:
    """The first one is executed; equal ones of the other tables find it done. Rows of tables that are not altered yet
    keep coming."""
    merged(copy).begin()
    create_all(copy)
    add = "ADD COLUMN price INT NOT NULL DEFAULT 7, ADD KEY by_price (price)"
    for number, table in enumerate(SHARDS):
        copy.at_source(
            *(f"INSERT INTO {each} (id, name, email) VALUES ({number}, 'x', NULL)" for each in SHARDS),
            f"ALTER TABLE {table} {add}",
            f"UPDATE {table} SET price = {number} WHERE id = {number}",
            f"ALTER TABLE {table} MODIFY id BIGINT, ADD UNIQUE KEY both_of (name, id)",
            f"CREATE INDEX by_name ON {table} (name)",
            f"ALTER TABLE {table} ADD INDEX (price, name)",
        )
    copy.at_source("CREATE TABLE item_03 LIKE item_00", "INSERT INTO item_03 VALUES (1, 'new', NULL, 1)")
    copy.run()
    ours, theirs = union(copy, "id", "name", "price", shards=(*SHARDS, "item_03"))
    assert len(ours) == 10 and ours == theirs
    assert key_columns(copy, "both_of") == ["name", "id", "shard"]
    assert copy.indexes("item") == {"PRIMARY", "mail", "by_price", "both_of", "by_name", "price"}


def test_statements_that_would_change_rows_of_other_tables(one: Copy) -> None:
    merged(one).begin()
    create_all(one)
    one.at_source(*(f"INSERT INTO {table} VALUES (1, 'a', NULL), (2, 'b', NULL)" for table in SHARDS))
    one.run()
    for statement in (
        "TRUNCATE TABLE item_00",
        "ALTER TABLE item_01 RENAME COLUMN name TO title",
        "ALTER TABLE item_01 MODIFY title VARCHAR(2)",
        "RENAME TABLE item_00 TO item_09",
        "DROP TABLE item_09",
    ):
        one.at_source(statement)
        error = one.fails("E3431")
        assert "merged" in error.what or "rows of other tables" in error.what, error
        skip_statement(one, error)
        one.run()
    assert one.target.execute(f"SELECT COUNT(*) FROM {one.there}.item") == [(6,)]


def skip_statement(copy: Copy, error: ReplicatorError) -> None:
    move = skip("copy", copy.store.load(), error.to_dict(), "", False)
    copy.store.save(move.after)


def test_dropped_columns_stay_for_the_other_tables(one: Copy) -> None:
    merged(one).begin()
    create_all(one)
    one.at_source(
        "INSERT INTO item_00 VALUES (1, 'a', NULL)",
        "INSERT INTO item_01 VALUES (1, 'kept', NULL)",
        "ALTER TABLE item_00 DROP COLUMN name",
        "INSERT INTO item_00 VALUES (2, NULL)",
        "INSERT INTO item_01 VALUES (2, 'kept, too', NULL)",
    )
    one.run()
    names = one.target.execute(f"SELECT shard, id, name FROM {one.there}.item ORDER BY shard, id")
    assert names[1:] == [("s00", 2, None), ("s01", 1, "kept"), ("s01", 2, "kept, too")]


def test_values_that_a_table_has_got_from_its_own_statement(one: Copy) -> None:
    """Also from one that adds a column again which is still at the target."""
    merged(one).begin()
    create_all(one)
    one.at_source(*(f"INSERT INTO {table} VALUES (1, 'a', NULL)" for table in SHARDS))
    one.at_source("ALTER TABLE item_00 ADD n INT DEFAULT 1", "UPDATE item_00 SET n = 5")
    one.run()
    one.at_source("ALTER TABLE item_01 ADD n INT DEFAULT 2")
    error = one.fails("E3431")
    assert "other values in n" in error.what and "to '2'" in error.fix and "shard = 's01'" in error.fix
    one.at_target("UPDATE item SET n = '2' WHERE shard = 's01'")
    one.run()
    one.at_source("ALTER TABLE item_00 DROP COLUMN n", "ALTER TABLE item_00 ADD n INT")
    assert "other values in n" in one.fails("E3431").what
    one.at_target("UPDATE item SET n = NULL WHERE shard = 's00'")
    one.run()
    assert one.target.execute(f"SELECT n FROM {one.there}.item ORDER BY shard") == [(None,), (2,), (1,)]


def test_no_column_becomes_narrower(one: Copy) -> None:
    merged(one).begin()
    create_all(one, "(id INT PRIMARY KEY, n INT, m INT)")
    one.at_source(
        "ALTER TABLE item_00 MODIFY n BIGINT",
        "INSERT INTO item_00 VALUES (1, 5000000000, 1)",
        "ALTER TABLE item_01 MODIFY n INT COMMENT 'the old type'",
        "INSERT INTO item_01 VALUES (1, 1, 1)",
    )
    one.run()
    assert one.target.execute(f"SELECT n FROM {one.there}.item ORDER BY shard") == [(5000000000,), (1,)]
    one.at_source("ALTER TABLE item_02 MODIFY n INT, MODIFY m BIGINT")
    assert "it defines n, which is wider" in one.fails("E3431").what


def test_columns_that_do_not_fit_stop_the_task(one: Copy) -> None:
    merged(one).begin()
    create_all(one)
    one.at_source("ALTER TABLE item_00 ADD n INT NOT NULL")
    one.run()
    one.at_source("INSERT INTO item_01 VALUES (1, 'a', NULL)")
    assert one.fails("E3422").table == f"{one.here}.item_01"
    one.at_target("ALTER TABLE item ALTER COLUMN n SET DEFAULT 0")
    one.run()
    assert one.target.execute(f"SELECT id, n FROM {one.there}.item") == [(1, 0)]


def test_keys_of_the_target_need_the_column(one: Copy) -> None:
    merged(one, ddl="ignore").begin()
    create_all(one)
    one.at_target(
        f"CREATE TABLE item {ITEM.replace('(20)', '(20), shard VARCHAR(63)').replace('PRIMARY KEY', 'NOT NULL')}"
    )
    one.at_target("ALTER TABLE item CONVERT TO CHARACTER SET utf8mb4, ADD PRIMARY KEY (id, shard)")
    one.at_source("INSERT INTO item_00 VALUES (1, 'a', 'a@x')")
    assert "mail (email)" in one.fails("E3442").found
    one.at_target("ALTER TABLE item DROP KEY mail")
    one.run()
    assert one.target.execute(f"SELECT id, shard FROM {one.there}.item") == [(1, "s00")]


def test_disjoint_keys_and_a_row_that_does_not_comply(copy: Copy) -> None:
    merged(copy, disjoint=True).begin()
    create_all(copy)
    for number, table in enumerate(SHARDS):
        copy.at_source(
            f"INSERT INTO {table} VALUES ({number}, '{table}', NULL), ({10 + number}, '{table}', 'm{number}')"
        )
    copy.at_source("DELETE FROM item_00 WHERE id = 10", "INSERT INTO item_01 VALUES (10, 'moved', NULL)")
    copy.run()
    rows = copy.target.execute(f"SELECT id, name FROM {copy.there}.item ORDER BY id")
    assert rows == [(0, "item_00"), (1, "item_01"), (2, "item_02"), (10, "moved"), (11, "item_01"), (12, "item_02")]
    copy.at_source("INSERT INTO item_02 VALUES (11, 'mine', NULL)")
    error = copy.fails("E3424")
    assert f"{copy.here}.item_02" in error.what and f"{copy.here}.item_01 at the source also has" in error.found
    copy.at_source("DELETE FROM item_01 WHERE id = 11")
    copy.fails("E3424")
    copy.at_target("DELETE FROM item WHERE id = 11")
    error = copy.fails("E3424")
    assert error.table == f"{copy.here}.item_01" and "item_02 at the source also has" in error.found
    assert copy.target.execute(f"SELECT name FROM {copy.there}.item WHERE id = 11") == [("mine",)]


def test_check_shows_keys_that_lack_the_column(one: Copy) -> None:
    """Once for all tables, with the statement that corrects them."""
    merged(one)
    create_all(one)

    def failed() -> list[Finding]:
        config = parse_task(one.data)
        assert isinstance(config.sink, MySQLSink)
        found = check_target(config, config.sink, [(one.here, table) for table in SHARDS])
        return [each for each in found if each.severity == "fail"]

    one.at_target(f"CREATE TABLE item {ITEM}")
    column, *keys = failed()
    assert "ADD COLUMN `shard` varchar(63)" in column.fix
    assert [each.found.partition(": ")[2] for each in keys] == [
        "key PRIMARY (id) lacks shard",
        "key mail (email) lacks shard",
    ]
    one.at_target("ALTER TABLE item ADD shard VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL")
    for finding in failed():
        one.target.execute(finding.fix)
    assert not failed()
    assert key_columns(one, "PRIMARY") == ["id", "shard"] and key_columns(one, "mail") == ["email", "shard"]


@pytest.mark.parametrize("statement", ["RENAME COLUMN name TO title", "CHANGE name title VARCHAR(20)"])
def test_a_renamed_column_by_the_remedy_of_the_manual(copy: Copy, statement: str) -> None:
    merged(copy).begin()
    create_all(copy)
    copy.at_source("INSERT INTO item_00 VALUES (1, 'a', NULL)", f"ALTER TABLE item_00 {statement}")
    assert "rows of other tables" in copy.fails("E3431").what
    copy.at_target("ALTER TABLE item CHANGE name title VARCHAR(20)")
    copy.data["transforms"]["rename"][0]["columns"] = {"name": "title"}
    copy.at_source(
        "INSERT INTO item_01 VALUES (1, 'b', NULL)",
        "INSERT INTO item_00 VALUES (2, 'c', NULL)",
        f"ALTER TABLE item_01 {statement}",
        "UPDATE item_01 SET title = 'd'",
    )
    copy.run()
    rows = copy.target.execute(f"SELECT shard, id, title FROM {copy.there}.item ORDER BY 1, 2")
    assert rows == [("s00", 1, "a"), ("s00", 2, "c"), ("s01", 1, "d")]
