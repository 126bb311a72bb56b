"""A Server in memory with logins of each role, with and without a selector."""

from __future__ import annotations

from typing import Any

import httpx

from replicator.model.principal import Role
from tests.support.api import TASK, World

PASSWORD = "correct horse battery"
NAME = "copy_hot_item"
PROD = f"{TASK}labels: {{env: prod}}\n"
TEST = TASK.replace("name: copy_hot_item", "name: other") + "labels: {env: test}\n"


class Site:
    """`world.http` is an admin without a selector."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.http = world.http

    def token(self, role: Role, selector: str = "", name: str = "") -> dict[str, str]:
        """Headers with a new token."""
        wanted = {"name": name or f"{role}-{len(selector)}", "role": role, "selector": selector}
        answer = self.http.post("/tokens", json=wanted)
        assert answer.status_code == 201, answer.text
        return {"authorization": f"Bearer {answer.json()['token']['secret']}"}

    def user(self, name: str, role: Role, selector: str = "") -> httpx.BasicAuth:
        wanted = {"name": name, "password": PASSWORD, "role": role, "selector": selector}
        assert self.http.post("/users", json=wanted).status_code == 201
        return httpx.BasicAuth(name, PASSWORD)

    def audit(self, **wanted: str) -> list[dict[str, Any]]:
        answer = self.http.get("/audit", params=wanted)
        assert answer.status_code == 200, answer.text
        items: list[dict[str, Any]] = answer.json()["items"]
        return items

    def operations(self) -> list[tuple[str, str, str]]:
        """Method, path and operationId of each that is documented."""
        paths = self.http.get("/openapi.json").json()["paths"]
        return [(m.upper(), path, one["operationId"]) for path, ones in paths.items() for m, one in ones.items()]


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]
