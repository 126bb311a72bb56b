"""/alerts and /api/alerts, as people and programs see them."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape

import httpx
import pytest

from replicator.coordination.access.tokens import Tokens
from tests.support.waiting import eventually
from tests.unit.monitor.scene import night
from tests.unit.monitor.test_app import Served


@pytest.fixture
def served() -> Iterator[Served]:
    one = Served(night())
    eventually(lambda: one.client.get("/api/alerts").json()["firing"])
    yield one
    one.close()


def test_what_fires_is_on_the_page_and_in_the_banner_of_all_pages(served: Served) -> None:
    firing = served.client.get("/api/alerts").json()["firing"]
    failed = next(one for one in firing if one["rule"] == "BusTaskFailed")
    text = unescape(served.client.get("/alerts").text)
    assert f"replicator alert silence BusTaskFailed --task {failed['name']} --for 2h" in text
    assert failed["summary"] in text and 'href="/docs/runbooks#bustaskfailed"' in text
    eventually(lambda: f'data-firing="{len(firing)}"' in served.client.get("/").text)
    assert served.client.get("/api/state").json()["alerts"]


def test_the_worst_comes_first(served: Served) -> None:
    severities = [one["severity"] for one in served.client.get("/api/alerts").json()["firing"]]
    assert severities == sorted(severities)


def test_the_body_is_that_of_the_page(served: Served) -> None:
    body = served.client.get("/alerts/body").text
    assert body.strip().startswith('<div class="alerts-body"') and "<html" not in body
    assert "style=" not in body and "<script" not in body


def test_an_alert_that_ends_is_in_the_history(served: Served) -> None:
    served.bus.cores["host-a"].die()  # the task has failed there; host-b comes next

    def ended() -> set[tuple[str, str, str]]:
        return {(one["rule"], one["name"], one["how"]) for one in served.client.get("/api/alerts").json()["past"]}

    eventually(lambda: ("BusTaskFailed", "billing_invoices", "resolved") in ended())
    assert "No alert has ended" not in served.client.get("/alerts").text


def test_a_login_with_a_selector_sees_alerts_of_its_tasks_alone() -> None:
    bus = night()
    for team in ("red", "blue"):
        bus.task(f"task_{team}", labels={"team": team})
        bus.cores["host-a"].stand(f"task_{team}", "FAILED")
    served = Served(bus, require_login=True)
    try:
        tokens = Tokens(bus.admin, bus.layout)
        every = tokens.create("all", "viewer", "", 0, "test").secret
        red = tokens.create("red", "viewer", "team=red", 0, "test").secret

        def get(path: str, token: str) -> httpx.Response:
            return served.client.get(path, headers={"authorization": f"Bearer {token}"})

        def failed(token: str) -> set[str]:
            found = get("/api/alerts", token).json()["firing"]
            return {one["name"] for one in found if one["rule"] == "BusTaskFailed"}

        eventually(lambda: failed(every) >= {"task_red", "task_blue"})
        assert failed(red) == {"task_red"}
        assert {one["of"] for one in get("/api/alerts", red).json()["firing"]} == {"task"}
        for path in ("/alerts", "/alerts/body", "/api/alerts", "/api/state", "/"):
            assert "task_blue" in get(path, every).text
            assert "task_red" in get(path, red).text and "task_blue" not in get(path, red).text, path
        bus.cores["host-a"].die()
        eventually(lambda: "task_blue" in str(get("/api/alerts", every).json()["past"]))
        assert "task_red" in str(get("/api/alerts", red).json()["past"])
        assert "task_blue" not in get("/api/alerts", red).text + get("/alerts", red).text
    finally:
        served.close()
