"""The load writer on a real server: its journal is the truth about the table, also after connections were lost."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from typing import Any

import pymysql

from dev.checker.history import Transaction
from dev.checker.writer import Writer


def replayed(journal: Iterable[Transaction]) -> dict[int, tuple[int, int]]:
    """key -> (counter, serial) after the whole journal."""
    table: dict[int, tuple[int, int]] = {}
    for transaction in journal:
        for change in transaction.changes:
            if change.op == "d":
                table.pop(change.key, None)
            else:
                table[change.key] = (change.counter, change.serial)
    return table


def agree(writer: Writer) -> None:
    assert all(transaction.outcome == "committed" for transaction in writer.journal)
    table = {key: (row["counter"], row["serial"]) for key, row in writer.rows().items()}
    assert table == replayed(writer.journal)


def test_journal_and_table_agree(mysql: Any, database: str) -> None:
    writer = Writer(mysql, database=database, rate=200, keys=40).start()
    time.sleep(3)
    journal = writer.stop()
    assert len(journal) > 100
    operations = {change.op for transaction in journal for change in transaction.changes}
    assert operations == {"c", "u", "d"}
    assert max(len(transaction.changes) for transaction in journal) > 1
    agree(writer)


def test_killed_connections_and_a_killed_server(make_mysql: Any) -> None:
    server = make_mysql()
    writer = Writer(server, rate=400, keys=40).start()
    for _ in range(15):
        time.sleep(0.15)
        find = "SELECT id FROM information_schema.processlist WHERE user = 'root' AND id <> CONNECTION_ID()"
        for (number,) in server.execute(find):
            with contextlib.suppress(pymysql.Error):  # it may be gone by itself
                server.execute(f"KILL {number}")
    before = len(writer.journal)
    for _ in range(2):
        server.kill()
        server.start()
        time.sleep(1.5)
    journal = writer.stop()
    assert len(journal) > before
    agree(writer)
