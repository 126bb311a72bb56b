"""The tabs of a task's page in a real browser: every state fits, the timeline zooms, a take-over is seen live."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.integration.test_dashboard import shoot
from tests.support.browser import resize, themed
from tests.support.waiting import eventually
from tests.unit.monitor.task_scene import TASK, full_night
from tests.unit.monitor.test_app import Served

pytestmark = pytest.mark.servers
STATES = (
    TASK,
    "billing_invoices",
    "prices",
    "clickstream_sessions",
    "sessions_of_three_servers",
    "new_task_without_configuration",
    "handmade",
    "inventory",
)
TABS = ("", "/throughput", "/members", "/timeline", "/checkpoints", "/tables", "/errors", "/configuration", "/checks")
OVERFLOW = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    one = Served(full_night())
    yield one
    one.close()


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_tab_fits_in_every_state(browser: webdriver.Chrome, served: Served, width: int, theme: str) -> None:
    resize(browser, width)
    themed(browser, theme)
    for number, task in enumerate(STATES):
        for tab in TABS if number == 0 else ("", "/members", "/timeline", "/errors", "/configuration"):
            browser.get(f"{served.url}/tasks/{task}{tab}")
            assert browser.execute_script(OVERFLOW) == 0, (task, tab)
            assert browser.find_element(By.CSS_SELECTOR, ".part").text, (task, tab)
            if number == 0:
                shoot(browser, f"task{tab.replace('/', '-')}-{width}-{theme}")
    assert [line for line in browser.get_log("browser") if line["level"] == "SEVERE"] == []


def shown(browser: webdriver.Chrome) -> tuple[int, int]:
    read = "const { from, to } = document.querySelector('.lanes').dataset; return [Number(from), Number(to)]"
    begin, end = browser.execute_script(read)  # in one step: the tab is replaced meanwhile
    return int(begin), int(end)


def test_the_timeline_zooms_and_its_window_is_in_the_address(browser: webdriver.Chrome, served: Served) -> None:
    resize(browser, 1280)
    browser.get(f"{served.url}/tasks/{TASK}/timeline?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z")
    begin, end = shown(browser)
    lanes = browser.find_element(By.CSS_SELECTOR, ".lanes")
    lanes.send_keys("+")
    eventually(lambda: shown(browser) == (begin + (end - begin) // 4, end - (end - begin) // 4))
    assert "from=2026-01-01T06:00:00Z&to=2026-01-01T18:00:00Z" in browser.current_url
    browser.find_element(By.CSS_SELECTOR, ".lanes").send_keys(Keys.ARROW_LEFT)
    eventually(lambda: "from=2026-01-01T03:00:00Z&to=2026-01-01T15:00:00Z" in browser.current_url)
    wheel = """
    const lanes = document.querySelector(".lanes"), box = lanes.getBoundingClientRect();
    lanes.dispatchEvent(new WheelEvent("wheel", {deltaY: 200, clientX: box.left + box.width / 2, clientY: box.top + 9,
      bubbles: true, cancelable: true}));
    """
    before = shown(browser)
    browser.execute_script(wheel)
    eventually(lambda: shown(browser)[1] - shown(browser)[0] > 1.5 * (before[1] - before[0]))
    address = browser.current_url
    window = shown(browser)
    browser.get(address)
    assert shown(browser) == window, "an address that can be shared"
    browser.find_element(By.CSS_SELECTOR, ".lanes").send_keys("0")
    eventually(lambda: "?" not in browser.current_url)


def test_a_take_over_is_seen_without_a_reload(browser: webdriver.Chrome) -> None:
    bus = full_night()
    served = Served(bus)
    try:
        resize(browser, 1280)
        browser.get(f"{served.url}/tasks/{TASK}/timeline?span=15m")
        browser.execute_script("window.unloaded = false; addEventListener('pagehide', () => window.unloaded = true)")
        host = (By.CSS_SELECTOR, ".task-head .host b")
        assert browser.find_element(*host).text == "host-a"
        bus.cores["host-a"].die()
        second = bus.cores["host-b"]
        second.figures[TASK].state = "RUNNING"
        second.report()
        bus.happened(TASK, "lost", 0, host="host-a", epoch=4294971000, reason="its session is gone; host-b takes over")
        bus.happened(TASK, "running", 0, host="host-b", epoch=4294972000, seconds=0.4)
        eventually(lambda: browser.find_element(*host).text == "host-b")
        newest = "return document.querySelector('.events tbody tr')?.innerText ?? ''"  # the tab is replaced meanwhile
        eventually(lambda: "host-a" in browser.execute_script(newest))
        assert "its session is gone" in browser.execute_script(newest)
        assert browser.execute_script("return window.unloaded") is False
    finally:
        served.close()
