"""Every view of the Monitor with no, five and 300 tasks, in every state and without ZooKeeper: as wide as a phone,
a laptop and a large screen, in both themes. Nothing overflows, nothing is missing, scripts report nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from selenium import webdriver

from tests.integration.test_overview import reporting
from tests.support.browser import resize, themed
from tests.support.waiting import eventually
from tests.unit.monitor.scene import Bus, many
from tests.unit.monitor.task_scene import TASK, full_night
from tests.unit.monitor.test_app import Served

pytestmark = pytest.mark.servers
TABS = ("", "/throughput", "/members", "/timeline", "/checkpoints", "/tables", "/errors", "/configuration", "/checks")
PAGES = ("/", "/changes", "/machines", "/alerts", "/docs", "/docs/runbooks", "/codes/E2104", "/tasks/no_such_task")
OVERFLOWS = """
const page = document.documentElement;
const inside = (one) => { for (let up = one.parentElement; up; up = up.parentElement) {
  if (/(auto|scroll|hidden|clip)/.test(getComputedStyle(up).overflowX)) return true;
} return false; };
const wide = [...document.querySelectorAll("main *, header *")].filter((one) => one.checkVisibility() && !inside(one)
  && one.getBoundingClientRect().width > 0 && one.getBoundingClientRect().right > page.clientWidth + 1);
const text = document.body.innerText;
return [
  ...(page.scrollWidth > page.clientWidth ? [`page: ${page.scrollWidth}`] : []),
  ...wide.slice(0, 3).map((one) => one.outerHTML.slice(0, 120)),
  ...["undefined", "NaN", "None,", "[object", "{{"].filter((word) => text.includes(word)),
  ...(document.title.includes("Replication bus") ? [] : [`title: ${document.title}`]),
  ...(document.querySelectorAll("h1").length ? [] : ["no heading"]),
  ...[...document.querySelectorAll("[id]")].map((one) => one.id).filter((id, at, all) => all.indexOf(id) !== at),
];
"""
BUSES: dict[str, tuple[Callable[[], Bus], str]] = {
    "no tasks": (Bus, ""),
    "five tasks": (lambda: many(5, broken=1), "shop_0000_to_lake"),
    "300 tasks": (lambda: many(300, broken=7), "shop_0001_to_lake"),
    "a night": (full_night, TASK),
}


def wrong(browser: webdriver.Chrome, served: Served, path: str, width: int) -> list[str]:
    """What is wrong with a page, in both themes."""
    resize(browser, width)
    browser.get(served.url + path)
    found = []
    for theme in ("dark", "light"):
        themed(browser, theme)
        found += [f"{path} {width} {theme}: {one}" for one in browser.execute_script(OVERFLOWS)]
    return found


def severe(browser: webdriver.Chrome) -> list[str]:
    """But pages that are not there, of which a browser says so, too."""
    return [
        line["message"]
        for line in browser.get_log("browser")
        if line["level"] == "SEVERE" and "no_such_task" not in line["message"]
    ]


@pytest.mark.timeout(180)
@pytest.mark.parametrize("name", BUSES)
def test_every_view(browser: webdriver.Chrome, name: str) -> None:
    make, task = BUSES[name]
    bus = make()
    served = Served(bus)
    try:
        with reporting(bus):
            of_task = [f"/tasks/{task}{tab}" for tab in TABS if task]
            paths = [*PAGES, *of_task] if name == "a night" else [*PAGES[:4], *of_task[:1]]
            widths = (390, 1280, 2560) if name in ("no tasks", "a night") else (390, 1280)
            found = [one for path in paths for width in widths for one in wrong(browser, served, path, width)]
            assert found == []
            assert severe(browser) == []
    finally:
        served.close()


@pytest.mark.timeout(180)
@pytest.mark.parametrize("read", [True, False], ids=["after a read", "from the start"])
def test_every_view_without_zookeeper(browser: webdriver.Chrome, read: bool) -> None:
    bus = full_night()
    served = Served(bus, suspended=not read)
    try:
        served.coordinator.suspend()
        eventually(lambda: served.client.get("/healthz/ready").status_code == 503)
        paths = [*PAGES, *(f"/tasks/{TASK}{tab}" for tab in TABS)]
        assert [one for path in paths for width in (390, 1280) for one in wrong(browser, served, path, width)] == []
        browser.get(served.url)
        text = "return document.body.innerText"  # which is "Connecting" for the first seconds
        eventually(lambda: "No data from ZooKeeper" in browser.execute_script(text))
    finally:
        served.close()


def test_three_hundred_tasks_on_a_phone_can_be_found(browser: webdriver.Chrome) -> None:
    """The field of the filter stays in reach, and a filter shortens the page."""
    bus = many(300)
    served = Served(bus)
    try:
        resize(browser, 390)
        browser.get(served.url)
        eventually(lambda: browser.execute_script("return document.querySelectorAll('tbody.task').length") == 300)
        height = "return document.documentElement.scrollHeight"
        long = browser.execute_script(height)
        field = browser.find_element("id", "filter")
        field.send_keys("0042")
        eventually(lambda: browser.execute_script(height) < long / 4)
        assert "/?q=0042" in browser.current_url
    finally:
        served.close()
