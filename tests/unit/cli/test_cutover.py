"""`task cutover`, as far as no Core is required."""

from __future__ import annotations

import json

import pytest

from tests.support.api import TASK, World
from tests.unit.cli.conftest import Cli

NAME = "copy_hot_item"


def test_a_dry_run_shows_what_prevents_it(cli: Cli, world: World) -> None:
    world.http.post("/tasks", content=TASK)
    result = cli("task", "cutover", NAME, "--dry-run")
    assert result.exit_code == 4 and "E5150" in result.stderr
    assert result.stdout.splitlines()[1].split() == [NAME, "absent", "-", "it", "is", "absent"]
    result = cli("task", "cutover", NAME, "--dry-run", "-o", "json")
    assert json.loads(result.stdout)["tasks"][0]["problem"] == "it is absent"
    assert cli("task", "cutover", NAME).exit_code == 4
    assert world.http.get(f"/tasks/{NAME}").json()["desired"] == "running"


def test_what_there_is_not(cli: Cli, world: World) -> None:
    assert "no cut-overs" in cli("task", "cutover", "--list").stderr
    for option in ("--show", "--cancel"):
        result = cli("task", "cutover", option, "../x")
        assert (result.exit_code, "E5153" in result.stderr) == (3, True) or "E5013" in result.stderr
        assert cli("task", "cutover", option, "nothing").exit_code == 3
    assert cli("task", "cutover", "missing").exit_code == 3


@pytest.mark.parametrize("arguments", [[], [NAME, "--list"], ["--list", "--show", "x"], ["--at", "now", NAME]])
def test_what_can_not_be_asked_for(cli: Cli, world: World, arguments: list[str]) -> None:
    assert cli("task", "cutover", *arguments).exit_code == 2


def test_a_login_with_a_selector_stops_only_its_tasks(cli: Cli, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.http.post("/tasks", content=TASK)
    wanted = {"name": "ann", "role": "operator", "selector": "env=prod"}
    secret = world.http.post("/tokens", json=wanted).json()["token"]["secret"]
    monkeypatch.setenv("REPLICATOR_TOKEN", secret)
    result = cli("task", "cutover", NAME, "--dry-run")
    assert result.exit_code == 3 and "E5003" in result.stderr
