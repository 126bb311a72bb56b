"""Who may come in: everything but health needs the token."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Iterator

import httpx
import pytest

from dev import plain_http
from tests.support.api import TASK, TOKEN, World

OPEN = {("/api/v1/health", "get")}


@pytest.fixture(scope="module")
def anonymous() -> Iterator[httpx.Client]:
    with plain_http.client() as client:
        yield client


def test_every_route_of_the_document_refuses_anonymous(world: World, anonymous: httpx.Client) -> None:
    paths = world.http.get("/openapi.json").json()["paths"]
    routes = [(path, method) for path, methods in paths.items() for method in methods]
    assert len(routes) >= 12
    for path, method in routes:
        url = world.bus.url + path.replace("{name}", "copy_hot_item")
        status = anonymous.request(method, url).status_code
        assert (status == 401) is ((path, method) not in OPEN), (method, path, status)


def test_so_does_every_other_path_and_method(world: World, anonymous: httpx.Client) -> None:
    for path in ("/", "/docs", "/api/v1/openapi.json", "/api/v1", "/api/v1/health/", "/api/v1//health"):
        for method in ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "TRACE"):
            answer = anonymous.request(method, world.bus.url + path)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"].startswith("Bearer")
            assert method == "HEAD" or answer.json()["error"]["code"] == "E5006"


def test_a_wrong_token_is_refused(world: World, anonymous: httpx.Client) -> None:
    url = f"{world.bus.url}/api/v1/tasks"
    right = f"Bearer {TOKEN}"
    for header in ("", "Bearer", f"Basic {TOKEN}", f"{right}x", right[:-1], TOKEN, "Bearer é", f"Bearer x {TOKEN}"):
        assert anonymous.get(url, headers={b"authorization": header.encode("latin-1")}).status_code == 401, header
    assert anonymous.get(url, headers={"authorization": right}).status_code == 200


def test_two_authorization_headers_are_refused(world: World, anonymous: httpx.Client) -> None:
    sent = [("authorization", f"Bearer {TOKEN}"), ("authorization", "Bearer other")]
    assert anonymous.get(f"{world.bus.url}/api/v1/tasks", headers=sent).status_code == 401


def test_health_says_little_and_needs_nothing(world: World, anonymous: httpx.Client) -> None:
    url = f"{world.bus.url}/api/v1/health"
    answer = anonymous.get(url)
    assert answer.json() == {
        "apiVersion": "v1",
        "kind": "Health",
        "status": "ok",
        "zookeeper": "connected",
        "warnings": [],
    }
    world.bus.coordinator.suspend()
    answer = anonymous.get(url)
    assert (answer.status_code, answer.json()["zookeeper"]) == (503, "suspended")


def test_a_large_body_is_refused_declared_or_not(world: World) -> None:
    declared = world.http.post("/tasks", content=b"x" * (256 * 1024 + 1))
    undeclared = world.http.post("/tasks", content=(b"x" * 1024 for _ in range(300)))
    for answer in (declared, undeclared):
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "E1008")
        assert answer.json()["error"]["what"] == "the request is too large"


def test_a_large_body_is_not_even_read_without_the_token(world: World) -> None:
    host, port = world.bus.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=5) as raw:
        raw.sendall(b"POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n")
        assert b" 401 " in raw.recv(1000).splitlines()[0]


def test_unknown_paths_and_methods_answer_in_our_form(world: World) -> None:
    for method, path, status in (("GET", "/nothing", 404), ("PATCH", "/tasks", 405)):
        answer = world.http.request(method, path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, "E5013")


def test_every_route_refuses_the_name_of_somebody_else(world: World) -> None:
    """With the right token, and health too, which needs none."""
    paths = world.http.get("/openapi.json").json()["paths"]
    for path, method in [(path, method) for path, methods in paths.items() for method in methods]:
        url = world.bus.url + path.replace("{name}", "copy_hot_item")
        answer = world.http.request(method, url, headers={"host": "evil.example"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (421, "E5020"), (method, path)


def test_every_route_that_changes_something_refuses_pages_of_somebody_else(world: World) -> None:
    paths = world.http.get("/openapi.json").json()["paths"]
    changing = [(p, m) for p, methods in paths.items() for m in methods if m.upper() not in ("GET", "HEAD")]
    assert len(changing) >= 10
    for path, method in changing:
        url = world.bus.url + path.replace("{name}", "copy_hot_item")
        for said in (
            {"origin": "http://evil.example"},
            {"origin": "null"},
            {"origin": "http://localhost:3000"},
            {"sec-fetch-site": "cross-site"},
            {"sec-fetch-site": "same-site"},
            {"origin": world.bus.url, "sec-fetch-site": "cross-site"},
        ):
            answer = world.http.request(method, url, headers=said)
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "E5020"), (method, path, said)
        own = world.http.request(method, url, headers={"origin": world.bus.url, "sec-fetch-site": "same-origin"})
        assert own.status_code != 403


def test_the_author_is_the_token_whatever_the_client_says(world: World) -> None:
    world.http.post("/tasks", content=TASK)
    verbs = itertools.cycle(("pause", "resume"))
    for said, shown in (
        ("", "token:server@127.0.0.1"),
        ("ann@laptop", "token:server@127.0.0.1 (says ann@laptop)"),
        ("x) token@10.0.0.9 (says root", "token:server@127.0.0.1 (says x token@10.0.0.9 says root)"),
        ("a\x1b[31mb", "token:server@127.0.0.1 (says a[31mb)"),
        ("()", "token:server@127.0.0.1"),
    ):
        headers = [("x-replicator-user", said), ("x-forwarded-for", "10.0.0.9"), ("forwarded", "for=10.0.0.9")]
        made = httpx.Headers([(name.encode(), value.encode("latin-1")) for name, value in headers])
        answer = world.http.post(f"/tasks/copy_hot_item/{next(verbs)}", json={}, headers=made)
        assert answer.json()["desired_by"] == shown
