"""Which role may do what: one table for all routes, and selectors that limit a login to some tasks."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from dev import plain_http
from replicator.config.load import load_task
from replicator.coordination.tasks.commits import Commits
from replicator.coordination.tasks.registry import Registry
from replicator.coordination.tasks.status import Status
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from replicator.model.principal import ROLES, Principal
from server.app import route_table
from server.permissions import RULES
from server.task_operations import TaskOperations
from server.task_scope import TaskScope
from tests.security.site import NAME, PASSWORD, PROD, TEST, Site, code


def anonymous(site: Site) -> httpx.Client:
    return plain_http.client(site.http.base_url)


def test_table_has_all_operations_and_no_others(site: Site) -> None:
    documented = {operation for _, _, operation in site.operations()}
    assert documented | {"readDocument", "readDocs", "readDocsFile"} == set(RULES) == route_table().operations


def test_operation_without_a_rule_is_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(RULES, "listTasks")
    assert code(site.http.get("/tasks")) == (403, "E5072")


def test_each_role_may_do_what_the_table_says_and_no_more(site: Site) -> None:
    site.http.post("/tasks", content=PROD)
    logins = {role: site.token(role) for role in ROLES}
    for method, path, operation in site.operations():
        rule = RULES[operation]
        if rule.role is None:
            continue
        url = f"{site.world.bus.url}{path.replace('{name}', 'nothing')}"
        for role, headers in logins.items():
            answer = site.http.request(method, url, headers=headers)
            permitted = ROLES.index(role) >= ROLES.index(rule.role)
            assert (answer.status_code != 403) is permitted, (operation, role, answer.text)
            if not permitted:
                error = answer.json()["error"]
                assert error["code"] == "E5072" and f"role {rule.role}" in error["wanted"], error


def test_selector_hides_other_tasks(site: Site) -> None:
    for content in (PROD, TEST):
        assert site.http.post("/tasks", content=content).status_code == 201
    prod = site.token("admin", "env=prod")
    listed = site.http.get("/tasks", headers=prod).json()["items"]
    assert [item["name"] for item in listed] == [NAME]
    missing = site.http.get("/tasks/nothing", headers=prod)
    for method, path, _ in site.operations():
        if path.startswith("/api/v1/tasks/{name}"):
            url = site.world.bus.url + path.replace("{name}", "other")
            answer = site.http.request(method, url, headers=prod)
            assert code(answer) == (404, "E5003"), (method, path)
    hidden = site.http.get("/tasks/other", headers=prod)
    assert hidden.json()["error"]["what"].replace("other", "nothing") == missing.json()["error"]["what"]
    assert site.http.get(f"/tasks/{NAME}", headers=prod).status_code == 200


def test_selector_hides_tasks_of_machines(site: Site) -> None:
    for content in (PROD, TEST):
        site.http.post("/tasks", content=content)
    site.world.core("host-a").stand(NAME, "running")
    site.world.core("host-b").stand("other", "running")
    items = site.http.get("/machines", headers=site.token("viewer", "env=prod")).json()["items"]
    assert {item["name"]: item["tasks"] for item in items} == {"host-a": {NAME: "running"}, "host-b": {}}


def test_tasks_cannot_leave_or_enter_a_selector(site: Site) -> None:
    site.http.post("/tasks", content=PROD)
    prod = site.token("admin", "env=prod")
    for content in (TEST, TEST.replace("labels: {env: test}\n", "")):
        assert code(site.http.post("/tasks", content=content, headers=prod)) == (403, "E5072")
        assert code(site.http.post("/tasks?dry_run=true", content=content, headers=prod)) == (403, "E5072")
    moved = PROD.replace("prod", "test")
    assert code(site.http.put(f"/tasks/{NAME}", content=moved, headers=prod)) == (403, "E5072")
    assert site.http.get(f"/tasks/{NAME}").json()["config"]["labels"] == {"env": "prod"}
    more = PROD.replace("env: prod", "env: prod, team: shop")
    assert site.http.put(f"/tasks/{NAME}", content=more, headers=prod).status_code == 200


def test_task_without_a_configuration_is_seen_without_selector_only(site: Site) -> None:
    site.world.core("host-a").coordinator.create(site.world.bus.layout.task("raw"), b"{", parents=True)
    for selector in ("env!=prod", "!env"):
        headers = site.token("admin", selector)
        assert site.http.get("/tasks", headers=headers).json()["items"] == []
        assert code(site.http.get("/tasks/raw", headers=headers)) == (404, "E5003")
    assert [item["name"] for item in site.http.get("/tasks").json()["items"]] == ["raw"]


def test_login_with_a_selector_manages_no_logins_and_no_maintenance_of_all(site: Site) -> None:
    prod = site.token("admin", "env=prod")
    for method, path in (
        ("GET", "/tokens"),
        ("POST", "/tokens"),
        ("GET", "/users"),
        ("GET", "/audit"),
        ("POST", "/maintenance"),
    ):
        answer = site.http.request(method, path, headers=prod)
        assert code(answer) == (403, "E5072")
        assert "without a selector" in answer.json()["error"]["wanted"]


def test_user_sets_the_own_password_and_no_other(site: Site) -> None:
    ann = site.user("ann", "viewer")
    site.user("bob", "viewer")
    site.token("viewer", name="ann")
    with anonymous(site) as http:
        assert http.get("/login", auth=ann).json()["label"] == "ann"
        other = {"password": "another good password"}
        assert code(http.put("/users/bob/password", json=other, auth=ann)) == (403, "E5072")
        assert http.put("/users/ann/password", json=other, auth=ann).status_code == 200
        assert http.get("/login", auth=ann).status_code == 401
        assert http.get("/login", auth=httpx.BasicAuth("ann", other["password"])).status_code == 200


def test_token_named_like_a_user_is_not_that_user(site: Site) -> None:
    site.user("ann", "viewer")
    headers = site.token("viewer", name="ann")
    answer = site.http.put("/users/ann/password", json={"password": "another good password"}, headers=headers)
    assert code(answer) == (403, "E5072")
    assert site.http.get("/login", headers=headers).json()["label"] == "token:ann"


def test_browsers_send_a_token_as_the_password_of_the_user_token(site: Site) -> None:
    secret = site.token("viewer")["authorization"].removeprefix("Bearer ")
    with anonymous(site) as http:
        assert http.get("/login", auth=httpx.BasicAuth("token", secret)).json()["label"] == "token:viewer-0"
        assert http.get("/login", auth=httpx.BasicAuth("token", PASSWORD)).status_code == 401


def test_users_have_versions(site: Site) -> None:
    site.user("ann", "viewer")
    role = {"role": "operator", "selector": "env = prod"}
    assert code(site.http.put("/users/ann/role", json=role, headers={"if-match": '"7"'})) == (412, "E4006")
    answer = site.http.put("/users/ann/role", json=role, headers={"if-match": '"0"'})
    assert (answer.json()["role"], answer.json()["selector"], answer.headers["etag"]) == ("operator", "env=prod", '"1"')
    assert code(site.http.delete("/users/ann", headers={"if-match": '"0"'})) == (412, "E4006")
    assert code(site.http.delete("/users/ann", headers={"if-match": "x"})) == (422, "E1003")
    assert site.http.delete("/users/ann", headers={"if-match": '"1"'}).status_code == 204
    assert code(site.http.delete("/users/ann")) == (404, "E5071")


def test_invalid_logins_are_not_created(site: Site) -> None:
    wrong: list[Any] = [
        {"name": "x", "role": "root"},
        {"name": "x", "role": "viewer", "selector": "env in ("},
        {"name": "../x", "role": "viewer"},
        {"name": "x", "role": "viewer", "expires_s": -1},
        {"name": "x", "role": "viewer", "expires_s": 1 << 62},
        {"name": "x", "role": "viewer", "more": 1},
        {"name": "x"},
        [],
    ]
    for wanted in wrong:
        assert site.http.post("/tokens", json=wanted).status_code == 422, wanted
    answer = site.http.post("/users", json={"name": "x", "password": "hunter2", "role": "viewer"})
    assert answer.status_code == 422 and "hunter2" not in answer.text
    assert site.http.get("/tokens").json()["items"] == site.http.get("/users").json()["items"] == []


def test_rollback_does_not_leave_the_selector(site: Site) -> None:
    site.http.post("/tasks", content=PROD.replace("prod", "test"))
    site.http.put(f"/tasks/{NAME}", content=PROD)
    prod = site.token("admin", "env=prod")
    assert code(site.http.post(f"/tasks/{NAME}/rollback", json={"to": "0"}, headers=prod)) == (403, "E5072")
    assert site.http.post(f"/tasks/{NAME}/rollback", json={"to": "0"}).status_code == 200
    (entry,) = site.audit(outcome="refused")
    assert (entry["operation"], entry["arguments"], entry["changes"]) == ("rollbackTask", {"to": "0"}, [])
    assert site.audit()[-1]["changes"] == [{"key": "labels.env", "before": "prod", "after": "test"}]


@pytest.mark.parametrize("verb", ["put", "delete", "rollback"])
def test_a_task_that_leaves_the_selector_between_guard_and_route_is_left_alone(
    site: Site, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    site.http.post("/tasks", content=PROD)
    site.http.put(f"/tasks/{NAME}", content=PROD.replace("env: prod", "env: prod, team: shop"))
    prod = site.token("admin", "env=prod")
    check = TaskScope.check

    def checked(self: TaskScope, principal: Principal, task: str) -> None:
        check(self, principal, task)
        if principal.selector:
            assert site.http.put(f"/tasks/{NAME}", content=PROD.replace("prod", "test")).status_code == 200

    monkeypatch.setattr(TaskScope, "check", checked)
    path = f"/tasks/{NAME}"
    answer = {
        "put": lambda: site.http.put(path, content=PROD, headers=prod),
        "delete": lambda: site.http.delete(path, headers=prod),
        "rollback": lambda: site.http.post(f"{path}/rollback", json={"to": "0"}, headers=prod),
    }[verb]()
    assert code(answer) == (404, "E5003")
    assert site.http.get(path).json()["config"]["labels"] == {"env": "test"}


def test_without_zookeeper_unknown_logins_wait_and_nothing_is_changed(site: Site) -> None:
    site.http.post("/tasks", content=PROD)
    used, unused = site.token("operator", name="used"), site.token("operator", name="unused")
    limited = site.token("operator", "env=prod")
    assert site.http.get("/login", headers=used).status_code == 200
    assert site.http.get("/login", headers=limited).status_code == 200
    site.world.bus.coordinator.suspend()
    assert site.http.get("/login", headers=used).status_code == 200
    for headers in (used, unused, limited):
        answer = site.http.post(f"/tasks/{NAME}/pause", headers=headers)
        assert code(answer) == (503, "E4001") and "nothing was changed" in answer.json()["error"]["what"]
    site.world.bus.coordinator.resume()
    assert site.http.get(f"/tasks/{NAME}").json()["desired"] == "running"
    assert site.http.get("/login", headers=unused).status_code == 200


CHECKPOINT = Checkpoint(Position("binlog.000003", 400))
UNCONFIGURED, DELETED, DAMAGED, OUTSIDE = "registered", "deleted", "damaged", "outside"


@pytest.mark.parametrize("dry_run", ["", "?dry_run=true"])
@pytest.mark.parametrize("verb", ["create", "fork"])
def test_every_name_that_a_selector_hides_gets_one_answer(site: Site, dry_run: str, verb: str) -> None:
    coordinator, layout = site.world.bus.coordinator, site.world.bus.layout
    registry = Registry(coordinator, layout)
    site.http.post("/tasks", content=PROD)
    for name in (DELETED, DAMAGED, OUTSIDE):
        assert site.http.post("/tasks", content=TEST.replace("other", name)).status_code == 201
    registry.register(UNCONFIGURED, "host-a")
    Status(coordinator, layout).set(DELETED, "deleted", "me")
    coordinator.set(layout.task(DAMAGED), b"junk")
    prod = site.token("admin", "env=prod")
    Commits(coordinator, layout).overwrite(NAME, Commits(coordinator, layout).read(NAME), CHECKPOINT)
    answers = set()
    for name in (UNCONFIGURED, DELETED, DAMAGED, OUTSIDE):
        if verb == "create":
            answer = site.http.post(f"/tasks{dry_run}", content=PROD.replace(NAME, name), headers=prod)
        else:
            answer = site.http.post(f"/tasks/{NAME}/fork{dry_run}", json={"name": name}, headers=prod)
        answers.add(answer.text.replace(name, "NAME"))
        assert code(answer) == (409, "E5004")
    assert len(answers) == 1, answers
    assert registry.read(UNCONFIGURED).record.config is None, "it is not taken over"
    assert site.http.post("/tasks", content=TEST.replace("other", UNCONFIGURED)).status_code == 201, "by who sees all"
    assert code(site.http.post("/tasks", content=PROD, headers=prod)) == (409, "E5004")


def test_a_task_that_a_core_registers_meanwhile_is_not_taken_over(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry(site.world.bus.coordinator, site.world.bus.layout)
    prod = site.token("admin", "env=prod")
    create = Registry.create

    def late(self: Registry, task: str, *more: Any, **named: Any) -> Any:
        self.register(task, "host-a")
        return create(self, task, *more, **named)

    monkeypatch.setattr(Registry, "create", late)
    answer = site.http.post("/tasks", content=PROD, headers=prod)
    assert code(answer) == (409, "E5004") and "not available" in answer.json()["error"]["what"]
    assert registry.read(NAME).record.config is None


def test_labels_that_change_before_a_deletion_take_the_task_away(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.http.post("/tasks", content=PROD)
    prod = site.token("admin", "env=prod")
    delete = TaskOperations.delete

    def late(self: TaskOperations, name: str, *more: Any, **named: Any) -> bool:
        self.replace(name, load_task(PROD.replace("prod", "test")), "other", None)
        return delete(self, name, *more, **named)

    monkeypatch.setattr(TaskOperations, "delete", late)
    assert code(site.http.delete(f"/tasks/{NAME}", headers=prod)) == (409, "E4006")
    assert site.http.get(f"/tasks/{NAME}").json()["desired"] == "running"


def test_log_lines_are_for_operators_of_all_tasks(site: Site) -> None:
    path = f"/processes/{'a' * 32}/log"
    for headers in (site.token("viewer"), site.token("admin", "env=prod")):
        assert code(site.http.get(path, headers=headers)) == (403, "E5072")
        assert site.http.get("/processes", headers=headers).status_code == 200
    assert code(site.http.get(path, headers=site.token("operator"))) == (404, "E5110")
