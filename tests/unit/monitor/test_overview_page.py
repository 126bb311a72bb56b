"""The first page without its script: filtered, sorted and paged by the server; and only what a page asks for."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from html import unescape

import pytest

from monitor.columns import COLUMNS
from monitor.filtering import ORDERS
from monitor.overview_page import ROWS, table
from tests.support.waiting import eventually
from tests.unit.monitor.scene import many
from tests.unit.monitor.test_app import Served
from tests.unit.monitor.test_problems import NOW, row


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    one = Served(many(250, broken=3))
    yield one
    one.close()


def named(served: Served, address: str) -> list[str]:
    return re.findall(r'<tbody class="task[^>]*data-task="([^"]+)"', served.client.get(address).text)


def test_a_page_has_a_hundred_rows_and_leads_to_the_others(served: Served) -> None:
    pages = [named(served, f"/?page={number}") for number in (1, 2, 3)]
    assert [len(page) for page in pages] == [100, 100, 50] and len(set().union(*pages)) == 250
    assert (
        named(served, "/?page=99") == pages[2] and named(served, "/?page=x") == named(served, "/?page=-1") == pages[0]
    )
    text = unescape(served.client.get("/?q=label:env=prod&sort=lag").text)
    assert 'href="/?q=label%3Aenv%3Dprod&sort=lag&page=2"' in text and "166 of 250 tasks" in text


def test_filter_and_order_in_the_address(served: Served) -> None:
    assert named(served, "/?q=state:failed") == ["shop_0000_to_lake", "shop_0001_to_lake", "shop_0002_to_lake"]
    assert named(served, "/?q=E3101+!name:0001&sort=-name") == ["shop_0002_to_lake", "shop_0000_to_lake"]

    def fastest() -> str:
        for core in served.bus.cores.values():
            core.report()  # rates of Cores that do not report are not known
        return named(served, "/?sort=rate")[0]

    eventually(lambda: fastest() == "shop_0249_to_lake")
    page = served.client.get("/?sort=rate&q=%3Cimg%3E").text
    assert "No task matches" in page and "<img>" not in page
    assert re.search(r'data-column="rate"[^>]* aria-sort="descending"', page)


def test_rows_have_their_values(served: Served) -> None:
    page = served.client.get("/?q=name:shop_0249").text
    line = page.partition('<tbody class="task')[2].partition("</tbody>")[0]
    assert "binlog.000042:88123456" in line and re.search(r'data-cell="checkpoint"><time data-ms="\d+"', line)
    assert 'data-cell=""' not in line and not re.search(r'data-cell="\w+"></', line)


def test_a_page_gets_only_the_lists_that_it_has(served: Served) -> None:
    update = served.client.get("/api/updates?parts=machines,problems").json()
    assert set(update["order"]) == {"machines", "problems"}
    assert {key.partition(":")[0] for key in update["html"] if ":" in key} == {"machines", "problems"}
    assert "status" in update["html"]
    frame = served.client.get("/api/updates?parts=").json()
    assert frame["order"] == {} and "status" in frame["html"] and not any(":" in key for key in frame["html"])
    whole = served.client.get("/api/updates?parts=tasks").json()
    assert len(whole["order"]["tasks"]) == 250
    assert {key.partition(":")[0] for key in whole["html"] if ":" in key} == {"tasks", "values", "sparks"}


def test_it_is_small(served: Served) -> None:
    """250 tasks are a quarter of 1,000, of which page and rest are to be under 300 kB together."""
    texts = [served.client.get(path).content for path in ("/", "/api/updates?parts=problems,endpoints,tasks,changes")]
    assert sum(len(gzip.compress(text, 5)) for text in texts) < 75_000


def test_details_and_changes(served: Served) -> None:
    assert "Create it, then retry the task." in served.client.get("/api/tasks/shop_0000_to_lake/details").text
    assert served.client.get("/api/tasks/nothing/details").status_code == 404
    assert served.client.get("/changes").status_code == 200


def test_every_column_has_an_order() -> None:
    assert {column.by for column in COLUMNS} == set(ORDERS)
    letters = [column.key for column in COLUMNS if column.key]
    assert len(letters) == len(set(letters))


def test_addresses_of_columns() -> None:
    shown = table([row(f"t{n}") for n in range(ROWS + 1)], "t", "lag", 2, NOW)
    lag = next(column for column in COLUMNS if column.name == "lag")
    assert (shown.sorted_by(lag), shown.sorted_by(COLUMNS[0])) == ("/?q=t&sort=-lag", "/?q=t&sort=name")
    assert (shown.page, shown.pages, len(shown.keys), shown.whole) == (2, 2, 1, False)
    assert table([row("a")], "", "nonsense", 1, NOW).sort == ""
