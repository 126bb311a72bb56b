"""Filters of rows are tested by the server, too: the rows that are delivered are the same as without that."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from dev.servers.database import Database
from replicator.transform.pushdown import Pushdown
from tests.integration.test_snapshots import Copy, place
from tests.support.changes import contents, fill

__all__ = ["place"]

pytestmark = [pytest.mark.servers, pytest.mark.timeout(180)]

VALUES = {
    "t": (-128, -1, 0, 1, 127, None),
    "u": (0, 1, 9223372036854775807, 9223372036854775808, 18446744073709551615, None),
    "m": (0, 5, 8388608, 16777215, None),
    "b": (-9223372036854775808, -1, 0, 9223372036854775807, None),
    "z": (0, 7, 4294967295, None),
}
TEXTS = ("a", "A", "a ", "", None)
DECIMALS, YEARS = (0, -0.01, 0.5, None), (0, 1999, 2026, None)
SIGNS = ("=", "<>", "<", "<=", ">", ">=")


def filters(seed: int, count: int) -> list[str]:
    """Comparisons with values of the columns and beside them, and with what only the filter tests."""
    chance = random.Random(seed)
    every = sorted({value for values in VALUES.values() for value in values if value is not None})
    near = [value + step for value in every for step in (-1, 0, 1)]
    found = []
    for _ in range(count):
        parts = []
        for _ in range(chance.randint(1, 3)):
            column, number = chance.choice([*VALUES]), chance.choice(near)
            kind = chance.randint(0, 5)
            if kind == 0:
                listed = ", ".join(str(chance.choice(near)) for _ in range(chance.randint(1, 6)))
                parts.append(f"{column} IN ({listed})")
            elif kind == 1:
                parts.append(f"{number} {chance.choice(SIGNS)} {column}")
            elif kind == 2:
                parts.append(chance.choice(("s = 'a'", "s <> 'a'", "d < 0.5", "NOT t = 0", "u IS NULL", "y >= 2000")))
            else:
                parts.append(f"{column.upper()} {chance.choice(SIGNS)} {number}")
        found.append(" AND ".join(parts) if chance.random() < 0.8 else " OR ".join(parts))
    return found


def literal(value: object) -> str:
    return "NULL" if value is None else f"'{value}'"


def test_the_same_rows_as_without_it(place: tuple[Database, str], monkeypatch: pytest.MonkeyPatch) -> None:
    server, shop = place
    wanted = filters(7, 60)
    names = [f"f{number:02}" for number in range(len(wanted))]
    columns = (
        "id INT PRIMARY KEY, t TINYINT, u BIGINT UNSIGNED, m MEDIUMINT UNSIGNED, b BIGINT, z INT ZEROFILL, "
        "s VARCHAR(10), d DECIMAL(5,2), y YEAR"
    )
    server.execute(f"CREATE TABLE {shop}.rows_ ({columns})")
    chance = random.Random(3)
    rows = [
        [number, *(chance.choice(listed) for listed in (*VALUES.values(), TEXTS, DECIMALS, YEARS))]
        for number in range(400)
    ]
    values = ", ".join(f"({', '.join(map(literal, row))})" for row in rows)
    server.execute(f"INSERT INTO {shop}.rows_ VALUES {values}")
    for name in names:
        server.execute(f"CREATE TABLE {shop}.{name} LIKE {shop}.rows_")
        server.execute(f"INSERT INTO {shop}.{name} SELECT * FROM {shop}.rows_")
    rules = [{"tables": [f"{shop}.{name}"], "where": text} for name, text in zip(names, wanted, strict=True)]

    def copied(prefix: str) -> tuple[dict[str, list[int]], int]:
        copy = Copy(server, prefix, [f"{shop}.f*"], chunk_rows=90)
        copy.data["transforms"] = {"filter": rules}
        copy.run()
        last = copy.store.load()
        assert last is not None and last.position.snapshot is not None and last.position.snapshot.ended_ms
        keys = {name: sorted(json.loads(one.key or b"")["id"] for one in copy.records(name)) for name in names}
        return keys, last.position.snapshot.size

    pushed, size = copied("pushed")
    monkeypatch.setattr(Pushdown, "tests", lambda self, database, table: ())
    plain, whole = copied("plain")
    for name, text in zip(names, wanted, strict=True):
        assert pushed[name] == plain[name], text
    assert sum(map(len, plain.values())) > 1000 and size < 0.7 * whole, "and the server has sent less"


def test_rows_that_come_to_pass_while_they_are_read(place: tuple[Database, str]) -> None:
    """A row that the server leaves out and that passes later comes by the stream."""
    server, shop = place
    fill(server, f"{shop}.item", 3000)
    copy = Copy(server, "copy", [f"{shop}.item"], chunk_rows=100, max_rows_per_s=6000)
    rules: list[dict[str, Any]] = [{"tables": [f"{shop}.item"], "where": "version IN (1, 2)"}]
    copy.data["transforms"] = {"filter": rules}
    server.execute(f"UPDATE {shop}.item SET version = 1 WHERE id % 7 = 0")
    copy.run()
    server.execute(f"UPDATE {shop}.item SET version = 2 WHERE id % 5 = 0")
    server.execute(f"UPDATE {shop}.item SET version = 3 WHERE id % 35 = 0")
    copy.run()
    truth = {key: row for key, row in contents(server, f"{shop}.item").items() if row["version"] in (1, 2)}
    assert copy.copied("item").rows == truth and len(truth) > 500
