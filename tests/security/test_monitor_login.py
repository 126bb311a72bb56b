"""The Monitor where logins are required: who sees what, and how a browser's session begins and ends."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import msgspec
import pytest
from starlette.routing import Mount, Route

from dev.servers.authority import Authority
from monitor import event_stream
from monitor.access import OPEN_PATHS
from monitor.app import create_app
from monitor.navigation import is_page
from monitor.selected_view import selected
from monitor.sessions import IDLE_SECONDS, LIFE_SECONDS, Session, Sessions
from replicator.coordination.access.tokens import Tokens
from replicator.coordination.access.users import Users
from replicator.telemetry.listen import TlsFiles
from replicator.telemetry.server_certificate import ServerCertificate
from tests.support.api import CHEAP
from tests.support.waiting import eventually
from tests.unit.monitor.scene import Bus, night
from tests.unit.monitor.test_app import Served
from tests.unit.monitor.test_view_builder import Eye

PASSWORD = "correct horse battery"


class Site:
    """A bus with one task of each team, and a Monitor that requires logins."""

    def __init__(self, **served: object) -> None:
        self.bus = Bus()
        for team in ("red", "blue"):
            self.bus.task(f"task_{team}", host=f"db-{team}.internal", labels={"team": team})
        core = self.bus.core("bus-1")
        core.stand("task_red", "RUNNING")
        core.stand("task_blue", "STANDBY")
        core.report()
        self.users = Users(self.bus.admin, self.bus.layout, CHEAP)
        self.tokens = Tokens(self.bus.admin, self.bus.layout)
        self.users.create("ann", PASSWORD, "viewer", "", "test")
        self.users.create("red", PASSWORD, "viewer", "team=red", "test")
        self.token = self.tokens.create("prometheus", "viewer", "", 0, "test").secret
        self.red_token = self.tokens.create("red", "viewer", "team=red", 0, "test").secret
        self.served = Served(self.bus, require_login=True, **served)  # type: ignore[arg-type]
        self.http = self.served.client

    def bearer(self, token: str, path: str) -> httpx.Response:
        return self.http.get(path, headers={"authorization": f"Bearer {token}"})

    def log_in(self, **fields: str) -> httpx.Response:
        return self.http.post("/login", data=fields)


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.served.close()


ROUTES = create_app(Bus().session(), Bus().layout).routes
PATHS = [route.path for route in ROUTES if isinstance(route, Route | Mount)]


@pytest.mark.parametrize("path", [*sorted(set(PATHS) - OPEN_PATHS), "/nowhere"])
def test_nothing_is_shown_without_a_login(site: Site, path: str) -> None:
    for login in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic eDp5"}, {"cookie": "replicator=x"}):
        answer = site.http.get(path, headers=login)
        assert answer.status_code in (401, 303) and "task_" not in answer.text
        if answer.status_code == 303:
            assert is_page(path) and "authorization" not in login and answer.headers["location"] == "/login"
        else:
            assert answer.json()["error"]["code"] == "E5006"


def test_what_is_open_names_nothing(site: Site) -> None:
    for path in OPEN_PATHS | {"/static/monitor.css"}:
        answer = site.http.get(path)
        assert answer.status_code == 200 and "task_" not in answer.text and "bus-1" not in answer.text


def test_programs(site: Site) -> None:
    for path in ("/metrics", "/api/state", "/api/updates"):
        assert "task_blue" in site.bearer(site.token, path).text
    assert "task_red" in site.http.get("/metrics", auth=("ann", PASSWORD)).text
    assert "task_red" in site.http.get("/metrics", auth=("token", site.token)).text
    site.tokens.revoke("prometheus")
    eventually(lambda: site.bearer(site.token, "/metrics").status_code == 401)


def test_a_selector_shows_its_tasks_alone(site: Site) -> None:
    texts = [site.bearer(site.red_token, path).text for path in ("/metrics", "/api/state", "/api/updates", "/")]
    with site.http.stream("GET", "/events", headers={"authorization": f"Bearer {site.red_token}"}) as stream:
        texts.append(next(line for line in stream.iter_lines() if line.startswith("data:")))
    for text in texts:
        assert "task_red" in text and "blue" not in text
    of_tasks = [
        path.replace("{name}", "task_blue").replace("{action}", "pause")
        for path in PATHS
        if "{name}" in path and "/tasks/" in path
    ]
    assert len(of_tasks) >= 11
    hidden = (*of_tasks, "/tasks/no_task")
    for path in hidden:
        assert site.bearer(site.red_token, path).status_code == 404, path
        own = path.replace("task_blue", "task_red").replace("no_task", "task_red")
        assert site.bearer(site.red_token, own).status_code == 200, own
    assert json.loads(site.bearer(site.red_token, "/api/updates?task=task_blue").text)["order"]["tasks"] == []
    for path in ("/machines", "/machines/bus-1", "/api/machines", "/api/machines/bus-1", "/machines/bus-1?part=rest"):
        text = site.bearer(site.red_token, path).text
        assert ("bus-1" in text or "task_red" in text) and "blue" not in text, path
    (row,) = site.bearer(site.red_token, "/api/machines").json()["machines"]
    assert (row["machine"]["running"], row["machine"]["standby"]) == (1, 0)
    state = json.loads(texts[1])
    assert state["tiles"]["tasks"] == 1 and [each["standby"] for each in state["machines"]] == [0]


def test_a_session(site: Site) -> None:
    assert site.log_in(user="ann", password="wrong").status_code == 401
    assert site.log_in(user="nobody", password=PASSWORD).status_code == 401
    answer = site.log_in(user="ann", password=PASSWORD)
    cookie = answer.headers["set-cookie"]
    assert answer.status_code == 303 and answer.headers["location"] == "/"
    assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Path=/")) and "Secure" not in cookie
    page = site.http.get("/").text
    assert "task_blue" in page and ">ann<" in page
    csrf = re.search(r'name="csrf" value="([^"]+)"', page)
    assert csrf is not None
    key = site.http.cookies["replicator"]
    for wrong in ({}, {"csrf": "wrong"}, {"csrf": "\u00e9"}):
        assert site.http.post("/logout", data=wrong).json()["error"]["code"] == "E5020"
    assert site.http.get("/logout").status_code == 405, "no GET changes anything"
    assert site.http.get("/").status_code == 200
    assert site.http.post("/logout", data={"csrf": csrf[1]}).headers["location"] == "/login"
    site.http.cookies.set("replicator", key)
    assert site.http.get("/api/state").status_code == 401, "the key opens nothing any more"


def test_a_session_ends_with_its_login(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "CHECK", 0.0)
    assert site.log_in(token=site.token).status_code == 303
    with site.http.stream("GET", "/events") as stream:
        site.tokens.revoke("prometheus")
        list(stream.iter_lines())  # it ends
    assert site.http.get("/api/state").status_code == 401
    assert site.log_in(user="ann", password=PASSWORD).status_code == 303
    assert site.http.get("/api/state").status_code == 200
    site.users.set_password("ann", PASSWORD + "!")
    eventually(lambda: site.http.get("/api/state").status_code == 401)


def test_pages_of_other_sites_log_nobody_in(site: Site) -> None:
    for header in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
        answer = site.http.post("/login", data={"user": "ann", "password": PASSWORD}, headers=header)
        assert answer.status_code == 403 and "set-cookie" not in answer.headers


def test_guesses_are_slowed_down(site: Site) -> None:
    codes = [site.log_in(user="ann", password=f"wrong {number}").status_code for number in range(6)]
    assert codes == [401] * 5 + [429]
    answer = site.log_in(user="ann", password=PASSWORD)
    assert answer.status_code == 429 and int(answer.headers["retry-after"]) >= 1
    assert site.bearer(site.token, "/metrics").status_code == 200, "programs are not concerned"


def test_forms_that_are_none(site: Site) -> None:
    form = {"content-type": "application/x-www-form-urlencoded"}
    for body in (b"x" * 10_000, b"\xff\xfe=1", b"nothing", b"&" * 100):
        assert site.http.post("/login", content=body, headers=form).status_code == 400
    for fields in ({"user": "ann"}, {"user": "x" * 3000, "password": "y"}, {"user": "a\0", "password": "\ud7ff"}):
        assert site.log_in(**fields).status_code == 401


def test_over_tls_the_cookie_is_bound_to_it(tmp_path: Path) -> None:
    authority = Authority(tmp_path, "own")
    certificate, key = authority.leaf("127.0.0.1")
    key.chmod(0o600)
    context = httpx.create_ssl_context()
    context.load_verify_locations(authority.ca)
    listener = ServerCertificate(TlsFiles(certificate, key))
    site = Site(certificate=listener, verify=context)
    try:
        cookie = site.log_in(user="red", password=PASSWORD).headers["set-cookie"]
        assert cookie.startswith("__Host-replicator=") and "Secure" in cookie
        assert "task_red" in site.http.get("/").text
        metrics = site.bearer(site.token, "/metrics").text
        series = 'bus_listener_certificate_expiry_timestamp_seconds{host="",process="monitor"}'
        (value,) = re.findall(re.escape(series) + " (.+)", metrics)
        assert float(value) == listener.expires_ms / 1000
        assert 'bus_listener_certificate_not_loaded{host="",process="monitor"} 0.0' in metrics
    finally:
        site.served.close()


def test_sessions_are_bounded() -> None:
    now = [0.0]
    sessions = Sessions(lambda: now[0])
    first = sessions.begin(Session(user="ann"))
    now[0] = IDLE_SECONDS - 1
    assert sessions.find(first) is not None and sessions.find("x") is None
    now[0] += IDLE_SECONDS
    assert sessions.find(first) is None, "unused"
    used = sessions.begin(Session(user="ann"))
    for _ in range(30):
        now[0] += LIFE_SECONDS / 24
        alive = sessions.find(used)
    assert alive is None, "however it is used"
    kept = sessions.begin(Session())
    for _ in range(1000):
        sessions.begin(Session())
    assert sessions.find(kept) is None


def test_a_selector_hides_what_happened_to_other_tasks() -> None:
    view = msgspec.structs.replace(Eye(night()).look(), takeovers={"audit_trail": {"fail-over": 1}})
    assert view.changes and view.tasks
    hidden = selected(view, "no=such")
    assert (hidden.tasks, hidden.changes, hidden.takeovers, hidden.tiles.tasks) == ((), (), {}, 0)
    assert selected(view, "==").tasks == () and selected(view, "") is view
