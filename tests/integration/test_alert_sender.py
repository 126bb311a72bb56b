"""Two Monitors on a real ZooKeeper, and a receiver that counts: the sender is killed within the wait of a group."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dev import plain_http
from replicator.coordination.layout import Layout
from replicator.coordination.records import TaskRecord, dump
from replicator.zookeeper.client import ZookeeperCoordinator, connect
from tests.integration.test_monitor import monitor, read
from tests.support.receivers import Received
from tests.support.waiting import eventually

pytestmark = pytest.mark.servers

RULES = """
shipped: false
rules:
  - {name: Nobody, of: task, when: "state <> 'RUNNING'", severity: critical, summary: "{task} is {state}"}
  - {name: Away, of: monitor, when: zookeeper_connected = FALSE, for: 1s, summary: "{host} has no data"}
"""


@pytest.fixture
def received() -> Iterator[Received]:
    made = Received()
    yield made
    made.close()


class Site:
    """A tree with tasks that nobody runs, and Monitors over it."""

    def __init__(self, hosts: str, root: str, received: Received, folder: Path, wait: str) -> None:
        self.hosts, self.layout, self.folder = hosts, Layout(root), folder
        (folder / "rules.yaml").write_text(RULES)
        (folder / "routes.yaml").write_text(
            f"defaults: {{group_wait: {wait}, group_interval: 1s, repeat_interval: 1h}}\n"
            f"routes: [{{name: hook, webhook: {{url: '{received.url}'}}}}]\n"
        )
        self.session: ZookeeperCoordinator = connect(hosts, session_timeout=5.0)

    def task(self, name: str) -> None:
        self.session.create(self.layout.task(name), dump(TaskRecord(uid=name, config=None)), parents=True)

    def monitor(self) -> Any:
        files = ("--alert-rules", str(self.folder / "rules.yaml"), "--alert-routes", str(self.folder / "routes.yaml"))
        return monitor(self.hosts, *files, "--no-history", "--interval", "0.2", root=self.layout.root)


def sends(url: str) -> bool:
    return "bus_alert_sender 1.0" in read(url, "/metrics")


def told(received: Received, status: str = "firing") -> list[dict[str, Any]]:
    return [body for body in received.bodies if body["status"] == status]


def test_the_sender_is_killed_within_the_wait(zookeeper: Any, received: Received, tmp_path: Path) -> None:
    site = Site(zookeeper.hosts, f"/alerts-{tmp_path.name}", received, tmp_path, "4s")
    with contextlib.closing(site.session), site.monitor() as (first, one):
        eventually(lambda: sends(one))
        with site.monitor() as (_, two):
            eventually(lambda: "bus_zookeeper_connected 1.0" in read(two, "/metrics"))
            assert not sends(two)
            site.task("orders")
            eventually(lambda: plain_http.get(f"{one}/api/alerts").json()["firing"])
            first.send_signal(signal.SIGKILL)
            first.wait(10)
            assert received.bodies == [], "the wait of 4 s was not over"
            eventually(lambda: sends(two))
            eventually(lambda: told(received))
            # The group's next message is due when it changes: nothing else comes before.
            site.task("returns")
            eventually(lambda: len(told(received)) >= 2)
            names = [sorted(alert["name"] for alert in body["firing"]) for body in told(received)]
            assert names == [["orders"], ["orders", "returns"]]
            assert len({body["group"]["key"] for body in told(received)}) == 1
            assert told(received, "resolved") == []


def test_a_sender_that_stops_hands_over_and_nothing_is_repeated(
    zookeeper: Any, received: Received, tmp_path: Path
) -> None:
    site = Site(zookeeper.hosts, f"/alerts-{tmp_path.name}", received, tmp_path, "0s")
    site.task("orders")
    with contextlib.closing(site.session), site.monitor() as (first, one):
        eventually(lambda: len(told(received)) == 1)
        with site.monitor() as (_, two):
            eventually(lambda: plain_http.get(f"{two}/api/alerts").json()["firing"])
            assert plain_http.get(f"{two}/api/alerts").json()["sender"]["sends"] is False
            first.send_signal(signal.SIGTERM)
            assert first.wait(20) == 0
            eventually(lambda: sends(two))
            site.session.delete(site.layout.task("orders"))
            eventually(lambda: told(received, "resolved"))
            assert len(received.bodies) == 2
            assert one != two


def test_each_monitor_reports_that_zookeeper_is_away(make_zookeeper: Any, received: Received, tmp_path: Path) -> None:
    zookeeper = make_zookeeper(tick_time=500)
    site = Site(zookeeper.hosts, "/away", received, tmp_path, "0s")
    site.task("orders")
    with contextlib.closing(site.session), site.monitor() as (_, one):
        eventually(lambda: told(received))
        eventually(lambda: b"orders" in site.session.get(site.layout.alerts_sent).data)
        assert len(told(received)) == 1
        zookeeper.kill()
        eventually(lambda: [body for body in told(received) if body["group"]["labels"]["rule"] == "Away"])
        eventually(lambda: "alerts: not sent (E4001)" in read(one, "/healthz"))
        eventually(lambda: "Alerts are not sent" in read(one, "/"))  # with the next state that is published
        zookeeper.start()
        eventually(lambda: [body for body in told(received, "resolved") if body["group"]["labels"]["rule"] == "Away"])
        eventually(lambda: "not sent" not in read(one, "/healthz"))
        assert len([body for body in received.bodies if body["group"]["labels"]["rule"] == "Nobody"]) == 1
