"""The Monitor's routes over a bus in memory, through a real HTTP server."""

from __future__ import annotations

import json
import re
import ssl
import threading
import time
from collections.abc import Iterator
from html import unescape

import httpx
import pytest
import uvicorn
from starlette.routing import Mount, Route

from monitor.access import Access
from monitor.alerts.alerting import Alerting
from monitor.app import create_app
from monitor.server_api import ServerApi
from replicator.coordination.access.logins import Logins
from replicator.coordination.in_memory.coordinator import MemoryCoordinator
from replicator.telemetry.hosts import names
from replicator.telemetry.http import Address, bind, configuration
from replicator.telemetry.server_certificate import ServerCertificate
from tests.support.waiting import eventually
from tests.unit.monitor.scene import Bus, night


class Served:
    def __init__(
        self,
        bus: Bus,
        max_streams: int = 3,
        *,
        require_login: bool = False,
        certificate: ServerCertificate | None = None,
        verify: ssl.SSLContext | bool = False,
        api: ServerApi | None = None,
        process: str = "",
        alerting: Alerting | None = None,
        suspended: bool = False,
    ) -> None:
        self.bus = bus
        self.coordinator: MemoryCoordinator = bus.session()
        if suspended:  # ZooKeeper is away from the start
            self.coordinator.suspend()
        self.access = Access(Logins(self.coordinator, bus.layout), required=require_login, offered=api is not None)
        self.app = create_app(
            self.coordinator,
            bus.layout,
            interval=0.05,
            max_streams=max_streams,
            access=self.access,
            certificate=certificate,
            api=api,
            process=process,
            alerting=alerting,
        )
        socket = bind(Address("127.0.0.1", 0))
        own = names("127.0.0.1", "127.0.0.1")
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{socket.getsockname()[1]}"
        self.server = uvicorn.Server(configuration(self.app, own, certificate))
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [socket]}, daemon=True)
        self.thread.start()
        self.client = httpx.Client(base_url=self.url, trust_env=False, timeout=5, verify=verify)
        eventually(lambda: self.client.get("/healthz/ready").status_code == (503 if suspended else 200))

    def close(self) -> None:
        self.app.state.feed.close()
        self.client.close()
        self.server.should_exit = True
        self.thread.join(5)


@pytest.fixture
def served() -> Iterator[Served]:
    one = Served(night())
    yield one
    one.close()


def test_a_snapshot_has_its_bar_and_its_figures(served: Served) -> None:
    text = unescape(served.client.get("/").text)
    assert 'snapshot 42 % <progress max="100" value="42" aria-label="Snapshot">' in text
    text = unescape(served.client.get("/api/tasks/orders_to_lake/details").text)
    assert "running, 42 %" in text and "4.2 M of about 10.0 M, 1.3 GB, 2 of 7 tables" in text
    assert '<span class="mono">shop.orders</span>' in text
    (task,) = (task for task in served.client.get("/api/state").json()["tasks"] if task["name"] == "orders_to_lake")
    assert (task["snapshot"]["percent"], task["snapshot"]["table"]) == (42, "shop.orders")


def test_a_consistent_snapshot_has_its_view(served: Served) -> None:
    text = unescape(served.client.get("/api/tasks/prices/details").text)
    assert 'all rows as of <span class="mono">binlog.000041:4711</span>, view opened ' in text
    assert "writers locked for 0.7 ms, begun again 2 times, 5\u202f400 rows delivered again" in text
    assert text.count("writers locked") == 1
    (task,) = (task for task in served.client.get("/api/state").json()["tasks"] if task["name"] == "prices")
    taken = task["snapshot"]
    assert (taken["view"], taken["lock_ms"], taken["views"]) == ("binlog.000041:4711", 0.7, 3) and taken["view_ms"]


def test_dashboard_is_whole_without_its_script(served: Served) -> None:
    answer = served.client.get("/")
    assert answer.status_code == 200
    text = unescape(answer.text)
    for wanted in ("copy_hot_item", "NO RUNNING", "E2104", "GRANT REPLICATION SLAVE", "host-z", "fail-over host-z"):
        assert wanted in text
    assert re.search(r'<div id="lost"[^>]* hidden>', answer.text) and "No data from ZooKeeper" not in text


def test_no_inline_script_or_style(served: Served) -> None:
    answer = served.client.get("/")
    policy = answer.headers["content-security-policy"]
    assert "unsafe-inline" not in policy and "default-src 'none'" in policy
    assert "style=" not in answer.text
    assert not re.search(r"<script(?![^>]* src=)", answer.text)
    assert not re.search(r"\son\w+=", answer.text)
    for path in re.findall(r'(?:src|href)="(/[^"]+)"', answer.text):
        assert served.client.get(path).status_code == 200
    assert "http://" not in answer.text.replace("http://www.w3.org", "")


def test_names_are_escaped() -> None:
    bus = Bus()
    name = "<img src=x onerror=alert(1)>&\"'"
    bus.task(name)
    served = Served(bus)
    try:
        assert "<img" not in served.client.get("/").text
        assert "<img" not in "".join(served.client.get("/api/updates").json()["html"].values())
        assert served.client.get("/api/state").json()["tasks"][0]["name"] == name
    finally:
        served.close()


def test_live_updates(served: Served) -> None:
    version = served.client.get("/api/updates").json()["version"]
    served.bus.cores["host-a"].die()

    def moved() -> bool:
        html = served.client.get("/api/updates", params={"since": version}).json()["html"]
        return 'data-state="WAITING"' in html.get("tasks:copy_hot_item", "")

    eventually(moved)


def test_event_stream(served: Served) -> None:
    with served.client.stream("GET", "/events") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.iter_lines()
        first = next(line for line in lines if line.startswith("data: "))
        update = json.loads(first.removeprefix("data: "))
        assert "tasks:copy_hot_item" in update["html"]
        second = json.loads(next(line for line in lines if line.startswith("data: ")).removeprefix("data: "))
        assert "tasks:new_task_without_configuration" not in second["html"]


def test_streams_are_limited(served: Served) -> None:
    served.app.state.feed.max_streams = 0
    answer = served.client.get("/events")
    assert answer.status_code == 503
    assert "retry-after" in answer.headers


def test_zookeeper_away_keeps_the_last_figures(served: Served) -> None:
    served.coordinator.suspend()
    eventually(lambda: served.client.get("/api/state").json()["stale_code"])
    ready, live = served.client.get("/healthz/ready"), served.client.get("/healthz")
    assert (ready.status_code, live.status_code) == (503, 200)
    for answer in (ready, live):
        assert re.search(r"^zookeeper: no data since .* UTC, for .* \(E4002 ", answer.text, re.MULTILINE)
    page = served.client.get("/").text
    assert re.search(r'<html lang="en" class="stale"[^>]* data-stale>', page) and "copy_hot_item" in page
    assert "No data from ZooKeeper since" in page and "after 7 s at most" in page
    state = served.client.get("/api/state").json()
    assert state["stale_since_ms"] == state["read_ms"] and state["tasks"] and state["stale_code"] == "E4002"
    assert served.client.get("/api/state").json()["age_s"] > state["age_s"], "the age counts on"
    metrics = served.client.get("/metrics").text
    assert "bus_zookeeper_connected 0.0" in metrics and "bus_task_lag_seconds{" not in metrics
    served.coordinator.resume()
    eventually(lambda: served.client.get("/healthz/ready").status_code == 200)
    state = served.client.get("/api/state").json()
    assert state["stale_since_ms"] is None and state["zookeeper_connected"]
    assert "No data from ZooKeeper" not in served.client.get("/").text
    assert "zookeeper: connected, figures read " in served.client.get("/healthz").text


def test_only_reading_is_possible(served: Served) -> None:
    for path in ("/", "/api/state", "/metrics", "/events", "/api/updates"):
        assert served.client.post(path).status_code == 405
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/nothing"):
        assert served.client.get(path).status_code == 404


def test_nothing_is_written_to_zookeeper(served: Served) -> None:
    tree = served.bus.ensemble.tree
    paths = ("/mysql_replicator/tasks", "/mysql_replicator/tasks/handmade", "/mysql_replicator/machines")
    before = [tree.get(path).stat for path in paths]
    time.sleep(0.3)
    assert [tree.get(path).stat for path in paths] == before


def test_no_route_is_read_by_the_name_of_somebody_else(served: Served) -> None:
    """DNS rebinding: the page's own name leads to our address, and stands in Host."""
    routes = [route.path for route in served.app.routes if isinstance(route, Route | Mount)]
    assert len(routes) >= 9
    for path in [
        path.replace("/static", "/static/monitor.js")
        .replace("machines/{name}", "machines/host-a")
        .replace("docs/{name:path}", "docs/operations")
        .replace("{code}", "E2206")
        .replace("{name}", "copy_hot_item")
        for path in routes
    ]:
        path = path.replace("{action}", "pause").replace("{kind}", "csv")
        for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "192.0.2.1", ""):
            answer = served.client.get(path, headers={"host": host})
            assert answer.status_code == 421 and "E5020" in answer.text, (path, host)
            assert "copy_hot_item" not in answer.text and "<" not in answer.text
        if path not in (
            "/events",
            "/login",
            "/logout",
            "/unlock",
            "/alerts/test",
            "/machines/host-a/actions/pause",
            "/audit/export.csv",
            "/alerts/test",
        ):  # the first does not end, the others are not for GET, or not without a login
            for host in ("localhost", "127.0.0.1:1", "[::1]:80", "LOCALHOST."):
                assert served.client.get(path, headers={"host": host}).status_code == 200, (path, host)
