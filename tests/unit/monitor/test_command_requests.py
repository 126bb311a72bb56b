"""Commands of pages as curl: the API has each request, and pages show it where there is one."""

from __future__ import annotations

import json
import re
import shlex
from html import unescape
from urllib.parse import parse_qsl, urlsplit

import pytest

from monitor.command_requests import curl_of
from tests.support.api import World, memory_worlds
from tests.unit.monitor.scene import night
from tests.unit.monitor.task_scene import TASK
from tests.unit.monitor.test_app import Served

CASES = {
    "task get": ("GET", "/tasks", None),
    "task describe orders": ("GET", "/tasks/orders", None),
    "task describe 'a b'": ("GET", "/tasks/a%2520b", None),
    "task history orders": ("GET", "/tasks/orders/history", None),
    "task versions orders": ("GET", "/tasks/orders/versions", None),
    "task diff orders 3 4": ("GET", "/tasks/orders/diff?from=3&to=4", None),
    "task diff orders": ("GET", "/tasks/orders/diff", None),
    "task position history orders": ("GET", "/tasks/orders/positions", None),
    "task position set orders --at '2026-11-20 03:00' --dry-run": (
        "POST", "/tasks/orders/position?dry_run=true", {"at": "2026-11-20 03:00"},
    ),
    "task snapshot status orders": ("GET", "/tasks/orders", None),
    "task retry orders": ("POST", "/tasks/orders/retry", {}),
    "task switchover orders --to host-b": ("POST", "/tasks/orders/switchover", {"to": "host-b"}),
    "task resume --maintenance orders": ("POST", "/tasks/orders/maintenance", {"on": "false"}),
    "task resume --maintenance --all": ("POST", "/maintenance", {"on": "false"}),
    "task fork orders again --at '2026-11-20 03:00'": (
        "POST", "/tasks/orders/fork", {"name": "again", "at": "2026-11-20 03:00"},
    ),
    "task quarantine orders --list": ("GET", "/tasks/orders", None),
    "task quarantine orders shop.item --release": (
        "POST", "/tasks/orders/quarantine", {"table": "shop.item", "release": "true"},
    ),
    "task replay orders shop.item": ("POST", "/tasks/orders/replay", {"table": "shop.item"}),
    "check orders --via-core": ("POST", "/tasks/orders/check", {}),
    "machine get": ("GET", "/machines", None),
    "machine describe host-a": ("GET", "/machines/host-a", None),
    "machine drain host-a": ("POST", "/machines/host-a/drain", {}),
    "group describe blue": ("GET", "/groups/blue", None),
    "ddns get shop/db": ("GET", "/addresses/shop/db", None),
    "alert silence BusLag --task orders --for 2h --reason '...'": (
        "POST", "/alerts/silences", {"rule": "BusLag", "task": "orders", "seconds": 7200, "reason": "..."},
    ),
    "alert unsilence 42": ("DELETE", "/alerts/silences/42", None),
}  # fmt: skip
NONE = (
    "task retry one two",  # several requests
    "task apply -f FILE",
    "task retry orders --wait 5",
    "verify orders",
    "explain E2206",
    "core --zookeeper HOSTS --task orders",
    "ddns set shop/db HOST:PORT",
    "task describe 'unclosed",
)


@pytest.mark.parametrize("words", CASES)
def test_the_request_of_a_command(words: str) -> None:
    method, path, body = CASES[words]
    given = shlex.split(curl_of(f"replicator {words}"))
    assert given[0] == "curl" and "Authorization: Bearer $REPLICATOR_TOKEN" in given
    assert (given[given.index("-X") + 1] if "-X" in given else "GET") == method
    assert given[-1] == f"$REPLICATOR_SERVER/api/v1{path}"
    assert (json.loads(given[given.index("-d") + 1]) if "-d" in given else None) == body


@pytest.mark.parametrize("words", NONE)
def test_what_is_not_one_request_has_none(words: str) -> None:
    assert curl_of(f"replicator {words}") == ""
    assert curl_of("rm -rf /") == curl_of("") == ""


def test_the_api_has_every_request() -> None:
    """The names don't exist: but the address and the method do, and the body has no unknown field."""
    unknown = {f"urn:mysql-replicator:error:{code}" for code in ("E5003", "E5123", "E5120", "E4101", "E5184")}
    with memory_worlds() as make:
        world: World = make()
        for method, path, body in CASES.values():
            parts = urlsplit(path)
            answer = world.http.request(method, parts.path, params=dict(parse_qsl(parts.query)), json=body)
            assert answer.is_success or answer.json()["type"] in unknown, (path, answer.text)


def test_a_command_on_a_page_says_it_as_curl() -> None:
    served = Served(night())
    try:
        for path in ("/", f"/tasks/{TASK}/configuration", f"/tasks/{TASK}/checkpoints", f"/tasks/{TASK}/checks"):
            text = served.client.get(path).text
            shown = list(map(unescape, re.findall(r'<span class="command"><code>(.*?)</code>', text)))
            said = list(map(unescape, re.findall(r'data-text="(.*?)"', text)))
            assert said == [made for made in map(curl_of, shown) if made], path
        assert said
    finally:
        served.close()
