"""The pages of machines in a real browser: at two widths, in both themes, live, and what they lead to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from tests.integration.test_dashboard import SHOTS
from tests.support.browser import resize, themed
from tests.support.waiting import eventually
from tests.unit.monitor.scene import Bus, night
from tests.unit.monitor.test_app import Served

pytestmark = pytest.mark.servers
RACK = "replication-host-17.rack-b.fra2.example.internal"


@pytest.fixture(scope="module")
def bus() -> Bus:
    return night()


@pytest.fixture(scope="module")
def served(bus: Bus) -> Iterator[Served]:
    served = Served(bus)
    yield served
    served.close()


def state_of(browser: webdriver.Chrome, host: str) -> str:
    """In one step: the script of the page replaces rows."""
    row = f'document.querySelector(`.machine-table [data-machine="{host}"]`)'
    return str(browser.execute_script(f"return {row}?.dataset.state ?? ''"))


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_they_fit_the_window(browser: webdriver.Chrome, served: Served, theme: str, width: int) -> None:
    resize(browser, width)
    themed(browser, theme)
    for name, path in (("machines", "/machines"), ("machine", "/machines/host-a"), ("missing", "/machines/host-y")):
        browser.get(served.url + path)
        if name == "machine":
            eventually(lambda: browser.execute_script("return document.querySelectorAll('figure canvas').length") == 4)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width, path
        SHOTS.mkdir(parents=True, exist_ok=True)
        height = browser.execute_script("return document.documentElement.scrollHeight")
        browser.set_window_size(width, min(height + 100, 3000))
        browser.save_screenshot(str(SHOTS / f"{name}-{width}-{theme}.png"))
        resize(browser, width)
    errors = [line["message"] for line in browser.get_log("browser") if line["level"] == "SEVERE"]
    assert not errors


def test_the_overview_leads_to_the_list_and_this_to_each(browser: webdriver.Chrome, served: Served) -> None:
    resize(browser, 1280)
    browser.get(served.url)
    browser.find_element(By.LINK_TEXT, "Machines").click()
    eventually(lambda: browser.title.endswith("Machines - Replication bus"))
    first = browser.find_element(By.CSS_SELECTOR, ".machine-table tbody tr")
    assert first.get_attribute("data-state") == "offline", "problems first"
    browser.find_element(By.LINK_TEXT, "host-b").click()
    eventually(lambda: browser.title.endswith("host-b - Replication bus"))
    assert "draining" in browser.find_element(By.CSS_SELECTOR, ".machine-facts").text
    browser.find_element(By.LINK_TEXT, "copy_hot_item").click()
    eventually(lambda: "copy_hot_item" in browser.title)


def test_it_is_live(browser: webdriver.Chrome, served: Served, bus: Bus) -> None:
    browser.get(f"{served.url}/machines")
    eventually(lambda: state_of(browser, RACK) == "silent")  # it reports no more
    bus.cores[RACK].die()
    eventually(lambda: state_of(browser, RACK) == "offline")


def test_without_a_script_there_are_the_figures(browser: webdriver.Chrome, served: Served) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(f"{served.url}/machines/host-a")
        text = browser.find_element(By.TAG_NAME, "main").text
        for wanted in ("CPU", "Fullest disk", "8 %", "Online", "TASKS ON IT"):
            assert wanted in text
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
