"""The statements of gh-ost and pt-online-schema-change on a real server, with rows flowing: no row of the table is lost
or doubled, none of its copies is seen, and the swap is told as the DDL that it is."""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Iterator, Mapping

import msgspec
import pytest

from dev.servers.database import MySQL
from replicator.config.tables import TableFilter
from replicator.decode.decoder import BinlogDecoder
from replicator.model.metadata_event import Message, Moment, Statement
from replicator.model.plan import Image, RecordPlan, TablePlan, Text, Value
from replicator.model.position import Position
from replicator.model.table import Table
from replicator.pipeline.ports import Interest
from replicator.source.mysql import MySQLSource
from tests.integration.test_mysql_source import config

GH_OST = (
    "CREATE TABLE _item_ghc (id BIGINT AUTO_INCREMENT PRIMARY KEY, hint VARCHAR(64) NOT NULL UNIQUE, value TEXT)",
    "CREATE TABLE _item_gho LIKE item",
    "ALTER TABLE _item_gho ADD COLUMN note VARCHAR(20) NOT NULL DEFAULT 'n'",
    "INSERT INTO _item_ghc (hint, value) VALUES ('state', 'GhostTableMigrated')",
    "INSERT IGNORE INTO _item_gho (id, v) SELECT id, v FROM item LOCK IN SHARE MODE",
    "CREATE TABLE _item_del (id INT PRIMARY KEY) COMMENT='ghost-cut-over-sentry'",
)
GH_OST_SWAP = (
    "LOCK TABLES item WRITE, _item_gho WRITE, _item_del WRITE, item AS i READ",
    "REPLACE INTO _item_gho (id, v) SELECT id, v FROM item AS i",
    "DELETE FROM _item_gho WHERE id NOT IN (SELECT id FROM item AS i)",
    "DROP TABLE IF EXISTS _item_del",
    "RENAME TABLE item TO _item_del, _item_gho TO item",
    "UNLOCK TABLES",
    "DROP TABLE _item_ghc",
    "DROP TABLE _item_del",
)
PT = (
    "CREATE TABLE _item_new LIKE item",
    "ALTER TABLE _item_new ADD COLUMN note VARCHAR(20) NOT NULL DEFAULT 'n'",
    "CREATE TRIGGER pt_osc_del AFTER DELETE ON item FOR EACH ROW DELETE IGNORE FROM _item_new WHERE id <=> OLD.id",
    "CREATE TRIGGER pt_osc_upd AFTER UPDATE ON item FOR EACH ROW REPLACE INTO _item_new (id, v) VALUES (NEW.id, NEW.v)",
    "CREATE TRIGGER pt_osc_ins AFTER INSERT ON item FOR EACH ROW REPLACE INTO _item_new (id, v) VALUES (NEW.id, NEW.v)",
    "INSERT LOW_PRIORITY IGNORE INTO _item_new (id, v) SELECT id, v FROM item LOCK IN SHARE MODE",
    "ANALYZE TABLE _item_new",
)
PT_SWAP = (
    "RENAME TABLE item TO _item_old, _item_new TO item",
    "DROP TABLE IF EXISTS _item_old",
    "DROP TRIGGER IF EXISTS pt_osc_ins",
)


class Teller:
    """Statements as messages."""

    interests: frozenset[Interest] = frozenset({"statement"})

    def statement(self, statement: Statement, moment: Moment) -> list[Message]:
        return [Message("ddl", None, statement.text.encode())]

    def begin(self, moment: Moment) -> list[Message]:
        return []

    def end(self, moment: Moment, rows: Mapping[tuple[str, str], int]) -> list[Message]:
        return []

    def query(self, text: str, moment: Moment) -> list[Message]:
        return []

    def heartbeat(self, moment: Moment) -> list[Message]:
        return []


def planner(table: Table) -> TablePlan:
    def record(image: Image, op: str) -> tuple[RecordPlan, ...]:
        values = [Value(column.index, image, "text" if column.name == "note" else "int") for column in table.columns]
        steps = [step for value in values for step in (Text(","), value)]
        return (RecordPlan(None, (Text(f'["{op}"'), *steps, Text("]"))),)

    return TablePlan(table.name, record("after", "c"), record("after", "u"), record("before", "d"))


class Writer(threading.Thread):
    """Inserts, updates and deletes until it is told to stop."""

    def __init__(self, server: MySQL, database: str) -> None:
        super().__init__(daemon=True)
        self._rounds = 0
        self._server, self._database = server, database
        self._stop_now = threading.Event()

    def run(self) -> None:
        with contextlib.closing(self._server.connect(database=self._database)) as connection:
            cursor, number = connection.cursor(), 0
            while not self._stop_now.wait(0.001):
                number = self._rounds = number + 1
                cursor.execute("INSERT INTO item (id, v) VALUES (%s, %s)", (number, number))
                cursor.execute("UPDATE item SET v = v + 1000 WHERE id = %s", (number // 2,))
                cursor.execute("DELETE FROM item WHERE id = %s", (number // 3,))

    def go_on(self, rounds: int) -> None:
        """Returns when it has done so many more."""
        until, deadline = self._rounds + rounds, time.monotonic() + 20
        while self._rounds < until and self.is_alive() and time.monotonic() < deadline:
            time.sleep(0.002)
        assert self._rounds >= until

    def finish(self) -> None:
        self._stop_now.set()
        self.join()


@pytest.fixture
def name(mysql: MySQL) -> Iterator[str]:
    made = f"osc_{uuid.uuid4().hex[:8]}"
    mysql.execute(f"CREATE DATABASE {made}")
    mysql.execute(f"CREATE TABLE {made}.item (id INT PRIMARY KEY, v INT NOT NULL)")
    yield made
    mysql.execute(f"DROP DATABASE {made}")


@pytest.mark.parametrize(("before", "swap"), [(GH_OST, GH_OST_SWAP), (PT, PT_SWAP)], ids=["gh-ost", "pt-osc"])
def test_rows_and_the_swap(mysql: MySQL, name: str, before: tuple[str, ...], swap: tuple[str, ...]) -> None:
    source = MySQLSource(config(mysql), name, mysql.replicator[1])
    start = source.end_position()
    writer = Writer(mysql, name)
    writer.start()
    with contextlib.closing(mysql.connect(database=name, autocommit=True)) as connection:
        for sql in before:
            writer.go_on(10)
            connection.cursor().execute(sql)
        for sql in swap:
            connection.cursor().execute(sql)
    writer.go_on(10)
    writer.finish()
    found = decoded(source, start, name)
    assert {topic for topic, _ in found} == {"item", "ddl"}
    rename = next(text for topic, text in found if topic == "ddl" and "RENAME" in text)
    assert rename == next(sql for sql in swap if "RENAME" in sql)
    told = [text for topic, text in found if topic == "ddl"]
    assert not [text for text in told if text.startswith(("CREATE TABLE", "ALTER", "DROP TABLE"))]
    state: dict[int, int] = {}
    for topic, text in found:
        if topic == "item":
            op, key, value, *_ = msgspec.json.decode(text)
            assert (key in state) == (op != "c"), f"{text}: lost or doubled"
            if op == "d":
                del state[key]
            else:
                state[key] = value
    assert state == dict(mysql.execute(f"SELECT id, v FROM {name}.item"))
    assert len(state) > 30


def decoded(source: MySQLSource, start: Position, name: str) -> list[tuple[str, str]]:
    """(topic, value) of everything from `start` on."""
    end, stream = source.end_position(), source.open(start)
    selection = TableFilter([f"{name}.*"], hide_copies=True)
    decoder = BinlogDecoder(
        lambda table: planner(table) if selection.matches(table.database, table.name) else None,
        position=start,
        flavor="mysql",
        framing=stream.framing,
        server_error=stream.server_error,
        narrator=Teller(),
        selection=selection,
    )
    found = []
    with contextlib.closing(stream):
        while decoder.position.order < end.order:
            for batch in decoder.feed(stream.read(1.0)):
                found += [(record[0], record[2].decode()) for record in batch.records if record[2] is not None]
    return found
