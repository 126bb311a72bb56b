"""binlog_row_image MINIMAL and NOBLOB on real servers: what comes of them against the same statements logged FULL."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dev.servers import Database, MariaDB, MySQL
from replicator.decode.decoder import BinlogDecoder
from replicator.errors import DecodeError
from replicator.model.plan import Member, Members, RecordPlan, TablePlan, Text, Value
from replicator.model.position import Position
from replicator.model.table import Table
from tests.support import script
from tests.support.decoded import new_file
from tests.unit.decode.binlog_writer import hexadecimal, server_error

TABLES = (
    "CREATE TABLE p (id INT AUTO_INCREMENT PRIMARY KEY, a INT DEFAULT 5, v VARCHAR(50) DEFAULT 'dflt', t TEXT, b BLOB,"
    " n INT NULL UNIQUE, ts TIMESTAMP(3) DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3), d DOUBLE)",
    "CREATE TABLE q (a INT NOT NULL, v VARCHAR(10), b INT NOT NULL, t TEXT, PRIMARY KEY (b, a))",
    "CREATE TABLE u (a INT NOT NULL UNIQUE, b INT, t TEXT)",
    "CREATE TABLE n (a INT, b VARCHAR(20), t TEXT)",
)
CHANGES = (
    "SET timestamp = 1700003000",
    "INSERT INTO p (a, v, t, b, n, d) VALUES (1, 'full', 'text', X'00FF', 1, 0.5)",
    "INSERT INTO p (v) VALUES ('one'), ('two'), ('three')",
    "INSERT INTO p () VALUES ()",
    "UPDATE p SET v = 'one column' WHERE id = 1",
    "UPDATE p SET t = NULL, b = NULL WHERE id = 1",
    "UPDATE p SET a = NULL, t = 'again'",
    "UPDATE p SET d = -0.0 WHERE id = 2",
    "UPDATE p SET d = 0.0 WHERE id = 2",
    "UPDATE p SET id = id + 100 WHERE id IN (1, 3)",
    "UPDATE p SET id = 1, v = 'both' WHERE id = 101",
    "INSERT INTO p (id, v) VALUES (2, 'x') ON DUPLICATE KEY UPDATE v = 'odku'",
    "REPLACE INTO p (id, v) VALUES (2, 'replaced')",
    "DELETE FROM p WHERE id < 3",
    "INSERT INTO q VALUES (1, 'v', 2, 't'), (3, NULL, 4, NULL)",
    "UPDATE q SET v = 'w'",
    "UPDATE q SET a = a + 1",
    "UPDATE q SET t = 'new'",
    "DELETE FROM q",
    "INSERT INTO u (a, t) VALUES (1, 'x'), (2, NULL)",
    "UPDATE u SET b = 2",
    "UPDATE u SET a = a + 10 ORDER BY a",
    "DELETE FROM u",
    "INSERT INTO n VALUES (1, 'x', 't')",
    "INSERT INTO n (a) VALUES (2)",
    "INSERT INTO n () VALUES ()",
    "UPDATE n SET b = 'y' WHERE a = 1",
    "UPDATE n SET t = NULL",
    "DELETE FROM n",
)
DEFAULTS = {"p": {"a": "05000000", "v": b"dflt".hex()}}
JSON = ("CREATE TABLE j (id INT PRIMARY KEY, j JSON, v VARCHAR(10), k JSON)",)
JSON_CHANGES = (
    "SET SESSION binlog_row_value_options = 'PARTIAL_JSON'",
    "INSERT INTO j VALUES (1, JSON_OBJECT('a', 1, 'b', REPEAT('x', 100)), 'v', JSON_ARRAY(1, REPEAT('x', 100)))",
    "UPDATE j SET v = 'w'",
    "UPDATE j SET j = '[]'",
    "UPDATE j SET k = '[3]', v = 'x'",
    "UPDATE j SET j = '{}', v = NULL",
)


def planned(table: Table) -> TablePlan | None:
    if table.database != "images":
        return None

    def members(image: Any, **options: Any) -> Members:
        return Members(tuple(Member(c.name, Value(c.index, image, "hex")) for c in table.columns), **options)

    def record(operation: str, image: Any) -> RecordPlan:
        key = tuple(Value(index, image, "hex") for index in table.primary_key)
        data, old = members(image), members("before", changed=True) if operation == "update" else Text("null")
        kept = members(image, kept=True)
        head = Text(f'{{"table":"{table.name}","op":"{operation}","data":')
        return RecordPlan(key, (head, data, Text(',"kept":'), kept, Text(',"old":'), old, Text("}")))

    return TablePlan(
        table.name, (record("insert", "after"),), (record("update", "after"),), (record("delete", "before"),)
    )


def told(server: Database, image: str, tables: tuple[str, ...], changes: tuple[str, ...]) -> list[Any]:
    """(key, what the record says) of every row."""
    server.execute("CREATE DATABASE images CHARACTER SET utf8mb4")
    try:
        since = new_file(server)
        session = [*tables, f"SET SESSION binlog_row_image = {image}", *changes]
        script.run(server, iter(session), database="images")
    finally:
        server.execute("DROP DATABASE images")
    return decode(server, since)


def decode(server: Database, since: str, row_image: Any = "accept_partial") -> list[Any]:
    ((folder,),) = server.execute("SELECT @@datadir")
    decoder = BinlogDecoder(
        planned,
        position=Position(since, 4),
        flavor="mariadb" if isinstance(server, MariaDB) else "mysql",
        framing="file",
        server_error=server_error,
        rendering=hexadecimal,
        row_image=row_image,
    )
    raw = (Path(str(folder)) / since).read_bytes()[4:]
    batches = [*decoder.feed(raw), *decoder.feed(b"")]
    return [(record[1], json.loads(record[2] or b"")) for batch in batches for record in batch.records]


@pytest.fixture(params=["mysql", "mariadb"])
def server(request: pytest.FixtureRequest) -> Database:
    found: Database = request.getfixturevalue(request.param)
    return found


@pytest.mark.parametrize("image", ["MINIMAL", "NOBLOB"])
def test_what_a_consumer_knows_in_the_end_is_the_same(server: Database, image: str) -> None:
    """Every partial record, laid over what the consumer has of the row, gives the row as the full one has it."""
    whole, partial = (told(server, name, TABLES, CHANGES) for name in ("FULL", image))
    shorter = 0
    for (key, full), (partial_key, found) in zip(whole, partial, strict=True):
        name, operation = full["table"], full["op"]
        assert (partial_key, found["table"], found["op"]) == (key, name, operation)
        assert found["data"].items() <= found["kept"].items() <= full["data"].items()
        assert (found["old"] or {}).items() <= (full["old"] or {}).items()
        shorter += len(found["kept"]) < len(full["data"])
        if operation == "insert":
            unset = dict.fromkeys(full["data"]) | DEFAULTS.get(name, {})
            assert unset | found["data"] == full["data"]
        elif operation == "update":
            assert full["data"] | full["old"] | found["kept"] == full["data"]
    assert shorter > 10
    assert len(whole) > 30


def test_a_session_that_logs_less_stops_a_task_that_wants_all(server: Database) -> None:
    server.execute("CREATE DATABASE images")
    since = new_file(server)
    session = [TABLES[0], "SET SESSION binlog_row_image = MINIMAL", "INSERT INTO p (v) VALUES ('x')"]
    script.run(server, iter(session), database="images")
    server.execute("DROP DATABASE images")
    with pytest.raises(DecodeError, match=r"E2304 .*images\.p"):
        decode(server, since, "require_full")
    assert len(decode(server, since)) == 1


def test_partial_json_in_partial_images(mysql: MySQL) -> None:
    noblob = (
        "UPDATE j SET j = JSON_SET(j, '$[0]', 1)",
        "UPDATE j SET k = JSON_SET(k, '$[0]', 2), v = 'y'",
        "DELETE FROM j",
    )
    whole = told(mysql, "FULL", JSON, (*JSON_CHANGES, *noblob))
    assert told(mysql, "NOBLOB", JSON, (*JSON_CHANGES, *noblob)) == whole
    changed = [set(found["data"]) for _, found in told(mysql, "MINIMAL", JSON, JSON_CHANGES)]
    assert changed == [{"id", "j", "v", "k"}, {"v"}, {"j"}, {"v", "k"}, {"j", "v"}]
    with pytest.raises(DecodeError, match=r"E2304 .*images\.j has changes to a JSON document"):
        told(mysql, "MINIMAL", JSON, (*JSON_CHANGES[:2], "UPDATE j SET k = JSON_SET(k, '$[0]', 2)"))
