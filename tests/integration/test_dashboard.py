"""The dashboard in a real browser: finds the task, sees RUNNING change hosts without a reload, fits the window."""

from __future__ import annotations

import os
import re
import signal
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from replicator.assembly.table_definitions import TableDefinitions
from replicator.coordination.access.users import Users
from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.machines.machines import Machines
from replicator.coordination.records import HistoryRecord, InstanceRecord, MachineRecord, TaskFigures, dump
from replicator.coordination.tasks.registry import Registry
from replicator.telemetry.http import secure
from replicator.zookeeper.client import ZookeeperCoordinator, connect
from server.app import Access, create_app
from tests.integration.test_monitor import monitor
from tests.support.api import TOKEN, serving
from tests.support.browser import resize, themed
from tests.support.waiting import eventually
from tests.unit.monitor.scene import night
from tests.unit.monitor.test_app import Served

pytestmark = pytest.mark.servers
TASK = "copy_hot_item"
LONG = "a_second_task_with_a_name_that_is_as_long_as_somebody_in_a_hurry_could_possibly_make_it_0123456789"
SHOTS = Path(os.environ.get("REPLICATOR_SHOTS", "build/screenshots"))


class Host:
    """What a Core writes, on a real ZooKeeper."""

    def __init__(self, hosts: str, layout: Layout, name: str) -> None:
        self.name, self.layout, self.process = name, layout, uuid.uuid4().hex
        self.coordinator: ZookeeperCoordinator = connect(hosts, session_timeout=3.0)
        self.paths: dict[str, str] = {}

    def stand(self, task: str, state: str) -> None:
        guid = uuid.uuid4().hex
        record = InstanceRecord(host=self.name, pid=1, process=self.process, since_ms=_now(), state=state)
        prefix = self.layout.contender_prefix(task, self.name, guid)
        self.paths[task] = self.coordinator.create(prefix, dump(record), ephemeral=True, sequential=True)
        self.report(task, state)

    def report(self, task: str, state: str) -> None:
        record = InstanceRecord(host=self.name, pid=1, process=self.process, since_ms=_now(), state=state)
        self.coordinator.set(self.paths[task], dump(record))
        figures = {task: TaskFigures(state=state, position="binlog.000042:88123456", rows_per_s=812.0, epoch=2**33)}
        machine = MachineRecord(
            host=self.name, pid=1, process=self.process, started_ms=_now(), time_ms=_now(), tasks=figures
        )
        Machines(self.coordinator, self.layout).publish(self.name, machine)


@pytest.fixture
def bus(zookeeper: Any) -> Iterator[tuple[str, Layout, Host, Host]]:
    layout = Layout(f"/dashboard-{uuid.uuid4().hex[:8]}")
    first, second = Host(zookeeper.hosts, layout, "host-a"), Host(zookeeper.hosts, layout, "host-b")
    registry = Registry(first.coordinator, layout)
    for name in (TASK, LONG):
        registry.create(name, {"name": name}, "test")
    first.stand(TASK, "running")
    second.stand(TASK, "standby")
    yield zookeeper.hosts, layout, first, second
    first.coordinator.close()
    second.coordinator.close()


def _now() -> int:
    return int(time.time() * 1000)


def running_on(browser: webdriver.Chrome, task: str = TASK) -> str:
    return browser.find_element(By.CSS_SELECTOR, f'[data-task="{task}"] .host').text


def shoot(browser: webdriver.Chrome, name: str) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    browser.save_screenshot(str(SHOTS / f"{name}.png"))


@pytest.mark.parametrize("width", [1280, 390])
def test_running_changes_hosts_before_our_eyes(browser: webdriver.Chrome, bus: Any, width: int) -> None:
    hosts, layout, first, second = bus
    with monitor(hosts, root=layout.root) as (_, url):
        resize(browser, width)
        eventually(lambda: TASK in _text(browser, url))
        browser.execute_script("window.unloaded = false; addEventListener('pagehide', () => window.unloaded = true)")
        browser.execute_script("window.witness = document.querySelector('[data-task]')")
        eventually(lambda: "host-a" in running_on(browser))
        assert "host-b" in running_on(browser)  # as the standby
        shoot(browser, f"before-{width}")

        first.coordinator.close()
        second.report(TASK, "running")
        second.coordinator.create(
            layout.history_prefix(TASK),
            dump(HistoryRecord(kind="running", time_ms=_now(), host="host-b")),
            sequential=True,
        )
        eventually(lambda: running_on(browser).removeprefix("Host").strip().startswith("host-b"))
        eventually(lambda: "no standby" in running_on(browser))
        machine = '[data-machine="host-a"]'
        eventually(lambda: browser.find_element(By.CSS_SELECTOR, machine).get_attribute("data-state") == "offline")
        assert "host-b" in browser.find_element(By.CSS_SELECTOR, ".changes").text
        assert browser.execute_script("return window.witness !== undefined && window.unloaded === false")
        shoot(browser, f"after-{width}")

        overflow = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert browser.execute_script(overflow) == 0
        assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_keys_filter_and_details(browser: webdriver.Chrome, bus: Any) -> None:
    hosts, layout, first, _ = bus
    with monitor(hosts, root=layout.root) as (_, url):
        resize(browser, 1280)
        eventually(lambda: TASK in _text(browser, url))
        body = browser.find_element(By.TAG_NAME, "body")

        def shown() -> list[str]:
            rows = browser.find_elements(By.CSS_SELECTOR, "tbody.task:not([hidden])")
            return [str(row.get_attribute("data-task")) for row in rows]

        assert sorted(shown()) == sorted([TASK, LONG])
        body.send_keys("/")
        browser.switch_to.active_element.send_keys("hot")
        assert shown() == [TASK]
        time.sleep(2.5)  # updates come meanwhile and must not undo the filter
        assert shown() == [TASK]
        browser.switch_to.active_element.send_keys(Keys.ESCAPE)
        assert len(shown()) == 2
        first.report(TASK, "running")  # its figures are not old
        body.send_keys("e")
        eventually(lambda: shown() == [LONG])
        body.send_keys("e")
        body.send_keys("j")
        assert browser.switch_to.active_element.text == LONG  # in trouble, therefore first
        browser.switch_to.active_element.send_keys("j", "o")
        shown_below = f'[data-task="{TASK}"] .detail'
        eventually(lambda: browser.find_elements(By.CSS_SELECTOR, shown_below))
        assert "Delivered" in browser.find_element(By.CSS_SELECTOR, shown_below).text
        time.sleep(2.5)
        assert browser.find_element(By.CSS_SELECTOR, shown_below).is_displayed()
        assert browser.switch_to.active_element.text == TASK
        browser.switch_to.active_element.send_keys(Keys.ENTER)
        eventually(lambda: browser.title.startswith(TASK))


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_of_a_task(browser: webdriver.Chrome, bus: Any, width: int, theme: str) -> None:
    """Its charts are drawn, and it changes with the task."""
    hosts, layout, first, _ = bus
    with monitor(hosts, root=layout.root) as (_, url):
        resize(browser, width)
        themed(browser, theme)
        eventually(lambda: "THE LAST 15 MINUTES" in _text(browser, f"{url}/tasks/{TASK}").upper())
        browser.get_log("browser")  # what other tests left, and answers from before the first read of ZooKeeper
        eventually(lambda: len(browser.find_elements(By.CSS_SELECTOR, "figure canvas")) == 4)
        overflow = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert browser.execute_script(overflow) == 0
        assert LONG not in browser.find_element(By.TAG_NAME, "body").text
        assert first.name in running_on(browser)
        colours = "return uPlot.sync('task').plots.map(plot => String(plot.series[1].stroke(plot, 1)))"
        assert all(re.match(r"rgb|color\(", found) for found in browser.execute_script(colours))
        shoot(browser, f"task-{width}-{theme}")
        browser.find_element(By.LINK_TEXT, "Throughput").click()
        browser.find_element(By.LINK_TEXT, "24h").click()
        eventually(lambda: len(browser.find_elements(By.CSS_SELECTOR, "figure canvas")) == 8)
        assert "The last 24h" in browser.find_element(By.CSS_SELECTOR, ".summary caption").text
        errors = [line for line in browser.get_log("browser") if line["level"] == "SEVERE"]
        assert errors == []


def test_a_monitor_that_stops_answering_is_shown(browser: webdriver.Chrome, bus: Any) -> None:
    hosts, layout, _, _ = bus
    with monitor(hosts, root=layout.root) as (process, url):
        resize(browser, 1280)
        eventually(lambda: TASK in _text(browser, url))
        lost = browser.find_element(By.ID, "lost")
        assert lost.get_attribute("hidden") is not None
        process.send_signal(signal.SIGSTOP)
        eventually(lambda: lost.get_attribute("hidden") is None)
        assert re.search(r"No answer from the Monitor for \d+ s", lost.text) and "continue without it" in lost.text
        assert grey(browser) and "No data from the Monitor" in browser.find_element(By.CLASS_NAME, "link").text
        age = age_of(browser)
        eventually(lambda: age_of(browser) > age)
        process.send_signal(signal.SIGCONT)
        eventually(lambda: lost.get_attribute("hidden") is not None and not grey(browser))


def test_figures_are_grey_and_their_age_counts_on_while_zookeeper_is_away(browser: webdriver.Chrome) -> None:
    served = Served(night())
    try:
        resize(browser, 390)
        browser.get(served.url)
        row = f'[data-task="{TASK}"]'
        eventually(lambda: "host-a" in running_on(browser))
        assert not grey(browser) and "as of" not in browser.find_element(By.CSS_SELECTOR, row).text
        served.coordinator.suspend()
        eventually(lambda: grey(browser))
        outage = browser.find_element(By.CSS_SELECTOR, '[data-fragment="outage"]')
        eventually(lambda: "No data from ZooKeeper since" in outage.text)  # the script is grey before it hears why
        assert "What tasks and machines do now is not known" in outage.text
        assert "ZooKeeper connected" not in browser.find_element(By.CLASS_NAME, "link").text
        age = age_of(browser)
        eventually(lambda: age_of(browser) > age)
        assert "as of" in browser.find_element(By.CSS_SELECTOR, f"{row} .state").text
        checkpoint = browser.find_element(By.CSS_SELECTOR, f"{row} .checkpoint time").text
        eventually(lambda: browser.find_element(By.CSS_SELECTOR, f"{row} .checkpoint time").text != checkpoint)
        overflow = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert browser.execute_script(overflow) == 0
        shoot(browser, "stale-390")
        served.coordinator.resume()
        eventually(lambda: not grey(browser) and not outage.text)
    finally:
        served.close()


def grey(browser: webdriver.Chrome) -> bool:
    """Everything that has figures."""
    return str(browser.execute_script("return getComputedStyle(document.querySelector('main')).filter")) != "none"


def age_of(browser: webdriver.Chrome) -> int:
    """Of the tasks' figures, in seconds, as the page says."""
    found = re.search(r"as of (\d+) s ago", browser.find_element(By.ID, "h-tasks").text)
    return int(found[1]) if found else -1


def test_polls_when_streams_are_refused(browser: webdriver.Chrome, bus: Any) -> None:
    hosts, layout, first, _ = bus
    with monitor(hosts, "--max-streams", "0", root=layout.root) as (_, url):
        eventually(lambda: TASK in _text(browser, url))
        first.coordinator.close()
        eventually(lambda: "host-b" in running_on(browser) and "host-a" not in running_on(browser))
        assert browser.find_element(By.ID, "lost").get_attribute("hidden") is not None and not grey(browser)


def _text(browser: webdriver.Chrome, url: str) -> str:
    browser.get(url)
    return browser.find_element(By.TAG_NAME, "main").text


@pytest.mark.parametrize("width", [1280, 390])
def test_login_and_logout(browser: webdriver.Chrome, width: int) -> None:
    """Browsers send the form with the Origin of the page, and keep and forget the cookie."""
    scene = night()
    Users(scene.admin, scene.layout).create("ann", "correct horse battery", "viewer", "", "test")
    served = Served(scene, require_login=True)
    try:
        resize(browser, width)
        browser.get(served.url)
        for password in ("wrong", "correct horse battery"):
            assert browser.current_url == f"{served.url}/login"
            browser.find_element(By.ID, "user").send_keys("ann")
            browser.find_element(By.ID, "password").send_keys(password, Keys.ENTER)
            if password == "wrong":
                eventually(lambda: browser.find_elements(By.CSS_SELECTOR, "[role=alert]"))
                shoot(browser, f"login-{width}")
        eventually(lambda: browser.find_elements(By.CSS_SELECTOR, "[data-task]"))
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        browser.find_element(By.CSS_SELECTOR, ".account button").click()
        eventually(lambda: browser.current_url == f"{served.url}/login")
        browser.get(served.url)
        assert browser.current_url == f"{served.url}/login"
    finally:
        served.close()


def test_page_of_the_api_shows_every_operation(browser: webdriver.Chrome) -> None:
    """With the headers that the Server sends, which allow nothing from elsewhere and nothing inline."""
    app = secure(create_app(MemoryEnsemble().session(), Layout(), Access(TOKEN), TableDefinitions))
    with serving(app) as url:
        browser.get_log("browser")
        browser.get(f"{url.replace('//', f'//token:{TOKEN}@')}/docs")
        eventually(lambda: "token:server" in browser.find_element(By.ID, "login").text, 20)
        shown = browser.find_elements(By.CSS_SELECTOR, "#operations summary")
        assert len(shown) > 40 and any("/api/v1/tasks/{name}/pause" in one.text for one in shown)
        browser.find_element(By.ID, "filter").send_keys("revokeToken")
        assert [one.text.split()[0] for one in shown if one.is_displayed()] == ["DELETE/api/v1/tokens/{name}"]
        refused = [one for one in browser.get_log("browser") if "favicon" not in one["message"]]
        assert refused == []
