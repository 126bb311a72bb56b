"""What a consumer rebuilds from the records of random changes is what the server selects: for each format, on both
servers, with whatever changes how rows stand in a binlog. The compiled decoder writes the same bytes as its twin.

PROVE=N takes N examples a server instead of a few; `make prove` does.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

import pymysql
import pymysql.cursors
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dev.servers.database import Database, MariaDB
from replicator import compiled
from replicator.config.task import StdoutSink
from replicator.decode.decoder import BinlogDecoder
from replicator.decode.native.compiled_decoder import CompiledDecoder
from replicator.encode import formats
from replicator.encode.topics import Topics
from replicator.errors import SourceError
from replicator.model.batch import Record
from replicator.model.position import Position
from tests.support.decoded import files, new_file
from tests.support.programs import programs
from tests.support.rebuilt import READERS, Rebuilt, Selected

EXAMPLES: Final = int(os.environ.get("PROVE", "20"))
_EXACT: Final = {
    "replace_null_with_default": False,
    "enable_time_adjuster": False,
    "bigint_unsigned_handling_mode": "precise",
}
SINKS: Final[dict[str, dict[str, Any]]] = {
    "debezium": {"format": "debezium", "debezium": {**_EXACT, "schemas_enable": True}},
    "plain": {"format": "debezium", "debezium": _EXACT},
    "maxwell": {"format": "maxwell"},
    "canal": {"format": "canal"},
    "protobuf": {"format": "canal", "canal": {"flat_message": False}},
}
NOW: Final = 1_700_000_000_123_456_789
CREATE: Final = re.compile(r"CREATE TABLE (\w+) .*?(?:PRIMARY KEY \(([\w, ]+)\))?\)$", re.DOTALL)

switches = st.fixed_dictionaries({"compressed": st.booleans(), "partial_json": st.booleans(), "minimal": st.booleans()})


@pytest.fixture(params=["mysql", "mariadb"])
def server(request: pytest.FixtureRequest) -> Iterator[Database]:
    found: Database = request.getfixturevalue(request.param)
    yield found
    if isinstance(found, MariaDB):
        found.execute("SET GLOBAL log_bin_compress = OFF")


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="PROVE" not in os.environ,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
@example(
    program=[
        "CREATE TABLE t0 (id INT NOT NULL, c0 JSON, c1 TEXT, g BIGINT AS (id * 3) VIRTUAL, PRIMARY KEY (id))",
        "INSERT INTO t0 (id, c0, c1) VALUES (1, '{\"a\": [1, 2]}', 'x'), (2, NULL, 'y')",
        "UPDATE t0 SET c0 = JSON_SET(c0, '$.a[1]', 'two')",
        "UPDATE t0 SET id = id + 1 ORDER BY id DESC",
    ],
    switched={"compressed": True, "partial_json": True, "minimal": False},
)
@given(program=programs(), switched=switches)
def test_what_a_consumer_rebuilds(server: Database, program: list[str], switched: dict[str, bool]) -> None:
    name = f"r_{uuid.uuid4().hex[:8]}"
    since = new_file(server)
    server.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
    try:
        _run(server, name, program, switched)
        raw = _log(server, since)
        keys = {table: _split(columns) for table, columns in map(_created, program) if table}
        truth = {table: _selected(server, name, table) for table in keys}
    finally:
        server.execute(f"DROP DATABASE {name}")
    wrong = []
    for label in SINKS:
        records = _decoded(server, name, label, raw, since, partial=switched["minimal"])
        if label != "plain":
            wrong += _wrong(label, records, keys, truth, partial=switched["minimal"])
    assert not wrong, "\n".join(wrong)


def _run(server: Database, name: str, program: list[str], switched: dict[str, bool]) -> None:
    """In one session, its values in UTC. A statement that fails changes nothing."""
    with contextlib.closing(server.connect(database=name)) as connection, connection.cursor() as cursor:
        for statement in (*_settings(server, switched), *program):
            with contextlib.suppress(pymysql.Error):
                cursor.execute(statement)
        for statement in ("ROLLBACK", "XA END 'x'", "XA ROLLBACK 'x'"):
            with contextlib.suppress(pymysql.Error):
                cursor.execute(statement)


def _settings(server: Database, switched: dict[str, bool]) -> Iterator[str]:
    yield "SET time_zone = '+00:00'"
    if switched["minimal"]:
        yield "SET binlog_row_image = MINIMAL"
    if isinstance(server, MariaDB):
        yield f"SET GLOBAL log_bin_compress = {int(switched['compressed'])}"
        yield "SET GLOBAL log_bin_compress_min_len = 10"
        return
    yield f"SET binlog_transaction_compression = {int(switched['compressed'])}"
    if switched["partial_json"] and not switched["minimal"]:  # together they are refused, see docs/formats.md
        yield "SET binlog_row_value_options = PARTIAL_JSON"


def _created(statement: str) -> tuple[str, str]:
    found = CREATE.match(statement)
    return (found[1], found[2] or "") if found else ("", "")


def _split(columns: str) -> tuple[str, ...]:
    return tuple(columns.split(", ")) if columns else ()


def _log(server: Database, since: str) -> bytes:
    ((folder,),) = server.execute("SELECT @@datadir")
    names = files(server)
    return b"".join((Path(str(folder)) / each).read_bytes()[4:] for each in names[names.index(since) :])


def _selected(server: Database, name: str, table: str) -> list[Selected]:
    connection = server.connect(database=name, conv={}, cursorclass=pymysql.cursors.DictCursor)
    with contextlib.closing(connection), connection.cursor() as cursor:
        cursor.execute("SET time_zone = '+00:00'")
        cursor.execute(f"SELECT * FROM {table}")
        return list(cursor.fetchall())


def _decoded(server: Database, name: str, label: str, raw: bytes, since: str, *, partial: bool) -> list[Record]:
    """By the twin, and by the compiled decoder where there is one: the same."""
    kinds = [BinlogDecoder, CompiledDecoder] if compiled.available() else [BinlogDecoder]
    found = [_by(kind, server, name, label, raw, since, partial=partial) for kind in kinds]
    assert found[0] == found[-1]
    return found[0]


def _by(
    kind: type[BinlogDecoder], server: Database, name: str, label: str, raw: bytes, since: str, *, partial: bool
) -> list[Record]:
    flavor: Literal["mysql", "mariadb"] = "mariadb" if isinstance(server, MariaDB) else "mysql"
    sink = StdoutSink.model_validate({"type": "stdout", **SINKS[label]})
    form, topics = formats[sink.format]("t", sink, flavor), Topics("{database}.{table}", "t")
    decoder = kind(
        lambda table: form.plan(table, topics.topic(table)) if table.database == name else None,
        position=Position(since, 4),
        flavor=flavor,
        framing="file",
        server_error=lambda errno, state, text: SourceError("E2211", text),
        narrator=form,
        row_image="accept_partial" if partial else "require_full",
        clock=lambda: NOW,
    )
    records: list[Record] = []
    for piece in (raw, b""):
        for batch in decoder.feed(piece):
            records += batch.records
        while decoder.more:
            for batch in decoder.feed(b""):
                records += batch.records
    decoder.end()
    return records


def _wrong(
    label: str,
    records: list[Record],
    keys: dict[str, tuple[str, ...]],
    truth: dict[str, list[Selected]],
    *,
    partial: bool,
) -> list[str]:
    read, same = READERS[label]
    rebuilt = Rebuilt(keys, same, partial=partial)
    for record in records:
        if record[2] is not None:
            for change in read(record[2]):
                rebuilt.take(change)
    return [f"{label}: {text}" for table, rows in truth.items() for text in rebuilt.differences(table, rows)]


def test_schemas_add_nothing_to_the_payload(server: Database) -> None:
    """Debezium's records without schemas are the payloads of those with them."""
    name, since = f"r_{uuid.uuid4().hex[:8]}", new_file(server)
    server.execute(f"CREATE DATABASE {name}")
    try:
        table = "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9), d DECIMAL(5,2))"
        changes = ["INSERT INTO t VALUES (1,'a',2)", "UPDATE t SET id = 2", "DELETE FROM t"]
        _run(server, name, [table, *changes], dict.fromkeys(("compressed", "partial_json", "minimal"), False))
        raw = _log(server, since)
    finally:
        server.execute(f"DROP DATABASE {name}")
    whole, plain = (_decoded(server, name, label, raw, since, partial=False) for label in ("debezium", "plain"))
    assert len(whole) == len(plain) == 8  # two of DDL, two tombstones
    for one, other in zip(whole, plain, strict=True):
        assert [text and json.loads(text)["payload"] for text in one[1:3]] == [
            text and json.loads(text) for text in other[1:3]
        ]
