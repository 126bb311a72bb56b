"""A marker in every kind of secret, failures with each of them, and a search of everything that is written or shown."""

from __future__ import annotations

import copy
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from dev import plain_http
from dev.cluster import wait_for
from dev.servers.ports import free_port
from replicator.config import cluster_keys
from tests.failover.bus import Bus
from tests.failover.test_secrets import nodes

pytestmark = [pytest.mark.servers, pytest.mark.timeout(300)]
MARKER = "m4rk3r-ZxQ9"
OF_TASK = ("", "/history", "/versions", "/versions/0", "/secrets", "/positions")
PAGES = ("tasks", "machines", "audit", "tokens", "users", "cluster", "login", "health", "openapi.json")
MONITOR = ("/", "/api/state", "/metrics", "/healthz")


def tasks(bus: Bus, folder: Path) -> Iterator[dict[str, Any]]:
    """Each with one more secret that does not work."""

    def task(name: str, **source: Any) -> dict[str, Any]:
        made = copy.deepcopy(bus.task)
        made["name"] = f"{bus.name}_{name}"
        made["source"] |= source
        return made

    file = f"file:{folder}/password"
    yield task("source", password="env:REPL_MARKED")
    yield task("filed", password=file)
    yield task("printed", password=f"command:print/{folder.name}")
    sasl = task("sasl")
    sasl["sink"]["sasl"] = {"user": "bus", "password": file}
    yield sasl
    registry = task("registry")
    registry["sink"]["debezium"] = {
        "converter": "avro",
        "schema_registry": {"url": f"http://127.0.0.1:{free_port()}", "user": "bus", "password": file, "timeout_s": 1},
    }
    yield registry
    target = task("target")
    target["sink"] = {"type": "mysql", "hosts": [f"127.0.0.1:{bus.database.port}"], "user": "nobody", "password": file}
    yield target
    masked = task("masked")
    masked["transforms"] = {"mask": [{"tables": [f"{bus.name}.hot_item"], "columns": ["note"], "hash": file}]}
    yield masked


def test_no_secret_is_written_or_shown(
    make_bus: Callable[..., Bus], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, keys = tmp_path / "secrets", tmp_path / "cluster.keys"
    folder.mkdir()
    (folder / "password").write_text(f"{MARKER}-file\n")
    program = folder / "print"
    program.write_text(f"#!/bin/sh\necho {MARKER}-program\necho {MARKER}-said >&2\n")
    program.chmod(0o755)
    monkeypatch.setenv("REPL_MARKED", f"{MARKER}-variable")
    monkeypatch.setenv("REPLICATOR_SECRETS_DIRECTORY", str(folder))
    monkeypatch.setenv("REPLICATOR_COMMANDS_DIRECTORY", str(folder))
    monkeypatch.setenv(cluster_keys.VARIABLE, str(keys))
    cluster_keys.add(keys)
    key = keys.read_text().splitlines()[1]
    bus = make_bus("host-a", first_rows=1)
    cluster = bus.cluster
    shown: list[str] = []

    def said(*arguments: str, given: str = "") -> None:
        _, out, err = cluster.failing(*arguments, given=given)
        shown.extend((out, err))

    cluster.start_server()
    cluster.start_monitor()
    names = []
    for task in tasks(bus, folder):
        names.append(task["name"])
        path = tmp_path / f"{task['name']}.json"
        path.write_text(json.dumps(task))
        said("task", "apply", "-f", str(path))
        said("check", "-f", str(path))
    assert {item["name"] for item in cluster.tasks()} >= set(names), shown
    said("task", "secret", "set", names[0], "source.password", given=f"{MARKER}-sealed\n")
    said("task", "secret", "set", names[1], "source.user", given=f"{MARKER}-sealed\n")
    said("task", "fork", names[0], f"{bus.name}_fork")
    said("user", "create", "ann", "--password-stdin", given=f"{MARKER}-of-ann\n")
    _, token, _ = cluster.failing("token", "create", "ci", "-o", "json")
    tokens = [json.loads(token)["token"]["secret"], cluster.token]
    plain_http.get(f"{cluster.server_url}/api/v1/tasks", auth=("ann", f"{MARKER}-wrong"))
    plain_http.get(f"{cluster.server_url}/api/v1/tasks", headers={"authorization": f"Bearer {MARKER}-no-token"})
    literal = {**json.loads((tmp_path / f"{names[0]}.json").read_text()), "name": "literal"}
    literal["source"]["password"] = f"{MARKER}-literal"
    (tmp_path / "literal.json").write_text(json.dumps(literal))
    said("task", "apply", "-f", str(tmp_path / "literal.json"))

    def failing() -> bool:
        found = {item["name"]: item for item in cluster.tasks()}
        return all(found[name]["problems"] or found[name]["retrying"] for name in names if "masked" not in name)

    wait_for(failing, lambda: f"each fails with its secret: {cluster.tasks()}{bus.logs()}", 60, every=0.5)
    for name in (*names, f"{bus.name}_fork"):
        for verb in ("describe", "export"):
            said("task", verb, name)
    said("audit")
    with httpx.Client(base_url=cluster.server_url, headers={"authorization": f"Bearer {cluster.token}"}) as http:
        paths = (*PAGES, *(f"tasks/{name}{part}" for name in names for part in OF_TASK))
        answers = {path: http.get(f"/api/v1/{path}").text for path in paths}
    answers |= {page: plain_http.get(cluster.monitor_url + page).text for page in MONITOR}
    bundle = tmp_path / "bundle.zip"
    where = ("--zookeeper", cluster.zookeeper, "--root", cluster.root)
    said("bundle", names[0], *where, "--file", str(bundle), "--log", str(cluster.cores["host-a"].log_path))
    fetched = tmp_path / "fetched.zip"
    said("bundle", names[0], "--via-server", "--file", str(fetched))
    for path in (bundle, fetched):
        with zipfile.ZipFile(path) as parts:
            contents = {part: parts.read(part).decode("utf-8", "replace") for part in parts.namelist()}
        answers |= {f"{path.name} {part}": text for part, text in contents.items()}
        kept = {part.split("-")[0]: text for part, text in contents.items() if part.startswith("logs/")}
        assert {"logs/core", "logs/server", "logs/monitor"} <= set(kept), contents["README.txt"]
        assert "component=worker" in kept["logs/core"], "lines of workers are among those of their Core"

    def none_left() -> bool:
        return not bus.coordinator.children(bus.layout.log_parts) + bus.coordinator.children(bus.layout.log_requests)

    wait_for(none_left, lambda: "log lines have left ZooKeeper", 30)
    backup = tmp_path / "bus.backup"
    said("cluster", "backup", str(backup), *where)
    texts = [
        *shown,
        *answers.values(),
        *(data.decode("utf-8", "replace") for data in nodes(bus)),
        *(file.read_text(errors="replace") for file in tmp_path.glob("*.log")),
        backup.read_bytes().decode("utf-8", "replace"),
    ]
    assert len(answers) > 50 and backup.stat().st_size > 1000
    for reference in (f"file:{folder}/password", f"command:print/{folder.name}"):
        assert sum(reference in text for text in texts) > 5, "references are found where secrets are looked for"
    for secret in (MARKER, key, *tokens):
        found = [text[max(0, text.index(secret) - 200) :][:400] for text in texts if secret in text]
        assert not found, found[0]
