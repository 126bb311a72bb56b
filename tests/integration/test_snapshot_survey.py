"""What a server says of a snapshot before it begins."""

from __future__ import annotations

import pytest

from dev.servers.database import Database, MariaDB
from replicator.assembly import snapshot_checks
from replicator.config.load import parse_task
from tests.integration.test_snapshots import Copy, place
from tests.support.changes import fill

__all__ = ["place"]

pytestmark = [pytest.mark.servers, pytest.mark.timeout(120)]


def test_plans_rate_retention_and_visibility(place: tuple[Database, str]) -> None:
    server, shop = place
    fill(server, f"{shop}.item", 6000)
    server.execute(f"CREATE TABLE {shop}.kinds (kind ENUM('a', 'b', 'c') NOT NULL, id INT, PRIMARY KEY (kind, id))")
    server.execute(f"INSERT INTO {shop}.kinds SELECT 1 + id % 3, id FROM {shop}.item")
    server.execute(f"CREATE TABLE {shop}.two (a VARCHAR(20), b INT UNSIGNED, PRIMARY KEY (a, b))")
    server.execute(f"INSERT INTO {shop}.two SELECT id % 7, id FROM {shop}.item")
    server.execute(f"ANALYZE TABLE {shop}.item, {shop}.kinds, {shop}.two")
    copy = Copy(server, "copy", [f"{shop}.*"])
    told = {finding.id.removeprefix("source."): finding for finding in snapshot_checks.check(parse_task(copy.data))}
    plan = told["snapshot_plan"]
    assert plan.severity == "warn" and f"{shop}.kinds" in plan.found, plan
    assert f"{shop}.item" not in plan.found and f"{shop}.two" not in plan.found, plan
    assert "(measured: reading " in told["snapshot"].found, told["snapshot"]
    proof = "binlog position" if isinstance(server, MariaDB) else "gtid_executed"
    assert proof in told["snapshot_visibility"].found
    assert "binlog is kept" in told["snapshot_retention"].found
