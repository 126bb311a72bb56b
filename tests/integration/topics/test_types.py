"""Every type that a format writes without a loss arrives as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.between import Between
from tests.support.script import run, statements

ZOO = Path(__file__).parents[2] / "support" / "type_zoo.sql"
SECTIONS = {
    "mysql": {"both", "json", "mysql", "beyond_both", "beyond_mysql"},
    "mariadb": {"both", "json", "mariadb"},
}
LOST = {
    "debezium": {"zeros", "invalid_dates", "old_times"},
    "maxwell": {"shapes", "no_choice", "old_times"},
}
"""Invalid dates are null in Debezium's format; in Maxwell's, geometry has no SRID and the error value of an ENUM is
null. No new table has times without fractions."""
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "debezium": [
        {},
        {"decimal_handling_mode": "string", "binary_handling_mode": "hex", "time_precision_mode": "microseconds"},
        {"bigint_unsigned_handling_mode": "precise", "binary_handling_mode": "base64-url-safe"},
    ],
    "maxwell": [{}],
}


@pytest.mark.parametrize(("form", "options"), [(form, one) for form, many in OPTIONS.items() for one in many])
def test_zoo(between: Between, form: str, options: dict[str, Any]) -> None:
    flavour = between.source.release.flavour
    script = list(statements(ZOO, only=SECTIONS[flavour]))
    tables = {text.split()[2] for text in script if text.startswith("CREATE TABLE")}
    run(between.target, (text for text in script if not text.startswith("INSERT")), database=between.there)
    run(between.source, iter(script), database=between.here)
    between.write(format=form, **{form: {**options, **_lossless(form)}})
    wanted = sorted(tables - LOST[form])
    source = {"format": form, "tables": [f"{between.there}.{table}" for table in wanted]}
    between.apply({**source, form: options} if options else source)
    for table in wanted:
        here, there = (values(between, server, database, table) for server, database in _sides(between))
        assert here, table
        assert here == there, table


def _lossless(form: str) -> dict[str, Any]:
    """As docs/kafka-source.md wants it of the task that writes."""
    return {"replace_null_with_default": False, "enable_time_adjuster": False} if form == "debezium" else {}


def _sides(between: Between) -> list[tuple[Any, str]]:
    return [(between.source, between.here), (between.target, between.there)]


def values(between: Between, server: Any, database: str, table: str) -> list[tuple[Any, ...]]:
    columns = [str(row[0]) for row in server.execute(f"SHOW COLUMNS FROM {database}.{table}")]
    parts = [f"HEX(`{name}`), HEX(CAST(`{name}` AS BINARY))" for name in columns]
    found: list[tuple[Any, ...]] = server.execute(f"SELECT {', '.join(parts)} FROM {database}.{table} ORDER BY id")
    return found
