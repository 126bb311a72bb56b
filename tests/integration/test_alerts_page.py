"""The page of alerts in a real browser: it stays live, fits the window, and works without its script."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from selenium import webdriver

from tests.support.browser import resize, themed
from tests.support.waiting import eventually
from tests.unit.monitor.alerts.test_page import served as served
from tests.unit.monitor.test_app import Served

pytestmark = pytest.mark.servers
SHOTS = Path(os.environ.get("REPLICATOR_SHOTS", "build/screenshots"))


def shown(browser: webdriver.Chrome, selector: str) -> int:
    return int(browser.execute_script("return document.querySelectorAll(arguments[0]).length", selector))


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_fits(browser: webdriver.Chrome, served: Served, theme: str, width: int) -> None:
    resize(browser, width)
    themed(browser, theme)
    browser.get(f"{served.url}/alerts")
    browser.execute_script("document.querySelector('details').open = true")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script("return document.querySelector('nav [aria-current]').textContent") == "Alerts"
    SHOTS.mkdir(parents=True, exist_ok=True)
    browser.save_screenshot(str(SHOTS / f"alerts-{width}-{theme}.png"))


def test_it_stays_live(browser: webdriver.Chrome, served: Served) -> None:
    resize(browser, 1280)
    browser.get(f"{served.url}/alerts")
    failed = '[data-alert="BusTaskFailed"][data-name="billing_invoices"]'
    assert shown(browser, failed) == 1
    browser.execute_script("window.same = true; document.querySelector('details').open = true")
    served.bus.cores["host-a"].die()
    eventually(lambda: shown(browser, failed) == 0)
    assert "billing_invoices" in browser.execute_script("return document.querySelector('.past tbody').textContent")
    assert browser.execute_script("return window.same && document.querySelector('details').open")
    problems = [line for line in browser.get_log("browser") if line["level"] == "SEVERE"]
    assert problems == []


def test_the_overview_leads_to_it(browser: webdriver.Chrome, served: Served) -> None:
    browser.get(served.url)
    eventually(lambda: shown(browser, ".notice .alarm.bad") == 1)
    browser.execute_script("document.querySelector('.notice .alarm a').click()")
    eventually(lambda: browser.current_url.endswith("/alerts"))
