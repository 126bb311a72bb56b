"""The source purges the position of a task that does not run, and the leader dies right behind the decision."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dev.cluster import wait_for
from dev.servers.database import Database
from replicator.coordination.tasks.history import History
from replicator.model.position import Position
from tests.failover.bus import Bus
from tests.support.binlogs import purge_all_but_last
from tests.support.changes import Changes, Copied, contents, fill
from tests.support.present import present

pytestmark = pytest.mark.timeout(240)
MakeBus = Callable[..., Bus]
ROWS = 3000


def position(bus: Bus) -> Position:
    return present(bus.look().checkpoint).position


@pytest.mark.parametrize("flavour", ["mysql", "mariadb"])
def test_78_a_purged_position_leads_to_a_new_snapshot(
    make_bus: MakeBus, request: pytest.FixtureRequest, flavour: str
) -> None:
    server: Database = request.getfixturevalue(f"make_{flavour}")()
    options = {"mode": "when_needed", "tables": ["*.stock"], "chunk_rows": 100}
    bus = make_bus(
        before=lambda bus: fill(bus.database, f"{bus.name}.stock", ROWS),
        database=server,
        source={"snapshot": {**options, "max_rows_per_s": 1000}},
        rate=20,
    )
    table = f"{bus.name}.stock"
    wait_for(lambda: (taken := position(bus).snapshot) and taken.ended_ms, "the first snapshot", 60, every=0.2)
    with Changes(server, table, ROWS, seed=3, pause=0.002):
        bus.wait_delivered(20)
        bus.cluster.cli("task", "pause", bus.name)
        wait_for(lambda: bus.look().state == "paused", "paused", 20)
    bus.writer.stop()
    server.execute(f"DELETE FROM {table} WHERE id % 100 = 7")
    unread = set(Copied(bus.records("stock")).rows) - set(contents(server, table))
    purge_all_but_last(server)
    bus.cluster.cli("task", "resume", bus.name)
    wait_for(lambda: position(bus).reset == 1, "the decision", 40, every=0.02)
    leader = bus.look().host
    with Changes(server, table, ROWS, seed=4, pause=0.005, after=1_000_000):
        bus.cluster.cores[leader].kill()
        before = len(Copied(bus.records("stock")).read)
        bus.wait_running(other_than=leader)
        wait_for(lambda: present(position(bus).snapshot).ended_ms, "the end of the snapshot", 60, every=0.3)
    wanted = contents(server, table)
    wait_for(lambda: {**Copied(bus.records("stock")).rows, **wanted} == Copied(bus.records("stock")).rows, "rows", 30)
    copied = Copied(bus.records("stock"))
    assert unread and set(copied.rows) - set(wanted) <= unread, "only rows whose deletion is in no log are too many"
    assert copied.backwards == []
    again = copied.read[before:]
    assert len(again) == len(set(again)), "each row once"
    assert (position(bus).reset, present(position(bus).snapshot).id) == (1, "needed-1"), "one decision"
    told = [entry.record for entry in History(bus.coordinator, bus.layout).read(bus.name)]
    reasons = [record.reason for record in told if record.kind == "snapshot"]
    assert len(reasons) <= 1 and all(reason.startswith("needed-1: E2206") for reason in reasons), reasons
    assert "needed-1" in bus.cluster.cli("task", "snapshot", "status", bus.name)
