"""Columns of wider types and in another order hold the source's values, in all directions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.site_pair import Pair, deliver

INTEGERS = (
    ("TINYINT", ("SMALLINT", "MEDIUMINT", "INT", "BIGINT"), ("-128", "127", "0", "NULL")),
    ("TINYINT UNSIGNED", ("SMALLINT", "INT UNSIGNED", "BIGINT"), ("255", "0")),
    ("SMALLINT", ("MEDIUMINT", "BIGINT"), ("-32768", "32767")),
    ("MEDIUMINT", ("INT", "BIGINT"), ("-8388608", "8388607")),
    ("MEDIUMINT UNSIGNED", ("INT", "INT UNSIGNED"), ("16777215",)),
    ("INT", ("BIGINT",), ("-2147483648", "2147483647")),
    ("INT UNSIGNED", ("BIGINT", "BIGINT UNSIGNED"), ("4294967295",)),
)
NUMBERS = (
    ("FLOAT", ("DOUBLE",), ("0.1", "-3.4e38", "1.17549435e-38", "0")),
    ("DECIMAL(5,2)", ("DECIMAL(6,2)", "DECIMAL(6,3)", "DECIMAL(65,30)", "DECIMAL(12,9)"), ("-999.99", "0.01", "0")),
    ("DECIMAL(9,9)", ("DECIMAL(19,10)", "DECIMAL(10,9)"), ("-0.123456789", "0.999999999")),
    ("DECIMAL(20,0)", ("DECIMAL(30,5)",), ("-12345678901234567890", "10000000000000000000")),
    ("DECIMAL(5,2) UNSIGNED", ("DECIMAL(6,2)",), ("999.99",)),
    ("BIT(4)", ("BIT(12)", "BIT(64)"), ("b'1010'",)),
    ("BIT(12)", ("BIT(13)", "BIT(64)"), ("b'101000000001'",)),
)
TIMES = (
    ("TIME", ("TIME(1)", "TIME(3)", "TIME(6)"), ("'-838:59:59'", "'00:00:01'", "'-00:00:01'")),
    ("TIME(1)", ("TIME(2)", "TIME(4)", "TIME(6)"), ("'-00:00:00.1'", "'-838:59:58.9'", "'12:00:00.5'")),
    ("TIME(3)", ("TIME(5)",), ("'-00:00:00.001'", "'-01:00:00.999'", "'01:00:00.999'")),
    ("DATETIME", ("DATETIME(3)", "DATETIME(6)"), ("'2024-02-29 12:34:56'", "'0001-01-01'")),
    ("DATETIME(3)", ("DATETIME(6)",), ("'9999-12-31 23:59:59.987'",)),
    ("TIMESTAMP(2) NULL", ("TIMESTAMP(6) NULL",), ("'2024-02-29 12:34:56.78'", "NULL")),
)
LATIN1, UTF8 = "CHARACTER SET latin1", "CHARACTER SET utf8mb4"
CODES = "CONVERT(X'818d8f909dff' USING latin1)"
"""Some are not in cp1252."""
TEXTS = (
    ("VARCHAR(10)", ("VARCHAR(100)", "TINYTEXT", "TEXT", "LONGTEXT"), ("'äöü😀'", "''", "'a  '")),
    ("CHAR(10)", ("CHAR(100)", "VARCHAR(10)", "TEXT"), ("'äöü'", "''")),
    ("TINYTEXT", ("TEXT", "MEDIUMTEXT", "VARCHAR(255)"), ("'äöü'",)),
    ("TEXT", ("MEDIUMTEXT", "LONGTEXT"), ("'äöü'", "REPEAT('x', 60000)")),
    ("VARBINARY(9)", ("VARBINARY(300)", "TINYBLOB", "BLOB"), ("X'00ff20'", "''")),
    ("BLOB", ("LONGBLOB",), ("X'00ff20'",)),
    ("BINARY(9)", ("BINARY(9)",), ("X'00ff20'",)),
    (f"VARCHAR(10) {LATIN1}", (f"VARCHAR(10) {UTF8}", f"TEXT {UTF8}"), ("'äö€'", CODES)),
    (f"CHAR(10) {LATIN1}", (f"CHAR(10) {UTF8}", f"VARCHAR(200) {UTF8}"), ("'äöü'",)),
    (f"TEXT {LATIN1}", (f"MEDIUMTEXT {UTF8}",), ("REPEAT('€', 65535)",)),
    ("VARCHAR(10) CHARACTER SET utf8mb3", (f"VARCHAR(10) {UTF8}", f"TEXT {UTF8}"), ("'äöü'",)),
    (f"ENUM('a','ö') {LATIN1}", (f"ENUM('a','ö','c') {UTF8}",), ("'ö'", "'a'")),
    ("SET('a','b')", ("SET('a','b','c','d','e','f','g','h','i')",), ("'a,b'", "''")),
)  # fmt: skip
EVERY = INTEGERS + NUMBERS + TIMES + TEXTS


def test_every_pair(pair: Pair) -> None:
    """One table with all of them, in another order at the target; inserts, updates and deletes."""
    cases = [(one, other, values) for one, others, values in EVERY for other in others]
    here = ", ".join(f"c{number} {one}" for number, (one, _, _) in enumerate(cases))
    there = [f"c{number} {other}" for number, (_, other, _) in enumerate(cases)]
    pair.at_target(
        f"CREATE TABLE t ({', '.join(there[::-1])}, id BIGINT PRIMARY KEY, other INT DEFAULT 5) CHARACTER SET utf8mb4"
    )
    names = ", ".join(f"c{number}" for number in range(len(cases)))
    most = max(len(values) for _, _, values in cases)
    rows = [", ".join(values[row % len(values)] for _, _, values in cases) for row in range(most)]
    batches = pair.at_source(
        f"CREATE TABLE t (id INT PRIMARY KEY, {here}) CHARACTER SET utf8mb4",
        *(f"INSERT INTO t (id, {names}) VALUES ({row}, {values})" for row, values in enumerate(rows)),
        f"INSERT INTO t (id, {names}) VALUES (100, {rows[0]})",
        "UPDATE t SET id = 101 WHERE id = 100",
        "UPDATE t SET c0 = 3 WHERE id = 101",
        f"INSERT INTO t (id, {names}) VALUES (102, {rows[1]})",
        "DELETE FROM t WHERE id = 102",
    )
    deliver(pair.opened(), batches)
    query = f"SELECT id, {names} FROM {{}}.t ORDER BY id"
    ours, theirs = (
        list(server.execute(query.format(database)))
        for server, database in ((pair.source, pair.here), (pair.target, pair.there))
    )
    assert len(theirs) == most + 1
    for mine, its in zip(ours, theirs, strict=True):
        for number, (a, b) in enumerate(zip(mine[1:], its[1:], strict=True)):
            assert _plain(a, cases[number][0]) == _plain(b, cases[number][0]), cases[number]


def _plain(value: Any, kind: str) -> Any:
    if kind == "FLOAT" and value is not None:
        return f"{value:.6g}"
    if kind.startswith("BIT"):
        return int.from_bytes(value, "big")
    if kind.startswith("SET"):
        return sorted(str(value).split(","))
    return value


def test_a_float_to_the_bit(pair: Pair) -> None:
    pair.at_target("CREATE TABLE t (id INT PRIMARY KEY, f DOUBLE)")
    deliver(
        pair.opened(), pair.at_source("CREATE TABLE t (id INT PRIMARY KEY, f FLOAT)", "INSERT INTO t VALUES (1, 0.1)")
    )
    assert pair.rows("t")[1] == [(1, 0.10000000149011612)]


def test_changes_are_joined_and_unique_keys_hold(same: Pair) -> None:
    """The joined changes are those of converted images."""
    same.at_target("CREATE TABLE t (u BIGINT, name TEXT, id BIGINT PRIMARY KEY, UNIQUE (u))")
    batches = same.at_source(
        "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20), u INT, UNIQUE (u))",
        "INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2)",
        *("UPDATE t SET u = NULL WHERE id = 1", "UPDATE t SET u = 1 WHERE id = 2", "UPDATE t SET u = 2 WHERE id = 1"),
        *(f"UPDATE t SET name = 'n{number}' WHERE id = 2" for number in range(5)),
        "DELETE FROM t WHERE id = 1",
        "INSERT INTO t VALUES (1, 'again', 9)",
    )
    sink = same.opened()
    for batch in batches:
        sink.write(batch)
    sink.commit(batches[-1].position)
    assert same.rows("t")[1] == [(9, "again", 1), (1, "n4", 2)]


def test_rows_that_grow_are_cut_into_packets(same: Pair) -> None:
    same.at_target("CREATE TABLE t (id BIGINT PRIMARY KEY, name LONGTEXT CHARACTER SET utf8mb4)")
    batches = same.at_source(
        "CREATE TABLE t (id INT PRIMARY KEY, name MEDIUMTEXT CHARACTER SET latin1)",
        *(f"INSERT INTO t VALUES ({number}, REPEAT('€', 30000))" for number in range(40)),
    )
    sink = same.opened(max_packet_bytes=1 << 18)
    for batch in batches:
        sink.write(batch)
    sink.commit(batches[-1].position)
    assert [len(name) for _, name in same.rows("t")[1]] == [30000] * 40


def test_a_refused_row_is_named(same: Pair) -> None:
    """By its place in the source's transaction, after its image was converted."""
    same.at_target("CREATE TABLE t (name TEXT, id BIGINT PRIMARY KEY)", "INSERT INTO t VALUES ('there', 2)")
    (batch,) = same.at_source(
        "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20))", "INSERT INTO t VALUES (1, 'a'), (2, 'b')"
    )
    sink = same.opened()
    sink.write(batch)
    with pytest.raises(Exception, match=r"E3424.*row 1 of the transaction"):
        sink.commit(batch.position)


@pytest.mark.parametrize(
    ("conflict", "found"),
    [
        ("source_wins", [(1, 5, "a", 1), (2, -3, "z", 2)]),
        ({"policy": "newest_wins", "column": "v"}, [(1, 5, "a", 1), (2, 50, "mine", 7)]),
        ("keep_target", [(1, 1, "there", 100), (2, 50, "mine", 7)]),
    ],
)
def test_conflicts_of_converted_rows(same: Pair, conflict: Any, found: list[Any]) -> None:
    """Rows of the target are compared with the images after their conversion."""
    same.at_target(
        "CREATE TABLE t (s VARCHAR(300), v BIGINT NOT NULL, id BIGINT PRIMARY KEY, u BIGINT, UNIQUE (u))",
        "INSERT INTO t VALUES ('there', 1, 1, 100), ('mine', 50, 2, 7)",
    )
    batches = same.at_source(
        "CREATE TABLE t (id INT PRIMARY KEY, v SMALLINT NOT NULL, s VARCHAR(20), u INT, UNIQUE (u))",
        "INSERT INTO t VALUES (1, 5, 'a', 1)",
        "INSERT INTO t VALUES (2, -3, 'b', 2), (3, 3, 'c', 3)",
        "UPDATE t SET s = 'z' WHERE id = 2",
        "DELETE FROM t WHERE id = 3",
    )
    deliver(same.opened(conflict=conflict), batches)
    query = f"SELECT id, v, s, u FROM {same.there}.t ORDER BY id"
    assert list(same.target.execute(query)) == found
