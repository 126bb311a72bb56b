"""Row filters as SQL select the rows that the filter itself selects."""

from __future__ import annotations

import json
import random
from contextlib import closing

import pytest

from dev.servers.database import Database
from replicator.assembly.verification import table_of
from replicator.config.transforms import FilterRule
from replicator.transform.filters import Filters
from replicator.verify import filter_sql
from tests.integration.test_snapshot_filters import filters, literal
from tests.integration.test_snapshots import Copy, place
from tests.support.present import present
from tests.support.verified import side

__all__ = ["place"]

pytestmark = [pytest.mark.timeout(180)]

COLUMNS = (
    "id INT PRIMARY KEY, t TINYINT, u BIGINT UNSIGNED, m MEDIUMINT UNSIGNED, b BIGINT, z INT ZEROFILL, s VARCHAR(10), "
    "d DECIMAL(5,2), y YEAR, day DATE, at DATETIME(3), ts TIMESTAMP(6) NULL, clock TIME(2), e ENUM('a','B','ä'), "
    "l VARCHAR(10) CHARACTER SET latin1, c CHAR(6)"
)
VALUES = (
    (-128, -1, 0, 1, 127, None), (0, 1, 9223372036854775808, 18446744073709551615, None), (0, 5, 16777215, None),
    (-9223372036854775808, 0, 9223372036854775807, None), (0, 7, 4294967295, None),
    ("a", "A", "a ", "", "ä", "😀", None),
    (0, -0.01, 0.5, None), (0, 1999, 2026, None), ("2024-01-01", "2024-01-02", "0000-00-00", None),
    ("2024-01-01", "2024-01-01 12:00:00.5", "2023-12-31 23:59:59.999", None),
    ("2024-01-01", "2024-01-01 12:00:00.000001", "1970-01-01 00:00:01", None),
    ("00:00:00", "-01:00:00.5", "838:00:00", None),
    ("a", "B", "ä", None), ("ä", "a", "A", "ÿ", None), ("x", "x_y", "X%", "", None),
)  # fmt: skip
MORE = (
    "s = 'a'", "s <> 'A'", "s < 'b'", "s > 'ä'", "s IN ('a ', '😀')", "s LIKE 'a%'", "s LIKE '_'", "s NOT LIKE 'A_'",
    "NOT (s = 'a' OR t IS NULL)", "d = 0.5", "d BETWEEN -0.01 AND 0.3", "y >= 2000", "e = 'B'", "e < 'b'", "e IN ('ä')",
    "l = 'ä'", "l > 'A'", "l LIKE '%ä'", "l = s", "c LIKE 'x\\_%'", "c = 'X%'", "c < 'x'", "day = '2024-01-01'",
    "day < '2024-01-01 12:00:00'", "day >= '2024-01-02'", "day < at", "at > '2024-01-01'",
    "at <= '2024-01-01 12:00:00.5'",
    "ts > '2024-01-01 11:59:59Z'", "ts <> '2024-01-01'", "ts < '1970-01-01 00:00:02'", "clock < '00:00:00'",
    "clock = '-01:00:00.5'", "clock > '837:59:59.99'", "u > b", "t = m", "day <> '0000-00-00'",
)  # fmt: skip


def test_the_same_rows_as_the_filter(place: tuple[Database, str]) -> None:
    server, shop = place
    wanted = [*filters(5, 25), *MORE]
    names = [f"f{number:02}" for number in range(len(wanted))]
    chance = random.Random(3)
    rows = [[number, *(chance.choice(each) for each in VALUES)] for number in range(200)]
    values = ", ".join(f"({', '.join(map(literal, row))})" for row in rows)
    connection = server.connect(database=shop)
    with connection, connection.cursor() as cursor:
        cursor.execute("SET sql_mode = '', time_zone = '+00:00'")
        cursor.execute(f"CREATE TABLE rows_ ({COLUMNS}) CHARACTER SET utf8mb4")
        cursor.execute(f"INSERT INTO rows_ VALUES {values}")
        for name in names:
            cursor.execute(f"CREATE TABLE {name} LIKE rows_")
            cursor.execute(f"INSERT INTO {name} SELECT * FROM rows_")
    rules = [{"tables": [f"{shop}.{name}"], "where": text} for name, text in zip(names, wanted, strict=True)]
    copy = Copy(server, "copy", [f"{shop}.f*"])
    copy.data["transforms"] = {"filter": rules}
    copy.run()
    copied = {name: sorted(json.loads(one.key or b"")["id"] for one in copy.records(name)) for name in names}
    selected = _selected(server, shop, dict(zip(names, wanted, strict=True)))
    for name, text in zip(names, wanted, strict=True):
        assert selected[name] == copied[name], text
    assert sum(map(len, copied.values())) > 500


def _selected(server: Database, shop: str, wanted: dict[str, str]) -> dict[str, list[int]]:
    with closing(side(server)) as source:
        found = {}
        for name, text in wanted.items():
            described = present(source.describe(shop, name))
            table = table_of(source, described)
            chosen = present(Filters([FilterRule(tables=(f"{shop}.{name}",), where=text)]).filter(table))
            where = filter_sql.condition(described.shape, chosen.condition)
            rows = source.control.rows(f"SELECT id FROM {shop}.{name} WHERE {where} ORDER BY id")
            found[name] = [int(row[0]) for row in rows]
        return found
