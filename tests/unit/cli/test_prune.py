"""`task apply --prune`: what it covers, what it refuses, what it asks."""

from __future__ import annotations

from pathlib import Path

import pytest

from replicator.cli.task.prune import SET_LABEL
from tests.support.api import TASK, World
from tests.unit.cli.conftest import Cli


def text(name: str, **labels: str) -> str:
    return f"{TASK.replace('copy_hot_item', name)}labels: {labels}\n"


def names(world: World) -> list[str]:
    return [item["name"] for item in world.http.get("/tasks").json()["items"]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "tasks"
    made.mkdir()
    for name in ("a", "b"):
        (made / f"{name}.yaml").write_text(text(name, env="prod"))
    return made


@pytest.fixture
def four(cli: Cli, world: World, folder: Path) -> World:
    """a, b and c with env=prod, d without; c and d have no file."""
    for one in (text("a", env="prod"), text("b", env="prod"), text("c", env="prod"), text("d")):
        assert world.http.post("/tasks", content=one).status_code == 201
    return world


def test_only_what_the_selector_covers_is_deleted(cli: Cli, four: World, folder: Path) -> None:
    apply = ("task", "apply", "-f", str(folder), "--prune", "-l", "env=prod")
    dry = cli(*apply, "--dry-run")
    assert dry.stdout == "a unchanged (dry run)\nb unchanged (dry run)\nc pruned (dry run)\n"
    refused = cli(*apply)
    assert refused.exit_code == 2 and "c\n" in refused.stderr and "Give -y to delete 1 task" in refused.stderr
    assert names(four) == ["a", "b", "c", "d"]
    assert cli(*apply, "-y").stdout.endswith("c pruned\n")
    assert names(four) == ["a", "b", "d"]
    assert "pruned" not in cli(*apply, "--no-input").stdout, "nothing is left to ask about"


def test_it_asks_before_anything_is_changed(
    cli: Cli, four: World, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("replicator.cli.task.ask.interactive", lambda: True)
    (folder / "new.yaml").write_text(text("new", env="prod"))
    apply = ("task", "apply", "-f", str(folder), "--prune", "-l", "env=prod")
    assert cli(*apply, input="n\n").exit_code == 4
    assert names(four) == ["a", "b", "c", "d"]
    assert cli(*apply, input="y\n").exit_code == 0
    assert names(four) == ["a", "b", "d", "new"]


def test_an_applied_set_covers_what_was_applied_with_it(cli: Cli, four: World, folder: Path) -> None:
    apply = ("task", "apply", "-f", str(folder), "--applied-set", "shop")
    assert cli(*apply).stdout == "a configured\nb configured\n"
    labels = four.http.get("/tasks/a").json()["labels"]
    assert labels == {"env": "prod", SET_LABEL: "shop"}
    assert cli(*apply, "--prune").stdout == "a unchanged\nb unchanged\n", "c is not of the set"
    (folder / "b.yaml").unlink()
    assert cli(*apply, "--prune", "-y").stdout.endswith("b pruned\n")
    assert names(four) == ["a", "c", "d"]


def test_not_everything_is_deleted_by_accident(cli: Cli, four: World, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(text("new", env="prod"))
    empty = tmp_path / "empty"
    empty.mkdir()
    prune = ("--prune", "-l", "env=prod", "-y")
    for path, code in ((other, "E5092"), (empty, "E1014"), (tmp_path / "none", "E1014")):
        result = cli("task", "apply", "-f", str(path), *prune)
        assert result.exit_code != 0 and code in result.stderr
    assert names(four) == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    "options",
    [["--prune"], ["--prune", "-y"], ["-l", "env=prod"], ["--prune", "-l", "env=dev"], ["--applied-set", ""]],
)
def test_wrong_usage(cli: Cli, four: World, folder: Path, options: list[str]) -> None:
    assert cli("task", "apply", "-f", str(folder), *options).exit_code == 2
    assert names(four) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("options", [["-l", ""], ["--applied-set", "a b"]])
def test_what_is_no_label(cli: Cli, four: World, folder: Path, options: list[str]) -> None:
    assert cli("task", "apply", "-f", str(folder), "--prune", "-y", *options).exit_code == 1
    assert names(four) == ["a", "b", "c", "d"]


def test_nothing_is_deleted_if_a_task_can_not_be_applied(cli: Cli, four: World, folder: Path) -> None:
    (folder / "a.yaml").write_text(text("a", env="prod").replace("type: mysql", "type: mariadb"))
    result = cli("task", "apply", "-f", str(folder), "--prune", "-l", "env=prod", "-y")
    assert result.exit_code == 4 and "E1009" in result.stderr
    (folder / "a.yaml").write_text("name: [")
    assert cli("task", "apply", "-f", str(folder), "--prune", "-l", "env=prod", "-y").exit_code == 1
    assert names(four) == ["a", "b", "c", "d"]
