"""A Monitor with a Server, both over one bus in memory, and people of each role."""

from __future__ import annotations

import re
from contextlib import ExitStack
from html import unescape
from typing import Any

import httpx

from dev import plain_http
from monitor.alerts.alerting import Alerting
from monitor.server_api import ServerApi
from replicator.assembly.table_definitions import TableDefinitions
from replicator.coordination.access.tokens import Tokens
from replicator.coordination.access.users import Users
from server.app import Access, create_app
from tests.support.api import CHEAP, TOKEN, serving
from tests.support.waiting import eventually
from tests.unit.monitor.scene import Bus, Core
from tests.unit.monitor.test_app import Served

PASSWORD = "correct horse battery"
RED, BLUE = "task_red", "task_blue"


class Acting:
    """`server`: another address than that of a Server in memory."""

    def __init__(
        self,
        *,
        server: str = "",
        require_login: bool = True,
        seconds: float = 10.0,
        process: str = "",
        alerting: Alerting | None = None,
    ) -> None:
        self.bus = Bus()
        for name in (RED, BLUE):
            self.bus.task(name, labels={"team": name.removeprefix("task_")})
            self.bus.commit(name, 7, offset=4242)
        self.first, self.second = self.bus.core("host-a"), self.bus.core("host-b")
        for name in (RED, BLUE):
            self.stand(self.first, name, "running")
            self.stand(self.second, name, "standby")
        users = self.users = Users(self.bus.admin, self.bus.layout, CHEAP)
        self.tokens = Tokens(self.bus.admin, self.bus.layout)
        users.create("vera", PASSWORD, "viewer", "", "test")
        users.create("olga", PASSWORD, "operator", "", "test")
        users.create("red", PASSWORD, "operator", "team=red", "test")
        users.create("anna", PASSWORD, "admin", "", "test")
        self._stack = ExitStack()
        app = create_app(self.bus.session(), self.bus.layout, Access(TOKEN), TableDefinitions)
        self.server = self._stack.enter_context(serving(app))
        self.api = ServerApi(server or self.server, seconds=seconds)
        self.served = Served(self.bus, require_login=require_login, api=self.api, process=process, alerting=alerting)
        self.http = self.served.client
        self.http.timeout = 20.0
        self._stack.callback(self.served.close)

    def stand(self, core: Core, name: str, state: str, **figures: Any) -> None:
        core.stand(name, state, epoch=7, position="binlog.000042:4242", **figures)
        core.report()

    def close(self) -> None:
        self._stack.close()

    def token(self, role: Any, selector: str = "", name: str = "ci") -> str:
        secret: str = self.tokens.create(name, role, selector, 0, "test").secret
        return secret

    def log_in(self, user: str, unlocked: bool = True) -> None:
        """`user`: a name, or a token."""
        named = user in ("vera", "olga", "red", "anna")
        fields = {"user": user, "password": PASSWORD} if named else {"token": user}
        assert self.http.post("/login", data=fields).status_code == 303
        if named and unlocked:
            answer = self.unlock(PASSWORD)
            assert answer.status_code == 303, answer.text

    def unlock(self, password: str, after: str = "/tasks/task_red/actions/pause") -> httpx.Response:
        return self.http.post("/unlock", data={"csrf": self.csrf(), "password": password, "next": after})

    def csrf(self) -> str:
        found = re.search(r'name="csrf" value="([^"]+)"', self.http.get("/").text)
        assert found is not None
        return found[1]

    def form(self, action: str, name: str = RED, of: str = "tasks", **given: str) -> dict[str, str]:
        """The fields of the form that confirms an action, filled in."""
        answer = self.http.get(f"/{of}/{name}/actions/{action}", params=given)
        return confirmed(answer.text) | {"confirm": name}

    def send(self, action: str, fields: dict[str, str], name: str = RED, of: str = "tasks") -> httpx.Response:
        return self.http.post(f"/{of}/{name}/actions/{action}", data=fields)

    def direct(self) -> httpx.Client:
        headers = {"authorization": f"Bearer {TOKEN}"}
        return plain_http.client(f"{self.server}/api/v1", headers=headers, timeout=10)

    def task(self, name: str = RED) -> dict[str, Any]:
        with self.direct() as http:
            found: dict[str, Any] = http.get(f"/tasks/{name}").json()
            return found

    def audit(self, **wanted: str) -> list[dict[str, Any]]:
        with self.direct() as http:
            found: list[dict[str, Any]] = http.get("/audit", params=wanted).json()["items"]
            return found

    def shown(self, state: str, name: str = RED) -> None:
        """Waits until the Monitor shows this."""

        def there() -> bool:
            tasks = self.http.get("/api/state").json()["tasks"]
            return any(task["name"] == name and task["state"] == state for task in tasks)

        eventually(there)


def stage(answer: httpx.Response) -> str:
    found = re.search(r'data-stage="(\w+)"', answer.text)
    return found[1] if found else ""


def text(answer: httpx.Response) -> str:
    """Without markup."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", answer.text)))


def confirmed(page: str) -> dict[str, str]:
    """The hidden fields of the form that confirms."""
    form = page[page.index('class="confirm"') :]
    form = form[: form.index("</form>")]
    found = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', form)
    return {name: unescape(value) for name, value in found}
