"""The tabs of a task's page: their routes, their JSON, and what they refuse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest

from replicator.coordination.records import TaskRecord, dump
from replicator.coordination.tasks.position_changes import moment
from replicator.coordination.tasks.position_history import PositionHistory
from tests.support.waiting import eventually
from tests.unit.monitor.scene import night
from tests.unit.monitor.task_scene import check, config_of, full_night
from tests.unit.monitor.test_app import Served

TASK = "copy_hot_item"
TABS = ("", "/throughput", "/members", "/timeline", "/checkpoints", "/tables", "/errors", "/configuration", "/checks")
JSON = ("overview", *(tab[1:] for tab in TABS if tab), "history")


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    one = Served(full_night())
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
    assert len(lines) == 9 and "host-z did not renew its lease" in "".join(lines)
    assert len(served.client.get(f"/api/tasks/{TASK}/history.txt?span=1h").text.splitlines()) == 2


def test_statements_are_marks_of_the_timeline(served: Served) -> None:
    line = served.client.get(f"/api/tasks/{TASK}/timeline").json()["timeline"]
    found = [mark["text"] for mark in line["marks"] if mark["shape"] == "ddl"]
    assert found == ["ALTER TABLE item ADD COLUMN colour INT", "CREATE TABLE stock (id INT)"]
    assert "CREATE TABLE stock (id INT) at binlog.000042:4712" in served.client.get(f"/tasks/{TASK}/timeline").text


def test_members(served: Served) -> None:
    def reported() -> Any:
        served.bus.cores["host-b"].report()  # figures that are old have no lease
        members = served.client.get("/api/tasks/sessions_of_three_servers/members").json()["members"]
        return members if members[0]["lease_left_s"] else None

    first, second = eventually(reported)
    assert (first["host"], first["place"], first["version"], first["timeout_s"]) == ("host-b", 1, "0.1.0", 10.0)
    assert first["lease_left_s"] == 5.2 and second["lease_left_s"] is None
    assert second["reach"]["sink"]["reached"] is False and not second["reach"]["sink"]["seen"]
    assert second["skipped"] == "maintenance: no standby is promoted"
    page = served.client.get("/tasks/sessions_of_three_servers/members").text
    assert "<b>no</b> sink, for at least" in page and "replicator task switchover sessions_of_three_servers" in page


def test_reachability_that_changes_is_dated() -> None:
    served = Served(night())
    try:
        address = "/api/tasks/sessions_of_three_servers/members"
        rack = next(core for host, core in served.bus.cores.items() if host.startswith("replication"))
        rack.figures["sessions_of_three_servers"].reach = {"source": True, "sink": True}
        rack.report()
        eventually(lambda: served.client.get(address).json()["members"][1]["reach"]["sink"]["reached"])
        reach = served.client.get(address).json()["members"][1]["reach"]
        assert reach["sink"]["seen"] and not reach["source"]["seen"]
        assert reach["sink"]["since_ms"] > reach["source"]["since_ms"]
    finally:
        served.close()


def test_checkpoints(served: Served) -> None:
    first = served.client.get(f"/api/tasks/{TASK}/checkpoints").json()
    assert (first["total"], first["pages"], len(first["points"])) == (190, 4, 60)
    assert first["chosen"] == first["points"][0] and first["points"][0]["added"] == 600
    last = served.client.get(f"/api/tasks/{TASK}/checkpoints?page=4").json()
    assert len(last["points"]) == 10 and last["points"][-1]["added"] == -1
    assert last["points"][-1]["time_ms"] == last["oldest_ms"]
    page = served.client.get(f"/tasks/{TASK}/checkpoints").text
    assert "11 min after the one before" in page and "Older" in page and "Newer" not in page
    assert served.client.get(f"/api/tasks/{TASK}/checkpoints?page=99999").json()["page"] == 4
    for query in ("page=x", "at=-1", "page=%D9%A3", "at=99999999999999999"):
        refused(served, f"/tasks/{TASK}/checkpoints?{query}", "E5146")


def test_commands_name_the_chosen_checkpoint(served: Served) -> None:
    """The time that they give leads to this one, not to the one before it."""
    reader = PositionHistory(served.bus.admin, served.bus.layout)
    for point in served.client.get(f"/api/tasks/{TASK}/checkpoints?page=2").json()["points"][:5]:
        chosen = served.client.get(f"/api/tasks/{TASK}/checkpoints?at={point['time_ms']}").json()
        assert chosen["chosen"] == point
        found = reader.at(TASK, moment(chosen["at"]))
        assert found is not None and found.time_ms == point["time_ms"]
        page = unescape(served.client.get(f"/tasks/{TASK}/checkpoints?at={point['time_ms']}").text)
        assert f"replicator task fork {TASK} NEW_NAME --at '{chosen['at']}'" in page


def test_tables(served: Served) -> None:
    found = served.client.get("/api/tasks/orders_to_lake/tables").json()
    assert (found["reading"]["table"], found["reading"]["percent"]) == ("shop.orders", 40)
    assert found["reading"]["eta_s"] == 60_000.0, "at the 10 rows/s of the snapshot"
    lasting, over = served.client.get(f"/api/tasks/{TASK}/tables").json()["quarantined"]
    assert (lasting["table"], lasting["code"], lasting["until"]) == ("shop.cart", "E2206", "")
    assert over["until"] == "binlog.000042:99" and over["replayed"]
    page = unescape(served.client.get(f"/tasks/{TASK}/tables").text)
    assert f"replicator task quarantine {TASK} shop.cart --release" in page
    assert f"replicator task replay {TASK} shop.old" not in page, "it is delivered"
    assert "No table was verified yet" in page and "No snapshot was taken" in page


def refused(served: Served, address: str, code: str) -> None:
    """The page says it in words, with the way back; the API as a problem document."""
    page = served.client.get(address)
    assert page.status_code == 422 and f'href="/codes/{code}"' in page.text
    assert f'<a href="{address.partition("?")[0]}">' in page.text
    answer = served.client.get(f"/api{address}")
    assert (answer.status_code, answer.json()["code"]) == (422, code)


def test_errors(served: Served) -> None:
    present = served.client.get("/api/tasks/billing_invoices/errors").json()["present"]
    (one,) = present
    assert (one["code"], one["stops"], one["times"], one["position"]) == ("E2104", True, 1, "binlog.000042:88123456")
    assert one["since_ms"] and one["fix"].startswith("GRANT REPLICATION SLAVE")
    page = served.client.get("/tasks/billing_invoices/errors").text
    for wanted in ("replicator task retry billing_invoices", 'href="/codes/E2104"'):
        assert wanted in page
    past = {one["code"]: one for one in served.client.get(f"/api/tasks/{TASK}/errors").json()["past"]}
    assert (past["E2104"]["times"], past["E2104"]["hosts"], past["E2104"]["lasts"]) == (3, ["host-z"], False)
    assert past["E2206"]["position"] == "binlog.000042:77" and past["E1001"]["title"]
    assert "Nothing is wrong with this task now" in served.client.get(f"/tasks/{TASK}/errors").text


def test_versions_beside_each_other(served: Served) -> None:
    found = served.client.get(f"/api/tasks/{TASK}/configuration").json()
    assert (found["before"], found["after"], found["current"]) == (6, 7, 7)
    assert [one["number"] for one in found["versions"]] == list(range(7, -1, -1))
    changed = [(row["left"], row["right"]) for row in found["difference"] if row["kind"] == "changed"]
    assert ("env:PW" in str(changed)) and "file:/run/secrets/replicator" in str(changed)
    page = served.client.get(f"/tasks/{TASK}/configuration?from=1&to=3").text
    assert "Version 1 and version 3" in page and "<mark>1</mark>" in page and "<mark>3</mark>" in page
    assert "ticket OPS-5" in page and f"replicator task diff {TASK} 1 3" in page
    assert "The two versions are equal" in served.client.get(f"/tasks/{TASK}/configuration?from=3&to=3").text
    for query in ("from=99", "to=x", "from=-1", "to=%00"):
        refused(served, f"/tasks/{TASK}/configuration?{query}", "E5090")


def test_the_last_check_of_the_core(served: Served) -> None:
    found = served.client.get(f"/api/tasks/{TASK}/checks").json()
    assert (found["result"], found["outdated"], found["overdue"]) == ("fail", False, False)
    assert [one["severity"] for one in found["findings"]] == ["fail", "warn", "ok"], "the worst first"
    page = unescape(served.client.get(f"/tasks/{TASK}/checks").text)
    for wanted in ("can't run, or loses rows", "source.binlog_format", "SET GLOBAL binlog_format = 'ROW';", "host-a"):
        assert wanted in page
    assert f"replicator check {TASK} --via-core" in page
    assert "was not checked yet" in served.client.get("/tasks/billing_invoices/checks").text


def test_a_check_of_an_old_configuration_says_so() -> None:
    bus = full_night()
    check(bus, TASK, version=6, age_s=30 * 3600)
    served = Served(bus)
    try:
        found = served.client.get(f"/api/tasks/{TASK}/checks").json()
        assert found["outdated"] and found["overdue"]
        assert "the present one is 7" in served.client.get(f"/tasks/{TASK}/checks").text
    finally:
        served.close()


def test_a_task_of_the_same_name_has_none_of_the_others_versions() -> None:
    bus = full_night()
    served = Served(bus)
    try:
        assert "ticket OPS-5" in served.client.get(f"/tasks/{TASK}/configuration").text
        bus.admin.set(bus.layout.task(TASK), dump(TaskRecord(uid="another", config=config_of(bus, TASK)[0])))
        eventually(lambda: "ticket OPS-5" not in served.client.get(f"/tasks/{TASK}/configuration").text)
    finally:
        served.close()


def test_what_is_read_is_shown_while_zookeeper_is_away() -> None:
    served = Served(night())
    try:
        address = f"/tasks/{TASK}/timeline?span=30d"
        assert "fail-over" in served.client.get(address).text
        served.coordinator.suspend()
        eventually(lambda: "E4002</a>" in served.client.get(address).text)
        page = served.client.get(address).text
        assert "fail-over" in page and "Shown as read" in page
        served.coordinator.resume()
        eventually(lambda: "E4002</a>" not in served.client.get(address).text)
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
        answer = served.client.get(path.format(TASK), params={"span": span})
        assert answer.status_code == 422 and "E5132" in answer.text and "15m, 1h" in answer.text


def test_odd_windows(served: Served) -> None:
    for query in ("from=x", "to=-1", "from=2&to=1", "from=99999999999999999999", "from=0001-01-01", "from=\u0663&to=4"):
        refused(served, f"/tasks/{TASK}/timeline?{query}", "E5145")
