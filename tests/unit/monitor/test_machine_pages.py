"""Routes of the pages of machines, over a bus in memory."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape

import pytest

from monitor.formatting import machine_page, percent
from replicator.coordination.machines.expected import ExpectedMachines
from tests.support.waiting import eventually
from tests.unit.monitor.scene import Bus, night
from tests.unit.monitor.test_app import Served


@pytest.fixture
def bus() -> Bus:
    return night()


@pytest.fixture
def served(bus: Bus) -> Iterator[Served]:
    one = Served(bus)
    yield one
    one.close()


def test_the_list_has_all_and_problems_come_first(served: Served) -> None:
    found = served.client.get("/api/machines").json()
    states = {row["machine"]["host"]: row["machine"]["state"] for row in found["machines"]}
    assert list(states)[:2] == ["host-y", "host-z"] and states["host-y"] == states["host-z"] == "offline"
    roles = {row["machine"]["host"]: row["roles"] for row in found["machines"]}
    assert roles["db1.shop.internal"] == ["mysql"] and roles["host-a"] == ["core", "server", "monitor"]
    assert [(one["host"], one["login"]) for one in found["monitors"]] == [("host-a", True)]
    text = unescape(served.client.get("/machines").text)
    for wanted in ("never", "98 %", "/var/lib/mysql", "draining", "expires in", "group blue", "2 offline"):
        assert wanted in text
    assert "<html" not in served.client.get("/machines?part=1").text


def test_one_machine_with_its_tasks_and_changes(served: Served) -> None:
    found = served.client.get("/api/machines/host-b").json()
    assert found["machine"]["machine"]["draining"]
    tasks = {task["name"]: task["role"] for task in found["tasks"]}
    assert tasks["orders_to_lake"] == "RUNNING" and tasks["copy_hot_item"] == "STANDBY"
    assert [task["role"] for task in found["tasks"]][:3] == ["RUNNING"] * 3
    assert {"switchover", "gave up"} <= {change["kind"] for change in found["changes"]}
    assert all("host-b" in (change["host"], change["previous"]) for change in found["changes"])
    text = unescape(served.client.get("/machines/host-y").text)
    assert "has never come" in text and "rack b, delivered in March" in text and "unexpect host-y" in text
    for part in ("state", "rest"):
        assert "<html" not in served.client.get(f"/machines/host-a?part={part}").text


def test_points_of_its_charts(served: Served) -> None:
    points = served.client.get("/api/machines/host-a/history?span=15m").json()
    known = [value for value in points["series"]["online"] if value is not None]
    assert points["machine"] == "host-a" and known and set(known) == {1.0}
    refused = served.client.get("/api/machines/host-a/history?span=2y")
    assert refused.status_code == 422 and refused.json()["code"] == "E5132"
    assert served.client.get("/machines/host-a?span=2y").status_code == 422


def test_one_that_is_not_known(served: Served, bus: Bus) -> None:
    for path in ("/api/machines/nowhere", "/api/machines/nowhere/history"):
        refused = served.client.get(path)
        assert refused.status_code == 404 and refused.json()["code"] == "E5123"
    page = served.client.get("/machines/<b>nowhere")
    assert page.status_code == 404 and "&lt;b&gt;nowhere" in page.text
    ExpectedMachines(bus.admin, bus.layout).forget("host-y")
    eventually(lambda: served.client.get("/machines/host-y").status_code == 404)


def test_nothing_read_yet_is_not_no_machine() -> None:
    bus = Bus()
    served = Served(bus)
    try:
        assert "No machine is online or expected" in served.client.get("/machines").text
    finally:
        served.close()


def test_addresses_and_shares() -> None:
    assert machine_page("host b/~1") == "/machines/host%20b%2F~1"
    assert [percent(share) for share in (None, 0.0, 0.083, 0.99, 0.999996, 1.0)] == [
        "–",
        "0 %",
        "8 %",
        "99 %",
        "99.999 %",
        "100 %",
    ]
