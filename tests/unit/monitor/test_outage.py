"""ZooKeeper away: what the Monitor says of it, step by step, with a clock that the test moves."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs

from monitor import snapshot_poller
from monitor.app import zookeeper_line
from monitor.feed import Feed
from monitor.metrics import exposition
from monitor.snapshot_poller import SnapshotPoller
from replicator.coordination.in_memory.coordinator import MemoryCoordinator
from replicator.telemetry.log import get_logger
from tests.unit.monitor.scene import Bus, small


class Screen:
    """A Monitor whose reads happen when the test says so."""

    def __init__(self, bus: Bus) -> None:
        self.now = 1000.0
        self.coordinator: MemoryCoordinator = bus.session()
        self.feed = Feed()
        self.poller = SnapshotPoller(
            self.coordinator, bus.layout, self.feed, zookeeper="zk1:2181,zk2:2181", clock=lambda: self.now
        )

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.poller.step()

    @property
    def outage(self) -> str:
        """Its text, as a person reads it."""
        return " ".join(re.sub(r"<[^>]+>", " ", self.feed.page.html["outage"]).split())

    def metric(self, name: str) -> str | None:
        text = exposition(self.poller.view, streams=0).decode()
        found = re.search(rf"^{name}(?:{{.*}})? (.*)$", text, re.MULTILINE)
        return found[1] if found else None


@pytest.fixture(autouse=True)
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, object]]]:
    with capture_logs() as entries:
        monkeypatch.setattr(snapshot_poller, "log", get_logger("monitor"))
        yield entries  # type: ignore[misc]  # a list of mutable mappings


def test_the_age_counts_on_and_the_page_says_what_is_unknown(log: list[dict[str, object]]) -> None:
    screen = Screen(small())
    screen.wait(0)
    assert screen.outage == "" and screen.poller.view.zookeeper_connected and not log
    assert (screen.metric("bus_zookeeper_connected"), screen.metric("bus_task_lag_seconds")) == ("1.0", "0.02")
    screen.coordinator.suspend()
    for _ in range(45):
        screen.wait(1)
    view = screen.poller.view
    assert (view.age_s, view.zookeeper_connected, view.stale_code) == (45.0, False, "E4002")
    assert view.stale_since_ms == view.read_ms and screen.feed.since("").stale
    assert re.search(r", for 45 s \(E4002 .* was not sent\)$", zookeeper_line(view))
    assert (screen.metric("bus_zookeeper_connected"), screen.metric("bus_task_lag_seconds")) == ("0.0", None)
    for words in (
        "No data from ZooKeeper since ",
        "What tasks and machines do now is not known.",
        "stops its tasks when its lease ends, after 7 s at most",
        "zk1:2181,zk2:2181",
        "replicator docs operations zookeeper",
    ):
        assert words in screen.outage
    screen.coordinator.resume()
    screen.wait(1)
    assert screen.outage == "" and screen.poller.view.age_s == 0 and screen.poller.view.zookeeper_connected
    assert [(entry["event"], entry["log_level"]) for entry in log] == [
        ("no data from zookeeper", "error"),
        ("zookeeper answers again", "info"),
    ]
    assert log[0]["code"] == "E4002" and "UTC" in str(log[0]["last_read"]) and log[1]["without_data_s"] == 46.0


def test_figures_are_stale_while_a_read_is_not_answered() -> None:
    screen = Screen(small())
    screen.wait(0)
    screen.now += 3
    assert screen.poller.view.zookeeper_connected
    screen.now += 0.5
    view = screen.poller.view
    assert (view.zookeeper_connected, view.stale_since_ms, view.stale_reason) == (False, view.read_ms, "no answer yet")
    assert (screen.metric("bus_zookeeper_connected"), screen.metric("bus_task_lag_seconds")) == ("0.0", None)
    assert not screen.feed.page.stale
    screen.poller.look()
    assert screen.feed.page.stale and screen.outage.startswith("No data from ZooKeeper since ")
    published = screen.feed.page
    screen.poller.look()
    assert screen.feed.page is published, "once"


def test_a_monitor_that_was_started_in_an_outage_has_never_read_anything(log: list[dict[str, object]]) -> None:
    bus = small()
    screen = Screen(bus)
    screen.coordinator.suspend()
    screen.wait(0)
    assert screen.outage == "Connecting to ZooKeeper at zk1:2181,zk2:2181. Nothing was read yet." and not log
    screen.wait(4.9)
    assert screen.outage.startswith("Connecting")
    screen.wait(1)
    assert screen.outage.startswith("No data from ZooKeeper since this Monitor was started at ")
    assert "It has never read anything." in screen.outage
    assert "Which tasks exist, where they run and whether they have failed is not known." in screen.outage
    assert [entry["event"] for entry in log] == ["no data from zookeeper"] and log[0]["last_read"] == "never"
    view = screen.poller.view
    assert (view.age_s, view.read_ms, view.zookeeper_connected) == (None, 0, False)
    assert zookeeper_line(view).startswith("zookeeper: nothing was ever read since the start at ")
    assert screen.metric("bus_monitor_snapshot_timestamp_seconds") is None
    tiles = re.findall(r"<b>(.*?)</b>", screen.feed.page.html["tiles"])
    assert set(tiles) == {"–"}, "a figure of 0 would be a claim"
    screen.coordinator.resume()
    screen.wait(1)
    assert screen.outage == "" and "–" not in re.findall(r"<b>(.*?)</b>", screen.feed.page.html["tiles"])[:5]


def test_a_fault_of_the_monitor_is_not_called_an_outage(
    log: list[dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Screen(small())
    screen.wait(0)
    with monkeypatch.context() as patch:
        patch.setattr(screen.poller._reader, "read", lambda: 1 // 0)
        screen.wait(1)
        screen.wait(1)
    assert "the Monitor fails to process what it reads" in screen.outage and "Core" not in screen.outage
    assert [entry["code"] for entry in log] == ["E5011"], "once, not at each read"


def test_the_clock_of_an_update_is_that_of_its_sending(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream repeats its last page while nothing new is published; ages must not begin again with each repetition."""
    screen = Screen(small())
    screen.wait(0)
    monkeypatch.setattr("monitor.feed.now_ms", lambda: 5_000)
    assert screen.feed.since("").now_ms == 5_000
    monkeypatch.setattr("monitor.feed.now_ms", lambda: 9_000)
    assert screen.feed.since("").now_ms == 9_000
