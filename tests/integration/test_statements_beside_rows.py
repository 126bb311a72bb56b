"""Statements that real servers log beside rows: ROWS_QUERY, ANNOTATE_ROWS, LOAD DATA, DDL."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from dev.servers.database import Database, MariaDB
from replicator.assembly.pipeline import build_pipeline, build_source
from replicator.checkpoint.memory_store import MemoryStore
from replicator.config.load import parse_task
from replicator.decode.decoder import BinlogDecoder
from replicator.decode.native.compiled_decoder import decoder_class
from replicator.errors import ReplicatorError
from replicator.model.checkpoint import Checkpoint
from replicator.model.metadata_event import Message, Moment, Statement
from replicator.model.plan import RecordPlan, TablePlan, Text, Value, Var
from replicator.model.position import Position
from replicator.model.table import Table
from replicator.model.term import Term
from replicator.pipeline.delivery_progress import DeliveryCounters
from replicator.pipeline.ports import Interest

KINDS = ["mysql", "mariadb"]


def _unexpected(errno: int, sqlstate: str, message: str) -> ReplicatorError:
    raise AssertionError(message)


class Teller:
    interests: frozenset[Interest] = frozenset({"statement", "transaction", "query"})

    def statement(self, statement: Statement, moment: Moment) -> list[Message]:
        return [Message("told", None, statement.text.encode())]

    def begin(self, moment: Moment) -> list[Message]:
        return [Message("told", None, b"begin")]

    def end(self, moment: Moment, rows: Mapping[tuple[str, str], int]) -> list[Message]:
        return [Message("told", None, b"end %d" % sum(rows.values()))]

    def query(self, text: str, moment: Moment) -> list[Message]:
        return [Message("told", None, f"query {text}".encode())]

    def heartbeat(self, moment: Moment) -> list[Message]:
        return []


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest) -> Database:
    found: Database = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def name(server: Database) -> Iterator[str]:
    made = f"beside_{uuid.uuid4().hex[:8]}"
    server.execute(f"CREATE DATABASE {made}")
    server.execute(f"CREATE TABLE {made}.t (id INT PRIMARY KEY)")
    yield made
    server.execute(f"DROP DATABASE {made}")


def plan(table: Table) -> TablePlan | None:
    if not table.database.startswith("beside_"):
        return None
    steps = (Value(0, "after", "int"), Text(" "), Var("order"), Text(" "), Var("query"))
    return TablePlan("rows", (RecordPlan(None, steps),), (), ())


@pytest.mark.parametrize("kind", ["python", "any"])
def test_what_is_told(server: Database, name: str, tmp_path: Path, kind: str) -> None:
    data = tmp_path / "data"
    data.write_text("4\n5\n")
    server.execute("FLUSH BINARY LOGS")
    file = str(server.execute("SHOW BINARY LOGS")[-1][0])
    with contextlib.closing(server.connect(database=name, local_infile=True)) as connection:
        cursor = connection.cursor()
        if not isinstance(server, MariaDB):
            cursor.execute("SET binlog_rows_query_log_events = ON")
        cursor.execute("SET GLOBAL local_infile = ON")
        cursor.execute("BEGIN")
        cursor.execute("INSERT INTO t VALUES (1), (2) -- ä")
        cursor.execute("INSERT INTO t VALUES (3)")
        cursor.execute("COMMIT")
        cursor.execute(f"LOAD DATA LOCAL INFILE '{data}' INTO TABLE t")
        cursor.execute("ALTER TABLE t ADD COLUMN v INT")
    made = decoder_class() if kind == "any" else BinlogDecoder
    decoder = made(
        plan,
        position=Position(file, 4),
        flavor="mariadb" if isinstance(server, MariaDB) else "mysql",
        framing="file",
        server_error=_unexpected,
        narrator=Teller(),
    )
    ((folder,),) = server.execute("SELECT @@datadir")
    batches = [*decoder.feed((Path(str(folder)) / file).read_bytes()[4:]), *decoder.feed(b"")]
    records = [
        (record[4], record[2].decode()) for batch in batches for record in batch.records if record[2] is not None
    ]
    first, second = "INSERT INTO t VALUES (1), (2) -- ä", "INSERT INTO t VALUES (3)"
    assert records[:8] == [
        (0, "begin"),
        (1, f"query {first}"),
        (2, f'1 1 "{first}"'),
        (3, f'2 2 "{first}"'),
        (4, f"query {second}"),
        (5, f'3 3 "{second}"'),
        (6, "end 3"),
        (0, "begin"),
    ]
    assert records[8][1].startswith("query LOAD DATA")
    assert [text.split()[:2] for _, text in records[9:11]] == [["4", "1"], ["5", "2"]]
    assert [text for _, text in records[11:]] == ["end 2", "begin", "ALTER TABLE t ADD COLUMN v INT", "end 0"]


class Unseen:
    def streaming(self, position: Position) -> None: ...

    def waiting(self, error: Exception) -> None:
        raise error

    def progress(self, checkpoint: Checkpoint, figures: DeliveryCounters) -> None: ...


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"format": "debezium", "debezium": {"include_query": True}}, True),
        ({"format": "maxwell", "maxwell": {"output_row_query": True}}, True),
        ({"format": "canal"}, True),
        ({"format": "canal", "canal": {"filter_query_dml": True}}, False),
        ({"format": "debezium"}, False),
    ],
)
def test_a_server_sends_statements_to_formats_that_want_them(
    server: Database, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], told: bool
) -> None:
    """Over the wire: MariaDB sends them only when it is asked to."""
    monkeypatch.setenv("BESIDE_PASSWORD", server.replicator[1])
    kind = "mariadb" if isinstance(server, MariaDB) else "mysql"
    account = {"type": kind, "port": server.port, "user": server.replicator[0], "password": "env:BESIDE_PASSWORD"}
    sink = {"type": "file", "path": str(tmp_path / "out.jsonl"), **options}
    config = parse_task({"name": name, "source": {**account, "tables": [f"{name}.t"], "heartbeat_s": 1}, "sink": sink})
    start = build_source(config).end_position()
    with contextlib.closing(server.connect(database=name)) as connection:
        if kind == "mysql":
            connection.cursor().execute("SET binlog_rows_query_log_events = ON")
        connection.cursor().execute("INSERT INTO t VALUES (1) -- why")
    store = MemoryStore(Checkpoint(start))
    pipeline = build_pipeline(config, term=Term.unlimited(name), store=store, observer=Unseen())
    pipeline.run(build_source(config).end_position)
    lines = (tmp_path / "out.jsonl").read_text()
    assert lines.count("\n") == 1 + (told and options["format"] == "canal")
    assert ("INSERT INTO t VALUES (1) -- why" in lines) is told
