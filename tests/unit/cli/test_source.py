"""`replicator source`: locks of sources over the API."""

from __future__ import annotations

import json

import pytest

from tests.support.api import TASK, TOKEN, World
from tests.unit.cli.conftest import Cli

NAME = "copy_hot_item"
SOURCE = "127.0.0.1:3306"


def test_lock_ls_and_unlock(cli: Cli, world: World) -> None:
    assert "No task reads a source" in cli("source", "ls").stderr
    world.http.post("/tasks", content=TASK)
    core = world.core("host-a").stand(NAME, "running")
    result = cli("source", "lock", "127.0.0.1", "--reason", "new disks", "--for", "2h")
    assert (result.exit_code, result.stdout) == (0, f"{SOURCE} locked, still read by {NAME}\n"), result.stderr
    [item] = json.loads(cli("source", "ls", "-o", "json").stdout)["items"]
    assert (item["name"], item["locked"], item["reason"]) == (SOURCE, True, "new disks")
    assert item["until_ms"] - item["since_ms"] == 7_200_000 and item["by"].startswith("token:server@")
    assert "E5160" in cli("task", "describe", NAME).stdout
    second = cli("source", "lock", SOURCE)
    assert second.exit_code == 4 and "E5161" in second.stderr and "new disks" in second.stderr
    core.leave(NAME)
    world.core("host-b").stand(NAME, "paused")
    assert "paused E5160" in cli("task", "get").stdout
    assert cli("source", "unlock", SOURCE).exit_code == 0
    assert "E5160" not in cli("task", "describe", NAME).stdout
    assert cli("source", "unlock", SOURCE).exit_code == 3
    assert cli("source", "ls", "-o", "name").stdout == f"{SOURCE}\n"


@pytest.mark.parametrize(("state", "status"), [("paused", 0), ("running", 7)])
def test_waits_until_no_task_reads_it(cli: Cli, world: World, state: str, status: int) -> None:
    world.http.post("/tasks", content=TASK)
    world.core("host-a").stand(NAME, state)
    result = cli("source", "lock", SOURCE, "--wait", "0.1")
    assert result.exit_code == status, result.stderr
    assert ("no task reads it" in result.stdout) == (status == 0)
    assert world.http.get("/sources").json()["items"][0]["locked"]


def test_an_address_that_no_task_reads(cli: Cli, world: World) -> None:
    result = cli("source", "lock", "db7")
    assert result.exit_code == 3 and "E5163" in result.stderr
    assert cli("source", "lock", "a b").exit_code == 1
    assert cli("source", "lock", "db7", "--for", "0.5").exit_code == 2


def test_only_those_of_all_tasks_lock(cli: Cli, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.http.post("/tasks", content=TASK)
    for role, selector in (("viewer", ""), ("operator", "env=prod")):
        wanted = {"name": role, "role": role, "selector": selector}
        secret = world.http.post("/tokens", json=wanted).json()["token"]["secret"]
        monkeypatch.setenv("REPLICATOR_TOKEN", secret)
        result = cli("source", "lock", SOURCE)
        assert result.exit_code == 6 and "E5072" in result.stderr
        seen = json.loads(cli("source", "ls", "-o", "json").stdout)["items"]
        assert len(seen) == (0 if selector else 1)
        monkeypatch.setenv("REPLICATOR_TOKEN", TOKEN)
