"""From ZooKeeper (in memory) to the page's values."""

from __future__ import annotations

import msgspec
import pytest

from monitor.snapshot_history import SnapshotHistory
from monitor.snapshot_reader import SnapshotReader
from monitor.view import TaskRow, View
from monitor.view_builder import build
from replicator.coordination.machines.expected import ExpectedMachines
from replicator.coordination.machines.known import SHOWN_STOPPED_MS, SILENT_SECONDS
from replicator.coordination.machines.stopped import StoppedCores
from replicator.coordination.records import StoppedRecord, dump
from replicator.errors import NotConnected
from tests.unit.monitor.scene import Bus, night, now_ms, small


class Eye:
    """A Monitor without its thread: looks when told, with a clock of its own."""

    def __init__(self, bus: Bus) -> None:
        self.now = 100.0
        self.coordinator = bus.session()
        self.reader = SnapshotReader(self.coordinator, bus.layout)
        self.memory = SnapshotHistory(clock=lambda: self.now)

    def look(self) -> View:
        return build(self.reader.read(), self.memory, "/mysql_replicator")


def named(view: View, name: str) -> TaskRow:
    return next(task for task in view.tasks if task.name == name)


def test_one_running_task() -> None:
    view = Eye(small()).look()
    (task,) = view.tasks
    assert (task.state, task.host, task.standbys, task.tone) == ("RUNNING", "host-a", ("host-b",), "ok")
    assert task.rows == 1234
    assert task.position == "binlog.000042:88123456"
    assert task.source == "mysql db1.shop.internal:3306"
    assert task.destination == "{task}.{database}.{table}, debezium, kafka kafka1.internal:9092 +1"
    assert [member.state for member in task.members] == ["RUNNING", "STANDBY"]
    assert (view.tiles.running, view.tiles.online, view.tiles.offline) == (1, 2, 0)
    assert view.tiles.rows_per_s == 812.0


def test_an_empty_zookeeper_is_not_touched() -> None:
    bus = Bus()
    assert Eye(bus).look().tasks == ()
    assert bus.admin.exists("/mysql_replicator") is None


def test_sorted_by_trouble_then_name() -> None:
    view = Eye(night()).look()
    assert [task.name for task in view.tasks[:3]] == ["handmade", "billing_invoices", "inventory"]
    assert [task.name for task in view.tasks[-2:]] == ["copy_hot_item", "orders_to_lake"]
    troubles = [task.trouble for task in view.tasks]
    assert troubles == sorted(troubles, reverse=True)


def test_tiles_of_the_night() -> None:
    tiles = Eye(night()).look().tiles
    assert (tiles.tasks, tiles.running, tiles.without_running, tiles.failed, tiles.paused) == (13, 7, 2, 2, 1)
    assert (tiles.worst_lag_task, tiles.worst_lag_s) == ("loyalty_points", 612.0)


def test_maintenance_of_a_task_and_of_all() -> None:
    bus = night()
    held = named(Eye(bus).look(), "sessions_of_three_servers")
    assert held.maintenance == "task"
    assert "maintenance: no standby is promoted by jan: new switches in rack b" in held.notes[1]
    bus.maintain("", by="maria", reason="kernels", age_s=60)
    view = Eye(bus).look()
    assert view.maintenance is not None and (view.maintenance.by, view.maintenance.reason) == ("maria", "kernels")
    healthy = named(view, "orders_to_lake")
    assert (healthy.maintenance, healthy.trouble, healthy.notes) == ("cluster", 0, ())


def test_retention_headroom_dead_letters_several_hosts_and_what_a_standby_does_not_reach() -> None:
    task = named(Eye(night()).look(), "sessions_of_three_servers")
    assert task.notes[0] == "required binlog is purged in 5 h 16 min"
    assert task.notes[-2:] == ("dead letters: 3", "conflicts: 7")
    assert task.source == "mysql db1.shop.internal:3306 +2"
    assert [member.unreached for member in task.members] == [(), ("sink",)]


def test_failed_task_shows_its_error_in_place() -> None:
    task = named(Eye(night()).look(), "billing_invoices")
    assert (task.state, task.host, task.standbys) == ("FAILED", "host-a", ("host-b",))
    assert task.errors[0]["code"] == "E2104"
    assert task.errors[0]["fix"].startswith("GRANT")


def test_garbage_in_a_task_is_that_tasks_problem_only() -> None:
    view = Eye(night()).look()
    assert named(view, "handmade").errors[0]["code"] == "E4009"
    assert named(view, "copy_hot_item").errors == ()


def test_the_next_in_line_takes_over() -> None:
    bus = small()
    eye = Eye(bus)
    eye.look()
    bus.cores["host-a"].die()
    view = eye.look()
    (task,) = view.tasks
    assert (task.state, task.host, task.standbys) == ("WAITING", "host-b", ())
    assert "no standby" in task.notes
    assert {machine.host: machine.state for machine in view.machines} == {"host-a": "offline", "host-b": "online"}


def test_a_machine_that_comes_back_is_online_again() -> None:
    bus = small()
    eye = Eye(bus)
    eye.look()
    bus.cores["host-a"].die()
    gone = eye.look().machines[0]
    assert gone.state == "offline"
    bus.core("host-a", age_s=0).report()
    assert {machine.state for machine in eye.look().machines} == {"online"}


def test_a_core_that_stops_reporting_is_silent() -> None:
    bus = small()
    eye = Eye(bus)
    eye.look()
    eye.now += SILENT_SECONDS + 1
    bus.cores["host-b"].report()
    states = {machine.host: machine.state for machine in eye.look().machines}
    assert states == {"host-a": "silent", "host-b": "online"}


def test_a_machine_that_is_gone_is_offline_also_for_a_monitor_that_was_started_later() -> None:
    bus = night()
    machine = next(machine for machine in Eye(bus).look().machines if machine.host == "host-z")
    assert (machine.state, machine.expected) == ("offline", "learned")
    assert machine.last_ms > 0, "the history of a task has named it"
    ExpectedMachines(bus.admin, bus.layout).forget("host-z")
    assert "host-z" not in {machine.host for machine in Eye(bus).look().machines}


def test_a_machine_that_never_came_is_offline_until_it_is_forgotten() -> None:
    bus = small()
    eye = Eye(bus)
    expected = ExpectedMachines(bus.admin, bus.layout)
    expected.expect("host-x", "jan", "rack b")
    for watching in (eye, Eye(bus)):
        view = watching.look()
        machine = view.machines[0]
        assert (machine.host, machine.state, machine.expected, machine.expected_by) == (
            "host-x",
            "offline",
            "ordered",
            "jan",
        )
        assert machine.last_ms == 0 and view.tiles.offline == 1
    expected.forget("host-x")
    assert eye.look().tiles.offline == 0


def test_a_machine_that_is_forgotten_after_it_was_lost_is_gone() -> None:
    bus = small()
    ExpectedMachines(bus.admin, bus.layout).learn("host-a")
    eye = Eye(bus)
    eye.look()
    bus.cores["host-a"].die()
    bus.cores["host-b"].die()
    assert [machine.state for machine in eye.look().machines] == ["offline", "offline"]
    ExpectedMachines(bus.admin, bus.layout).forget("host-a")
    assert [machine.host for machine in eye.look().machines] == ["host-b"], "an earlier release has not recorded it"


def test_a_core_that_ended_on_request_is_not_an_offline_machine() -> None:
    bus = small()
    eye = Eye(bus)
    eye.look()
    ended = bus.cores["host-a"]
    StoppedCores(ended.coordinator, bus.layout).record("host-a", ended.process)
    ended.die()
    bus.cores["host-b"].die()
    for watching in (eye, Eye(bus)):  # and one that was started later, which knows host-a from the record alone
        view = watching.look()
        states = {machine.host: (machine.state, machine.tone) for machine in view.machines}
        assert states["host-a"] == ("stopped", "idle")
        assert view.tiles.online == 0
    assert [(machine.host, machine.state) for machine in eye.look().machines] == [
        ("host-b", "offline"),
        ("host-a", "stopped"),
    ]
    assert eye.look().tiles.offline == 1
    again = bus.core("host-a", age_s=0)  # another process, killed before it said anything: the record is not its own
    again.report()
    eye.look()
    again.die()
    assert {machine.host: machine.state for machine in eye.look().machines}["host-a"] == "offline"


def test_a_core_that_ended_long_ago_is_not_shown() -> None:
    bus = small()
    eye = Eye(bus)
    old = StoppedRecord(process="p", time_ms=now_ms() - SHOWN_STOPPED_MS - 1000)
    bus.admin.create(bus.layout.stopped_core("host-old"), dump(old), parents=True)
    assert {machine.host for machine in eye.look().machines} == {"host-a", "host-b"}


def test_takeovers_are_counted_once_and_only_new_ones() -> None:
    bus = night()
    eye = Eye(bus)
    assert eye.look().takeovers == {}
    bus.happened("copy_hot_item", "running", 0, host="host-b", epoch=2**40, seconds=3.0)
    assert eye.look().takeovers == {"copy_hot_item": {"fail-over": 1}}
    view = eye.look()
    assert view.takeovers == {"copy_hot_item": {"fail-over": 1}}
    assert (sum(view.failover_buckets), view.failover_seconds) == (1, 3.0)


def test_an_outage_is_measured_from_the_last_report() -> None:
    bus = small()
    eye = Eye(bus)
    eye.look()
    bus.cores["host-a"].die()
    eye.look()
    bus.happened("copy_hot_item", "running", -5.5, host="host-b", epoch=2**40, seconds=0.4)
    change = eye.look().changes[0]
    assert (change.kind, change.seconds) == ("fail-over", 0.4)
    assert 5.4 < change.outage_s < 6.5


def test_rates_become_a_sparkline() -> None:
    eye = Eye(small())
    for _ in range(35):
        eye.look()
        eye.now += 3
    assert named(eye.look(), "copy_hot_item").spark == (812.0,) * 7


def test_a_task_that_was_deleted_is_forgotten() -> None:
    bus = small()
    eye = Eye(bus)
    eye.look()
    for core in list(bus.cores.values()):
        core.die()
    for path in (bus.layout.last_commit("copy_hot_item"), bus.layout.election("copy_hot_item")):
        bus.admin.delete(path)
    history = bus.layout.history("copy_hot_item")
    for name in bus.admin.children(history):
        bus.admin.delete(f"{history}/{name}")
    bus.admin.delete(history)
    bus.admin.delete(bus.layout.task("copy_hot_item"))
    assert eye.look().tasks == ()
    assert eye.memory.rates == {}


def test_zookeeper_away() -> None:
    eye = Eye(small())
    eye.coordinator.suspend()
    with pytest.raises(NotConnected):
        eye.look()


def test_the_view_is_json() -> None:
    text = msgspec.json.encode(Eye(night()).look())
    assert msgspec.json.decode(text)["tiles"]["running"] == 7
