"""`verify` on real servers: all types, planted differences of every kind, keys of every kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dev.servers import MariaDB
from replicator.verify.verifier import Options
from tests.support.script import run, statements
from tests.support.verified import Pair, pair, summary, verify

ZOO = Path(__file__).parents[2] / "support" / "type_zoo.sql"
DIRECTIONS = ["mysql-mysql", "mysql-mariadb", "mariadb-mysql", "mariadb-mariadb"]


def _pair(request: pytest.FixtureRequest, direction: str) -> Iterator[Pair]:
    servers = [request.getfixturevalue(kind) for kind in direction.split("-")]
    with pair(servers[0], servers[1]) as made:
        yield made


@pytest.fixture(autouse=True)
def _passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPL_NO_PASSWORD", "")


@pytest.fixture(params=DIRECTIONS)
def direction(request: pytest.FixtureRequest) -> Iterator[Pair]:
    yield from _pair(request, str(request.param))


@pytest.fixture
def two(request: pytest.FixtureRequest) -> Iterator[Pair]:
    yield from _pair(request, "mysql-mysql")


@pytest.fixture
def across(request: pytest.FixtureRequest) -> Iterator[Pair]:
    yield from _pair(request, "mysql-mariadb")


@pytest.mark.parametrize("checksums", [False, True], ids=["rows", "checksums"])
def test_equal_values_of_all_types_are_equal(direction: Pair, *, checksums: bool) -> None:
    kinds = {"mariadb" if isinstance(each, MariaDB) else "mysql" for each in (direction.source, direction.target)}
    sections = {"both", "json"} | (
        {*kinds, *(f"beyond_{kind}" for kind in kinds), "beyond_both"} if len(kinds) == 1 else set()
    )
    sections -= {"mariadb_11"}
    for server, database in ((direction.source, direction.database), (direction.target, direction.other)):
        run(server, statements(ZOO, only=sections), database=database)
    if len(kinds) > 1:  # MySQL reads the text of SRID 4326 with the latitude first
        direction.both("UPDATE shapes SET p = NULL WHERE id = 2")
    found = verify(direction.config(), options=Options(checksums=checksums))
    wrong = {name: (summary(each), each.note, each.samples) for name, each in found.items() if each.result != "equal"}
    assert not wrong
    assert len(found) >= 18
    assert not any(each.not_compared for each in found.values())
    assert all(each.key == ("id",) for each in found.values())
    assert sum(each.rows for each in found.values()) > 70


PLANTED = [
    ("DOUBLE", "0.1", "0.10000000000000002"),
    ("DOUBLE", "0e0", "-0e0"),
    ("FLOAT", "16777216", "16777218"),
    ("DECIMAL(10,2)", "1.10", "1.11"),
    ("INT", "5", "6"),
    ("BIGINT UNSIGNED", "18446744073709551615", "18446744073709551614"),
    ("VARCHAR(20)", "'a'", "'a '"),
    ("VARCHAR(20)", "'a'", "'A'"),
    ("TEXT", "'straße'", "'strasse'"),
    ("VARCHAR(20)", "NULL", "''"),
    ("VARBINARY(20)", "X'00'", "X'0000'"),
    ("BLOB", "X'01'", "X'02'"),
    ("JSON", "'[1, 2]'", "'[2, 1]'"),
    ("JSON", "'{\"a\": 1}'", "'{\"a\": 1.0}'"),
    ("JSON", "'{\"a\": null}'", "NULL"),
    ("DATETIME", "'2024-03-10 12:00:00'", "'2024-03-10 11:00:00'"),
    ("TIMESTAMP(6) NULL", "'2024-03-10 12:00:00.000001'", "'2024-03-10 12:00:00.000002'"),
    ("TIME(3)", "'-00:00:00.001'", "'00:00:00.001'"),
    ("DATE", "'2024-01-01'", "'2024-01-02'"),
    ("YEAR", "2024", "2025"),
    ("BIT(9)", "b'100000000'", "b'000000001'"),
    ("ENUM('a','b')", "'a'", "'b'"),
    ("SET('a','b')", "'a,b'", "'a'"),
    ("CHAR(5)", "'x'", "'y'"),
    ("GEOMETRY", "ST_GeomFromText('POINT(1 2)')", "ST_GeomFromText('POINT(2 1)')"),
]


@pytest.mark.parametrize("checksums", [False, True], ids=["rows", "checksums"])
def test_each_planted_difference_is_found_and_nothing_else(direction: Pair, *, checksums: bool) -> None:
    own = isinstance(direction.target, MariaDB)
    planted = [each for each in PLANTED if not (own and each[2] == "-0e0")]  # MariaDB stores this literal as 0
    for number, (kind, one, other) in enumerate(planted):
        direction.both(f"CREATE TABLE t{number} (id INT PRIMARY KEY, v {kind}, w INT)")
        direction.here(f"INSERT INTO t{number} VALUES (1, {one}, 1), (2, {one}, 2), (3, {one}, 3)")
        direction.there(f"INSERT INTO t{number} VALUES (1, {one}, 1), (2, {other}, 2), (3, {one}, 3)")
    found = verify(direction.config(), options=Options(checksums=checksums))
    for number, (kind, one, other) in enumerate(planted):
        result = found[f"t{number}"]
        assert summary(result) == ("differs", 0, 0, 1), (kind, one, other, result)
        (sample,) = result.samples
        assert (sample.verdict, sample.key, sample.columns) == ("different", {"id": "2"}, ("v",))


def test_missing_and_extra_rows_are_found_at_all_places(direction: Pair) -> None:
    direction.both("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9))")
    kept = [number for number in range(1, 400) if number not in (1, 200, 399)]
    more = [*range(-3, 1), 150_000, 400, 401]
    direction.here("INSERT INTO t VALUES " + ",".join(f"({n},'v{n}')" for n in range(1, 400)))
    direction.there("INSERT INTO t VALUES " + ",".join(f"({n},'v{n}')" for n in [*kept, *more]))
    for rows in (None, 7):
        result = verify(direction.config(), options=Options(max_rows_per_s=rows and 7 * 10**6, samples=20))["t"]
        assert summary(result) == ("differs", 3, len(more), 0)
        assert result.rows == 399
        assert {each.key["id"] for each in result.samples if each.verdict == "missing"} == {"1", "200", "399"}
        assert {int(each.key["id"]) for each in result.samples if each.verdict == "extra"} == set(more)


def test_time_zones_of_the_servers_do_not_matter(two: Pair) -> None:
    two.both("CREATE TABLE t (id INT PRIMARY KEY, ts TIMESTAMP(3) NULL, dt DATETIME)")
    two.here("SET time_zone = '+00:00'", "INSERT INTO t VALUES (1, '2024-07-01 12:00:00.5', '2024-07-01 12:00:00')")
    two.there("SET time_zone = '+05:00'", "INSERT INTO t VALUES (1, '2024-07-01 17:00:00.5', '2024-07-01 12:00:00')")
    assert verify(two.config())["t"].result == "equal"


def test_character_sets_of_the_target_do_not_matter(direction: Pair) -> None:
    direction.here(
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20) CHARACTER SET latin1, c CHAR(9) CHARACTER SET gbk)"
    )
    direction.there(
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20) CHARACTER SET utf8mb4, c VARCHAR(9) CHARACTER SET utf8mb4)"
    )
    direction.both("INSERT INTO t VALUES (1, 'Grüße', '中'), (2, 'é', '文'), (3, 'ÿ', '')")
    direction.there("UPDATE t SET v = 'e' WHERE id = 2")
    result = verify(direction.config())["t"]
    assert summary(result) == ("differs", 0, 0, 1)
    assert (result.samples[0].key, result.samples[0].columns) == ({"id": "2"}, ("v",))


def test_types_of_the_target_may_be_wider(direction: Pair) -> None:
    direction.here(
        "CREATE TABLE t (id INT PRIMARY KEY, i SMALLINT, u INT UNSIGNED, d DECIMAL(8,2), f FLOAT, b BINARY(3),"
        " dt DATETIME, e ENUM('x','y'), s SET('b','a'), bi BIT(3), t TINYTEXT)"
    )
    direction.there(
        "CREATE TABLE t (id BIGINT PRIMARY KEY, i BIGINT, u BIGINT, d DECIMAL(20,6), f DOUBLE, b VARBINARY(9),"
        " dt DATETIME(6), e ENUM('y','x','z'), s SET('a','c','b'), bi BIT(20), t LONGTEXT)"
    )
    row = "({}, -5, 4294967295, -1.50, {}, X'610000', '2024-01-01', 'x', 'a,b', b'101', 'text')"
    direction.both("INSERT INTO t VALUES " + ",".join(row.format(n, n + 0.5) for n in range(5)))
    direction.here("INSERT INTO t (id) VALUES (9)")
    direction.there("INSERT INTO t (id) VALUES (9)")
    result = verify(direction.config())["t"]
    assert (summary(result), result.samples) == (("equal", 0, 0, 0), [])
    direction.there(
        "UPDATE t SET s = 'a' WHERE id = 1", "UPDATE t SET e = 'z' WHERE id = 2", "UPDATE t SET bi = 7 WHERE id = 3"
    )
    result = verify(direction.config())["t"]
    assert summary(result) == ("differs", 0, 0, 3)
    assert [each.columns for each in result.samples] == [("s",), ("e",), ("bi",)]


KEYS: list[tuple[str, list[tuple[object, object]]]] = [
    ("a INT, b VARCHAR(20), PRIMARY KEY (b, a)", [(n % 7, f"k{n % 13}") for n in range(91)]),
    (
        "a INT, b VARCHAR(20) COLLATE utf8mb4_bin PRIMARY KEY",
        [(n, t) for n, t in enumerate("aAäÄbBß z".replace(" ", ""))],
    ),
    ("a INT, b DATETIME(3) PRIMARY KEY", [(n, f"2024-01-{n + 1:02} 00:00:00.00{n % 10}") for n in range(28)]),
    ("a BIGINT UNSIGNED PRIMARY KEY, b INT", [(2**63 + n, n) for n in range(-5, 5)]),
    ("a INT NOT NULL, b VARCHAR(9) NOT NULL, UNIQUE (b)", [(n, f"u{n}") for n in range(30)]),
    ("a INT, b ENUM('z','y','x'), PRIMARY KEY (b)", [(n, b) for n, b in enumerate("zyx")]),
    ("a INT, b VARBINARY(9) PRIMARY KEY", [(n, f"{n:03}") for n in range(30)]),
    ("a INT, b DECIMAL(9,3) PRIMARY KEY", [(n, f"{n - 10}.5") for n in range(20)]),
]


@pytest.mark.parametrize("number", range(len(KEYS)))
def test_tables_are_compared_by_any_key(direction: Pair, number: int) -> None:
    columns, rows = KEYS[number]
    direction.both(f"CREATE TABLE t ({columns}, v INT) DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_general_ci")
    direction.both("INSERT INTO t VALUES " + ",".join(f"('{a}', '{b}', 1)" for a, b in rows))
    config, few = direction.config(), Options(max_rows_per_s=10**6)
    assert summary(verify(config, options=few)["t"]) == ("equal", 0, 0, 0)
    assert verify(config)["t"].key
    (a, b), (c, d) = rows[1], rows[-1]
    direction.there(f"UPDATE t SET v = 2 WHERE a = '{a}' AND b = '{b}'", f"DELETE FROM t WHERE a = '{c}' AND b = '{d}'")
    direction.here(f"DELETE FROM t WHERE a = '{rows[0][0]}' AND b = '{rows[0][1]}'")
    assert summary(verify(config)["t"]) == ("differs", 1, 1, 1)


def test_keys_that_differ_by_case_or_blanks_are_different_rows(two: Pair) -> None:
    two.here("CREATE TABLE t (k VARCHAR(20) COLLATE utf8mb4_0900_ai_ci PRIMARY KEY, v INT)")
    two.there("CREATE TABLE t (k VARCHAR(20) COLLATE utf8mb4_0900_ai_ci PRIMARY KEY, v INT)")
    two.here("INSERT INTO t VALUES ('a', 1), ('b', 2), ('c', 3)")
    two.there("INSERT INTO t VALUES ('A', 1), ('b', 2), ('c ', 3)")
    result = verify(two.config())["t"]
    assert summary(result) == ("differs", 2, 2, 0)


def test_keys_that_are_ordered_otherwise_are_compared_by_hashes(direction: Pair) -> None:
    direction.here("CREATE TABLE t (k VARCHAR(20) COLLATE utf8mb4_bin PRIMARY KEY, v INT)")
    direction.there("CREATE TABLE t (k VARCHAR(20) COLLATE utf8mb4_unicode_ci PRIMARY KEY, v INT)")
    direction.both("INSERT INTO t VALUES " + ",".join(f"('{'aB'[n % 2]}{n}', {n})" for n in range(100)))
    config = direction.config()
    assert summary(verify(config)["t"]) == ("equal", 0, 0, 0)
    direction.there(
        "UPDATE t SET v = -1 WHERE k = 'a4'", "DELETE FROM t WHERE k = 'a6'", "INSERT INTO t VALUES ('x', 1)"
    )
    result = verify(config)["t"]
    assert summary(result) == ("differs", 1, 1, 1)


def test_tables_without_a_key_are_compared_as_multisets(direction: Pair) -> None:
    direction.both("CREATE TABLE t (a INT, b VARCHAR(9))", "INSERT INTO t VALUES (1,'x'),(1,'x'),(2,NULL),(3,'')")
    config = direction.config()
    result = verify(config)["t"]
    assert (summary(result), result.key, result.rows) == (("equal", 0, 0, 0), (), 4)
    direction.there("INSERT INTO t VALUES (1,'x')", "DELETE FROM t WHERE a = 3", "UPDATE t SET b = '' WHERE a = 2")
    result = verify(config)["t"]
    assert summary(result) == ("differs", 2, 2, 0)
    assert {(each.verdict, each.key["a"], each.key["b"]) for each in result.samples} == {
        ("extra", "1", "x"), ("missing", "3", ""), ("missing", "2", "NULL"), ("extra", "2", ""),
    }  # fmt: skip


def test_many_differences_of_a_table_without_a_key(two: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    two.both("CREATE TABLE t (a INT, b VARCHAR(9))")
    for start in range(0, 20_000, 5_000):
        two.both("INSERT INTO t VALUES " + ",".join(f"({n},'x')" for n in range(start, start + 5_000)))
    two.there(
        "DELETE FROM t WHERE a % 10 = 3", "UPDATE t SET b = 'y' WHERE a % 100 = 7", "INSERT INTO t VALUES (-1, '')"
    )
    result = verify(two.config())["t"]
    assert (summary(result), result.stopped) == (("differs", 2_200, 201, 0), False)
    monkeypatch.setattr("replicator.verify.unordered._MOST_HASHES", 500)
    result = verify(two.config())["t"]
    assert result.result == "differs" and result.stopped
    assert 0 < result.missing < 1000 and result.extra < 201


def test_empty_and_missing_tables(direction: Pair) -> None:
    direction.both("CREATE TABLE nothing (id INT PRIMARY KEY)", "CREATE TABLE full (id INT PRIMARY KEY)")
    direction.here("CREATE TABLE gone (id INT PRIMARY KEY)", "INSERT INTO full VALUES (1),(2)")
    found = verify(direction.config())
    assert summary(found["nothing"]) == ("equal", 0, 0, 0)
    assert summary(found["full"]) == ("differs", 2, 0, 0)
    assert (found["gone"].result, found["gone"].note) == ("differs", "the table is missing at the target")


def test_columns_that_are_missing_or_cannot_be_compared_are_differences(two: Pair) -> None:
    two.here("CREATE TABLE t (id INT PRIMARY KEY, a INT, b DATE)")
    two.there("CREATE TABLE t (id INT PRIMARY KEY, b INT, extra INT DEFAULT 7)")
    two.here("INSERT INTO t VALUES (1, 1, NULL)")
    two.there("INSERT INTO t (id) VALUES (1)")
    result = verify(two.config())["t"]
    assert result.result == "differs"
    assert "column a: missing at the target" in result.note and "column b: its type" in result.note
    assert result.not_compared == {"extra": "only at the target"}


def test_generated_columns_of_the_target_are_left_out(two: Pair) -> None:
    two.both("CREATE TABLE t (id INT PRIMARY KEY, a INT, g INT AS (a + 1) STORED, v INT AS (a + 2) VIRTUAL)")
    two.both("INSERT INTO t (id, a) VALUES (1, 1)")
    result = verify(two.config())["t"]
    assert result.result == "equal"
    assert result.not_compared == dict.fromkeys("gv", "generated at the target")


def test_transforms_are_respected(two: Pair) -> None:
    two.here(
        "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20), secret VARCHAR(20), note TEXT, at DATETIME,"
        " p DECIMAL(9,2))"
    )
    two.there(
        "CREATE TABLE people (id INT PRIMARY KEY, title VARCHAR(20), secret VARCHAR(20), at DATETIME, p DECIMAL(9,2))"
    )
    transforms = {
        "rename": [{"tables": [f"{two.database}.t"], "table": "people", "columns": {"name": "title"}}],
        "columns": [{"tables": [f"{two.database}.t"], "exclude": ["note"]}],
        "mask": [{"tables": [f"{two.database}.t"], "columns": ["secret"], "fixed": "x"}],
        "filter": [
            {
                "tables": [f"{two.database}.t"],
                "where": "id < 10 AND name <> 'a' AND at >= '2024-01-01' AND (p > 1.5 OR name LIKE 'É%')",
            }
        ],
    }
    two.here(
        "INSERT INTO t VALUES (1,'A','s','n','2024-01-01',2), (2,'a','s','n','2024-01-02',2),"
        " (3,'Éa','s','n','2024-01-03',0), (4,'éa','s','n','2024-01-03',0), (11,'x','s','n','2024-01-03',9),"
        " (5,'x','s','n','2023-12-31',9), (6,NULL,'s','n','2025-01-01',9)"
    )
    two.there("INSERT INTO people VALUES (1,'A','x','2024-01-01',2), (3,'Éa','x','2024-01-03',0)")
    config = two.config(transforms=transforms)
    result = verify(config)["t"]
    assert (summary(result), result.rows, result.target) == (("equal", 0, 0, 0), 2, f"{two.other}.people")
    assert result.not_compared == {"secret": "masked", "note": "excluded by the task"}
    two.there("INSERT INTO people VALUES (2,'a','x','2024-01-02',2)", "UPDATE people SET title = 'B' WHERE id = 1")
    result = verify(config)["t"]
    assert summary(result) == ("differs", 0, 1, 1)
    assert [each.columns for each in result.samples if each.columns] == [("name",)]
    quiet = two.config(transforms={"operations": [{"skip": ["delete"]}]})
    assert verify(quiet)["t"].result == "not_compared"


def test_tables_that_are_merged_are_not_compared(two: Pair) -> None:
    two.here("CREATE TABLE a (id INT PRIMARY KEY)", "CREATE TABLE b (id INT PRIMARY KEY)")
    two.there("CREATE TABLE a (id INT PRIMARY KEY)", "INSERT INTO a VALUES (1),(2)")
    rename = [{"tables": [f"{two.database}.b"], "table": "a"}]
    found = verify(two.config(transforms={"rename": rename}), f"{two.database}.b")
    assert (found["b"].result, "several tables" in found["b"].note) == ("not_compared", True)


def test_a_renamed_key_is_found(two: Pair) -> None:
    two.here("CREATE TABLE t (k VARCHAR(9) PRIMARY KEY, v INT)", "INSERT INTO t VALUES ('a',1),('b',2)")
    two.there("CREATE TABLE t (x INT, v INT, name VARCHAR(9) PRIMARY KEY)", "INSERT INTO t VALUES (0,1,'a'),(0,3,'b')")
    rename = [{"tables": [f"{two.database}.t"], "columns": {"k": "name"}}]
    result = verify(two.config(transforms={"rename": rename}))["t"]
    assert (summary(result), result.key) == (("differs", 0, 0, 1), ("k",))


@pytest.mark.parametrize("hidden", ["GRANT SELECT (id) ON {0}.t TO {1}", ""])
def test_what_an_account_may_not_read_is_an_error(two: Pair, hidden: str) -> None:
    two.both("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "CREATE TABLE u (id INT PRIMARY KEY)")
    user = f"v{two.other}"[:30]
    two.target.execute(f"CREATE USER {user} IDENTIFIED BY ''")
    try:
        two.target.execute(f"GRANT SELECT ON {two.other}.u TO {user}")
        if hidden:
            two.target.execute(hidden.format(two.other, user))
        found = verify(two.config(sink={"user": user, "password": "env:REPL_NO_PASSWORD"}))
        assert found["t"].result == "error" and found["t"].note.startswith("E3405"), found["t"]
        assert found["u"].result == "equal"
    finally:
        two.target.execute(f"DROP USER {user}")


def test_patterns_choose_tables(two: Pair) -> None:
    two.both("CREATE TABLE a (id INT PRIMARY KEY)", "CREATE TABLE b (id INT PRIMARY KEY)")
    assert set(verify(two.config(), f"{two.database}.b")) == {"b"}


def test_long_rows_are_compared(direction: Pair) -> None:
    direction.both("CREATE TABLE t (id INT PRIMARY KEY, v LONGBLOB)")
    direction.both("INSERT INTO t VALUES (1, REPEAT('a', 300000)), (2, REPEAT('b', 3000000)), (3, '')")
    config = direction.config()
    assert verify(config)["t"].result == "equal"
    direction.there("UPDATE t SET v = CONCAT(REPEAT('b', 2999999), 'c') WHERE id = 2")
    assert summary(verify(config)["t"]) == ("differs", 0, 0, 1)
