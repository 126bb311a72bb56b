"""Test messages from the page of alerts: who may send them, from where, and what is said when one is not accepted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import httpx
import pytest

from monitor.alerts.alerting import Alerting
from tests.support.receivers import Received
from tests.support.waiting import eventually
from tests.unit.monitor.acting import Acting

ROUTES = """
routes:
  - name: ops
    webhook: {{url: "{url}/ops"}}
"""


@pytest.fixture(scope="module")
def received() -> Iterator[Received]:
    made = Received()
    yield made
    made.close()


@pytest.fixture(scope="module")
def site(received: Received, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Acting]:
    path: Path = tmp_path_factory.mktemp("alerts") / "routes.yaml"
    path.write_text(ROUTES.format(url=received.url))
    one = Acting(alerting=Alerting(routes=path))
    yield one
    one.close()


@pytest.fixture(autouse=True)
def _nothing_before(received: Received, site: Acting) -> None:
    received.status = 200
    received.requests.clear()
    site.http.cookies.clear()


def csrf_of_button(site: Acting) -> str:
    form = re.search(r'<form method="post" action="/alerts/test">(.*?)</form>', site.http.get("/alerts/body").text)
    assert form is not None
    return str(re.findall(r'name="csrf" value="([^"]+)"', form[1])[0])


def press(site: Acting, csrf: str, route: str = "ops", **headers: str) -> httpx.Response:
    return site.http.post("/alerts/test", data={"csrf": csrf, "route": route}, headers=headers)


def messages(received: Received) -> int:
    return sum("RouteTest" in str(body) for body in received.bodies)


def test_an_operator_sends_one_and_sees_that_it_was_sent(site: Acting, received: Received) -> None:
    site.log_in("olga")
    answer = press(site, csrf_of_button(site))
    assert (answer.status_code, answer.headers["location"]) == (303, "/alerts#h-routes")
    eventually(lambda: messages(received) == 2)  # that it fires, and that it has ended
    eventually(lambda: "2 sent" in unescape(site.http.get("/alerts/body").text))


@pytest.mark.parametrize("user", ["vera", "red"])
def test_viewers_and_logins_with_a_selector_have_no_button_and_send_nothing(
    site: Acting, received: Received, user: str
) -> None:
    site.log_in(user, unlocked=False)
    assert "/alerts/test" not in site.http.get("/alerts").text
    answer = press(site, site.csrf())
    assert answer.status_code == 403 and messages(received) == 0


def test_without_a_login_nothing_is_sent(site: Acting, received: Received) -> None:
    assert press(site, "").status_code in (303, 401) and messages(received) == 0


@pytest.mark.parametrize("csrf", ["", "0" * 43])
def test_a_form_of_another_session_sends_nothing(site: Acting, received: Received, csrf: str) -> None:
    site.log_in("olga")
    assert press(site, csrf).status_code == 403 and messages(received) == 0


def test_a_page_of_another_site_sends_nothing(site: Acting, received: Received) -> None:
    site.log_in("olga")
    csrf = csrf_of_button(site)
    answer = press(site, csrf, origin="https://evil.example")
    assert answer.status_code in (400, 403) and messages(received) == 0


def test_a_get_sends_nothing(site: Acting, received: Received) -> None:
    site.log_in("olga")
    assert site.http.get("/alerts/test?route=ops").status_code == 405 and messages(received) == 0


def test_a_route_that_is_not_there(site: Acting, received: Received) -> None:
    site.log_in("olga")
    answer = press(site, csrf_of_button(site), route="nonsense")
    assert answer.status_code == 404 and "E5184" in answer.text and messages(received) == 0


def test_a_receiver_that_refuses_is_said(site: Acting, received: Received) -> None:
    site.log_in("olga")
    received.status = 500
    answer = press(site, csrf_of_button(site))
    assert answer.status_code == 502 and "E5183" in answer.text and "500" in answer.text
