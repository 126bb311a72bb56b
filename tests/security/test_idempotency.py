"""Requests that are repeated with the same idempotency key."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from dev import plain_http
from replicator.assembly.table_definitions import TableDefinitions
from replicator.coordination.access import idempotency
from replicator.coordination.access.idempotency import Requests, record_id
from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.errors import ProcessError
from server.app import Access, create_app
from server.permissions import RULES
from tests.security.site import NAME, PROD, Site, code
from tests.support.api import TOKEN, serving

KEY = {"idempotency-key": "0b6c3a5e-first"}


@pytest.fixture
def other(site: Site) -> Iterator[httpx.Client]:
    """A second Server of the same ensemble."""
    app = create_app(site.world.ensemble.session(), Layout(), Access(TOKEN), TableDefinitions)
    headers = {"authorization": f"Bearer {TOKEN}"}
    with serving(app) as url, plain_http.client(f"{url}/api/v1", headers=headers) as http:
        yield http


def test_same_key_gives_the_first_answer_again_also_at_another_server(site: Site, other: httpx.Client) -> None:
    first = site.http.post("/tasks", content=PROD, headers=KEY)
    assert first.status_code == 201 and "idempotency-replayed" not in first.headers
    site.http.post(f"/tasks/{NAME}/pause")
    for again in (site.http.post("/tasks", content=PROD, headers=KEY), other.post("/tasks", content=PROD, headers=KEY)):
        assert (again.status_code, again.content, again.headers["etag"]) == (201, first.content, first.headers["etag"])
        assert again.headers["idempotency-replayed"] == "true"
    assert [entry["outcome"] for entry in site.audit()] == ["done", "done", "replayed", "replayed"]


def test_errors_are_repeated_too(site: Site) -> None:
    assert code(site.http.post(f"/tasks/{NAME}/pause", headers=KEY)) == (404, "E5003")
    site.http.post("/tasks", content=PROD)
    again = site.http.post(f"/tasks/{NAME}/pause", headers=KEY)
    assert code(again) == (404, "E5003") and again.headers["content-type"] == "application/problem+json"


def test_key_is_of_one_request_and_one_login(site: Site) -> None:
    site.http.post("/tasks", content=PROD)
    site.http.post(f"/tasks/{NAME}/pause", json={"reason": "a"}, headers=KEY)
    for path, body in ((f"/tasks/{NAME}/pause", {"reason": "b"}), (f"/tasks/{NAME}/resume", {"reason": "a"})):
        assert code(site.http.post(path, json=body, headers=KEY)) == (422, "E5074")
    assert code(site.http.post(f"/tasks/{NAME}/pause?x=1", json={"reason": "a"}, headers=KEY)) == (422, "E5074")
    login = site.token("operator")
    mine = site.http.post(f"/tasks/{NAME}/resume", headers=KEY | login)
    assert mine.status_code == 200 and "idempotency-replayed" not in mine.headers
    assert code(site.http.post(f"/tasks/{NAME}/resume", headers=KEY | site.token("viewer"))) == (403, "E5072")


def test_request_that_has_no_answer_yet_is_not_executed_again(site: Site) -> None:
    site.http.post("/tasks", content=PROD)
    site.http.post(f"/tasks/{NAME}/pause", headers=KEY)
    id_ = record_id("token:server", KEY["idempotency-key"])
    path = site.world.bus.layout.request(id_)
    data = site.world.bus.coordinator.get(path).data
    site.world.bus.coordinator.set(path, data[: data.index(b',"answer"')] + b"}")
    site.http.post(f"/tasks/{NAME}/resume")
    assert code(site.http.post(f"/tasks/{NAME}/pause", headers=KEY)) == (409, "E5075")
    site.world.bus.coordinator.set(path, b"{")
    assert site.http.post(f"/tasks/{NAME}/pause", headers=KEY).status_code >= 500
    assert site.http.get(f"/tasks/{NAME}").json()["desired"] == "running"


def test_secrets_are_not_kept(site: Site) -> None:
    wanted = {"name": "ci", "role": "viewer"}
    assert site.http.post("/tokens", json=wanted, headers=KEY).status_code == 201
    assert code(site.http.post("/tokens", json=wanted, headers=KEY)) == (409, "E5070")
    user = {"name": "ann", "role": "viewer", "password": "correct horse battery"}
    assert site.http.post("/users", json=user, headers=KEY).status_code == 201
    assert not site.world.bus.coordinator.exists(site.world.bus.layout.requests)


def test_invalid_keys_are_refused(site: Site) -> None:
    for headers in (
        [("idempotency-key", "")],
        [("idempotency-key", "a b")],
        [("idempotency-key", "x" * 201)],
        [("idempotency-key", "a"), ("idempotency-key", "b")],
    ):
        assert code(site.http.post("/tasks", content=PROD, headers=headers)) == (422, "E1003"), headers
    assert site.http.get("/tasks").json()["items"] == []


def test_nothing_is_kept_of_what_was_not_executed(site: Site) -> None:
    site.world.bus.coordinator.suspend()
    assert site.http.post("/tasks", content=PROD, headers=KEY).status_code == 503
    site.world.bus.coordinator.resume()
    assert site.http.post("/tasks", content=PROD, headers=KEY).status_code == 201


def test_keys_are_bounded_in_time_and_number(monkeypatch: pytest.MonkeyPatch) -> None:
    requests = Requests(MemoryEnsemble().session(), Layout())
    now = [1_700_000_000_000]
    monkeypatch.setattr(idempotency, "now_ms", lambda: now[0])
    monkeypatch.setattr(idempotency, "MOST", 4)
    for number in range(4):
        assert requests.begin(f"id{number}", "x") is None
    with pytest.raises(ProcessError, match="E5076"):
        requests.begin("id4", "x")
    requests.trim(kept=3)
    assert requests.begin("id4", "x") is None
    with pytest.raises(ProcessError, match="E5075"):
        requests.begin("id4", "x")
    now[0] += idempotency.KEPT_MS
    requests.trim(kept=3)
    assert requests.begin("id4", "y") is None


def test_of_requests_at_once_one_is_executed(site: Site, other: httpx.Client) -> None:
    site.http.post("/tasks", content=PROD)
    site.world.core("host-a").stand(NAME, "running")
    site.world.core("host-b").stand(NAME, "standby")
    with ThreadPoolExecutor(8) as threads:
        clients = [site.http, other] * 4
        asked = [threads.submit(http.post, f"/tasks/{NAME}/switchover", headers=KEY) for http in clients]
        answers = [one.result() for one in asked]
    assert {answer.status_code for answer in answers} <= {202, 409}
    assert all(answer.status_code == 202 or code(answer) == (409, "E5075") for answer in answers)
    assert len({answer.content for answer in answers if answer.status_code == 202}) == 1
    assert len(site.world.bus.coordinator.children(site.world.bus.layout.commands(NAME))) == 1


def test_operations_whose_body_has_a_secret_keep_nothing(site: Site) -> None:
    """By the document: a field that is named so makes an operation one with a secret."""
    document = site.http.get("/openapi.json").json()
    named = set()
    for methods in document["paths"].values():
        for operation in methods.values():
            for content in operation.get("requestBody", {}).get("content", {}).values():
                if {"secret", "password"} & set(content["schema"].get("properties", {})):
                    named.add(operation["operationId"])
    assert named | {"createToken"} == {name for name, rule in RULES.items() if rule.secret}
    assert "setSecret" in named
    site.http.post("/tasks", content=PROD)
    site.http.post(f"/tasks/{NAME}/secrets", json={"field": "source.password", "secret": "hunter2"}, headers=KEY)
    assert not site.world.bus.coordinator.exists(site.world.bus.layout.requests)
