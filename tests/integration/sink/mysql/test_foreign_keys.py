"""Rows that foreign keys change: in the binlog of MySQL from 9.6 on, made by the target itself for other sources."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from replicator.model.batch import Batch
from tests.support.site_pair import Pair, deliver

PARENT = "CREATE TABLE p (id INT PRIMARY KEY, v INT)"


def apply(pair: Pair, batches: Sequence[Batch], *, together: bool) -> None:
    """In one transaction of the target, or one by one."""
    sink = pair.opened()
    if not together:
        deliver(sink, batches)
        return
    for batch in batches:
        sink.write(batch)
    sink.commit(batches[-1].position)


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("on_delete", ["CASCADE", "SET NULL"])
def test_cascades(pair: Pair, on_delete: str, together: bool) -> None:
    """Keys move up by one, so that a cascade that is followed twice would move a
    child to another parent."""
    pair.both(
        PARENT,
        "CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) "
        f"ON DELETE {on_delete} ON UPDATE CASCADE)",
    )
    batches = pair.at_source(
        "INSERT INTO p VALUES (1, 1), (2, 1), (3, 1), (7, 1)",
        "INSERT INTO c VALUES (10, 1), (11, 1), (20, 2), (30, 3), (31, NULL)",
        "UPDATE p SET id = id + 1, v = 2 WHERE id < 4 ORDER BY id DESC",
        "DELETE FROM p WHERE id = 3",
        "UPDATE p SET id = 3 WHERE id = 4",
        "INSERT INTO c VALUES (40, 7)",
        "UPDATE p SET v = 3",
    )
    apply(pair, batches, together=together)
    for table in ("p", "c"):
        here, there = pair.rows(table, "id")
        assert here == there


@pytest.mark.parametrize("together", [True, False])
def test_sessions_without_checks_and_with_them_in_turn(pair: Pair, together: bool) -> None:
    pair.both(PARENT, "CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id))")
    batches = pair.at_source(
        "INSERT INTO p VALUES (1, 1)",
        "SET foreign_key_checks = 0",
        "INSERT INTO c VALUES (10, 99)",
        "SET foreign_key_checks = 1",
        "INSERT INTO c VALUES (11, 1)",
        "SET foreign_key_checks = 0",
        "DELETE FROM p",
        "SET foreign_key_checks = 1",
        "INSERT INTO p VALUES (2, 1)",
        "INSERT INTO c VALUES (12, 2)",
    )
    apply(pair, batches, together=together)
    for table in ("p", "c"):
        here, there = pair.rows(table, "id")
        assert here == there
