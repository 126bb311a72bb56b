"""Every type of both servers arrives as it was, in all directions that there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from replicator.errors import SinkError
from tests.support.row_records import joined
from tests.support.script import run, statements
from tests.support.site_pair import Pair, deliver

ZOO = Path(__file__).parents[3] / "support" / "type_zoo.sql"
SECTIONS = {
    "mysql": {"both", "json", "mysql", "beyond_both", "beyond_mysql", "beyond_range"},
    "mariadb": {"both", "json", "mariadb"},
}
OLD = {"old_times"}
"""Columns of before fractions of a second, which no new table has."""
REFUSED = {
    "mysql-mysql": set[str](),
    "mysql-mariadb": {"documents", "temporal_documents", "long_times", "vectors"},
    "mariadb-mysql": {"documents", "own"},
    "mariadb-mariadb": set[str](),
}
"""JSON is binary on MySQL and text on MariaDB; the others have no such type."""


@pytest.mark.parametrize("apply", ["binlog", "sql"])
def test_zoo(pair: Pair, apply: str) -> None:
    source, target = pair.source.release.flavour, pair.target.release.flavour
    refused = REFUSED[f"{source}-{target}"]
    script = list(statements(ZOO, only=SECTIONS[source]))
    run(pair.source, iter(script), database=pair.here)
    tables = [str(name) for (name,) in pair.source.execute("SHOW TABLES FROM " + pair.here)]
    create(pair, [name for name in tables if name not in refused])
    batches = pair.reader.batches()
    sink = pair.opened(apply=apply)
    written = 0
    for table in sorted(set(tables)):
        given = [batch for batch in batches if batch.records[0][0].startswith(f"{pair.there}.{table}#")]
        if table in refused or table in OLD:
            with pytest.raises(SinkError, match=r"E342[12]"):
                sink.write(joined(given))
            continue
        deliver(sink, [joined(given)])
        assert values(pair, table, pair.source, pair.here) == values(pair, table, pair.target, pair.there), table
        written += 1
    assert written >= 15


def create(pair: Pair, tables: list[str]) -> None:
    """As the source has defined them."""
    wanted = set(tables)
    script = list(statements(ZOO, only=SECTIONS[pair.source.release.flavour]))
    creates = [text for text in script if not text.startswith("INSERT")]
    chosen = [text for text in creates if not text.startswith("CREATE TABLE") or text.split()[2] in wanted]
    if pair.target.release.flavour == "mysql":
        chosen = [text for text in chosen if not text.startswith("SET GLOBAL")]
    else:
        chosen = [text for text in chosen if text.split()[2] not in OLD or not text.startswith("CREATE")]
        if "old_times" in wanted:
            chosen.append(
                "CREATE TABLE old_times (id INT NOT NULL PRIMARY KEY, t TIME, dt DATETIME, ts TIMESTAMP NULL);"
            )
    run(pair.target, iter(chosen), database=pair.there)


def values(pair: Pair, table: str, server: Any, database: str) -> list[tuple[Any, ...]]:
    """Texts and bytes; numbers as the server prints them and, on one flavour, in hexadecimal."""
    columns = [
        name
        for (name,) in server.execute(
            "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s "
            "ORDER BY ORDINAL_POSITION",
            (database, table),
        )
    ]
    exact = pair.source.release.flavour == pair.target.release.flavour
    parts = [
        f"HEX({name}), HEX(CAST({name} AS BINARY))" if exact else f"HEX(CAST({name} AS BINARY))" for name in columns
    ]
    found: list[tuple[Any, ...]] = server.execute(f"SELECT {', '.join(parts)} FROM {database}.{table} ORDER BY id")
    return found
