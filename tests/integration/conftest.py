"""One browser for a module, and a page of its own for each test."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

_OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--no-proxy-server",
    "--disable-dev-shm-usage",
]


@pytest.fixture(scope="module")
def chrome() -> Iterator[webdriver.Chrome]:
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not program or not driver:
        missing = "chromium and chromedriver are missing: apt-get install chromium chromium-driver"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    options = webdriver.ChromeOptions()
    options.binary_location = program
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with tempfile.TemporaryDirectory() as profile:
        for option in (*_OPTIONS, f"--user-data-dir={profile}"):
            options.add_argument(option)
        browser = webdriver.Chrome(options, Service(driver))
        yield browser
        browser.quit()


@pytest.fixture
def browser(chrome: webdriver.Chrome) -> webdriver.Chrome:
    """A blank page: in the log is nothing of another test's page, which goes on to ask a Monitor that has ended."""
    chrome.get("about:blank")
    chrome.get_log("browser")
    return chrome
