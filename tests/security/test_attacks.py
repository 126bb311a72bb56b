"""What attackers try: each attempt is refused, changes nothing, and is in the audit."""

from __future__ import annotations

import base64
import json
import socket
from typing import Any

import httpx
import pytest

from dev import plain_http
from replicator.coordination.clock import now_ms
from replicator.coordination.records import TokenRecord, dump, load
from tests.security.site import NAME, PASSWORD, PROD, Site, code

CREATED = 1
"""Entry of the task that the fixture creates."""


@pytest.fixture
def attacked(site: Site) -> Site:
    assert site.http.post("/tasks", content=PROD).status_code == 201
    return site


def last(site: Site) -> dict[str, Any]:
    return site.audit()[-1]


def stranger(site: Site) -> httpx.Client:
    return plain_http.client(site.http.base_url)


def unchanged(site: Site) -> bool:
    task = site.http.get(f"/tasks/{NAME}").json()
    return (task["version"], task["desired"], task["maintenance"]) == (0, "running", "")


def test_requests_without_a_login(attacked: Site) -> None:
    with stranger(attacked) as http:
        for method, path, operation in attacked.operations():
            if operation == "readHealth":
                continue
            answer = http.request(method, attacked.world.bus.url + path.replace("{name}", NAME))
            assert code(answer) == (401, "E5006"), operation
            entry = last(attacked)
            assert (entry["operation"], entry["outcome"], entry["by"]) == (operation, "refused", "")
    assert unchanged(attacked)


def test_guessed_credentials(attacked: Site) -> None:
    attacked.user("ann", "admin")
    basic = base64.b64encode(f"ann:{PASSWORD}x".encode()).decode()
    no_colon = base64.b64encode(b"ann").decode()
    with stranger(attacked) as http:
        for given in (
            "Bearer x",
            "Bearer repl_0123456789abcdef_" + "a" * 43,
            "Bearer a.b.c",
            "Bearer " + "x" * 20_000,
            f"Basic {basic}",
            f"Basic {no_colon}",
            "Basic !!!",
            "Digest username=ann",
        ):
            answer = http.post(f"/tasks/{NAME}/pause", headers={"authorization": given})
            assert code(answer) == (401, "E5006"), given[:40]
            assert last(attacked)["outcome"] == "refused" and last(attacked)["code"] == "E5006"
    assert unchanged(attacked)


def test_expired_token(attacked: Site) -> None:
    login = attacked.token("admin", name="old")
    layout, coordinator = attacked.world.bus.layout, attacked.world.bus.coordinator
    (id_,) = coordinator.children(layout.tokens)
    record = load(TokenRecord, coordinator.get(layout.token(id_)).data)
    record.expires_ms = now_ms() - 1
    coordinator.set(layout.token(id_), dump(record))
    assert code(attacked.http.post(f"/tasks/{NAME}/pause", headers=login)) == (401, "E5006")
    assert last(attacked)["operation"] == "pauseTask" and unchanged(attacked)
    assert attacked.http.get("/tokens").json()["items"][0]["expired"] is True


def test_revoked_token_and_removed_user(attacked: Site) -> None:
    login, ann = attacked.token("admin", name="ci"), attacked.user("ann", "admin")
    with stranger(attacked) as http:
        assert http.get("/login", headers=login).status_code == http.get("/login", auth=ann).status_code == 200
        attacked.http.delete("/tokens/ci")
        attacked.http.delete("/users/ann")
        assert code(http.post(f"/tasks/{NAME}/pause", headers=login)) == (401, "E5006")
        assert code(http.post(f"/tasks/{NAME}/pause", auth=ann)) == (401, "E5006")
    assert [entry["outcome"] for entry in attacked.audit()[-2:]] == ["refused", "refused"]
    assert unchanged(attacked)


def test_wrong_role(attacked: Site) -> None:
    viewer, operator = attacked.token("viewer"), attacked.token("operator")
    for headers, method, path, by in (
        (viewer, "POST", f"/tasks/{NAME}/pause", "token:viewer-0"),
        (viewer, "DELETE", f"/tasks/{NAME}", "token:viewer-0"),
        (viewer, "POST", "/tokens", "token:viewer-0"),
        (operator, "PUT", f"/tasks/{NAME}", "token:operator-0"),
        (operator, "PUT", "/users/ann/role", "token:operator-0"),
        (operator, "GET", "/audit", "token:operator-0"),
    ):
        body = {"name": "mine", "role": "admin", "selector": ""}
        assert code(attacked.http.request(method, path, json=body, headers=headers)) == (403, "E5072")
        entry = last(attacked)
        assert (entry["by"], entry["outcome"], entry["code"]) == (by, "refused", "E5072")
    assert unchanged(attacked)


def test_forged_author(attacked: Site) -> None:
    headers = attacked.token("operator", name="ci") | {
        "x-replicator-user": "x) ann@10.0.0.9 (says root",
        "x-forwarded-for": "10.0.0.9",
        "forwarded": "for=10.0.0.9",
        "x-forwarded-user": "ann",
        "x-real-ip": "10.0.0.9",
    }
    answer = attacked.http.post(f"/tasks/{NAME}/pause", headers=headers)
    assert answer.json()["desired_by"] == "token:ci@127.0.0.1 (says x ann@10.0.0.9 says root)"
    entry = last(attacked)
    assert (entry["by"], entry["address"], entry["says"]) == ("token:ci", "127.0.0.1", "x ann@10.0.0.9 says root")


def test_names_that_leave_their_place(attacked: Site) -> None:
    coordinator, layout = attacked.world.bus.coordinator, attacked.world.bus.layout
    before = coordinator.children(layout.root)
    for name in ("..%2F..%2Ftokens", "%2E%2E", "a%2Fb", "%252E%252E%252Ftokens", "x%00y", "%2Fetc%2Fpasswd", "%FF"):
        for path in (f"/tasks/{name}/pause", f"/tasks/{name}"):
            method = "POST" if path.endswith("pause") else "DELETE"
            answer = attacked.http.request(method, str(attacked.http.base_url).rstrip("/") + path)
            assert answer.status_code in (404, 405), (path, answer.status_code)
            assert last(attacked)["outcome"] == "failed"
        for kind in ("tokens", "users"):
            url = str(attacked.http.base_url).rstrip("/") + f"/{kind}/{name}"
            assert attacked.http.delete(url).status_code == 404
    assert [name for name in coordinator.children(layout.root) if name != "audit"] == [
        n for n in before if n != "audit"
    ]
    assert unchanged(attacked)


def test_raw_path_with_dots(attacked: Site) -> None:
    """Not normalized by a client, as httpx does."""
    host, port = attacked.world.bus.url.removeprefix("http://").split(":")
    for path in (
        "/api/v1/health/../tasks",
        "//api/v1/tasks",
        "/api/v1/health/",
        "/api/v1/health;/tasks",
        "/api/v1/%68ealth/../tasks",
    ):
        with socket.create_connection((host, int(port)), timeout=5) as raw:
            raw.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            assert b" 401 " in raw.recv(1000).splitlines()[0], path
        assert last(attacked)["outcome"] == "refused"


def test_long_names_are_cut_in_the_audit(attacked: Site) -> None:
    with stranger(attacked) as http:
        assert http.post(f"/tasks/{'x' * 30_000}/pause").status_code == 401
        assert http.delete(f"/tokens/{'x' * 30_000}").status_code == 401
    assert [len(entry["task"] + entry["target"]) for entry in attacked.audit()[-2:]] == [200, 200]


def test_oversized_body(attacked: Site) -> None:
    answer = attacked.http.put(f"/tasks/{NAME}", content=b"x" * (256 * 1024 + 1))
    assert code(answer) == (413, "E1008")
    assert (last(attacked)["outcome"], last(attacked)["code"]) == ("failed", "E1008")
    for text in ("a: &a [x]\nb: [*a, *a]\n" * 100, "[" * 50_000, "{" * 50_000, json.dumps({"name": "x" * 200_000})):
        assert 400 <= attacked.http.post("/tasks", content=text).status_code < 500
        assert last(attacked)["outcome"] == "failed"
    assert unchanged(attacked)


def test_replayed_idempotency_key(attacked: Site) -> None:
    key = {"idempotency-key": "stolen"}
    operator, other = attacked.token("operator", name="ci"), attacked.token("operator", name="other")
    attacked.http.post(f"/tasks/{NAME}/pause", headers=operator | key)
    assert code(attacked.http.post(f"/tasks/{NAME}/resume", headers=operator | key)) == (422, "E5074")
    assert (last(attacked)["outcome"], last(attacked)["code"]) == ("failed", "E5074")
    attacked.http.post(f"/tasks/{NAME}/resume", headers=operator)
    attacked.http.post(f"/tasks/{NAME}/pause", headers=operator | key)
    assert last(attacked)["outcome"] == "replayed" and unchanged(attacked)
    assert code(attacked.http.post(f"/tasks/{NAME}/pause", headers=key | {"authorization": "Bearer x"})) == (
        401,
        "E5006",
    )
    answer = attacked.http.post(f"/tasks/{NAME}/pause", headers=other | key)
    assert "idempotency-replayed" not in answer.headers and answer.json()["desired_by"].startswith("token:other@")


def test_flood_does_not_displace_changes_in_the_audit(attacked: Site) -> None:
    with stranger(attacked) as http:
        for _ in range(200):
            assert http.get("/tasks").status_code == 401
    entries = attacked.audit()
    assert entries[0]["operation"] == "createTask"
    assert 100 <= len(entries) - CREATED < 130


def test_operation_of_a_login_outside_of_its_selector(attacked: Site) -> None:
    other = attacked.token("admin", "env=test")
    assert code(attacked.http.post(f"/tasks/{NAME}/pause", headers=other)) == (404, "E5003")
    assert (last(attacked)["by"], last(attacked)["task"], last(attacked)["outcome"]) == (
        "token:admin-8",
        NAME,
        "failed",
    )
    assert unchanged(attacked)
