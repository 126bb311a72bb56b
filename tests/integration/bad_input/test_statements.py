"""Sessions that write into the binlog what can't be read: the task delivers what was before it, stops at that very
event with its name, stops there again whenever it is started, and goes on only where it is told to."""

from __future__ import annotations

import re

import pytest

from dev.servers import MariaDB
from tests.integration.bad_input.command import Replicator
from tests.integration.bad_input.local import Local

INSERT = "INSERT INTO item (note) VALUES ('unreadable')"
PARTIAL = "UPDATE item SET data = JSON_SET(data, '$.a', 2) WHERE id = 1"
UPDATE = "UPDATE item SET note = CONCAT(note, '!') WHERE id = 1"

SESSIONS = {
    "statement": ("E2303", "QUERY", ["SET SESSION binlog_format = 'STATEMENT'", INSERT]),
    "minimal image": ("E2304", "UPDATE_ROWS", ["SET SESSION binlog_row_image = 'MINIMAL'", UPDATE]),
    "partial json of a minimal image": (
        "E2304",
        "PARTIAL_UPDATE_ROWS",
        ["SET SESSION binlog_row_value_options = 'PARTIAL_JSON', binlog_row_image = 'MINIMAL'", PARTIAL],
    ),
}


def stops_at(local: Local, code: str, event: str, first: int, statements: list[str]) -> None:
    """Args: first: committed rows that a running task has delivered before `statements` are committed."""
    running = local.start()
    running.says("streaming")
    local.insert(first)
    before = len(local.committed)
    local.in_session(*statements)
    behind = local.end_of_binlog()
    local.insert(2)
    line = running.end().refused(code, event, "Fix: ")
    at = re.search(r" At: (\S+):(\d+) ", line)
    assert at and at[1] == behind["file"] and int(at[2]) < behind["position"], line
    assert local.delivered() == local.committed[:before]
    again = local.run().refused(code, event)
    assert f" At: {at[1]}:{at[2]} " in again, "at the same place, not behind it"
    assert local.delivered() == local.committed[:before], "nothing behind it was delivered"
    # The remedy: another task that begins behind it, with a file of its own.
    local.config["source"]["start"] = behind
    state = str(local.replicator.folder / "behind.sqlite")
    local.run("--state", state).refused("E3203", str(local.output), "Fix: ")
    assert local.delivered() == local.committed[:before], "what another task wrote is not touched"
    local.elsewhere("behind.jsonl")
    local.run("--state", state).ok()
    assert local.delivered() == local.committed[before:], "all that is behind it, and nothing else"


@pytest.mark.parametrize("kind", SESSIONS)
def test_a_session_of_mysql(local: Local, kind: str) -> None:
    code, event, statements = SESSIONS[kind]
    local.begin()
    local.in_session("""UPDATE item SET data = '{"a": 1, "b": "a text that is worth a partial update"}'""")
    local.committed.append(local.committed[0])
    stops_at(local, code, event, 2, statements)


@pytest.mark.parametrize(
    ("code", "event", "statements"),
    [
        ("E2303", "QUERY", ["SET SESSION binlog_format = 'STATEMENT'", INSERT]),
        ("E2304", "UPDATE_ROWS", ["SET SESSION binlog_row_image = 'MINIMAL'", UPDATE]),
    ],
)
def test_a_session_of_mariadb(
    mariadb: MariaDB,
    mariadb_database: str,
    replicator: Replicator,
    code: str,
    event: str,
    statements: list[str],
) -> None:
    local = Local(mariadb, mariadb_database, replicator)
    local.begin()
    stops_at(local, code, event, 2, statements)


def test_mariadb_compresses(mariadb: MariaDB, mariadb_database: str, replicator: Replicator) -> None:
    """log_bin_compress is global, and not read when a stream is opened: its rows are read like any other."""
    local = Local(mariadb, mariadb_database, replicator)
    local.begin()
    at = local.end_of_binlog()
    try:
        mariadb.execute("SET GLOBAL log_bin_compress = ON")
        local.insert(3, "x" * 2000)
    finally:
        mariadb.execute("SET GLOBAL log_bin_compress = OFF")
    shown = local.events_since(at)
    assert any("compressed" in str(row[2]).lower() for row in shown)
    local.insert()
    local.arrives()


def test_a_session_of_mysql_that_compresses(local: Local) -> None:
    """Not refused and not skipped: it is read like any other."""
    local.begin()
    at = local.end_of_binlog()
    insert = "INSERT INTO item (id, note) VALUES ({}, REPEAT('x', 5000))"
    numbers = range(100, 103)
    local.in_session("SET SESSION binlog_transaction_compression = ON", "BEGIN", *map(insert.format, numbers), "COMMIT")
    shown = local.events_since(at)
    assert any(row[2] == "Transaction_payload" for row in shown)
    local.committed += numbers
    local.insert()
    local.arrives()


def test_a_session_with_xa(local: Local) -> None:
    """What a prepared transaction holds comes with its XA COMMIT, and never where it is rolled back."""
    local.begin()
    insert = "INSERT INTO item (id, note) VALUES ({}, 'xa')"
    local.in_session("XA START 'x'", insert.format(100), "XA END 'x'", "XA PREPARE 'x'", "XA COMMIT 'x'")
    local.in_session("XA START 'y'", insert.format(101), "XA END 'y'", "XA PREPARE 'y'", "XA ROLLBACK 'y'")
    local.committed.append(100)
    local.insert()
    local.arrives()


def test_a_session_with_partial_json(local: Local) -> None:
    """Its rows come whole."""
    local.begin()
    at = local.end_of_binlog()
    local.in_session(
        """UPDATE item SET data = '{"a": 1, "b": "a text that is worth a partial update"}'""",
        "SET SESSION binlog_row_value_options = 'PARTIAL_JSON'",
        PARTIAL,
    )
    shown = local.events_since(at)
    assert any(row[2] == "Update_rows_partial" for row in shown)
    local.committed += local.committed[:1] * 2
    local.arrives()


def test_a_statement_on_a_table_that_is_not_chosen(local: Local) -> None:
    """It is none of the task's business."""
    local.config["source"]["tables"] = [local.table]
    local.begin()
    local.in_session(
        "CREATE TABLE other (id INT PRIMARY KEY)",
        "SET SESSION binlog_format = 'STATEMENT'",
        "INSERT INTO other VALUES (1)",
    )
    local.insert()
    local.arrives()
