"""Rows of every type are read from the target as the images that the source writes of them, and found by every key."""

from __future__ import annotations

import pytest

from replicator.errors import SinkError
from tests.integration.sink.mysql.test_types import OLD, REFUSED, SECTIONS, ZOO, create
from tests.support import target
from tests.support.row_records import joined
from tests.support.script import run, statements
from tests.support.site_pair import Pair, deliver


def test_equal_rows_are_no_conflict(pair: Pair) -> None:
    """Each row of the zoo is inserted and deleted again."""
    source = pair.source.release.flavour
    refused = REFUSED[f"{source}-{pair.target.release.flavour}"] | OLD
    run(pair.source, iter(list(statements(ZOO, only=SECTIONS[source]))), database=pair.here)
    tables = sorted(str(name) for (name,) in pair.source.execute("SHOW TABLES FROM " + pair.here))
    create(pair, [name for name in tables if name not in refused])
    batches = [*pair.reader.batches(), *pair.at_source(*(f"DELETE FROM {name}" for name in tables))]
    sink = pair.opened(conflict={"policy": "stop", "compare": "row"})
    compared = 0
    for table in tables:
        if table in refused:
            continue
        for batch in batches:
            if batch.records[0][0].startswith(f"{pair.there}.{table}#"):
                deliver(sink, [joined([batch])])
        assert target.rows(pair.target, f"{pair.there}.{table}") == [], table
        compared += 1
    assert compared >= 15


KEYS = (
    "TINYINT, TINYINT UNSIGNED, SMALLINT, MEDIUMINT, MEDIUMINT UNSIGNED, INT, BIGINT, BIGINT UNSIGNED, YEAR, "
    "DECIMAL(20.7), DECIMAL(9.9), BIT(12), DATE, TIME(3), TIME, DATETIME, DATETIME(6), TIMESTAMP(2), BINARY(7), "
    "ENUM('x'. 'y'. '-1'. '0'), SET('x'. 'y'. '-1'), VARBINARY(300), CHAR(9), VARCHAR(20) CHARACTER SET latin1, "
    "VARCHAR(20) COLLATE utf8mb4_bin, CHAR(9) CHARACTER SET utf16, VARCHAR(90) CHARACTER SET ucs2, "
    "VARCHAR(9) CHARACTER SET gbk"
)
OF_MARIADB = ("UUID", "INET6")
VALUES = (
    "0, 1, -1, 0.5, -12345.678, '2026-01-02 03:04:05.678', '-12:34:56.789', 'x', 'A ä', '0000-00-00', X'0100', X'00', "
    "'2038-01-19 03:14:07', '123e4567-e89b-12d3-a456-426655440000', '2001:db8::', 255, 18446744073709551615, "
    "-9223372036854775808"
)


def test_rows_are_found_by_keys_of_every_type(same: Pair) -> None:
    kinds = [kind.replace(".", ",") for kind in KEYS.split(", ")]
    kinds += OF_MARIADB if same.source.release.flavour == "mariadb" else ()
    values = list(enumerate(VALUES.split(", ")))
    for number, kind in enumerate(kinds):
        same.both(f"CREATE TABLE t{number} (k {kind}, id INT, PRIMARY KEY (k, id)) CHARACTER SET utf8mb4")
        same.both(f"CREATE TABLE u{number} (k {kind} NOT NULL, id INT PRIMARY KEY, UNIQUE (k)) CHARACTER SET utf8mb4")
    sink = same.opened(conflict="source_wins")
    for number, kind in enumerate(kinds):
        script = ["SET sql_mode = 'ALLOW_INVALID_DATES'"]
        script += [f"INSERT IGNORE INTO t{number} VALUES ({value}, {id_})" for id_, value in values]
        script += [f"INSERT IGNORE INTO u{number} VALUES ({value}, {id_})" for id_, value in values]
        batches = same.at_source(*script)
        deliver(sink, [joined(batches)])
        first = same.rows(f"t{number}"), same.rows(f"u{number}")
        # The same rows are inserted once more: each is found, by one key or the other.
        same.at_target(f"UPDATE u{number} SET id = id + 1000")
        before = len(recorded(same))
        deliver(sink, [joined(batches)])
        assert (same.rows(f"t{number}"), same.rows(f"u{number}")) == first, kind
        assert first[0][0] == first[0][1], kind
        assert first[1][0] == first[1][1], kind
        count = sum(len(batch.records) for batch in batches)
        assert {row[0] for row in recorded(same)[before:]} == {"exists", "unique"}, kind
        assert len(recorded(same)) - before == count, kind


def recorded(pair: Pair) -> list[tuple[str]]:
    return pair.target.execute(f"SELECT kind FROM {pair.place}.replicator_conflicts ORDER BY id")


@pytest.mark.parametrize(
    ("definition", "found"),
    [
        ("(id INT, v INT)", "no primary key"),
        ("(id FLOAT PRIMARY KEY, v INT)", "primary key of id"),
        ("(id VARCHAR(50), v INT, PRIMARY KEY (id(10)))", "no primary key, or one with"),
    ],
)
def test_tables_whose_rows_cannot_be_found_are_refused(same: Pair, definition: str, found: str) -> None:
    same.both(f"CREATE TABLE t {definition}", "CREATE TABLE other (id INT PRIMARY KEY)")
    batches = same.at_source("INSERT INTO other VALUES (1)", "INSERT INTO t VALUES (1, 1)")
    sink = same.opened(conflict="source_wins")
    deliver(sink, batches[:1])
    with pytest.raises(SinkError, match=rf"E3450.*{found}"):
        deliver(sink, batches[1:])
    rules = [{"tables": [f"{same.here}.t"], "policy": "stop"}, {"policy": "source_wins"}]
    deliver(same.opened(epoch=2, conflict=rules), batches[1:])
    here, there = same.rows("t")
    assert here == there


def test_columns_of_other_types_and_places(same: Pair) -> None:
    """Images are compared as the target stores them."""
    same.source.execute(
        f"CREATE TABLE {same.here}.t (id INT PRIMARY KEY, n SMALLINT, v VARCHAR(20), at DATETIME NOT NULL)"
    )
    same.target.execute(
        f"CREATE TABLE {same.there}.t (v VARCHAR(300), id BIGINT PRIMARY KEY, at DATETIME(3) NOT NULL, n INT)"
    )
    sink = same.opened(conflict={"policy": "newest_wins", "column": "at"})
    deliver(sink, same.at_source("INSERT INTO t VALUES (1, -5, 'a', '2026-01-01'), (2, 7, 'b', '2026-01-01')"))
    deliver(sink, same.at_source("UPDATE t SET n = n + 1, at = '2026-01-02'"))
    assert recorded(same) == []
    same.at_target("UPDATE t SET at = '2026-01-02 12:00:00.001' WHERE id = 1", "UPDATE t SET n = 0 WHERE id = 2")
    deliver(sink, [joined(same.at_source("UPDATE t SET n = n + 1, v = 'c', at = '2026-01-02 12:00:00'"))])
    found = same.target.execute(f"SELECT id, n, v FROM {same.there}.t ORDER BY id")
    assert found == [(1, -4, "a"), (2, 9, "c")]
    assert recorded(same) == [("different",), ("different",)]
