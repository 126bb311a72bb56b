"""A table at the target that would not store the source's rows as they are is refused before any row is written."""

from __future__ import annotations

import pytest

from replicator.errors import SinkError
from replicator.sink.mysql import altered_tables
from tests.support.site_pair import Pair, deliver

INSERT = "INSERT INTO t (id, {column}) VALUES (1, {value})"


@pytest.mark.parametrize(
    ("there", "here", "value", "named"),
    [
        ("v INT", "v INT, last INT", "1, 2", "last: no such column"),
        ("w INT", "v INT", "1", "v: no such column"),
        ("v SMALLINT", "v INT", "1", "LONG at the source, SHORT at the target"),
        ("v INT UNSIGNED", "v INT", "1", "v: signed at the source only"),
        ("v INT", "v INT UNSIGNED", "1", "v: UNSIGNED at the source only"),
        ("v BIT(4)", "v BIT(12)", "1", r"BIT\(12\) at the source, BIT\(4\) at the target"),
        ("v BIGINT", "v BIGINT UNSIGNED", "1", "v: UNSIGNED at the source only"),
        ("v BIGINT UNSIGNED", "v INT", "1", "v: signed at the source only"),
        ("v DECIMAL(11,3)", "v DECIMAL(10,1)", "1", r"DECIMAL\(10,1\) at the source, DECIMAL\(11,3\)"),
        ("v DECIMAL(10,2) UNSIGNED", "v DECIMAL(10,2)", "1", "v: UNSIGNED at the target only"),
        ("v DOUBLE UNSIGNED", "v FLOAT", "1", "v: UNSIGNED at the target only"),
        ("v FLOAT", "v DOUBLE", "1", "DOUBLE"),
        ("v DECIMAL(9,2)", "v DECIMAL(10,2)", "1", r"DECIMAL\(10,2\) at the source, DECIMAL\(9,2\)"),
        ("v VARCHAR(10)", "v VARCHAR(11)", "'a'", r"VARCHAR\(44\) at the source, VARCHAR\(40\)"),
        ("v CHAR(100)", "v VARCHAR(10)", "'a'", "VARCHAR"),
        ("v VARCHAR(100)", "v TINYTEXT", "'a'", "BLOB of 1 bytes of length at the source"),
        ("v TEXT", "v TEXT CHARACTER SET latin1", "'a'", "BLOB of 2 bytes of length"),
        ("v BLOB", "v VARCHAR(10)", "'a'", "utf8mb4 at the source, binary at the target"),
        ("v BINARY(9)", "v VARBINARY(9)", "'a'", "STRING"),
        ("v BINARY(9)", "v BINARY(5)", "'a'", "STRING"),
        ("v VARBINARY(9)", "v BINARY(9)", "'a'", "STRING"),
        ("v DATETIME", "v DATE", "NOW()", "DATE"),
        ("v DATETIME", "v TIMESTAMP", "NOW()", "TIMESTAMP2"),
        ("v VARCHAR(10) CHARACTER SET latin1", "v VARCHAR(2)", "'a'", "utf8mb4 at the source, latin1 at the target"),
        ("v ENUM('b','a')", "v ENUM('a','b')", "'a'", "members a, b at the source, b, a at the target"),
        ("v ENUM('a')", "v ENUM('a','b')", "'a'", "members a, b at the source, a at the target"),
        ("v SET('b','a')", "v SET('a','b')", "'a'", "members a, b at the source, b, a at the target"),
        ("v INT NOT NULL", "v INT", "1", "v: NOT NULL at the target only"),
        ("v INT, x INT NOT NULL", "v INT", "1", "x: NOT NULL without a default"),
        ("x INT AUTO_INCREMENT, v INT, UNIQUE (x)", "v INT", "1", "x: an AUTO_INCREMENT column in front of columns"),
        ("v DATETIME(3)", "v DATETIME(6)", "NOW()", "DATETIME2"),
        ("v BLOB", "v LONGBLOB", "'a'", "of 4 bytes of length at the source, BLOB of 2 bytes"),
    ],
)  # fmt: skip
def test_refuses_other_columns(same: Pair, there: str, here: str, value: str, named: str) -> None:
    same.at_target(f"CREATE TABLE t (id INT PRIMARY KEY, {there})")
    (batch,) = same.at_source(f"CREATE TABLE t (id INT PRIMARY KEY, {here})", f"INSERT INTO t VALUES (1, {value})")
    sink = same.opened()
    with pytest.raises(SinkError, match=named) as raised:
        sink.write(batch)
    assert raised.value.code == "E3422"
    assert raised.value.table == f"{same.here}.t"
    assert same.rows("t")[1] == []


@pytest.mark.parametrize(
    ("there", "here", "value", "found"),
    [
        ("v INT, x INT", "v INT", "7", (1, 7, None)),
        ("x INT NOT NULL DEFAULT 5, v INT", "v INT", "7", (1, 5, 7)),
        ("v INT, x INT AUTO_INCREMENT, UNIQUE (x)", "v INT", "7", (1, 7, 1)),
        ("v VARCHAR(20)", "v VARCHAR(10)", "'ä'", (1, "ä")),
        ("v CHAR(20)", "v CHAR(10)", "'ä'", (1, "ä")),
        ("v VARCHAR(10)", "v VARCHAR(10) CHARACTER SET utf8mb3", "'ä'", (1, "ä")),
        ("v VARCHAR(10) COLLATE utf8mb4_bin", "v VARCHAR(10)", "'ä'", (1, "ä")),
        ("v ENUM('a','b','c')", "v ENUM('a','b')", "'b'", (1, "b")),
        ("V INT", "v INT", "3", (1, 3)),
        ("v INT NULL", "v INT NOT NULL", "3", (1, 3)),
    ],
)  # fmt: skip
def test_accepts_what_stores_the_same(same: Pair, there: str, here: str, value: str, found: tuple[object, ...]) -> None:
    same.at_target(f"CREATE TABLE t (id INT PRIMARY KEY, {there})")
    (batch,) = same.at_source(f"CREATE TABLE t (id INT PRIMARY KEY, {here})", f"INSERT INTO t VALUES (1, {value})")
    deliver(same.opened(), [batch])
    assert same.rows("t")[1] == [found]


def test_generated_columns(same: Pair) -> None:
    table = "CREATE TABLE t (id INT PRIMARY KEY, s INT AS (id * 2) STORED, v INT AS (id * 3) VIRTUAL, w INT INVISIBLE)"
    if same.source.release.flavour == "mariadb":
        table = table.replace("w INT INVISIBLE", "w INT INVISIBLE DEFAULT NULL")
    same.both(table)
    deliver(
        same.opened(),
        same.at_source(
            "INSERT INTO t (id, w) VALUES (1, 7), (2, 8)",
            "UPDATE t SET w = 9 WHERE id = 1",
            "DELETE FROM t WHERE id = 2",
        ),
    )
    query = "SELECT id, s, v, w FROM {}.t"
    assert list(same.target.execute(query.format(same.there))) == [(1, 2, 3, 9)]


def test_what_mariadb_does_not_compute_is_refused(pair: Pair) -> None:
    if pair.target.release.flavour != "mariadb":
        pytest.skip("MySQL computes these")
    (batch,) = pair.at_source("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    for column in ("x INT AS (id + 1) STORED", "x DATETIME DEFAULT CURRENT_TIMESTAMP"):
        pair.at_target("DROP TABLE IF EXISTS t", f"CREATE TABLE t (id INT PRIMARY KEY, {column})")
        with pytest.raises(SinkError, match="does not compute it") as raised:
            pair.opened().write(batch)
        assert raised.value.code == "E3422"


def test_table_missing(same: Pair) -> None:
    (batch,) = same.at_source("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    with pytest.raises(SinkError, match="does not exist at the target") as raised:
        same.opened().write(batch)
    assert raised.value.code == "E3421"
    assert raised.value.table == f"{same.here}.t"


def test_table_without_transactions(same: Pair) -> None:
    same.at_target("CREATE TABLE t (id INT PRIMARY KEY) ENGINE=MyISAM")
    (batch,) = same.at_source("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    with pytest.raises(SinkError, match="ENGINE=InnoDB") as raised:
        same.opened().write(batch)
    assert raised.value.code == "E3422"


def test_a_table_dropped_or_altered_in_a_session_ends_it(same: Pair) -> None:
    """The next session reads the definition again."""
    same.both("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    sink = same.opened()
    deliver(sink, same.at_source("INSERT INTO t VALUES (1, 1)"))
    same.at_target("DROP TABLE t")
    batches = same.at_source("INSERT INTO t VALUES (2, 2)")
    with pytest.raises(SinkError) as raised:
        deliver(sink, batches)
    assert raised.value.code == "E3421"


def test_a_table_that_others_alter_during_a_session(same: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """The servers would write the values of a to b, and those of b to a."""
    monkeypatch.setattr(altered_tables, "_EVERY_SECONDS", 0)
    monkeypatch.setattr(altered_tables, "_SHARE", 0)
    same.both("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT)", "CREATE TABLE other (id INT PRIMARY KEY)")
    sink = same.opened()
    deliver(sink, same.at_source("INSERT INTO t VALUES (1, 1, 2)", "INSERT INTO other VALUES (1)"))
    same.at_target("ALTER TABLE other ADD more INT", "ALTER TABLE t MODIFY b INT AFTER id")
    (batch,) = same.at_source("INSERT INTO t VALUES (2, 1, 2)")
    with pytest.raises(SinkError, match="columns id, b, a") as refused:
        deliver(sink, [batch])
    assert refused.value.code == "E3428" and refused.value.table == f"{same.here}.t"
    assert same.rows("t")[1] == [(1, 2, 1)], "the transaction was not committed"
    sink = same.opened(epoch=2)
    deliver(sink, [batch])
    assert same.rows("t")[1] == [(1, 2, 1), (2, 2, 1)]
