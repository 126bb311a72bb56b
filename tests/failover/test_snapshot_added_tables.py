"""An apply adds a table, and the leader is killed at once: its rows come all the same, each once."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from dev.cluster import wait_for
from replicator.coordination.tasks.history import History
from tests.failover.bus import Bus
from tests.failover.test_snapshot_orders import progress, read

pytestmark = pytest.mark.timeout(240)
MakeBus = Callable[..., Bus]
ROWS = 3000


def test_an_apply_that_adds_a_table_delivers_its_rows(make_bus: MakeBus) -> None:
    bus = make_bus(
        source={"snapshot": {"mode": "initial", "tables": ["*.old"], "max_rows_per_s": 1000, "chunk_rows": 100}}
    )
    table = f"{bus.name}.old"
    path = bus.cluster.folder / "task.json"
    without = bus.task | {"source": bus.task["source"] | {"tables": [f"{bus.name}.*", f"!{table}"]}}
    path.write_text(json.dumps(without))
    bus.cluster.cli("task", "apply", "-f", str(path))
    bus.database.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, n INT)")
    bus.database.execute(f"INSERT INTO {table} VALUES {', '.join(f'({number}, 0)' for number in range(ROWS))}")
    bus.wait_delivered(20)
    wait_for(lambda: (taken := progress(bus)) and taken.ended_ms, "the initial snapshot to end", 40)
    path.write_text(json.dumps(bus.task))
    leader = bus.look().host
    bus.cluster.cli("task", "apply", "-f", str(path))
    bus.cluster.cores[leader].kill()
    bus.wait_running(other_than=leader)
    lines = bus.cluster.cli("task", "snapshot", "status", bus.name, "--watch").splitlines()
    version = bus.look().config_version
    assert f"tables added by version {version}): {ROWS} rows" in lines[-1], lines
    assert sorted(read(bus)) == list(range(ROWS)), "each once"
    entries = [entry.record for entry in History(bus.coordinator, bus.layout).read(bus.name)]
    reasons = [record.reason for record in entries if record.kind == "snapshot"]
    added = f"order-1: tables added by version {version}: {table}"
    assert reasons == ["initial: no such table: *.old (tables)", added]
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)
