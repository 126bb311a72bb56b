"""axe-core on logins, dialogs, banners, forms that test_monitor_actions does not have, and on no or many tasks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from monitor.alerts.alerting import Alerting
from tests.integration.test_accessibility import AXE, FIND
from tests.support.browser import resize, themed
from tests.support.waiting import eventually
from tests.unit.monitor.acting import PASSWORD, RED, Acting
from tests.unit.monitor.scene import Bus, many
from tests.unit.monitor.test_app import Served

pytestmark = pytest.mark.servers
ROUTES = """
routes:
  - name: ops
    webhook: {url: "http://127.0.0.1:9/ops"}
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Acting]:
    path: Path = tmp_path_factory.mktemp("routes") / "routes.yaml"
    path.write_text(ROUTES)
    one = Acting(alerting=Alerting(routes=path))
    yield one
    one.close()


def serious(browser: webdriver.Chrome) -> list[str]:
    """In both themes, at both widths."""
    found = []
    browser.execute_script(AXE)
    for width in (1280, 390):
        resize(browser, width)
        for theme in ("dark", "light"):
            themed(browser, theme)
            found += [f"{width} {theme}: {one}" for one in browser.execute_async_script(FIND)]
    return found


def log_in(browser: webdriver.Chrome, site: Acting, user: str) -> None:
    browser.delete_all_cookies()
    browser.get(f"{site.served.url}/login")
    browser.find_element(By.NAME, "user").send_keys(user)
    browser.find_element(By.NAME, "password").send_keys(PASSWORD + os.linesep)
    eventually(lambda: "/login" not in browser.current_url)


def test_the_login(browser: webdriver.Chrome, site: Acting) -> None:
    browser.delete_all_cookies()
    browser.get(f"{site.served.url}/login")
    assert serious(browser) == []


def test_pages_on_which_people_act(browser: webdriver.Chrome, site: Acting) -> None:
    log_in(browser, site, "anna")
    url = site.served.url
    browser.get(f"{url}/tasks/{RED}/actions/pause")  # asks for the password
    assert browser.find_elements(By.CSS_SELECTOR, '[data-stage="unlock"]') and serious(browser) == []
    browser.find_element(By.CSS_SELECTOR, 'input[type="password"]').send_keys(PASSWORD + os.linesep)
    eventually(lambda: browser.find_elements(By.CSS_SELECTOR, '[data-stage="confirm"]'))
    assert serious(browser) == []
    for path in (*(f"/tasks/{RED}/actions/{name}" for name in ("position", "check")), "/alerts"):
        browser.get(url + path)
        assert serious(browser) == [], path


def test_dialogs(browser: webdriver.Chrome, site: Acting) -> None:
    log_in(browser, site, "anna")
    browser.get(f"{site.served.url}/tasks/{RED}")
    browser.find_element(By.ID, "help").click()
    assert browser.execute_script("return document.getElementById('keys').open") and serious(browser) == []
    browser.execute_script("document.getElementById('keys').close()")
    eventually(lambda: browser.find_elements(By.CSS_SELECTOR, "dialog.act"))
    browser.find_element(By.CSS_SELECTOR, "a[data-action]").click()
    eventually(lambda: browser.find_elements(By.CSS_SELECTOR, "dialog.act[open] [data-stage]"))
    assert serious(browser) == []


@pytest.mark.parametrize("number", [0, 40])
def test_no_and_many_tasks(browser: webdriver.Chrome, number: int) -> None:
    served = Served(many(number, broken=3) if number else Bus())
    try:
        browser.get(served.url)
        assert serious(browser) == []
        served.coordinator.suspend()
        eventually(lambda: browser.execute_script("return document.documentElement.classList.contains('stale')"))
        assert serious(browser) == [], "with the banner"
    finally:
        served.close()


def test_the_theme_button_goes_round(browser: webdriver.Chrome, site: Acting) -> None:
    """From that of the system to the dark and the light one; what was chosen holds on the next page."""
    log_in(browser, site, "anna")
    browser.get(site.served.url)
    browser.execute_script("localStorage.clear()")
    browser.refresh()
    button = "return document.getElementById('theme').textContent"
    background = "return getComputedStyle(document.body).backgroundColor"
    themed(browser, "light")
    light = browser.execute_script(background)
    browser.find_element(By.ID, "theme").click()
    assert browser.execute_script(button) == "Theme: dark" and browser.execute_script(background) != light
    browser.get(f"{site.served.url}/machines")
    assert browser.execute_script(button) == "Theme: dark" and browser.execute_script(background) != light
    browser.find_element(By.ID, "theme").click()
    themed(browser, "dark")
    assert browser.execute_script(button) == "Theme: light" and browser.execute_script(background) == light
    browser.find_element(By.ID, "theme").click()
    assert browser.execute_script(button) == "Theme: auto" and browser.execute_script(background) != light
