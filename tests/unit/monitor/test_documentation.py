"""The documentation in the Monitor: pages, codes, and that every link of every page leads somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

import pytest

from dev.paths import TREE
from monitor.documentation.markdown import html
from monitor.documentation.places import address_of_link, docs_page, linked
from replicator.alerts.rule_file import shipped
from replicator.codes import CODES
from replicator.documentation import pages
from tests.support.waiting import eventually
from tests.unit.monitor.scene import Bus, night
from tests.unit.monitor.test_app import Served


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    bus: Bus = night()
    one = Served(bus)
    yield one
    one.close()


@pytest.mark.parametrize(
    ("place", "address"),
    [
        ("docs/runbooks.md#buslag", "/docs/runbooks#buslag"),
        ("operations", "/docs/operations"),
        ("deploy/alerts.yaml", "/docs/deploy/alerts.yaml"),
        ("docs/performance.png", "/docs/performance.png"),
        ("../pyproject.toml", ""),
        ("/etc/hostname", ""),
        ("docs/../../etc/hostname", ""),
    ],
)
def test_addresses_of_pages(place: str, address: str) -> None:
    assert docs_page(place) == address


def test_links_of_a_page() -> None:
    assert address_of_link("operations.md#lag-and-outages", "docs") == "/docs/operations#lag-and-outages"
    assert address_of_link("../deploy/alerts.yaml", "docs") == "/docs/deploy/alerts.yaml"
    assert address_of_link("../replicator/DESIGN.md", "docs") == ""  # an installation has no sources
    assert address_of_link("javascript:alert(1)", "docs") == ""


def test_codes_and_pages_in_a_text_are_links_and_the_rest_is_escaped() -> None:
    text = linked("<b>E2206</b>, see `replicator docs operations purged`; E9998 is none.")
    assert '&lt;b&gt;<a href="/codes/E2206">E2206</a>&lt;/b&gt;' in text
    assert re.search(r'<a href="/docs/operations#[a-z-]+purged[a-z-]*">', text)
    assert "E9998" in text and "/codes/E9998" not in text


def test_markup_in_a_page_is_text() -> None:
    made = html('# A\n\n<script>alert(1)</script> `<i>` [x](javascript:alert(1)) "E2206" E2206\n', "docs")
    assert "<script" not in made and "&lt;script" in made and "javascript:" not in re.sub(r"\[x\].*?\)", "", made)
    assert made.count('<a href="/codes/E2206">') == 2


def test_repeated_headings_have_anchors_of_their_own() -> None:
    text = "# A\n\n## B `c`\n\n```sh\n# none\n```\n\n## B `c`\n"
    assert pages.anchors(text) == ["a", "b-c", "b-c-1"]
    assert re.findall(r'<h\d id="([^"]+)"', html(text, "docs")) == ["a", "b-c", "b-c-1"]


def test_every_link_leads_to_a_page_and_a_heading(served: Served) -> None:
    texts = {}
    for name in pages.pages():
        address = "/docs" if name == "README" else docs_page(name)
        answer = served.client.get(address)
        assert answer.status_code == 200, address
        texts[address] = answer.text
    targets = {(page, unescape(link)) for page, text in texts.items() for link in re.findall(r'href="([^"]+)"', text)}
    assert len(targets) > 500
    for page, target in sorted(targets):
        path, _, section = target.partition("#")
        path = path or page
        if path.startswith(("https://", "http://")):
            continue
        if section and path in texts:
            assert f'id="{section}"' in texts[path], (page, target)
        elif path.startswith("/docs/") and path not in texts:
            assert served.client.get(path).status_code == 200, (page, target)
        elif path.startswith("/codes/"):
            assert path.removeprefix("/codes/") in CODES
    assert 'src="/docs/performance.png"' in texts["/docs/performance"]


def test_runbooks_of_all_rules_can_be_opened(served: Served) -> None:
    text = served.client.get("/docs/runbooks").text
    for rule in shipped():
        address = docs_page(rule.runbook)
        assert address.startswith("/docs/runbooks#") and f'id="{address.partition("#")[2]}"' in text


def test_files_are_text_and_pictures_pictures(served: Served) -> None:
    answer = served.client.get("/docs/deploy/alerts.yaml")
    assert answer.text == (TREE / "deploy/alerts.yaml").read_text()
    assert answer.headers["content-type"].startswith("text/plain")
    assert served.client.get("/docs/performance.png").headers["content-type"] == "image/png"
    for wrong in ("/docs/..%2F..%2Fpyproject.toml", "/docs/nonsense", "/docs/%2Fetc%2Fhostname", "/docs/%00"):
        answer = served.client.get(wrong)
        assert answer.status_code == 404 and "has nothing of the name" in answer.text, wrong


def test_a_code_has_its_remedy_places_and_tasks(served: Served) -> None:
    code = next(
        error["code"]
        for task in served.client.get("/api/state").json()["tasks"]
        for error in task["errors"]
        if error.get("code")
    )
    text = unescape(served.client.get(f"/codes/{code.lower()}").text)
    assert CODES[code].title in text and "/errors" in text and "Tasks that have it now (0)" not in text
    text = served.client.get("/codes/E2206").text
    assert "/docs/snapshots#purged-positions" in text and "replicator explain E2206" in text
    assert served.client.get("/codes/E9998").status_code == 404


def test_problems_and_alerts_lead_there(served: Served) -> None:
    assert re.search(r'<a class="code" href="/codes/E\d{4}">', served.client.get("/").text)
    eventually(lambda: re.search(r'<a href="/docs/runbooks#bus[a-z]+">', served.client.get("/alerts").text))
