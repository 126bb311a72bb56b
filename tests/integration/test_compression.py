"""The same statements with compression and without give the same records, on real servers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dev.servers import MariaDB, MySQL
from dev.servers.database import Database
from replicator.decode.binlog import event_types
from tests.support import script
from tests.support.decoded import told

ZOO = Path(__file__).parent.parent / "support" / "type_zoo.sql"
BEHAVIOUR = """
CREATE TABLE many (id INT PRIMARY KEY, v VARCHAR(200), n INT);
BEGIN;
INSERT INTO many VALUES (1, REPEAT('a', 200), 1), (2, '', NULL);
SAVEPOINT s;
INSERT INTO many VALUES (3, 'undone', 3);
ROLLBACK TO s;
UPDATE many SET v = REPEAT('b', 150);
UPDATE many SET id = 20 WHERE id = 2;
DELETE FROM many WHERE id = 1;
COMMIT;
INSERT INTO many SELECT id + 100, REPEAT(v, 1), n FROM many;
CREATE TABLE copied AS SELECT * FROM many;
ALTER TABLE many ADD COLUMN d DECIMAL(9,2);
UPDATE many SET d = 1.5;
TRUNCATE TABLE many;
XA START 'x';
INSERT INTO many VALUES (7, REPEAT('x', 180), 7, 7);
XA END 'x';
XA COMMIT 'x' ONE PHASE
"""
COLUMNS = """
CREATE TABLE packed (id INT PRIMARY KEY{columns});
INSERT INTO packed VALUES (1{empty});
INSERT INTO packed VALUES (2{short});
INSERT INTO packed VALUES (3{long});
INSERT INTO packed VALUES (4{null});
UPDATE packed SET c5 = REPEAT('changed ', 30), c8 = NULL WHERE id = 3;
SET SESSION column_compression_zlib_wrap = ON;
INSERT INTO packed VALUES (5{long});
SET SESSION column_compression_zlib_level = 0;
INSERT INTO packed VALUES (6{long});
SET SESSION column_compression_threshold = 0;
INSERT INTO packed VALUES (7{short});
DELETE FROM packed WHERE id = 2
"""
TYPES = (
    "VARCHAR(10){} CHARACTER SET utf8mb4",
    "VARCHAR(254){} CHARACTER SET latin1",
    "VARCHAR(255){} CHARACTER SET latin1",
    "VARCHAR(256){} CHARACTER SET latin1",
    "VARCHAR(63){} CHARACTER SET utf8mb4",
    "VARCHAR(3000){} CHARACTER SET utf16",
    "VARBINARY(255){}",
    "TINYTEXT{} CHARACTER SET cp1251",
    "TEXT{} CHARACTER SET utf8mb4",
    "MEDIUMTEXT{} CHARACTER SET swe7",
    "LONGTEXT{} CHARACTER SET gbk",
    "TINYBLOB{}",
    "BLOB{}",
    "LONGBLOB{}",
)


def zoo(server: Database) -> Iterator[str]:
    kind = "mariadb" if isinstance(server, MariaDB) else "mysql"
    yield from script.statements(ZOO, only={"both", kind})
    yield from (statement.strip() for statement in BEHAVIOUR.split(";"))


def columns(word: str) -> Iterator[str]:
    longest = [int(found[1]) if (found := re.search(r"\((\d+)\)", kind)) else 254 for kind in TYPES]
    text = COLUMNS.format(
        columns="".join(f", c{place} {kind.format(word)}" for place, kind in enumerate(TYPES)),
        empty=", ''" * len(TYPES),
        short=", 'a'" * len(TYPES),
        long="".join(f", REPEAT('b', {size})" for size in longest),
        null=", NULL" * len(TYPES),
    )
    yield from (statement.strip() for statement in text.split(";"))


def test_mysql(make_mysql: Callable[..., MySQL]) -> None:
    server = make_mysql()
    plain, types = told(server, zoo(server))
    assert event_types.TRANSACTION_PAYLOAD not in types
    server.execute("SET GLOBAL binlog_transaction_compression = ON")
    packed, types = told(server, zoo(server))
    assert types[event_types.TRANSACTION_PAYLOAD] > 20
    assert len(plain) > 60
    assert packed == plain


def test_mariadb(make_mariadb: Callable[..., MariaDB]) -> None:
    server = make_mariadb()
    plain, types = told(server, zoo(server))
    assert max(types) < event_types.MARIADB_QUERY_COMPRESSED
    server.execute("SET GLOBAL log_bin_compress_min_len = 10")
    server.execute("SET GLOBAL log_bin_compress = ON")
    packed, types = told(server, zoo(server))
    assert {event_types.MARIADB_QUERY_COMPRESSED, 166, 167, 168} <= set(types)
    assert len(plain) > 60
    assert packed == plain


@pytest.mark.parametrize("compress", ["OFF", "ON"])
def test_compressed_columns(make_mariadb: Callable[..., MariaDB], compress: str) -> None:
    """Alone and in compressed events: the values are those of columns that are not COMPRESSED."""
    server = make_mariadb()
    plain, _ = told(server, columns(""))
    server.execute("SET GLOBAL log_bin_compress_min_len = 10")
    server.execute(f"SET GLOBAL log_bin_compress = {compress}")
    packed, types = told(server, columns(" COMPRESSED"))
    assert (166 in types) == (compress == "ON")
    assert len(plain) == 10
    assert packed == plain
