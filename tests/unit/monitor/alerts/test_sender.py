"""Which of two Monitors sends, and what a successor knows. In memory; the clock is the test's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from monitor.alerts.routes_of_file import RoutesOfFile
from monitor.alerts.rules_of_file import RulesOfFile
from monitor.alerts.sender import Sender
from monitor.alerts.service import Alerts
from monitor.alerts.store import AlertStore
from monitor.alerts.subjects import Subjects
from monitor.view import MachineView, TaskRow, View
from replicator.alerts.messages import Message
from replicator.alerts.route import Route
from replicator.coordination.alert_records import SentRecord
from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.records import load
from replicator.errors import ProcessError
from tests.unit.monitor.alerts.test_subjects import row, view_of

LAYOUT = Layout()
WELL = row(lag_s=0.1, standbys=("b",))
ROUTES = """
defaults: {group_wait: 10s, group_interval: 20s, repeat_interval: 1h}
routes: [{name: all, webhook: {url: "http://h/"}}]
"""


class Bus:
    """What both Monitors see, the time, and what a receiver has accepted."""

    def __init__(self, path: Path) -> None:
        self.ensemble = MemoryEnsemble()
        self.now = 1_800_000_000_000
        self.view = view_of(row(state="FAILED"))
        self.path = path
        self.path.write_text(ROUTES)
        self.accepted: list[tuple[str, Message]] = []
        self.broken = ""

    def pass_(self, seconds: int, *monitors: Watcher, **view: object) -> None:
        """Second by second."""
        if view:
            self.view = msgspec.structs.replace(self.view, **view)
        for _ in range(seconds):
            self.now += 1000
            for monitor in monitors:
                monitor.step()

    @property
    def said(self) -> list[str]:
        return [f"{'+' if message.firing else '-'}{message.labels['rule']}" for _, message in self.accepted]


class Watcher:
    """One Monitor."""

    def __init__(self, bus: Bus, name: str) -> None:
        self.bus, self.name = bus, name
        self.session = bus.ensemble.session()
        self.view: View | None = None
        routes = RoutesOfFile(bus.path)
        self.alerts = Alerts(
            lambda: self.view or bus.view, Subjects(lambda task: ()), RulesOfFile(None), AlertStore(None),
            lambda: self.sender.view, lambda: bus.now,
        )  # fmt: skip
        self.sender = Sender(self.session, LAYOUT, routes, lambda: self.alerts, send=self.send, clock=lambda: bus.now)

    def send(self, route: Route, message: Message) -> None:
        if self.bus.broken:
            raise ProcessError("E5183", self.bus.broken, found="HTTP 500")
        self.bus.accepted.append((self.name, message))

    def step(self) -> None:
        self.alerts.step()
        self.sender.step()

    def die(self) -> None:
        self.session.close()


@pytest.fixture
def bus(tmp_path: Path) -> Iterator[Bus]:
    yield Bus(tmp_path / "routes.yaml")


def test_one_of_two_sends(bus: Bus) -> None:
    first, second = Watcher(bus, "first"), Watcher(bus, "second")
    bus.pass_(60, first, second)
    assert bus.said == ["+BusTaskFailed"] and bus.accepted[0][0] == "first"
    assert (first.sender.view.sends, second.sender.view.sends) == (True, False)
    assert second.sender.view.host == first.sender.view.host != ""
    bus.pass_(60, first, second, tasks=(WELL,))
    assert bus.said == ["+BusTaskFailed", "-BusTaskFailed"]


def test_a_sender_that_dies_within_the_wait_loses_nothing(bus: Bus) -> None:
    first, second = Watcher(bus, "first"), Watcher(bus, "second")
    bus.pass_(5, first, second)
    first.die()
    bus.pass_(8, second)
    assert [name for name, _ in bus.accepted] == ["second"], "the wait of the first one counts"
    bus.pass_(100, second)
    assert bus.said == ["+BusTaskFailed"]


def test_a_successor_repeats_nothing_and_sends_the_end(bus: Bus) -> None:
    first, second = Watcher(bus, "first"), Watcher(bus, "second")
    bus.pass_(30, first, second)
    first.die()
    bus.pass_(100, second)
    assert bus.said == ["+BusTaskFailed"]
    bus.pass_(30, second, tasks=(WELL,))
    assert bus.said == ["+BusTaskFailed", "-BusTaskFailed"]


def test_a_sender_that_dies_after_sending_and_before_noting_repeats_one(
    bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Watcher(bus, "first")
    bus.pass_(5, first)

    def died(route: Route, message: Message) -> None:
        first.send(route, message)
        first.die()

    monkeypatch.setattr(first.sender, "_send", died)
    bus.pass_(10, first)
    second = Watcher(bus, "second")
    bus.pass_(100, second)
    assert [name for name, _ in bus.accepted] == ["first", "second"]
    assert len({message.key for _, message in bus.accepted}) == 1
    bus.pass_(100, second)
    assert len(bus.accepted) == 2


def test_a_successor_that_has_just_started_adopts_what_was_sent(bus: Bus) -> None:
    """Its own evaluation is still waiting for `for`, and it has never seen the machine that is gone."""
    bus.view = view_of(
        row(lag_s=400.0, standbys=("b",)), machines=(MachineView(host="m", state="offline", tone="bad", since_ms=1),)
    )
    first = Watcher(bus, "first")
    bus.pass_(400, first)
    fired = sorted(bus.said)
    assert fired == ["+BusLag", "+BusLagLong", "+BusMachineGone"]
    began = {one.rule: one.fired_ms for one in first.alerts.view.firing}
    first.die()
    second = Watcher(bus, "second")
    bus.pass_(30, second, machines=())
    assert sorted(bus.said) == fired
    assert {one.rule: one.fired_ms for one in second.alerts.view.firing} == began
    bus.pass_(60, second, tasks=(row(lag_s=40.0, standbys=("b",)),))
    assert sorted(bus.said) == sorted([*fired, "-BusLagLong"])


def test_without_zookeeper_each_monitor_sends_its_outage_alone(bus: Bus) -> None:
    first, second = Watcher(bus, "first"), Watcher(bus, "second")
    bus.pass_(30, first, second)
    for monitor in (first, second):
        monitor.session.suspend()
    bus.pass_(60, first, second, stale_since_ms=bus.now)
    assert sorted(bus.said) == ["+BusTaskFailed", "+BusZooKeeperAway", "+BusZooKeeperAway"]
    assert first.sender.view.code == "E4001" and first.sender.view.since_ms


def test_a_route_that_fails_is_said_tried_again_later_and_loses_nothing(bus: Bus) -> None:
    first = Watcher(bus, "first")
    bus.broken = "no"
    bus.pass_(60, first)
    view = first.sender.view
    assert (view.code, bool(view.since_ms)) == ("E5183", True) and "HTTP 500" in view.problem
    assert 3 <= view.routes[0].failed <= 5, "5, 10, 20 s between"
    assert first.alerts.marked(bus.view).alert_code == "E5183"
    bus.broken = ""
    bus.pass_(80, first)
    assert bus.said == ["+BusTaskFailed"] and not first.sender.view.problem
    assert first.sender.view.routes[0].sent == 1


def test_an_alert_that_ends_while_its_route_fails_is_not_sent(bus: Bus) -> None:
    first = Watcher(bus, "first")
    bus.broken = "no"
    bus.pass_(60, first)
    bus.broken = ""
    bus.pass_(400, first, tasks=(WELL,))
    assert bus.said == []


def test_routes_are_read_again_and_a_bad_file_leaves_the_former_ones(bus: Bus) -> None:
    first = Watcher(bus, "first")
    bus.pass_(5, first)
    bus.path.write_text("routes: [")
    bus.pass_(30, first)
    assert first.sender.view.code == "E5182" and bus.said == ["+BusTaskFailed"]
    bus.path.write_text(ROUTES.replace("name: all", "name: other"))
    bus.pass_(30, first)
    assert not first.sender.view.problem
    assert [message.route for _, message in bus.accepted] == ["all", "other"]


def test_what_was_sent_survives_all_monitors(bus: Bus) -> None:
    first = Watcher(bus, "first")
    bus.pass_(30, first)
    first.die()
    record = load(SentRecord, bus.ensemble.session().get(LAYOUT.alerts_sent).data)
    assert [group.alerts[0][:3] for group in record.groups.values()] == [("BusTaskFailed", "task", "t")]
    bus.pass_(10_000)
    bus.view = view_of()
    second = Watcher(bus, "second")
    bus.pass_(30, second)
    assert bus.said == ["+BusTaskFailed", "-BusTaskFailed"]


def test_a_thousand_failed_tasks_are_one_message(bus: Bus) -> None:
    tasks: list[TaskRow] = [row(name=f"task_{number}", state="FAILED") for number in range(1000)]
    bus.view = view_of(*tasks)
    first, second = Watcher(bus, "first"), Watcher(bus, "second")
    for monitor in (first, first, first, second, second, second):
        bus.now += 12_000
        if monitor is second and first.session is not None:
            first.die()
        monitor.step()
    assert bus.said == ["+BusTaskFailed"]
    assert len(bus.ensemble.session().get(LAYOUT.alerts_sent).data) < 50_000


def test_a_test_message_goes_out_from_any_monitor(bus: Bus) -> None:
    first = Watcher(bus, "first")
    first.sender.test("all")
    assert [message.test for _, message in bus.accepted] == [True, True]
    with pytest.raises(ProcessError, match="E5184"):
        first.sender.test("none")
