"""A snapshot is interrupted, beside changes of the rows that it reads: it goes on, and each row is read once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest

from dev.cluster import wait_for
from dev.servers import MySQL
from replicator.model.snapshot import SnapshotProgress
from tests.failover.bus import Bus
from tests.failover.test_conditions import kill_dumps
from tests.failover.test_source_changes import group, hand_over
from tests.support.changes import Changes, Copied, contents, fill

pytestmark = pytest.mark.timeout(240)
MakeBus = Callable[..., Bus]
ROWS = 20_000


def progress(bus: Bus) -> SnapshotProgress:
    checkpoint = bus.look().checkpoint
    assert checkpoint is not None, "the task runs"
    found = checkpoint.position.snapshot
    assert found is not None, "the task began with one"
    return found


def sigkill(bus: Bus) -> None:
    leader = bus.look().host
    bus.cluster.cores[leader].kill()
    bus.wait_running(other_than=leader)


def switchover(bus: Bus) -> None:
    bus.cluster.cli("task", "switchover", bus.name)


def connections_lost(bus: Bus) -> None:
    kill_dumps(bus, bus.database.replicator[0])


def pause(bus: Bus) -> None:
    bus.cluster.cli("task", "pause", bus.name)
    wait_for(lambda: bus.look().state == "paused", "the task paused", 30)
    bus.cluster.cli("task", "resume", bus.name)


OPTIONS = {"tables": ["*.stock"], "chunk_rows": 200, "max_rows_per_s": 2000, "connections": 4}


def prepared(bus: Bus, fault: Callable[[Bus], None]) -> None:
    """The rows, and the Server where the fault needs it: it is not started while they are copied."""
    if fault in (switchover, pause):
        bus.cluster.start_server()
    fill(bus.database, f"{bus.name}.stock", ROWS)


@pytest.mark.parametrize("fault", [sigkill, switchover, connections_lost, pause])
def test_99_a_snapshot_is_interrupted(make_bus: MakeBus, fault: Callable[[Bus], None]) -> None:
    bus = make_bus(before=lambda bus: prepared(bus, fault), source={"snapshot": OPTIONS}, rate=20)
    with Changes(bus.database, f"{bus.name}.stock", ROWS + 200, seed=7, pause=0.002):
        before = a_part(bus)
        fault(bus)
        wait_for(lambda: progress(bus).ended_ms, "the end of the snapshot", 60, every=0.3)
    each_row_once(bus, before)


@pytest.mark.parametrize("fault", [sigkill, switchover, connections_lost])
def test_99_a_consistent_snapshot_is_interrupted(make_bus: MakeBus, fault: Callable[[Bus], None]) -> None:
    """Its view is lost: it begins again from a new one, behind what was delivered."""

    def before(bus: Bus) -> None:
        prepared(bus, fault)
        bus.database.execute(f"GRANT RELOAD ON *.* TO {bus.database.replicator[0]}@'%'")

    # The stream waits for the rows.
    bus = make_bus(before=before, source={"snapshot": OPTIONS | {"consistent": True}}, rate=20, first_rows=0)
    with Changes(bus.database, f"{bus.name}.stock", ROWS + 200, seed=7, pause=0.002):
        first = a_part(bus)
        # A Core that is killed within milliseconds behind its commit takes the note with it.
        wait_for(lambda: first.view in noted_views(bus), "the note of the view", 10, every=0.2)
        fault(bus)
        if fault is connections_lost:  # of the stream; it reads nothing while rows are delivered
            kill_readers(bus)
        wait_for(lambda: progress(bus).ended_ms, "the end of the snapshot", 90, every=0.3)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)
    wanted = contents(bus.database, f"{bus.name}.stock")
    wait_for(lambda: Copied(bus.records("stock")).rows == wanted, "the same rows", 30, every=1.0)
    copied, ended = Copied(bus.records("stock")), progress(bus)
    assert copied.backwards == []
    assert first.view and ended.view != first.view and ended.cuts == 2
    assert first.rows <= ended.again and len(copied.read) == ended.again + ended.rows
    views_are_told(bus, first, ended)


def noted_views(bus: Bus) -> dict[str, str]:
    return {event.position: event.reason for event in bus.history() if "consistent view" in event.reason}


def views_are_told(bus: Bus, first: SnapshotProgress, ended: SnapshotProgress) -> None:
    """In the history, the logs of the Cores, the Monitor and its metrics."""
    noted = noted_views(bus)
    assert set(noted) == {first.view, ended.view}
    assert f"writers locked for {first.lock_ms:g} ms" in noted[first.view] and "again" not in noted[first.view]
    assert f"begun again, {ended.again} rows are delivered again" in noted[ended.view]
    logged = "".join(core.log_path.read_text() for core in bus.cluster.cores.values())
    for view in (first.view, ended.view):
        assert any("consistent view" in line and view in line and "lock_ms" in line for line in logged.splitlines())
    taken = wait_for(lambda: bus.monitored().get("snapshot"), "the Monitor's view of it", 20)
    assert (taken["view"], taken["view_ms"], taken["lock_ms"]) == (ended.view, ended.cut_ms, ended.lock_ms)
    assert (taken["views"], taken["rows_again"], taken["consistent_since"]) == (2, ended.again, ended.consistent_since)
    names = ("consistent", "views", "rows_again", "view_timestamp_seconds")
    assert [bus.metric(f"bus_snapshot_{name}") for name in names] == [1, 2, ended.again, ended.cut_ms / 1000]


def kill_readers(bus: Bus) -> None:
    """The connections that have the views."""
    user = bus.database.replicator[0]
    for (number,) in bus.database.execute(
        f"SELECT id FROM information_schema.processlist WHERE user = '{user}' AND command NOT LIKE 'Binlog Dump%'"
    ):
        with contextlib.suppress(Exception):  # it has ended
            bus.database.execute(f"KILL {number}")


def test_99_the_source_fails_over_while_a_snapshot_reads_it(
    make_bus: MakeBus, make_mysql: Callable[..., MySQL]
) -> None:
    primary, replica = group(make_mysql)
    bus = make_bus(
        before=lambda bus: fill(bus.database, f"{bus.name}.stock", ROWS),
        database=primary,
        source={"snapshot": OPTIONS, "hosts": [primary.address, replica.address], "connect_timeout_s": 2},
        rate=20,
    )
    with Changes(primary, f"{bus.name}.stock", ROWS + 200, seed=8, pause=0.002):
        before = a_part(bus)
    hand_over(bus, primary, replica)
    bus.database = replica
    primary.kill()
    with Changes(replica, f"{bus.name}.stock", ROWS + 200, seed=9, pause=0.002, after=1_000_000):
        wait_for(lambda: progress(bus).ended_ms, "the end of the snapshot", 90, every=0.3)
    each_row_once(bus, before)


def a_part(bus: Bus) -> SnapshotProgress:
    wait_for(lambda: progress(bus).rows > 2000, "a part of the rows", 40, every=0.1)
    found = progress(bus)
    assert not found.ended_ms
    return found


def each_row_once(bus: Bus, before: SnapshotProgress) -> None:
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)
    wanted = contents(bus.database, f"{bus.name}.stock")
    wait_for(lambda: Copied(bus.records("stock")).rows == wanted, "the same rows", 30, every=1.0)
    copied = Copied(bus.records("stock"))
    assert copied.backwards == []
    assert len(copied.read) == len(set(copied.read)), "a row was read twice"
    assert progress(bus).begun_ms == before.begun_ms
    assert len(copied.read) <= progress(bus).rows
