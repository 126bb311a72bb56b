"""The audit in the Monitor: filter, pages, exports, and who may read it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import pytest

from monitor.audit_export import Filter, as_csv, moment, params_of
from tests.unit.monitor.acting import BLUE, RED, Acting, stage, text

NOW = 1_795_720_000_000


@pytest.fixture(scope="module")
def site() -> Iterator[Acting]:
    made = Acting()
    made.log_in("anna")
    with made.direct() as http:
        for number in range(60):
            http.post(f"/tasks/{BLUE}/pause", json={"reason": f"number {number}."})
        http.post(f"/tasks/{RED}/pause", json={"reason": '=HYPERLINK("http://evil.example")'})
        http.post(f"/tasks/{RED}/retry")
    yield made
    made.close()


def test_newest_first_and_older_pages(site: Acting) -> None:
    page = site.http.get("/audit")
    assert page.status_code == 200 and "Newest first" in page.text
    assert "E5007" in page.text and "retryTask" in page.text and "number 59." in page.text
    assert "number 5." not in page.text
    seen: list[str] = []
    path = "/audit"
    for _ in range(5):
        page = site.http.get(path)
        seen += [str(number) for number in range(60) if f"number {number}." in page.text]
        older = page.text.partition(">Older<")[0].rpartition('href="')[2].partition('"')[0]
        if ">Older<" not in page.text:
            break
        path = older.replace("&amp;", "&")
    assert sorted(seen, key=int) == [str(number) for number in range(60)], "each entry once"


def test_the_filter_is_in_the_address(site: Acting) -> None:
    page = site.http.get("/audit", params={"task": RED, "outcome": "failed"})
    assert "retryTask" in page.text and "pauseTask" not in page.text.partition("<table")[2]
    assert 'name="task" value="task_red"' in page.text
    page = site.http.get("/audit", params={"operation": "pauseTask", "since": "1h"})
    assert (
        "retryTask" not in page.text.partition("<table")[2]
        and "/audit/export.csv?operation=pauseTask&amp;since=1h" in page.text
    )
    assert "No entries match." in site.http.get("/audit", params={"by": "nobody"}).text
    assert "No entries match." in site.http.get("/audit", params={"until": "1d"}).text
    for wrong in ({"since": "yesterday"}, {"outcome": "bad"}):
        page = site.http.get("/audit", params=wrong)
        assert page.status_code == 422 and 'role="alert"' in page.text
    assert "<script>alert" not in site.http.get("/audit", params={"by": '"><script>alert(1)</script>'}).text


def test_exports_have_all_that_is_selected(site: Acting) -> None:
    answer = site.http.get("/audit/export.json", params={"operation": "pauseTask"})
    assert answer.headers["content-disposition"] == 'attachment; filename="audit.json"'
    items = answer.json()["items"]
    assert len(items) >= 61 and {item["operation"] for item in items} == {"pauseTask"}
    answer = site.http.get("/audit/export.csv", params={"task": RED})
    assert (
        answer.headers["content-type"].startswith("text/csv") and "attachment" in answer.headers["content-disposition"]
    )
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["operation"] for row in rows] == ["pauseTask", "retryTask"]
    assert rows[0]["reason"] == '\'=HYPERLINK("http://evil.example")', "a spreadsheet must not run it"
    assert site.http.get("/audit/export.xls").status_code == 404


def test_who_may_read_it(site: Acting) -> None:
    other = Acting()
    try:
        for user in ("vera", "olga", "red"):
            other.log_in(user)
            page = other.http.get("/audit")
            assert page.status_code == 403 and "requires the role admin without a selector" in text(page)
            assert "<table" not in page.text
            assert other.http.get("/audit/export.json").status_code == 403
        other.log_in("anna", unlocked=False)
        page = other.http.get("/audit", params={"task": RED})
        assert stage(page) == "unlock" and f'name="next" value="/audit?task={RED}"' in page.text
        assert other.http.get("/audit/export.csv").status_code == 403
        assert other.unlock("correct horse battery", f"/audit?task={RED}").headers["location"] == f"/audit?task={RED}"
        other.log_in(other.token("admin", "team=red"))
        assert other.http.get("/audit").status_code == 403
    finally:
        other.close()


def test_times() -> None:
    assert moment("2h", NOW) == NOW - 7_200_000
    assert moment("1970-01-02", NOW) == 86_400_000
    assert moment("1970-01-01 03:00 UTC", NOW) == moment("1970-01-01T04:00+01:00", NOW) == 10_800_000
    for wrong in ("", "soon", "99999-01-01", "1960-01-01", "3 y"):
        with pytest.raises(ValueError, match="is not a time"):
            moment(wrong, NOW)
    assert params_of(Filter(by="ann", until="1h"), NOW) == {"by": "ann", "until_ms": str(NOW - 3_600_000)}


@pytest.mark.parametrize("start", ["=1", "+1", "-1", "@x", "\t=1", " =1", "\r=1", "\uff1d1", "|x", "%x"])
def test_formulas_are_text_in_a_spreadsheet(start: str) -> None:
    (row,) = csv.DictReader(io.StringIO(as_csv([{"time_ms": 0, "by": start, "task": 'a,b"c\n'}]), newline=""))
    assert row["by"] == f"'{start}" and row["task"] == 'a,b"c\n' and row["time"] == "1970-01-01T00:00:00.000+00:00"
