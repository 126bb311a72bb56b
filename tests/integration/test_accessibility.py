"""axe-core finds nothing serious on any page of the Monitor, in either theme, at both widths."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver

from tests.support.browser import resize, themed
from tests.support.waiting import eventually
from tests.unit.monitor.task_scene import full_night
from tests.unit.monitor.test_app import Served

pytestmark = pytest.mark.servers
AXE = (Path(__file__).parent.parent / "vendor" / "axe.min.js").read_text()
PAGES = (
    *("/", "/changes", "/?q=state:failed&sort=lag", "/tasks/no_such_task", "/tasks/copy_hot_item?span=2y", "/alerts"),
    *("/docs", "/docs/runbooks", "/codes/E2104", "/codes/E9998"),
    *("/machines", "/machines/host-a", "/machines/host-y", "/machines/no_such_machine"),
)
TABS = ("", "/throughput", "/members", "/timeline", "/checkpoints", "/tables", "/errors", "/configuration", "/checks")
FIND = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ["violations"]}).then((result) => done(result.violations
  .filter((one) => ["serious", "critical"].includes(one.impact))
  .map((one) => `${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map((node) => node.html).join(" | ")}`)));
"""


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    served = Served(full_night())
    yield served
    served.close()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize(
    "path", [*PAGES, *(f"/tasks/{name}{tab}" for name in ("copy_hot_item", "billing_invoices") for tab in TABS)]
)
def test_pages(browser: webdriver.Chrome, served: Served, path: str, width: int) -> None:
    resize(browser, width)
    browser.get(served.url + path)
    if path == "/alerts":
        eventually(lambda: served.client.get("/api/alerts").json()["firing"])
        browser.refresh()
        browser.execute_script("document.querySelector('details').open = true")
    if path.endswith(("host-a", "copy_hot_item", "billing_invoices", "/throughput")):
        eventually(lambda: browser.execute_script("return document.querySelectorAll('figure canvas').length") >= 4)
    browser.execute_script(AXE)
    for theme in ("dark", "light"):
        themed(browser, theme)
        found = browser.execute_async_script(FIND)
        assert found == [], "\n".join([theme, *found])


def test_what_is_planted_is_found(browser: webdriver.Chrome, served: Served) -> None:
    browser.get(served.url)
    browser.execute_script("document.querySelector('main').append(document.createElement('button'))")
    browser.execute_script(AXE)
    assert [line.partition(":")[0] for line in browser.execute_async_script(FIND)] == ["button-name"]
