"""What each form of DDL does to the definitions of both servers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from replicator.model import types
from replicator.model.table import Column, Table
from replicator.schema.definitions import decode, encode
from replicator.schema.parser import parse
from replicator.schema.server_schema import ServerSchema
from replicator.schema.tokens import NotUnderstood
from tests.support.present import present

ZOO = Path(__file__).parents[2] / "golden" / "zoo.sql"


def schema(*statements: str, mariadb: bool = False) -> ServerSchema:
    made = ServerSchema(mariadb=mariadb)
    for statement in statements:
        operation = parse(statement, mariadb=mariadb).operation
        assert operation is not None, statement
        made.apply(operation, "d")
    return made


def table(*statements: str, name: str = "t", mariadb: bool = False) -> Table:
    found = schema(*statements, mariadb=mariadb).table(("d", name))
    assert found is not None
    return found


def column(definition: str, *, mariadb: bool = False, options: str = "") -> Column:
    return table(f"CREATE TABLE t (c {definition}) {options}", mariadb=mariadb).columns[0]


def names(found: Table) -> list[str]:
    return [each.name for each in found.columns]


@pytest.mark.parametrize(
    ("written", "type_", "arguments", "code", "meta"),
    [
        ("BOOL", "BOOL", (), types.TINY, 0),
        ("boolean", "BOOLEAN", (), types.TINY, 0),
        ("TINYINT(1)", "TINYINT", ("1",), types.TINY, 0),
        ("INTEGER", "INTEGER", (), types.LONG, 0),
        ("INT(8) ZEROFILL", "INT", ("8",), types.LONG, 0),
        ("SERIAL", "SERIAL", (), types.LONGLONG, 0),
        ("DEC(8,3)", "DEC", ("8", "3"), types.NEWDECIMAL, 8 << 8 | 3),
        ("FIXED(8, 3)", "FIXED", ("8", "3"), types.NEWDECIMAL, 8 << 8 | 3),
        ("NUMERIC", "NUMERIC", (), types.NEWDECIMAL, 10 << 8),
        ("REAL", "REAL", (), types.DOUBLE, 8),
        ("DOUBLE PRECISION", "DOUBLE PRECISION", (), types.DOUBLE, 8),
        ("FLOAT(24)", "FLOAT", ("24",), types.FLOAT, 4),
        ("FLOAT(53)", "FLOAT", ("53",), types.DOUBLE, 8),
        ("FLOAT(7,3) UNSIGNED", "FLOAT", ("7", "3"), types.FLOAT, 4),
        ("BIT(33)", "BIT", ("33",), types.BIT, 4 << 8 | 1),
        ("CHAR", "CHAR", (), types.STRING, 4),
        ("CHAR(10) CHARACTER SET latin1", "CHAR", ("10",), types.STRING, 10),
        ("NATIONAL VARCHAR(5)", "NATIONAL VARCHAR", ("5",), types.VARCHAR, 15),
        ("character varying(5)", "CHARACTER VARYING", ("5",), types.VARCHAR, 20),
        ("LONG VARCHAR", "LONG VARCHAR", (), types.BLOB, 3),
        ("TEXT(100)", "TEXT", ("100",), types.BLOB, 2),
        ("VARBINARY(20)", "VARBINARY", ("20",), types.VARCHAR, 20),
        ("ENUM('a','b,c','q''u')", "ENUM", ("a", "b,c", "q'u"), types.ENUM, 1),
        ("SET('x', \"y\")", "SET", ("x", "y"), types.SET, 1),
        ("DATETIME(3)", "DATETIME", ("3",), types.DATETIME2, 3),
        ("YEAR", "YEAR", (), types.YEAR, 0),
        ("JSON", "JSON", (), types.JSON, 4),
        ("POINT NOT NULL SRID 4326", "POINT", (), types.GEOMETRY, 4),
        ("VECTOR(3)", "VECTOR", ("3",), types.VECTOR, 4),
    ],
)
def test_types_keep_their_spelling(written: str, type_: str, arguments: tuple[str, ...], code: int, meta: int) -> None:
    found = column(written)
    assert found.declared is not None
    assert (found.declared.type, found.declared.arguments, found.type, found.meta) == (type_, arguments, code, meta)


def test_types_of_mariadb() -> None:
    assert column("JSON", mariadb=True).type == types.BLOB
    assert column("UUID", mariadb=True).meta == 16
    assert column("VARCHAR(10) /*!100301 COMPRESSED*/", mariadb=True).type == types.MARIADB_VARCHAR_COMPRESSED
    assert column("TEXT /*M!100301 COMPRESSED*/", mariadb=True).type == types.MARIADB_BLOB_COMPRESSED


@pytest.mark.parametrize(
    ("written", "default", "expression"),
    [
        ("INT DEFAULT 7", "7", False),
        ("INT DEFAULT -7", "-7", False),
        ("INT DEFAULT NULL", None, False),
        ("INT", None, False),
        ("BOOL NOT NULL DEFAULT TRUE", "TRUE", False),
        ("BIT(3) DEFAULT b'101'", "b'101'", False),
        ("VARCHAR(20) DEFAULT 'd''e\\n'", "d'e\n", False),
        ("VARCHAR(20) DEFAULT _utf8mb4'x'", "x", False),
        ("DATE DEFAULT DATE '2020-01-01'", "2020-01-01", False),
        ("TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE NOW(6)", "CURRENT_TIMESTAMP(6)", True),
        ("INT DEFAULT (1 + (2))", "(1 + (2))", True),
        ("CHAR(36) DEFAULT uuid()", "uuid()", True),
    ],
)
def test_defaults(written: str, default: str | None, expression: bool) -> None:
    declared = column(written).declared
    assert declared is not None
    assert (declared.has_default, declared.default, declared.default_is_expression) == (True, default, expression)


def test_attributes() -> None:
    declared = column("INT UNSIGNED AUTO_INCREMENT UNIQUE COMMENT 'it''s' COLUMN_FORMAT DYNAMIC STORAGE DISK").declared
    assert declared is not None
    assert (declared.unsigned, declared.auto_increment, declared.comment) == (True, True, "it's")
    for text, generated in (("AS (1) STORED", "STORED"), ("GENERATED ALWAYS AS (1)", "VIRTUAL"), ("INVISIBLE", "")):
        found = column(f"INT {text} CHECK (c > (0)) NOT ENFORCED REFERENCES o (id) ON DELETE SET NULL")
        assert found.declared is not None
        assert found.declared.generated == generated
        assert found.visible is (text != "INVISIBLE")
    found = column("TIMESTAMP NULL DEFAULT NOW() ON UPDATE NOW()")
    assert present(found.declared).on_update == "NOW()"


def test_character_sets_are_inherited() -> None:
    def of(definition: str, options: str = "") -> tuple[str | None, str | None]:
        declared = column(definition, options=options).declared
        assert declared is not None
        return declared.charset, declared.collation

    assert of("VARCHAR(5)") == ("utf8mb4", "utf8mb4_0900_ai_ci")
    assert of("VARCHAR(5)", "CHARSET latin1") == ("latin1", "latin1_swedish_ci")
    assert of("VARCHAR(5)", "DEFAULT COLLATE = utf8_bin") == ("utf8mb3", "utf8mb3_bin")
    assert of("VARCHAR(5) COLLATE gbk_bin", "CHARSET latin1") == ("gbk", "gbk_bin")
    assert of("VARCHAR(5) BINARY", "CHARSET latin1") == ("latin1", "latin1_bin")
    assert of("CHAR(5) ASCII") == ("latin1", "latin1_swedish_ci")
    assert of("CHAR(5) BYTE") == ("binary", "binary")
    assert of("NCHAR(5)") == ("utf8mb3", "utf8mb3_general_ci")
    assert of("VARBINARY(5)") == of("INT") == (None, None)
    made = schema("CREATE DATABASE d CHARACTER SET gbk", "CREATE TABLE t (c TEXT)", "ALTER DATABASE d CHARSET ucs2")
    assert present(made.table(("d", "t"))).charset == "gbk"
    assert made.default("d").charset == "ucs2"


BASE = "CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(10), UNIQUE KEY ua (a))"


@pytest.mark.parametrize(
    ("clauses", "wanted"),
    [
        ("ADD c INT", ["id", "a", "b", "c"]),
        ("ADD COLUMN c INT FIRST", ["c", "id", "a", "b"]),
        ("ADD c INT AFTER id, ADD COLUMN e INT AFTER c", ["id", "c", "e", "a", "b"]),
        ("ADD COLUMN (c INT, e INT, KEY (c)), ALGORITHM=INPLACE, LOCK=NONE", ["id", "a", "b", "c", "e"]),
        ("DROP a", ["id", "b"]),
        ("DROP COLUMN a, DROP COLUMN b", ["id"]),
        ("CHANGE a z BIGINT FIRST", ["z", "id", "b"]),
        ("MODIFY COLUMN a BIGINT AFTER b", ["id", "b", "a"]),
        ("RENAME COLUMN a TO b, RENAME COLUMN b TO a", ["id", "b", "a"]),
        ("CHANGE a b INT, CHANGE b a INT AFTER id", ["id", "a", "b"]),
        ("DROP COLUMN IF EXISTS x, MODIFY IF EXISTS x INT, ADD IF NOT EXISTS a INT", ["id", "a", "b"]),
        ("DROP a, ADD a TEXT FIRST", ["a", "id", "b"]),
        ("ALTER A SET DEFAULT 5, ALTER COLUMN b DROP DEFAULT", ["id", "a", "b"]),
        ("ADD CONSTRAINT x FOREIGN KEY (a) REFERENCES o (id), ADD CHECK (a > 1), DROP FOREIGN KEY x", ["id", "a", "b"]),
        (
            "ADD FULLTEXT INDEX (b), ALTER INDEX ua INVISIBLE, RENAME INDEX ua TO u, ORDER BY a, b DESC",
            ["id", "a", "b"],
        ),
        ("ENGINE=InnoDB ROW_FORMAT=DYNAMIC COMMENT='x' AUTO_INCREMENT 5", ["id", "a", "b"]),
        ("PARTITION BY HASH(id) PARTITIONS 4", ["id", "a", "b"]),
        ("TRUNCATE PARTITION p0, p1", ["id", "a", "b"]),
        ("REORGANIZE PARTITION p0 INTO (PARTITION p1 VALUES LESS THAN (5))", ["id", "a", "b"]),
        ("DISABLE KEYS", ["id", "a", "b"]),
    ],
)
def test_alter_table(clauses: str, wanted: list[str]) -> None:
    assert names(table(BASE, f"ALTER TABLE d.t {clauses}")) == wanted


def test_keys() -> None:
    def keys(*statements: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        found = table(*statements)
        return found.primary_key, found.unique_key

    assert keys(BASE) == ((0,), ())
    assert keys(BASE, "ALTER TABLE t MODIFY a INT NOT NULL") == ((0,), (1,))
    assert keys(BASE, "ALTER TABLE t MODIFY a INT NOT NULL, DROP PRIMARY KEY") == ((1,), (1,))
    assert keys(BASE, "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (b, id)") == ((2, 0), ())
    assert keys(BASE, "DROP INDEX `PRIMARY` ON t") == ((), ())
    assert keys(BASE, "ALTER TABLE t ADD c INT PRIMARY KEY, DROP PRIMARY KEY") == ((3,), ())
    assert keys("CREATE TABLE t (a INT NOT NULL, b TEXT NOT NULL, UNIQUE (b(10)), UNIQUE (a))") == ((0,), (0,))
    assert keys("CREATE TABLE t (a INT NOT NULL)", "CREATE UNIQUE INDEX x USING BTREE ON t (a)") == ((0,), (0,))
    assert keys("CREATE TABLE t (a INT NOT NULL UNIQUE)", "ALTER TABLE t DROP INDEX a") == ((), ())
    assert keys("CREATE TABLE t (a INT, b INT, PRIMARY KEY (b, a))", "ALTER TABLE t DROP b, ADD c INT FIRST") == (
        (1,),
        (),
    )
    assert not table("CREATE TABLE t (a INT, PRIMARY KEY (a))").columns[0].nullable


def test_tables_come_go_and_move() -> None:
    made = schema(
        BASE,
        "CREATE TABLE l LIKE t",
        "CREATE TABLE x.l (LIKE t)",
        "CREATE TABLE IF NOT EXISTS l (other INT)",
        "RENAME TABLE t TO swap, l TO t, swap TO l",
        "ALTER TABLE l RENAME TO x.m",
        "CREATE TABLE p (z INT); ",
        "DROP TABLE IF EXISTS p, never",
    )
    assert sorted(made.names()) == [("d", "t"), ("x", "l"), ("x", "m")]
    operation = parse("DROP DATABASE x", mariadb=False).operation
    assert operation is not None
    made.apply(operation, "d")
    assert list(made.names()) == [("d", "t")]


def test_convert_to_lets_texts_grow() -> None:
    before = (
        "CREATE TABLE t (a TINYTEXT, b TEXT, c VARCHAR(5), d TEXT CHARACTER SET binary, e ENUM('ä')) CHARSET latin1"
    )
    found = table(before, "ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
    declared = [present(each.declared) for each in found.columns]
    assert [each.type for each in declared] == ["TEXT", "MEDIUMTEXT", "VARCHAR", "TEXT", "ENUM"]
    assert [each.charset for each in declared] == ["utf8mb4", "utf8mb4", "utf8mb4", "binary", "utf8mb4"]
    assert found.charset == "utf8mb4"


def test_names_as_people_write_them() -> None:
    found = table(
        'CREATE TABLE t (`i``d` INT, auto INT, `select` INT, "quoted" INT, 1num INT, 键 INT, `key` INT /* c */, -- x\n'
        "visible INT, # y\n enforced INT /*!80023 INVISIBLE */, period INT)"
    )
    assert names(found) == ["i`d", "auto", "select", "quoted", "1num", "键", "key", "visible", "enforced", "period"]
    assert not found.columns[8].visible


def test_a_versioned_table_has_two_more_columns() -> None:
    versioned = ("CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING", "ALTER TABLE t ADD w INT")
    found = table(*versioned, mariadb=True)
    assert names(found) == ["id", "v", "w", "row_start", "row_end"]
    assert found.primary_key == (0, 4)
    assert names(table(*versioned, "ALTER TABLE t DROP SYSTEM VERSIONING", mariadb=True)) == ["id", "v", "w"]


def test_what_the_definition_does_not_have_makes_the_table_unknown() -> None:
    for statement in ("DROP nothing", "ADD a INT", "RENAME COLUMN x TO y", "ADD PRIMARY KEY (x)"):
        made = schema(BASE, f"ALTER TABLE t {statement}")
        assert ("d", "t") in made
        assert made.table(("d", "t")) is None


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE t FLIP COLUMN a",
        "CREATE TABLE t (a INT SOMETIMES NULL)",
        "CREATE TABLE t (a INT",
        "ALTER TABLE t ADD COLUMN a VARCHAR('x",
    ],
)
def test_what_is_not_understood_is_said(text: str) -> None:
    with pytest.raises(NotUnderstood):
        parse(text, mariadb=False)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("CREATE DEFINER=`a`@`%` TRIGGER x AFTER INSERT ON t FOR EACH ROW SET @a = 1", "CREATE TRIGGER"),
        ("GRANT SELECT ON *.* TO u", "GRANT"),
        ("CREATE TEMPORARY TABLE t (a INT)", "CREATE TEMPORARY TABLE"),
        ("CREATE OR REPLACE ALGORITHM=MERGE VIEW v AS SELECT 1", "CREATE VIEW"),
        ("ANALYZE TABLE t", "ANALYZE"),
        ("SET STATEMENT max_statement_time=5 FOR CREATE USER u", "CREATE USER"),
    ],
)
def test_statements_that_are_of_no_concern(text: str, kind: str) -> None:
    parsed = parse(text, mariadb=True)
    assert (parsed.kind, parsed.operation) == (kind, None)


def test_the_whole_zoo() -> None:
    """Every DDL of the golden scripts is read, and what is held of each table is the same after being packed."""
    made, database, known = ServerSchema(mariadb=False), "", 0
    for statement in re.sub(r"^-- .*\n", "", ZOO.read_text(), flags=re.M).split(";\n"):
        use = re.match(r"\s*USE (\w+)", statement)
        database = use[1] if use else database
        operation = parse(statement, mariadb=False).operation
        if operation is not None:
            made.apply(operation, database)
    for key in made.names():
        definition = made.get(key)
        if definition is not None:
            known += 1
            assert decode(encode(definition)) == definition
            assert made.table(key) is not None
    assert known > 60
    assert [key for key in made.names() if made.get(key) is None] == [("zoo", "ctas")]
