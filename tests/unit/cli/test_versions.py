"""`task versions`, `diff` and `rollback`, over the API in memory."""

from __future__ import annotations

import json

import pytest

from tests.support.api import TASK, World
from tests.unit.cli.conftest import Cli

NAME = "copy_hot_item"


@pytest.fixture
def three(world: World) -> World:
    """Versions 0 to 2, with ports 3306 to 3308."""
    world.http.post("/tasks?reason=first", content=TASK)
    for port in ("3307", "3308"):
        answer = world.http.put(f"/tasks/{NAME}?reason=port {port}", content=TASK.replace("3306", port))
        assert answer.status_code == 200
    return world


def port(world: World) -> int:
    return int(world.http.get(f"/tasks/{NAME}").json()["config"]["source"]["port"])


def test_versions_and_differences(cli: Cli, three: World) -> None:
    rows = cli("task", "versions", NAME).stdout.splitlines()
    assert [row.split()[0] for row in rows] == ["VERSION", "0", "1", "2"]
    assert "2 (current)" in rows[3] and rows[3].endswith("port 3308") and "created" in rows[1]
    listed = json.loads(cli("task", "versions", NAME, "-o", "json").stdout)["items"]
    assert [item["current"] for item in listed] == [False, False, True]
    diff = cli("task", "diff", NAME).stdout
    assert "-  port: 3307\n" in diff and "+  port: 3308\n" in diff and "password: env:REPL_PASSWORD" in diff
    assert diff.startswith(f"--- {NAME} version 1\n+++ {NAME} version 2\n") and "\x1b" not in diff
    assert "-  port: 3306\n" in cli("task", "diff", NAME, "0").stdout
    assert "+  port: 3306\n" in cli("task", "diff", NAME, "1", "0").stdout
    assert "\x1b[32m" in cli("--color", "always", "task", "diff", NAME, color=True).stdout
    equal = cli("task", "diff", NAME, "1", "1")
    assert (equal.stdout, equal.stderr) == ("", f"Versions 1 and 1 of {NAME} are equal.\n")
    whole = three.http.get(f"/tasks/{NAME}/versions/0").json()
    assert (whole["number"], whole["config"]["source"]["port"]) == (0, 3306)


def test_rollback_is_a_new_version(cli: Cli, three: World) -> None:
    dry = cli("task", "rollback", NAME, "--to", "0", "--dry-run")
    assert dry.stdout == f"{NAME} rolled back to version 0 (dry run)\n" and "+  port: 3306" in dry.stderr
    assert port(three) == 3308
    assert cli("task", "rollback", NAME, "--to", "0", "--reason", "wrong").stdout.endswith("rolled back to version 0\n")
    assert port(three) == 3306
    assert cli("task", "rollback", NAME, "--to", "0").stdout == f"{NAME} unchanged\n"
    last = json.loads(cli("task", "versions", NAME, "-o", "json").stdout)["items"][-1]
    assert (last["number"], last["change"], last["restores"], last["reason"]) == (3, "rollback", 0, "wrong")
    assert "rollback to 0" in cli("task", "versions", NAME).stdout
    history = json.loads(cli("task", "history", NAME, "-o", "json").stdout)["items"]
    assert (history[-1]["event"], history[-1]["reason"]) == ("configured", "rollback to version 0: wrong")


@pytest.mark.parametrize("arguments", [("diff", NAME, "9"), ("rollback", NAME, "--to", "9"), ("diff", NAME, "0", "77")])
def test_a_version_that_is_not_kept(cli: Cli, three: World, arguments: tuple[str, ...]) -> None:
    result = cli("task", *arguments)
    assert result.exit_code == 3 and "E5090" in result.stderr and "kept: 0, 1, 2" in result.stderr
    assert port(three) == 3308


def test_there_is_nothing_before_the_first(cli: Cli, world: World) -> None:
    world.http.post("/tasks", content=TASK)
    assert "E5090" in cli("task", "diff", NAME).stderr
    assert cli("task", "versions", "nobody").exit_code == 3


def test_a_rollback_has_the_checks_of_a_replacement(three: World) -> None:
    post = three.http.post
    stale = post(f"/tasks/{NAME}/rollback", json={"to": "0"}, headers={"if-match": '"1"'})
    assert (stale.status_code, stale.json()["error"]["code"]) == (412, "E4006")
    for wrong in ({}, {"to": "x"}, {"to": "-1"}, {"to": "0", "more": "1"}):
        assert post(f"/tasks/{NAME}/rollback", json=wrong).status_code == 422
    assert port(three) == 3308


def test_a_rollback_mends_a_damaged_configuration(cli: Cli, three: World) -> None:
    three.bus.coordinator.set(three.bus.layout.task(NAME), b"damaged")
    assert cli("task", "rollback", NAME, "--to", "1").stdout == f"{NAME} rolled back to version 1\n"
    assert port(three) == 3307
    assert three.http.get(f"/tasks/{NAME}").json()["problems"] == []


def test_a_narrow_terminal_shows_the_reason(cli: Cli, three: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in (40, 60, 80):
        monkeypatch.setattr("replicator.cli.task.versions.width", lambda limit=limit: limit)
        lines = cli("task", "versions", NAME).stdout.splitlines()
        assert max(map(len, lines)) <= limit and ("REASON" in lines[0]) == (limit > 40)


def test_a_task_of_an_earlier_release_shows_its_present_version(cli: Cli, three: World) -> None:
    layout, coordinator = three.bus.layout, three.bus.coordinator
    for number in range(3):
        coordinator.delete(layout.version(NAME, number))
    coordinator.delete(layout.versions(NAME))
    assert [item["number"] for item in three.http.get(f"/tasks/{NAME}/versions").json()["items"]] == [2]
    assert "E5090" in cli("task", "diff", NAME).stderr
    three.http.put(f"/tasks/{NAME}", content=TASK)
    assert "-  port: 3308" in cli("task", "diff", NAME).stdout
