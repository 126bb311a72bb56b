"""The tabs of a task's page: their routes, their JSON, and what they refuse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

import pytest

from tests.support.waiting import eventually
from tests.unit.monitor.scene import night
from tests.unit.monitor.test_app import Served

TASK = "copy_hot_item"
TABS = ("", "/throughput", "/timeline")
JSON = ("overview", "throughput", "timeline", "history")


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    one = Served(night())
    yield one
    one.close()


@pytest.mark.parametrize("tab", TABS)
def test_a_tab_is_whole_without_its_script(served: Served, tab: str) -> None:
    page = served.client.get(f"/tasks/{TASK}{tab}").text
    assert f'data-page-of="{TASK}"' in page and 'data-key="head:copy_hot_item"' in page
    assert page.count('aria-current="page"') == 1 and f'href="/tasks/{TASK}{tab}" aria-current="page"' in page
    assert "orders_to_lake" not in page and "style=" not in page


def test_the_overview_has_its_groups_and_is_kept_current(served: Served) -> None:
    page = served.client.get(f"/tasks/{TASK}").text
    for wanted in ("Orders", "Delivery", "Source", "Sink", "Election", "replication-host-17.rack-b", "The last 15m"):
        assert wanted in page
    update = served.client.get(f"/api/updates?task={TASK}").json()
    assert update["order"]["head"] == [f"head:{TASK}"] and update["order"]["facts"] == [f"facts:{TASK}"]
    assert {key.partition("/")[0] for key in update["order"]["changes"]} == {f"changes:{TASK}"}
    everything = served.client.get("/api/updates").json()
    assert "head" not in everything["order"] and not [key for key in everything["html"] if key.startswith("facts:")]


def test_points_and_timeline_of_a_task(served: Served) -> None:
    chart = served.client.get(f"/api/tasks/{TASK}/history?span=1h").json()
    assert (chart["step_s"], len(chart["series"]["lag_s"])) == (10, 360)
    line = served.client.get(f"/api/tasks/{TASK}/timeline?span=30d").json()["timeline"]
    assert line["lanes"][0]["host"] == "host-a"
    takeover = next(mark for mark in line["marks"] if mark["kind"] == "fail-over")
    assert (takeover["shape"], takeover["previous"]) == ("takeover", "host-z")
    assert takeover["reason"] == "host-z did not renew its lease" and takeover["seconds"] == 11.3
    page = served.client.get(f"/tasks/{TASK}/timeline?span=30d").text
    assert "fail-over" in page and "url(#p-running)" in page and "url(#p-standby)" in page


def test_a_window_is_an_address(served: Served) -> None:
    page = served.client.get(f"/tasks/{TASK}/timeline?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z").text
    assert "2026-01-01 00:00:00 UTC" in page and "Nothing happened in this window" in page
    links = {unescape(found) for found in re.findall(r'href="(\?from=[^"]+)"', page)}
    assert "?from=2026-01-01T06:00:00Z&to=2026-01-01T18:00:00Z" in links and len(links) == 4
    for link in links:
        assert served.client.get(f"/tasks/{TASK}/timeline{link}").status_code == 200


def test_the_history_as_the_command_line_prints_it(served: Served) -> None:
    lines = served.client.get(f"/api/tasks/{TASK}/history.txt").text.splitlines()
    assert lines[0].split() == ["TIME", "WHAT", "HOST", "EPOCH", "TOOK", "BY", "REASON", "POSITION"]
    assert len(lines) == 4 and "host-z did not renew its lease" in lines[-1]
    assert len(served.client.get(f"/api/tasks/{TASK}/history.txt?span=24h").text.splitlines()) == 2


def test_what_is_read_is_shown_while_zookeeper_is_away() -> None:
    served = Served(night())
    try:
        address = f"/tasks/{TASK}/timeline?span=30d"
        assert "fail-over" in served.client.get(address).text
        served.coordinator.suspend()
        eventually(lambda: "E4002</b>" in served.client.get(address).text)
        page = served.client.get(address).text
        assert "fail-over" in page and "Shown as read" in page
        served.coordinator.resume()
        eventually(lambda: "E4002</b>" not in served.client.get(address).text)
    finally:
        served.close()


def test_many_browsers_read_once() -> None:
    bus = night()
    served = Served(bus)
    try:
        served.client.get(f"/tasks/{TASK}/timeline")
        reads = served.app.state.task_pages.nodes.reads
        before = reads.made
        for _ in range(20):
            served.client.get(f"/api/tasks/{TASK}/timeline.html")
        assert reads.made - before <= 3
    finally:
        served.close()


@pytest.mark.parametrize("path", [*(f"/tasks/{{}}{tab}" for tab in TABS), *(f"/api/tasks/{{}}/{tab}" for tab in JSON)])
def test_odd_addresses_of_tasks(served: Served, path: str) -> None:
    for name in ("nothing", "%3Cscript%3E", "a%2Fb", "%00"):
        answer = served.client.get(path.format(name))
        assert answer.status_code == 404
        assert "json" in answer.headers["content-type"] or "<script>" not in answer.text


@pytest.mark.parametrize("path", ["/tasks/{}", "/tasks/{}/throughput", "/tasks/{}/timeline", "/api/tasks/{}/history"])
def test_odd_spans(served: Served, path: str) -> None:
    for span in ("2h", "", "1h'--"):
        refused = served.client.get(path.format(TASK), params={"span": span})
        assert refused.status_code == 422 and refused.json()["code"] == "E5132"
        assert "15m, 1h" in refused.json()["wanted"]


def test_odd_windows(served: Served) -> None:
    for query in ("from=x", "to=-1", "from=2&to=1", "from=99999999999999999999", "from=0001-01-01", "from=\u0663&to=4"):
        refused = served.client.get(f"/tasks/{TASK}/timeline?{query}")
        assert refused.status_code == 422 and refused.json()["code"] == "E5145", query
