"""The source changes while a chunk is between its marks: each test stops the chunk at a named step and goes on.

The servers are real; the records stay in this process, so that their order is known.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from dev.faults.proxy import Proxy
from dev.servers.database import Database
from tests.integration.test_snapshots import place
from tests.support.changes import contents, fill
from tests.support.held_snapshot import UNLOCKED, HeldCopy, Step

__all__ = ["place"]

pytestmark = [pytest.mark.servers, pytest.mark.timeout(120)]
Place = tuple[Database, str]
Row = dict[str, Any]
ROWS = 40

at_each_step = pytest.mark.parametrize("step", UNLOCKED)


@pytest.fixture
def copy(place: Place) -> Iterator[HeldCopy]:
    """Of a table `item` with 40 rows, 10 in a chunk, and a table `mark` that tests write to."""
    server, shop = place
    fill(server, f"{shop}.item", ROWS)
    server.execute(f"CREATE TABLE {shop}.mark (id INT PRIMARY KEY, text VARCHAR(20))")
    with Proxy(server.port) as proxy:
        yield HeldCopy(server, proxy, [f"{shop}.*"], chunk_rows=10, tables=["*.item"])


def values(copy: HeldCopy) -> list[tuple[str, str, Row]]:
    """Of all rows in their order: table, operation, columns."""
    found = []
    for record in copy.broker.records:
        value = json.loads(record.value or b"null")
        if value is not None and value.get("after") is not None:
            found.append((record.topic.rpartition(".")[2], value["op"], value["after"]))
    return found


def act_at(copy: HeldCopy, place: Place, step: Step, *statements: str) -> list[tuple[str, Row]]:
    """Executes statements while the second chunk is at a step, and the snapshot to its end. Gives operation and columns
    of the rows of `item` that came behind the first statement."""
    server, shop = place
    with copy.stopped() as gate, gate.at(step, f"{shop}.mark"):
        server.execute(statements[0])
        server.execute(f"INSERT INTO {shop}.mark VALUES (1, 'done')")
        for statement in statements[1:]:
            server.execute(statement)
    rows = values(copy)
    mark = rows.index(("mark", "c", {"id": 1, "text": "done"}))
    return [(operation, row) for table, operation, row in rows[mark:] if table == "item"]


@at_each_step
def test_77_truncate_between_the_marks(place: Place, copy: HeldCopy, step: Step) -> None:
    server, shop = place
    insert = f"INSERT INTO {shop}.item VALUES (15, 1, 'after'), (35, 1, 'after')"
    behind = act_at(copy, place, step, f"TRUNCATE TABLE {shop}.item", insert)
    assert all(row["version"] == 1 for _, row in behind), "no row from before it comes behind it"
    assert contents(server, f"{shop}.item") == {row["id"]: row for _, row in behind}
    assert len(copy.copied("item").read) >= 10


@at_each_step
def test_71_a_column_is_added_between_the_marks(place: Place, copy: HeldCopy, step: Step) -> None:
    _, shop = place
    behind = act_at(copy, place, step, f"ALTER TABLE {shop}.item ADD COLUMN more INT NOT NULL DEFAULT 7 FIRST")
    assert behind and all(row["more"] == 7 for _, row in behind), "rows have the columns of their place"
    copied = copy.copied("item")
    assert copied.read == list(range(ROWS)), "each row once"
    assert all(("more" in copied.rows[key]) == (key in {row["id"] for _, row in behind}) for key in copied.rows)


@at_each_step
def test_71_the_key_is_changed_between_the_marks(place: Place, copy: HeldCopy, step: Step) -> None:
    """The table is begun again, in the order of the new key."""
    server, shop = place
    change = f"ALTER TABLE {shop}.item DROP PRIMARY KEY, ADD PRIMARY KEY (version, id)"
    update = f"UPDATE {shop}.item SET version = -id WHERE id IN (5, 15, 25)"
    behind = act_at(copy, place, step, change, update)
    assert copy.copied("item").rows == contents(server, f"{shop}.item")
    assert {row["id"] for operation, row in behind if operation == "r"} >= set(range(ROWS)) - {5, 15, 25}
    assert copy.copied("item").backwards in ([], [5], [15], [5, 15], [5, 15, 25]), "negative versions of those alone"


@at_each_step
def test_71_rows_are_exchanged_with_a_partition_between_the_marks(place: Place, copy: HeldCopy, step: Step) -> None:
    """ALTER TABLE names another table, and no row event tells of the rows."""
    server, shop = place
    other = "id INT PRIMARY KEY, version BIGINT NOT NULL, text VARCHAR(40)"
    server.execute(f"CREATE TABLE {shop}.parted ({other}) PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (99))")
    server.execute(f"INSERT INTO {shop}.parted VALUES (16, 3, 'exchanged')")
    behind = act_at(copy, place, step, f"ALTER TABLE {shop}.parted EXCHANGE PARTITION p WITH TABLE {shop}.item")
    exchanged = [("r", {"id": 16, "version": 3, "text": "exchanged"})]
    assert behind == exchanged or (step == "before its place" and not behind), "it may have had its place before"


@at_each_step
@pytest.mark.parametrize("renamed", [False, True], ids=["dropped", "renamed"])
def test_76_another_table_takes_the_name_between_the_marks(
    place: Place, copy: HeldCopy, step: Step, *, renamed: bool
) -> None:
    """Dropped and created with other columns, or renamed away as an online schema change does it: rows of the old one
    never follow, and those that the new one brought along are read."""
    server, shop = place
    server.execute(f"CREATE TABLE {shop}.ghost (id INT PRIMARY KEY, other VARCHAR(9) NOT NULL)")
    insert = "VALUES (5, 'new'), (15, 'new'), (35, 'new')"
    if renamed:
        server.execute(f"INSERT INTO {shop}.ghost {insert}")
        first = f"RENAME TABLE {shop}.item TO {shop}.old, {shop}.ghost TO {shop}.item"
        statements = [first, f"INSERT INTO {shop}.item VALUES (50, 'new')"]
    else:
        create = f"CREATE TABLE {shop}.item (id INT PRIMARY KEY, other VARCHAR(9) NOT NULL)"
        statements = [f"DROP TABLE {shop}.item", create, f"INSERT INTO {shop}.item {insert}, (50, 'new')"]
    behind = act_at(copy, place, step, *statements)
    assert all(row == {"id": row["id"], "other": "new"} for _, row in behind)
    assert {row["id"] for _, row in behind} == {5, 15, 35, 50}


@at_each_step
def test_74_keys_move_between_chunks(place: Place, copy: HeldCopy, step: Step) -> None:
    """From one that is not read yet to one that is delivered, and back, and out of and into the chunk at hand."""
    server, shop = place
    item = f"{shop}.item"
    moves = [(33, -33), (15, -15), (3, 63), (4, 16), (5, 27), (-15, 15), (-33, 33), (38, 3), (12, 4)]
    with copy.stopped() as gate:
        with gate.at(step, f"{shop}.mark"):
            server.execute(f"DELETE FROM {item} WHERE id IN (16, 27)")
            for version, (old, new) in enumerate(moves, 1):
                server.execute(f"UPDATE {item} SET id = {new}, version = {version} WHERE id = {old}")
        if step != "before its place":
            with gate.at("before COMMIT"):
                server.execute(f"UPDATE {item} SET id = 6 + 100, version = 20 WHERE id = 6")
                server.execute(f"UPDATE {item} SET id = 6, version = 21 WHERE id = 37")
                server.execute(f"UPDATE {item} SET id = 37, version = 22 WHERE id = 106")
    copied = copy.copied("item")
    assert copied.rows == contents(server, item)
    assert copied.backwards == [] and len(copied.read) == len(set(copied.read))
