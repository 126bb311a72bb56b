"""Commits that a database sink divides among connections, and processes that end or freeze in them."""

from __future__ import annotations

from typing import Any

import pytest

from replicator.model.batch import Batch
from replicator.sink.mysql.branches.branches import Branches
from replicator.sink.mysql.mysql_sink import MySQLSink
from replicator.sink.mysql.transaction import Transaction
from tests.support.row_records import joined
from tests.support.site_pair import Pair, deliver

BY_KEY: dict[str, Any] = {"order": "key", "connections": 3}
TABLE = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(50), n INT, UNIQUE KEY (name), UNIQUE KEY (n))"


def changes(pair: Pair) -> tuple[Batch, Batch]:
    """Two large commits: 60 rows; then all of what can happen to rows."""
    pair.both(TABLE)
    rows = ", ".join(f"({n}, 'n{n}', {n})" for n in range(60))
    first = pair.at_source(f"INSERT INTO t VALUES {rows}")
    second = pair.at_source(
        "UPDATE t SET name = CONCAT('x', id) WHERE id BETWEEN 10 AND 20",
        "DELETE FROM t WHERE id < 10",
        "INSERT INTO t SELECT id + 100, CONCAT('N', id - 15), id - 15 FROM t WHERE id BETWEEN 15 AND 24",
        "INSERT INTO t SELECT id + 200, CONCAT('z', id), id + 200 FROM t WHERE id BETWEEN 30 AND 60",
        "UPDATE t SET id = id + 1000 WHERE id BETWEEN 40 AND 50",
    )
    return joined(first), joined(second)


def plain(pair: Pair, count: int = 3) -> list[Batch]:
    """Commits that are divided among all connections."""
    pair.both("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    made = [
        pair.at_source(f"INSERT INTO t VALUES {', '.join(f'({n * 100 + i}, 0)' for i in range(40))}")
        for n in range(count)
    ]
    return [joined(one) for one in made]


def by_key(pair: Pair, **options: Any) -> MySQLSink:
    return pair.opened(**{**BY_KEY, **options})


def prepared(pair: Pair) -> list[Any]:
    return pair.target.execute("XA RECOVER")


def equal(pair: Pair) -> bool:
    here, there = pair.rows("t")
    return here == there


def change_of_locked_rows(pair: Pair) -> tuple[Batch, Any]:
    """Of the first of `plain`'s commits; and the connection that holds some of its rows at the target."""
    change = joined(pair.at_source("UPDATE t SET v = 1 WHERE id < 40"))
    holder = pair.target.connect(autocommit=False, database=pair.there)
    holder.cursor().execute("UPDATE t SET v = v WHERE id BETWEEN 3 AND 30")
    return change, holder


STEP: dict[str, tuple[type[Any], str]] = {"decide": (Transaction, "_decide"), "end": (Branches, "commit")}


class Dies(Exception):
    """The process."""


def dies(*_: object, **__: object) -> None:
    raise Dies


def alone(sink: MySQLSink, batch: Batch, where: str, patch: pytest.MonkeyPatch) -> None:
    """The process ends, or freezes, in a commit: `where` is what it does not do any more."""
    owner, name = STEP[where]
    with patch.context() as patched, pytest.raises(Dies):
        patched.setattr(owner, name, dies)
        deliver(sink, [batch])


WHERE = ["decide", "end"]
