"""Whole tasks whose last commit is still executed: a row that the target refuses is not passed over."""

from __future__ import annotations

import pytest

from replicator.sink.mysql import transaction
from tests.integration.sink.mysql.test_statements import Copy, same

__all__ = ["same"]
pytestmark = [pytest.mark.servers, pytest.mark.timeout(120)]


@pytest.mark.parametrize("behind", ["nothing", "other tables", "rows"])
def test_a_refused_row_and_what_follows(same: Copy, monkeypatch: pytest.MonkeyPatch, behind: str) -> None:
    """Transactions of tables that the task does not read move the position alone."""
    monkeypatch.setattr(transaction, "FEWEST_BYTES", 200)
    same.data["sink"] |= {"order": "key", "connections": 3}
    same.data["source"]["tables"] = [f"{same.here}.t"]
    same.both("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    same.at_source("CREATE TABLE other (id INT PRIMARY KEY)")
    same.begin()
    values = ", ".join(f"({number}, 1)" for number in range(100))
    same.at_target("INSERT INTO t VALUES (57, 9)")
    same.at_source(f"INSERT INTO t VALUES {values}")
    if behind == "other tables":
        same.at_source(*(f"INSERT INTO other VALUES ({number})" for number in range(20)))
    elif behind == "rows":
        same.at_source("UPDATE t SET v = v + 1", "DELETE FROM t WHERE id > 90")
    for _ in range(2):
        same.fails("E3424")
        assert same.rows("t")[1] == [(57, 9)]
    same.at_target("DELETE FROM t")
    same.run()
    same.equal("t")
    assert len(same.rows("t")[1]) == (91 if behind == "rows" else 100)
