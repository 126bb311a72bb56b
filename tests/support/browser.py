"""What tests in a browser share."""

from __future__ import annotations

from selenium import webdriver


def resize(browser: webdriver.Chrome, width: int) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def themed(browser: webdriver.Chrome, theme: str) -> None:
    """As of a system with a dark or light theme; pages change without a reload."""
    features = [{"name": "prefers-color-scheme", "value": theme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
