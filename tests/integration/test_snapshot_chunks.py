"""Chunks by key: every row once, whatever the key is made of, in the order of the server."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import msgspec
import pytest

from dev.servers import Database, MariaDB, MySQL
from replicator.config.task import MySQLSource
from replicator.mysql import prepared, table_shape
from replicator.mysql import table_key as keys
from replicator.mysql.row_images.row_image import RowImages
from replicator.mysql.server import Server, read_server
from replicator.mysql.session import Session
from replicator.pipeline.ports import TableChanged
from replicator.source.mysql import MySQLSource as Source
from replicator.source.mysql.snapshot import MySQLSnapshotSource

SETTINGS = "SET SESSION time_zone = '+00:00', sql_mode = '', character_set_results = NULL"
TABLES = {
    "ints": ("id INT PRIMARY KEY", "(-5),(-1),(0),(3),(2147483647),(-2147483648),(7)"),
    "unsigneds": ("id BIGINT UNSIGNED PRIMARY KEY", "(0),(18446744073709551615),(9223372036854775808),(5)"),
    "mediums": ("id MEDIUMINT UNSIGNED PRIMARY KEY", "(0),(16777215),(8388608),(5)"),
    "texts": ("id VARCHAR(20) PRIMARY KEY", "('b'),('A'),('ö'),('😀'),(''),('a b'),('quo''te'),('zz\\\\z')"),
    "latin": (
        "id VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_swedish_ci PRIMARY KEY",
        "('é'),('z'),('ö'),('Å'),('k')",
    ),
    "wide": ("id VARCHAR(20) CHARACTER SET utf16 PRIMARY KEY", "('é'),('z'),('😀'),('Å'),('k')"),
    "bytes": ("id VARBINARY(20) PRIMARY KEY", "(X''),(X'00'),(X'0000'),(X'FF'),(X'27'),(X'5C00')"),
    "fixed": ("id BINARY(4) PRIMARY KEY", "(X''),(X'01'),(X'010001'),(X'FF00FF00'),(X'27'),(X'5C00')"),
    "decimals": ("id DECIMAL(20,5) PRIMARY KEY", "(-1.5),(0),(0.00001),(123456789012345.12345),(-99999.99999)"),
    "dates": ("id DATE PRIMARY KEY", "('0000-00-00'),('2024-02-29'),('9999-12-31'),('2024-00-00')"),
    "moments": ("id DATETIME(3) PRIMARY KEY", "('2024-02-29 01:02:03.004'),('1000-01-01'),('9999-12-31 23:59:59.999')"),
    "stamps": (
        "id TIMESTAMP(6) PRIMARY KEY",
        "('2024-02-29 01:02:03.000004'),('1970-01-01 00:00:01'),('2024-10-27 01:30:00')",
    ),
    "times": ("id TIME(2) PRIMARY KEY", "('-838:59:59'),('00:00:00.01'),('-00:00:00.01'),('12:00:00')"),
    "years": ("id YEAR PRIMARY KEY", "(0),(1901),(2155),(2024)"),
    "choices": ("id ENUM('z','a','m') PRIMARY KEY", "('a'),('z'),('m')"),
    "sets": ("id SET('z','a','m') PRIMARY KEY", "(''),('a'),('z,m'),('a,m')"),
    "bits": ("id BIT(33) PRIMARY KEY", "(0),(1),(8589934591),(256)"),
    "pairs": (
        "a INT, b VARCHAR(9), c SMALLINT, PRIMARY KEY (b, a, c)",
        "(1,'x',1),(1,'x',2),(1,'y',1),(2,'x',1),(2,'X ',3),(0,'y',9),(5,'a',5),(5,'a',-5)",
    ),
    "unique_only": ("a INT, b INT NOT NULL, UNIQUE KEY zz (a), UNIQUE KEY yy (b)", "(NULL,1),(NULL,2),(3,3),(4,4)"),
}


@pytest.fixture(params=["mysql", "mariadb"])
def server(request: pytest.FixtureRequest) -> Database:
    server = request.getfixturevalue(request.param)
    assert isinstance(server, (MySQL, MariaDB))
    return server


@pytest.fixture
def place(server: Database, request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("mariadb_database" if isinstance(server, MariaDB) else "database"))


@pytest.fixture
def session(server: Database) -> Iterator[Session]:
    user, password = server.replicator
    kind = "mariadb" if isinstance(server, MariaDB) else "mysql"
    data = {
        "type": kind,
        "host": server.host,
        "port": server.port,
        "user": user,
        "password": "env:REPL_X",
        "tables": ["*.*"],
    }
    with Session(MySQLSource.model_validate(data), password) as session:
        yield session


def walk(session: Session, server: Server, table: table_shape.TableShape, size: int) -> list[bytes]:
    chosen = keys.choose(session, table)
    assert chosen is not None
    found: list[bytes] = []
    low: keys.Bound | None = None
    while True:
        where = keys.condition(table, chosen, low, None) + keys.order(table, chosen)
        answer = prepared.Answer(session, f"{table.select}{where} LIMIT {size}")
        images = RowImages(table.columns, answer.types, mariadb=server.mariadb)
        packets = list(answer.rows())
        found += [images.image(packet) for packet in packets]
        if len(packets) < size:
            return found
        low = keys.Bounds(table, chosen, answer.types).of(packets[-1])
        again = prepared.Answer(session, f"{table.select}{keys.condition(table, chosen, None, low)}")
        assert len(list(again.rows())) == len(found)


def test_every_row_once(server: Database, place: str, session: Session) -> None:
    connection = server.connect(database=place)
    with connection.cursor() as cursor:
        cursor.execute("SET sql_mode = '', time_zone = '+00:00'")
        for name, (columns, rows) in TABLES.items():
            cursor.execute(f"CREATE TABLE {name} ({columns}) CHARACTER SET utf8mb4")
            cursor.execute(f"INSERT INTO {name} VALUES {rows}")
    connection.commit()
    connection.close()
    described = read_server(session)
    tables = {name: table_shape.read(session, described, place, name) for name in TABLES}
    session.rows(SETTINGS)
    for name, table in tables.items():
        answer = prepared.Answer(session, table.select)
        images = RowImages(table.columns, answer.types, mariadb=described.mariadb)
        whole = sorted(images.image(packet) for packet in answer.rows())
        for size in (1, 2, 3, 100):
            walked = walk(session, described, table, size)
            assert sorted(walked) == whole, (name, size)


def test_no_key_that_orders(server: Database, place: str, session: Session) -> None:
    for name, columns in {
        "none": "a INT",
        "nullable": "a INT, UNIQUE KEY (a)",
        "prefix": "a VARCHAR(50) NOT NULL, UNIQUE KEY (a(5))",
        "floating": "a DOUBLE PRIMARY KEY",
    }.items():
        server.execute(f"CREATE TABLE {place}.{name} ({columns})")
        described = read_server(session)
        assert keys.choose(session, table_shape.read(session, described, place, name)) is None, name


@pytest.mark.parametrize(
    ("before", "rows", "after"),
    [
        ("INT", "(8), (9), (10), (11)", "VARCHAR(20)"),
        ("DECIMAL(10,2)", "(1.04), (1.16), (2.04), (2.26)", "DECIMAL(10,1)"),
        (
            "DATETIME(3)",
            "('2024-01-01 00:00:01.4'), ('2024-01-01 00:00:02.6'), ('2024-01-02'), ('2024-01-03')",
            "DATETIME",
        ),
        ("BINARY(3)", "('a'), ('b'), ('c'), ('d')", "BINARY(4)"),
    ],
)
def test_a_key_of_another_type_begins_the_table_again(
    server: Database, place: str, before: str, rows: str, after: str
) -> None:
    """By number 9 is before 10, by text it is behind: bounds of one order mean nothing in another. A value that the
    statement has rounded is before the bound that was made of it, or behind."""
    server.execute(f"CREATE TABLE {place}.t (id {before} PRIMARY KEY)")
    server.execute(f"INSERT INTO {place}.t VALUES {rows}")
    settings = {"type": server.release.flavour, "port": server.port, "user": "replicator", "password": "env:X"}
    config = MySQLSource.model_validate(settings | {"tables": [f"{place}.*"]})
    passed = Source(config, "t", "replicator").end_position()
    with contextlib.closing(MySQLSnapshotSource(config, "replicator").open("")) as reader:
        table = reader.begin(f"{place}.t")
        assert table is not None
        table = msgspec.structs.replace(table, done=reader.read(table, 2, passed).last)
    server.execute(f"ALTER TABLE {place}.t MODIFY id {after}")
    with contextlib.closing(MySQLSnapshotSource(config, "replicator").open("")) as reader:
        with pytest.raises(TableChanged):
            reader.read(table, 2, passed)
        table = reader.begin(f"{place}.t")
        assert table is not None
        assert len(reader.read(table, 10, passed).images) == 4
