"""Actions in the Monitor: who may not, requests that nobody meant, and Servers that do not behave."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec
import pytest
from starlette.requests import Request

from dev import plain_http
from monitor.actions.catalog import Rights
from monitor.actions.plan import seen_of_task
from monitor.formatting import task_page
from monitor.person import UNLOCKED_SECONDS, person_of
from monitor.server_api import check_way
from monitor.sessions import IDLE_SECONDS, LIFE_SECONDS
from monitor.unlock_page import own_page
from replicator.errors import ProcessError
from tests.support.waiting import eventually
from tests.unit.monitor.acting import BLUE, PASSWORD, RED, Acting, confirmed, stage, text

ACTIONS = ("pause", "resume", "switchover", "retry", "restart", "check", "position", "lift-quarantine")


@pytest.fixture
def site() -> Iterator[Acting]:
    made = Acting()
    yield made
    made.close()


def nothing_happened(site: Acting) -> None:
    assert site.task()["desired"] == "running" and site.audit(outcome="done") == []


@pytest.mark.parametrize("action", ACTIONS)
def test_viewers_can_do_nothing(site: Acting, action: str) -> None:
    site.log_in("vera")
    page = site.http.get(f"/tasks/{RED}/actions/{action}")
    assert (page.status_code, stage(page)) == (403, "blocked") and "<b>vera</b> has the role viewer" in page.text
    assert 'name="confirm"' not in page.text
    made = {"csrf": site.csrf(), "confirm": RED, "key": "k", "seen": "", "target": "latest", "table": "a.b"}
    assert site.send(action, made).status_code == 403
    nothing_happened(site)


def test_an_operator_with_a_selector_acts_on_its_tasks_alone(site: Acting) -> None:
    site.log_in("red")
    fields = site.form("pause")
    for request in (
        lambda: site.http.get(f"/tasks/{BLUE}/actions/pause"),
        lambda: site.http.get(f"/tasks/{BLUE}/actions"),
    ):
        answer = request()
        assert answer.status_code == 404 and "host-" not in answer.text
    assert site.send("pause", fields | {"confirm": BLUE}, BLUE).status_code == 404
    assert site.task(BLUE)["desired"] == "running"
    page = site.http.get("/machines/host-a/actions/drain")
    assert page.status_code == 403 and "without a selector" in text(page)
    made = {"csrf": site.csrf(), "confirm": "host-a", "key": "k", "seen": ""}
    assert site.send("drain", made, "host-a", "machines").status_code == 403
    assert site.audit(outcome="done") == []
    assert site.send("pause", fields).status_code == 200, "its own"


def test_the_server_decides(site: Acting, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the Monitor were wrong about a role, nothing would be done: the Server has the person's own login."""
    everything = Rights(site.server, may_act=True, may_drain=True)
    monkeypatch.setattr("monitor.app.rights_of", lambda *_, **__: everything)
    site.log_in("vera")
    page = site.http.get(f"/tasks/{RED}/actions/pause")
    assert stage(page) == "choose" and "E5072" in page.text and 'name="confirm"' not in page.text
    seen = site.task()
    made = {"csrf": site.csrf(), "confirm": RED, "key": "k", "seen": seen_of_task(seen), "version": "0"}
    answer = site.send("pause", made)
    assert answer.status_code == 403 and "vera may not do this" in text(answer)
    nothing_happened(site)
    assert {entry["by"] for entry in site.audit(outcome="refused")} == {"vera"}


@pytest.mark.parametrize("csrf", ["", "wrong", "\u00e9\ud7ff"])
def test_forms_of_other_sessions(site: Acting, csrf: str) -> None:
    site.log_in("olga")
    fields = site.form("pause")
    answer = site.send("pause", fields | {"csrf": csrf})
    assert answer.status_code == 403 and "E5020" in answer.text
    del fields["csrf"]
    assert site.send("pause", fields).status_code == 403
    assert site.http.post("/unlock", data={"csrf": csrf, "password": PASSWORD}).status_code == 403
    nothing_happened(site)


def test_pages_of_other_sites(site: Acting) -> None:
    site.log_in("olga")
    fields = site.form("pause")
    for header in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}, {"origin": "null"}):
        for path in (f"/tasks/{RED}/actions/pause", "/unlock"):
            answer = site.http.post(path, data=fields, headers=header)
            assert answer.status_code == 403 and answer.json()["error"]["code"] == "E5020"
    nothing_happened(site)


@pytest.mark.parametrize("action", ACTIONS)
def test_no_get_changes_anything(site: Acting, action: str) -> None:
    site.log_in("olga")
    fields = {"csrf": site.csrf(), "confirm": RED, "key": "k", "seen": "", "target": "latest", "table": "a.b"}
    for method in ("GET", "HEAD"):
        site.http.request(method, f"/tasks/{RED}/actions/{action}", params=fields)
    assert site.http.get("/unlock").status_code == 405
    for method in ("PUT", "DELETE", "PATCH"):
        assert site.http.request(method, f"/tasks/{RED}/actions/{action}").status_code == 405
    nothing_happened(site)


def test_a_program_with_a_login_has_no_session(site: Acting) -> None:
    """A token in a header is not the person of the cookie, and programs can ask the Server."""
    site.log_in("olga")
    fields = site.form("pause")
    header = {"authorization": f"Bearer {site.token('admin')}"}
    answer = site.http.post(f"/tasks/{RED}/actions/pause", data=fields, headers=header)
    assert answer.status_code == 403
    nothing_happened(site)


@pytest.mark.parametrize("seconds", [IDLE_SECONDS, LIFE_SECONDS])
def test_expired_sessions(site: Acting, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    site.log_in("olga")
    fields = site.form("pause")
    sessions = site.served.access.sessions
    now = sessions.now()
    monkeypatch.setattr(sessions, "_clock", lambda: now + seconds)
    answer = site.send("pause", fields)
    assert answer.status_code == 303 and answer.headers["location"] == "/login"
    assert site.http.get(f"/tasks/{RED}/actions/pause").status_code == 303
    nothing_happened(site)


def test_after_the_logout_a_form_does_nothing(site: Acting) -> None:
    site.log_in("olga")
    fields, key = site.form("pause"), site.http.cookies["replicator"]
    site.http.post("/logout", data={"csrf": fields["csrf"]})
    site.http.cookies.set("replicator", key)
    assert site.send("pause", fields).status_code == 303
    site.http.cookies.clear()
    site.log_in("olga")
    assert site.send("pause", fields).status_code == 403, "of another session of the same person"
    nothing_happened(site)


def test_a_login_has_a_new_session(site: Acting) -> None:
    """Session fixation: a key that somebody set before the login opens nothing after it."""
    planted, login = {"cookie": "replicator=chosen-by-somebody-else"}, {"user": "olga", "password": PASSWORD}
    with plain_http.client(site.served.url) as other:
        first = other.post("/login", data=login, headers=planted).cookies["replicator"]
        assert first != "chosen-by-somebody-else"
        assert other.get("/api/state", headers=planted).status_code == 401
        second = other.post("/login", data=login).cookies["replicator"]
        assert second != first
        ended = {"cookie": f"replicator={first}"}
    answer = plain_http.get(f"{site.served.url}/api/state", headers=ended)
    assert answer.status_code == 401, "a login ends the session before it"


def test_a_session_with_a_password_asks_for_it_before_it_acts(site: Acting, monkeypatch: pytest.MonkeyPatch) -> None:
    site.log_in("olga", unlocked=False)
    page = site.http.get(f"/tasks/{RED}/actions/pause")
    assert stage(page) == "unlock" and 'name="confirm"' not in page.text
    made = {"csrf": site.csrf(), "confirm": RED, "key": "k", "seen": ""}
    answer = site.send("pause", made)
    assert (answer.status_code, stage(answer)) == (403, "unlock")
    wrong = site.unlock("wrong")
    assert wrong.status_code == 401 and "the password is not valid" in text(wrong)
    assert stage(site.http.get(f"/tasks/{RED}/actions/pause")) == "unlock"
    assert site.audit() == [], "a wrong password never gets to the Server"
    right = site.unlock(PASSWORD)
    assert right.headers["location"] == f"/tasks/{RED}/actions/pause"
    fields = site.form("pause")
    sessions = site.served.access.sessions
    now = sessions.now()
    monkeypatch.setattr(sessions, "_clock", lambda: now + UNLOCKED_SECONDS)
    answer = site.send("pause", fields)
    assert (answer.status_code, stage(answer)) == (403, "unlock")
    nothing_happened(site)


def test_the_memory_of_the_monitor_has_no_password(site: Acting) -> None:
    """It is encrypted under the key of the cookie, of which the Monitor has a hash."""
    site.log_in("olga")
    sessions, key = site.served.access.sessions, site.http.cookies["replicator"]
    session = sessions.find(key)
    assert session is not None and session.sealed and not session.secret
    assert PASSWORD.encode() not in msgspec.json.encode(session)
    request = Request({"type": "http", "scheme": "http", "headers": [(b"cookie", b"replicator=another")]})
    assert person_of(request, site.served.access) is None


def test_guesses_of_passwords_are_slowed_down(site: Acting) -> None:
    site.log_in("olga", unlocked=False)
    codes = [site.unlock(f"wrong {number}").status_code for number in range(6)]
    assert codes == [401] * 5 + [429]
    assert site.http.post("/login", data={"user": "anna", "password": PASSWORD}).status_code == 429, "counted together"


@pytest.mark.parametrize(
    "path",
    ["//evil.example", "https://evil.example/tasks/a/actions/pause", "/\\evil.example", "/logout", "/unlock", ""],
)
def test_the_password_leads_to_own_pages_alone(path: str) -> None:
    assert own_page(path) == "/"
    assert own_page("/tasks/a%20b/actions/pause?to=x") == "/tasks/a%20b/actions/pause?to=x"


def test_a_changed_password_ends_what_was_unlocked(site: Acting) -> None:
    site.log_in("olga")
    fields = site.form("pause")
    site.users.set_password("olga", PASSWORD + "!")
    eventually(lambda: site.http.get("/api/state").status_code == 401)
    assert site.send("pause", fields).status_code == 303
    nothing_happened(site)


def test_a_token_that_was_revoked(site: Acting) -> None:
    site.log_in(site.token("operator"))
    fields = site.form("pause")
    site.tokens.revoke("ci")
    eventually(lambda: site.http.get("/api/state").status_code == 401)
    assert site.send("pause", fields).status_code == 303
    nothing_happened(site)


def test_two_clicks_at_once(site: Acting) -> None:
    site.log_in("olga")
    fields = site.form("restart")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: site.send("restart", fields), range(8)))
    assert {stage(answer) for answer in answers} == {"done"}
    assert len(site.audit(operation="restartTask")) == 1


def test_names_are_escaped(site: Acting) -> None:
    name = "<img src=x onerror=alert(1)>&\"' 5%"
    site.bus.task(name)
    site.log_in("olga")
    eventually(lambda: site.http.get(task_page(name)).status_code == 200)
    for path in (f"{task_page(name)}/actions", f"{task_page(name)}/actions/pause"):
        answer = site.http.get(path)
        assert answer.status_code == 200 and "<img" not in answer.text
    fields = confirmed(site.http.get(f"{task_page(name)}/actions/pause").text) | {"confirm": name}
    answer = site.http.post(f"{task_page(name)}/actions/pause", data=fields)
    assert stage(answer) == "done" and "<img" not in answer.text
    assert site.audit(task=name)[-1]["operation"] == "pauseTask"


class Odd:
    """A Server that is none: redirects, hangs, or answers with something else, and notes what it is sent."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, dict[str, str]]] = []
        self.mode = "redirect"
        self.elsewhere = ""
        self.release = threading.Event()
        odd = self

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                odd.seen.append((self.command, self.path, dict(self.headers)))
                length = int(self.headers.get("content-length") or 0)
                self.rfile.read(length)
                odd.answer(self)

            do_GET = do_POST = handle_any  # noqa: N815

            def log_message(self, *_: Any) -> None: ...

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)
        self.thread.start()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        if self.mode == "redirect":
            handler.send_response(307)
            handler.send_header("location", f"{self.elsewhere}{handler.path}")
            handler.send_header("set-cookie", "tracked=yes")
            handler.end_headers()
            return
        if self.mode == "hang" or (
            self.mode == "hang on commands" and handler.command == "POST" and "dry" not in handler.path
        ):
            self.release.wait(30)
        body = b"<html>" if self.mode == "page" else json.dumps(self.task()).encode()
        handler.send_response(200)
        handler.send_header("content-type", "application/json")
        handler.end_headers()
        handler.wfile.write(body)

    def task(self) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "Task", "name": RED, "state": "running", "desired": "running", "version": 0}

    def close(self) -> None:
        self.release.set()
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def odd() -> Iterator[Odd]:
    made = Odd()
    yield made
    made.close()


def test_no_login_is_sent_where_a_redirection_leads(odd: Odd) -> None:
    elsewhere = Odd()
    elsewhere.mode = "task"
    odd.elsewhere = elsewhere.url
    site = Acting(server=odd.url)
    try:
        site.log_in("olga")
        for _ in range(2):
            page = site.http.get(f"/tasks/{RED}/actions/pause")
            assert stage(page) == "refused" and "is not a Server" in text(page) and "HTTP 307" in text(page)
        assert elsewhere.seen == []
        assert [headers.get("authorization", "")[:6] for _, _, headers in odd.seen] == ["Basic "] * 2
        assert all("cookie" not in {key.lower() for key in headers} for _, _, headers in odd.seen)
    finally:
        site.close()
        elsewhere.close()


def test_a_server_that_is_none(odd: Odd) -> None:
    odd.mode = "page"
    site = Acting(server=odd.url)
    try:
        site.log_in("olga")
        page = site.http.get(f"/tasks/{RED}/actions/pause")
        assert "E5005" in page.text and "is not a Server" in text(page)
    finally:
        site.close()


def test_a_server_that_does_not_answer_blocks_nobody(odd: Odd) -> None:
    odd.mode = "hang"
    site = Acting(server=odd.url, seconds=3.0)
    try:
        site.log_in("olga")
        with ThreadPoolExecutor(20) as pool:
            waiting = [pool.submit(site.http.get, f"/tasks/{RED}/actions/pause") for _ in range(20)]
            assert site.http.get("/api/state").status_code == 200
            assert not all(each.done() for each in waiting), "others are answered meanwhile"
            for each in waiting:
                assert "E5005" in each.result().text and "did not answer in time" in text(each.result())
    finally:
        site.close()


def test_an_answer_that_is_lost_can_be_asked_for_again(odd: Odd) -> None:
    odd.mode = "hang on commands"
    site = Acting(server=odd.url, seconds=1.0)
    try:
        site.log_in("olga")
        fields = confirmed(site.http.get(f"/tasks/{RED}/actions/pause").text) | {"confirm": RED}
        answer = site.send("pause", fields)
        assert answer.status_code == 502 and "It is not known whether this was done." in text(answer)
        assert "Send it again" in answer.text and fields["key"] in answer.text
        odd.mode = "task"
        odd.release.set()
        again = site.send("pause", fields)
        assert stage(again) == "done"
        keys = [
            headers.get("idempotency-key")
            for method, path, headers in odd.seen
            if method == "POST" and "dry" not in path
        ]
        assert keys == [fields["key"]] * 2
    finally:
        site.close()


def test_a_server_of_another_tree_is_asked_nothing() -> None:
    """A copy with the same tasks and people: what is typed here must not be done there."""
    copy = Acting()
    site = Acting(server=copy.server, process="f" * 32)
    try:
        site.log_in("anna")
        page = site.http.get(f"/tasks/{RED}/actions/pause")
        assert stage(page) == "refused" and "E5134" in page.text
        made = {"csrf": site.csrf(), "confirm": RED, "key": "k", "seen": seen_of_task(copy.task()), "version": "0"}
        assert site.send("pause", made).status_code == 409
        assert "E5134" in site.http.get("/audit").text
        nothing_happened(copy)
    finally:
        site.close()
        copy.close()


def test_server_down() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    site = Acting(server=f"http://127.0.0.1:{port}")
    try:
        site.log_in("olga")
        page = site.http.get(f"/tasks/{RED}/actions/pause")
        assert stage(page) == "refused" and "E5005" in page.text and "Nothing was changed." in text(page)
        assert f"replicator task pause --server http://127.0.0.1:{port} {RED}" in text(page), "the command is there"
    finally:
        site.close()


def test_outgoing_addresses_are_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPLICATOR_ALLOW_OUTGOING", "192.0.2.7")
    site = Acting()
    try:
        site.log_in("olga")
        page = site.http.get(f"/tasks/{RED}/actions/pause")
        assert stage(page) == "refused" and "E1050" in page.text
    finally:
        site.close()


def test_logins_are_not_sent_over_plain_http() -> None:
    for address in ("http://127.0.0.1:1", "http://localhost:1", "https://bus.example.com"):
        check_way(address, insecure=False)
    check_way("http://bus.example.com", insecure=True)
    with pytest.raises(ProcessError) as caught:
        check_way("http://bus.example.com:8080", insecure=False)
    assert caught.value.code == "E5021"


def test_on_loopback_people_may_log_in_to_act() -> None:
    site = Acting(require_login=False)
    try:
        page = site.http.get(f"/tasks/{RED}")
        assert page.status_code == 200 and ">Log in</a>" in page.text and "data-action" not in page.text
        page = site.http.get(f"/tasks/{RED}/actions/pause")
        assert page.status_code == 403 and "You are not logged in." in text(page)
        assert site.send("pause", {"confirm": RED, "key": "k", "csrf": ""}).status_code == 403
        nothing_happened(site)
        assert site.http.get("/login").status_code == 200
        site.log_in("olga")
        assert ">olga<" in site.http.get("/").text
        assert stage(site.send("pause", site.form("pause"))) == "done"
        assert site.audit(operation="pauseTask")[0]["by"] == "olga"
    finally:
        site.close()


def test_nobody_is_a_person_without_access() -> None:
    assert person_of(Request({"type": "http", "headers": []}), None) is None
