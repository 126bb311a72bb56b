"""Actions of the Monitor in a real browser: with a real ZooKeeper, a Server and the process `replicator monitor`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from dev import plain_http
from replicator.assembly.table_definitions import TableDefinitions
from replicator.coordination.access.users import Users
from replicator.zookeeper.client import connect
from server.app import Access, create_app
from tests.integration.test_accessibility import AXE, FIND
from tests.integration.test_dashboard import TASK, shoot
from tests.integration.test_dashboard import bus as bus
from tests.integration.test_monitor import monitor
from tests.support.api import TOKEN, serving
from tests.support.browser import resize, themed
from tests.support.waiting import eventually
from tests.unit.monitor.acting import PASSWORD, RED, Acting

pytestmark = pytest.mark.servers
OVERFLOW = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"


def dialog(browser: webdriver.Chrome, stage: str) -> Any:
    """The section in the dialog, as soon as it is at this stage."""

    def there() -> Any:
        found = browser.find_elements(By.CSS_SELECTOR, f'dialog.act[open] #action[data-stage="{stage}"]')
        return found[0] if found else None

    return eventually(there)


def log_in(browser: webdriver.Chrome, url: str) -> None:
    eventually(lambda: plain_http.get(f"{url}/healthz/ready").status_code == 200)
    browser.get(f"{url}/login")
    browser.find_element(By.ID, "user").send_keys("olga")
    browser.find_element(By.ID, "password").send_keys(PASSWORD, Keys.ENTER)
    eventually(lambda: browser.find_elements(By.CSS_SELECTOR, f'[data-task="{TASK}"]'))


def confirm(browser: webdriver.Chrome, section: Any) -> Any:
    section.find_element(By.ID, "confirm").send_keys(TASK, Keys.ENTER)
    return dialog(browser, "done")


@pytest.mark.parametrize("width", [1280, 390])
def test_pause_switchover_position_and_resume(browser: webdriver.Chrome, bus: Any, width: int) -> None:
    hosts, layout, first, second = bus
    coordinator = connect(hosts, session_timeout=3.0)
    Users(coordinator, layout).create("olga", PASSWORD, "operator", "", "test")
    app = create_app(coordinator, layout, Access(TOKEN), TableDefinitions)
    headers = {"authorization": f"Bearer {TOKEN}"}
    try:
        with (
            serving(app) as server,
            plain_http.client(f"{server}/api/v1", headers=headers, timeout=20) as api,
            monitor(hosts, "--server", server, "--require-login", root=layout.root) as (_, url),
        ):
            resize(browser, width)
            browser.delete_all_cookies()
            log_in(browser, url)
            browser.get(f"{url}/tasks/{TASK}")
            eventually(lambda: browser.find_elements(By.CSS_SELECTOR, '.task-head [data-state="RUNNING"]'))
            eventually(lambda: browser.find_elements(By.CSS_SELECTOR, "dialog.act"))  # its script has run
            body = browser.find_element(By.TAG_NAME, "body")

            body.send_keys("p")
            section = dialog(browser, "unlock")
            section.find_element(By.ID, "password").send_keys(PASSWORD, Keys.ENTER)
            section = dialog(browser, "confirm")
            assert "It is RUNNING on host-a" in section.text
            assert browser.execute_script(OVERFLOW) == 0
            shoot(browser, f"action-pause-{width}")
            section.find_element(By.ID, "confirm").send_keys("something else", Keys.ENTER)
            eventually(lambda: "nothing was done" in browser.find_element(By.CSS_SELECTOR, "dialog.act").text)
            assert api.get(f"/tasks/{TASK}").json()["desired"] == "running"
            section = confirm(browser, dialog(browser, "confirm"))
            assert "Pause was ordered" in section.text
            task = api.get(f"/tasks/{TASK}").json()
            assert task["desired"] == "paused" and task["desired_by"].startswith("olga@")
            section.find_element(By.CSS_SELECTOR, "[data-close]").click()

            first.report(TASK, "paused")
            eventually(lambda: browser.find_elements(By.CSS_SELECTOR, '.task-head [data-state="PAUSED"]'))
            browser.find_element(By.LINK_TEXT, "Set position").click()
            section = dialog(browser, "choose")
            section.find_element(By.ID, "target-earliest").click()
            section.find_element(By.CSS_SELECTOR, "form.choice button").click()
            section = dialog(browser, "confirm")
            assert "earliest" in section.text and "Not checked" in section.text
            browser.find_element(By.CSS_SELECTOR, "dialog.act").send_keys(Keys.ESCAPE)
            eventually(lambda: not browser.find_elements(By.CSS_SELECTOR, "dialog.act[open]"))

            body.send_keys("p")
            section = dialog(browser, "confirm")
            assert section.find_element(By.ID, "h-action").text.startswith("Resume")
            confirm(browser, section).find_element(By.CSS_SELECTOR, "[data-close]").click()
            assert api.get(f"/tasks/{TASK}").json()["desired"] == "running"

            first.report(TASK, "running")
            second.report(TASK, "standby")
            eventually(lambda: api.get(f"/tasks/{TASK}").json()["state"] == "running")
            body.send_keys("s")
            section = dialog(browser, "confirm")
            assert "host-b takes over" in section.text
            Select(section.find_element(By.ID, "to")).select_by_visible_text("host-b")
            section.find_element(By.CSS_SELECTOR, "form.choice button").click()
            time.sleep(0.5)
            section = confirm(browser, dialog(browser, "confirm"))
            assert "It goes to host-b" in section.text
            done = api.get("/audit", params={"operation": "switchoverTask"}).json()["items"]
            assert [(entry["by"], entry["arguments"]) for entry in done] == [("olga", {"to": "host-b"})]
            assert done[0]["says"].startswith("Monitor ")
            severe = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
            assert [entry for entry in severe if "422" not in entry["message"]] == []
    finally:
        coordinator.close()


@pytest.fixture(scope="module")
def site() -> Iterator[Acting]:
    made = Acting()
    made.log_in(made.token("admin"))
    with made.direct() as http:
        http.post(f"/tasks/{RED}/retry")
        http.post("/tasks/task_blue/pause", json={"reason": "new switches"})
    yield made
    made.close()


PAGES = (
    f"/tasks/{RED}/actions",
    f"/tasks/{RED}/actions/pause",
    f"/tasks/{RED}/actions/retry",
    f"/tasks/{RED}/actions/switchover",
    f"/tasks/{RED}/actions/position?target=file&file=binlog.000042&offset=99999",
    f"/tasks/{RED}/actions/lift-quarantine",
    "/machines/host-a/actions/drain",
    "/machines/host-a/actions/undrain",
    "/audit",
    "/audit?since=wrong",
)


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("path", PAGES)
def test_nothing_serious_is_found(browser: webdriver.Chrome, site: Acting, path: str, width: int) -> None:
    resize(browser, width)
    browser.get(f"{site.served.url}/login")
    browser.add_cookie({"name": "replicator", "value": site.http.cookies["replicator"]})
    browser.get(site.served.url + path)
    assert browser.find_elements(By.CSS_SELECTOR, "#action, .audit, .action")
    browser.execute_script(AXE)
    for theme in ("dark", "light"):
        themed(browser, theme)
        assert browser.execute_script(OVERFLOW) == 0
        found = browser.execute_async_script(FIND)
        assert found == [], "\n".join([theme, *found])


def test_commands_are_copied(browser: webdriver.Chrome, site: Acting) -> None:
    """Where there is no clipboard, the text is selected."""
    resize(browser, 1280)
    browser.get(f"{site.served.url}/login")
    browser.add_cookie({"name": "replicator", "value": site.http.cookies["replicator"]})
    browser.get(f"{site.served.url}/tasks/{RED}/actions/pause")
    button = browser.find_element(By.CSS_SELECTOR, ".as-command button.copy")
    eventually(button.is_displayed)
    browser.execute_script("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    button.click()
    eventually(lambda: button.text in ("Copied", "Selected: press Ctrl+C"))
    assert browser.execute_script("return getSelection().toString()").startswith("replicator task pause")
