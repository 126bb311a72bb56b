"""The overview in a real browser: problems, filter, order, columns, groups, details, and 1,000 tasks."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from monitor.columns import COLUMNS
from tests.integration.test_dashboard import shoot
from tests.support.browser import resize, themed
from tests.support.waiting import eventually
from tests.unit.monitor.filter_cases import NOW, ORDERS_TRIED, QUERIES, TASKS, answer, order, random_queries
from tests.unit.monitor.scene import Bus, many, night
from tests.unit.monitor.test_app import Served

pytestmark = pytest.mark.servers
NOTHING_OVERFLOWS = """
const page = document.documentElement;
if (page.scrollWidth > page.clientWidth) return `page: ${page.scrollWidth}`;
const wide = [...document.querySelectorAll(".tasks td, .tasks tbody th, .tile, .cause-line, .chip")]
  .filter((one) => one.checkVisibility() && one.getBoundingClientRect().right > page.clientWidth + 1);
return wide.map((one) => one.outerHTML.slice(0, 120)).join("\\n");
"""


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    one = Served(night())
    yield one
    one.close()


@pytest.fixture(scope="module")
def crowd() -> Iterator[Served]:
    one = Served(many(300, broken=2))
    with reporting(one.bus):
        yield one
    one.close()


@contextmanager
def reporting(bus: Bus) -> Iterator[None]:
    """Its Cores report each second, as real ones."""
    ended = threading.Event()

    def report() -> None:
        while not ended.wait(1.0):
            for core in bus.cores.values():
                core.report()

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    yield
    ended.set()
    thread.join(5)


def opened(browser: webdriver.Chrome, url: str, width: int = 1280) -> None:
    """With the columns that a new browser has, when the script has placed all rows."""
    resize(browser, width)
    browser.get(url)
    browser.execute_script("localStorage.clear()")
    browser.get(url)
    total = "return Number(document.querySelector('table.tasks').dataset.total)"
    rows = "return document.querySelectorAll('tbody.task').length"
    eventually(lambda: browser.execute_script(rows) == browser.execute_script(total))


def shown(browser: webdriver.Chrome) -> list[str]:
    script = "return [...document.querySelectorAll('tbody.task:not([hidden])')].map((row) => row.dataset.task)"
    found: list[str] = browser.execute_script(script)
    return found


def search(browser: webdriver.Chrome) -> str:
    return str(browser.execute_script("return location.search"))


def press(browser: webdriver.Chrome, *keys: str) -> None:
    browser.find_element(By.TAG_NAME, "body").send_keys(*keys)


def typed(browser: webdriver.Chrome, query: str) -> None:
    field = browser.find_element(By.ID, "filter")
    field.clear()
    field.send_keys(query)


def test_filter_and_order_are_those_of_the_server(browser: webdriver.Chrome, served: Served) -> None:
    """One table of cases, and random ones: static/filtering.js answers as monitor/filtering.py."""
    opened(browser, served.url)
    queries = [*QUERIES, *random_queries(600)]
    tasks = [json.loads(json.dumps({f: getattr(task, f) for f in task.__struct_fields__})) for task in TASKS]
    script = """
    const [tasks, queries, orders, now, done] = arguments;
    import("/static/filtering.js").then(({ explained, matches, ordered, parse }) => done([
      queries.map((query) => {
        const terms = parse(query);
        return [tasks.filter((task) => matches(terms, task, now)).map((task) => task.name), explained(terms)];
      }),
      orders.map((order) => ordered(tasks, order).map((task) => task.name)),
    ]), (error) => done(String(error)));
    """
    answers, orders = browser.execute_async_script(script, tasks, queries, list(ORDERS_TRIED), NOW)
    for query, found in zip(queries, answers, strict=True):
        assert tuple(found) == answer(query), query
    for column, found in zip(ORDERS_TRIED, orders, strict=True):
        assert found == order(column), column


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_overflows(browser: webdriver.Chrome, served: Served, crowd: Served, width: int, theme: str) -> None:
    themed(browser, theme)
    for name, one in (("night", served), ("crowd", crowd)):
        opened(browser, one.url, width)
        assert browser.execute_script(NOTHING_OVERFLOWS) == ""
        shoot(browser, f"overview-{name}-{width}-{theme}")
    if width == 1280:
        press(browser, "w")
        assert browser.execute_script(NOTHING_OVERFLOWS) == ""
    severe = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert severe == []


@pytest.mark.parametrize("width", [1280, 390])
def test_no_tasks(browser: webdriver.Chrome, width: int) -> None:
    one = Served(Bus())
    try:
        opened(browser, one.url, width)
        main = browser.find_element(By.TAG_NAME, "main").text
        assert "No problems." in main and "No tasks yet." in main and "No task matches" not in main
        assert browser.execute_script(NOTHING_OVERFLOWS) == ""
    finally:
        one.close()


def test_problems_are_first_and_have_commands(browser: webdriver.Chrome, crowd: Served) -> None:
    opened(browser, crowd.url)
    (line,) = browser.find_elements(By.CSS_SELECTOR, '.problems > [data-kind="failed"]')
    assert "shop_0000_to_lake, shop_0001_to_lake have FAILED since" in line.text and "E3101" in line.text
    assert "replicator task retry shop_0000_to_lake shop_0001_to_lake" in line.text
    table = browser.find_element(By.CSS_SELECTOR, "table.tasks")
    assert line.location["y"] < table.location["y"]
    line.find_element(By.CSS_SELECTOR, ".copy").click()
    eventually(lambda: line.find_element(By.CSS_SELECTOR, ".copy").text != "Copy")
    assert browser.title.startswith("(2 down)")


def test_the_filter_is_in_the_address(browser: webdriver.Chrome, crowd: Served) -> None:
    opened(browser, crowd.url)
    press(browser, "/")
    typed(browser, "state:failed label:env=test")
    eventually(lambda: shown(browser) == ["shop_0000_to_lake"])
    assert search(browser) == "?q=state%3Afailed+label%3Aenv%3Dtest"
    assert browser.find_element(By.ID, "found").text.startswith('1 of 300 tasks: state is "failed", label is')
    browser.refresh()
    eventually(lambda: shown(browser) == ["shop_0000_to_lake"])
    time.sleep(1.5)  # updates come meanwhile
    assert shown(browser) == ["shop_0000_to_lake"]
    typed(browser, "e3101")
    eventually(lambda: len(shown(browser)) == 2)
    typed(browser, "code:")
    hints = browser.execute_script("return [...document.querySelectorAll('#hints option')].map((one) => one.value)")
    assert hints == ["code:e3101"]
    browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    eventually(lambda: len(shown(browser)) == 300 and search(browser) == "")


def test_tiles_and_keys_set_it(browser: webdriver.Chrome, crowd: Served) -> None:
    opened(browser, crowd.url)
    browser.find_element(By.CSS_SELECTOR, '.tile[data-filter^="state:failed"]').click()
    eventually(lambda: len(shown(browser)) == 2)
    browser.back()
    eventually(lambda: len(shown(browser)) == 300)
    press(browser, "e")
    eventually(lambda: len(shown(browser)) == 2 and search(browser) == "?q=is%3Aproblem")
    press(browser, "e")
    eventually(lambda: len(shown(browser)) == 300)


def test_sorting(browser: webdriver.Chrome, crowd: Served) -> None:
    opened(browser, crowd.url)
    assert shown(browser)[:3] == ["shop_0000_to_lake", "shop_0001_to_lake", "shop_0002_to_lake"]

    def head(name: str) -> str | None:
        return browser.find_element(By.CSS_SELECTOR, f'[data-column="{name}"]').get_attribute("aria-sort")

    browser.find_element(By.CSS_SELECTOR, '[data-column="rate"] .sort').click()
    eventually(lambda: shown(browser)[0] == "shop_0299_to_lake" and head("rate") == "descending")
    press(browser, "R")
    eventually(lambda: shown(browser)[0] == "shop_0002_to_lake" and head("rate") == "ascending")
    assert search(browser) == "?sort=-rate" and shown(browser)[-2:] == ["shop_0000_to_lake", "shop_0001_to_lake"]
    press(browser, "N")
    eventually(lambda: head("name") == "ascending" and head("rate") is None)


def test_columns_are_remembered(browser: webdriver.Chrome, crowd: Served) -> None:
    opened(browser, crowd.url)

    def visible() -> list[str]:
        script = """return [...document.querySelector("table.tasks").tHead.rows[0].cells]
            .filter((cell) => cell.checkVisibility()).map((cell) => cell.dataset.column)"""
        found: list[str] = browser.execute_script(script)
        return found

    usual = visible()
    assert "epoch" not in usual and "position" in usual
    browser.find_element(By.CSS_SELECTOR, "#columns summary").click()
    browser.find_element(By.CSS_SELECTOR, '#columns [value="epoch"]').click()
    browser.find_element(By.CSS_SELECTOR, '#columns [value="position"]').click()
    assert "epoch" in visible() and "position" not in visible()
    browser.refresh()
    eventually(lambda: "epoch" in visible() and "position" not in visible())
    press(browser, "w")
    assert len(visible()) == len(COLUMNS)
    press(browser, "w")
    browser.find_element(By.CSS_SELECTOR, "#columns summary").click()
    browser.find_element(By.ID, "columns-reset").click()
    assert visible() == usual


def test_the_header_stays_and_rows_are_low(browser: webdriver.Chrome, crowd: Served) -> None:
    opened(browser, crowd.url)
    browser.execute_script("document.querySelectorAll('tbody.task')[150].scrollIntoView()")
    top = browser.execute_script("return document.querySelector('table.tasks thead').getBoundingClientRect().top")
    assert abs(top) < 2
    height = "return document.querySelectorAll('tbody.task')[150].getBoundingClientRect().height"
    assert browser.execute_script(height) < 56
    resize(browser, 390)
    assert browser.execute_script(height) < 150


def test_groups(browser: webdriver.Chrome, crowd: Served) -> None:
    opened(browser, f"{crowd.url}/?group=label:env")
    names = "return [...document.querySelectorAll('.grouping')].map((one) => one.textContent.trim())"
    eventually(lambda: len(browser.execute_script(names)) == 2)
    assert browser.execute_script(names) == ["prod200 tasks, 1 with problems", "test100 tasks, 1 with problems"]


def test_details_open_in_place_and_the_name_leads_to_the_page(browser: webdriver.Chrome, crowd: Served) -> None:
    opened(browser, crowd.url)
    press(browser, "j", "o")
    detail = ".task[data-task='shop_0000_to_lake'] .details"
    eventually(lambda: "Create it, then retry the task." in browser.find_element(By.CSS_SELECTOR, detail).text)
    time.sleep(1.5)  # updates must not close it
    button = browser.find_element(By.CSS_SELECTOR, ".task .open")
    assert button.get_attribute("aria-expanded") == "true" and browser.find_elements(By.CSS_SELECTOR, detail)
    button.click()
    assert not browser.find_elements(By.CSS_SELECTOR, detail)
    browser.find_element(By.CSS_SELECTOR, ".task .to").send_keys(Keys.ENTER)
    eventually(lambda: browser.title.startswith("(FAILED) shop_0000_to_lake"))
    press(browser, Keys.ESCAPE)
    eventually(lambda: browser.execute_script("return location.pathname") == "/")


def test_values_change_without_new_rows(browser: webdriver.Chrome, crowd: Served) -> None:
    opened(browser, crowd.url)
    browser.execute_script("window.row = document.querySelector(\"[data-task='shop_0007_to_lake']\")")
    (core,) = (core for core in crowd.bus.cores.values() if core.figures.get("shop_0007_to_lake", None) is not None
               and core.figures["shop_0007_to_lake"].state == "RUNNING")  # fmt: skip
    core.figures["shop_0007_to_lake"].position = "binlog.000777:7"
    core.report()
    position = "return document.querySelector(\"[data-task='shop_0007_to_lake'] .position\").textContent"
    eventually(lambda: "binlog.000777:7" in browser.execute_script(position))
    assert browser.execute_script("return window.row.isConnected")


def test_a_thousand_tasks(browser: webdriver.Chrome) -> None:
    """Limits are ten times what was measured on two busy cores."""
    served = Served(many(1000))
    try:
        began = time.monotonic()
        opened(browser, served.url)
        assert time.monotonic() - began < 60
        sizes = "return performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))"
        transferred = sum(
            each["transferSize"] for each in browser.execute_script(sizes) if "/events" not in each["name"]
        )
        assert transferred < 300_000
        took = browser.execute_async_script("""
        const done = arguments[0];
        const filter = document.getElementById("filter");
        const began = performance.now();
        for (const text of ["s", "st", "state:running", "shop_05", ""]) {
          filter.value = text;
          filter.dispatchEvent(new Event("input"));
        }
        const typed = (performance.now() - began) / 5;
        let frames = 0;
        const from = performance.now();
        const scrolled = () => {
          scrollBy(0, 700);
          frames += 1;
          if (frames < 40) requestAnimationFrame(scrolled);
          else done([typed, (performance.now() - from) / frames]);
        };
        requestAnimationFrame(scrolled);
        """)
        print("ms per key, per frame:", took, "bytes:", transferred, "s to load:", time.monotonic() - began)
        assert took[0] < 1000 and took[1] < 1000
        assert len(shown(browser)) == 1000
    finally:
        served.close()
