"""A snapshot that operators order of a running task: paused, resumed and finished over a fail-over."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from dev.cluster import wait_for
from dev.errors import ServerFailed
from replicator.coordination.tasks.history import History
from replicator.model.snapshot import SnapshotProgress
from tests.failover.bus import Bus

pytestmark = pytest.mark.timeout(240)
MakeBus = Callable[..., Bus]
ROWS = 3000


def progress(bus: Bus) -> SnapshotProgress | None:
    checkpoint = bus.look().checkpoint
    return checkpoint.position.snapshot if checkpoint else None


def delivered(bus: Bus) -> int:
    found = progress(bus)
    return found.rows if found is not None else 0


def read(bus: Bus) -> list[int]:
    """Keys of the rows that came by the snapshot."""
    values = [json.loads(record.value) for record in bus.records("old") if record.value]
    return [value["after"]["id"] for value in values if value["op"] == "r"]


def test_start_pause_kill_resume_status(make_bus: MakeBus) -> None:
    bus = make_bus(source={"snapshot": {"mode": "never", "max_rows_per_s": 250, "chunk_rows": 100}})
    table = f"{bus.name}.old"
    bus.database.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, n INT)")
    bus.database.execute(f"INSERT INTO {table} VALUES {', '.join(f'({number}, 0)' for number in range(ROWS))}")
    bus.wait_delivered(20)
    with pytest.raises(ServerFailed, match="E2205"):
        bus.cluster.cli("task", "snapshot", "start", bus.name, "--table", table, "--table", f"{bus.name}.nothing")
    assert "no snapshot has begun" in bus.cluster.cli("task", "snapshot", "status", bus.name)
    bus.cluster.cli("task", "snapshot", "start", bus.name, "--table", table)
    wait_for(lambda: delivered(bus) > 200, lambda: f"rows of the snapshot{bus.logs()}", 40)
    assert "(snapshot " in bus.cluster.cli("task", "get", bus.name)
    bus.cluster.cli("task", "snapshot", "pause", bus.name)
    leader = bus.look().host
    bus.wait_delivered(40)  # it has taken up the order, and the stream goes on
    done = delivered(bus)
    assert done < ROWS
    bus.cluster.cores[leader].kill()
    bus.wait_running(other_than=leader)
    bus.wait_delivered(20)
    assert delivered(bus) == done, "it stays paused, whoever leads"
    assert "paused" in bus.cluster.cli("task", "snapshot", "status", bus.name)
    bus.cluster.cli("task", "snapshot", "resume", bus.name)
    lines = bus.cluster.cli("task", "snapshot", "status", bus.name, "--watch").splitlines()
    assert f"complete (order-1): {ROWS} rows" in lines[-1] and len(lines) > 1
    assert sorted(read(bus)) == list(range(ROWS)), "each once"
    taken = json.loads(bus.cluster.cli("task", "snapshot", "status", bus.name, "-o", "json"))
    assert (taken["snapshot"]["state"], taken["snapshot"]["rows"], taken["requests"]) == ("complete", ROWS, [])
    told = [entry.record for entry in History(bus.coordinator, bus.layout).read(bus.name)]
    reasons = [record.reason for record in told if record.kind == "snapshot"]
    assert sorted(reasons) == [f"order-1: {table}", "pause", "resume"]
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)
