"""A table whose rows are there before the task of the demo is."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from dev.checker.consumer import Record
from dev.servers.database import Database

ROWS = 200_000
TABLE = "stock"
_CREATE = "CREATE TABLE shop.stock (id INT PRIMARY KEY, sku VARCHAR(40) NOT NULL, amount INT NOT NULL)"
_DIGITS = "(" + " UNION ALL SELECT ".join(["SELECT 0 AS n", *"123456789"]) + ")"


def fill(source: Database) -> None:
    source.execute(_CREATE)
    places = [f"{_DIGITS} AS d{power}" for power in range(6)]
    number = " + ".join(f"d{power}.n * {10**power}" for power in range(6))
    numbers = f"SELECT {number} AS i FROM {', '.join(places)}"
    row = "i, CONCAT('sku-', i), i % 100"
    source.execute(f"INSERT INTO shop.stock SELECT {row} FROM ({numbers}) AS numbers WHERE i < {ROWS}")


def read_rows(records: Iterable[Record]) -> int:
    """Different rows that a snapshot has delivered; 0 if one came twice."""
    keys = [json.loads(record.key or b"")["id"] for record in records if _is_read(record.value)]
    return len(keys) if len(keys) == len(set(keys)) else 0


def _is_read(value: bytes | None) -> bool:
    return value is not None and b'"op":"r"' in value


def seconds(snapshot: dict[str, Any]) -> float:
    """From the beginning to the end of a snapshot as the API shows it."""
    return (float(snapshot["ended_ms"]) - float(snapshot["begun_ms"])) / 1000
