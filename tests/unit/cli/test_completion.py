"""Completion from a Server that does not answer: the shell waits for about a second, and gets nothing."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from replicator.cli.main import main
from replicator.cli.task import completion
from tests.support.api import TASK, World
from tests.unit.cli.conftest import Cli


@pytest.fixture
def silent() -> Iterator[str]:
    """A Server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def test_a_silent_server_costs_a_second(silent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPLICATOR_SERVER", silent)
    monkeypatch.setenv("REPLICATOR_TOKEN", "a-token-of-a-test")
    shell = ShellComplete(main, {}, "replicator", "_REPLICATOR_COMPLETE")
    began = time.monotonic()
    assert shell.get_completions(["task", "describe"], "") == []
    assert completion.SECONDS <= time.monotonic() - began < 10 * completion.SECONDS, "it was asked, and given up"


def test_a_question_that_never_returns_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look-up of a name, for instance, which no time limit of a client bounds."""
    monkeypatch.setenv("REPLICATOR_TOKEN", "a-token-of-a-test")
    context = click.Context(click.Command("x"))
    began = time.monotonic()

    def never(_client: object) -> dict[str, object]:
        time.sleep(20 * completion.SECONDS)
        return {"items": []}

    assert completion.asked(context, never) == {}
    assert time.monotonic() - began < 10 * completion.SECONDS


def test_labels_versions_outputs_and_contexts_complete(world: World, cli: Cli) -> None:
    world.http.post("/tasks", content=f"{TASK}labels: {{env: prod, team: shop}}\n")
    world.http.put("/tasks/copy_hot_item?reason=moved", content=TASK.replace("3306", "3307"))
    world.http.put("/tasks/copy_hot_item", content=f"{TASK}labels: {{env: prod, team: shop}}\n")
    cli("config", "set-context", "prod", "--server", "http://127.0.0.1:1")
    shell = ShellComplete(main, {}, "replicator", "_REPLICATOR_COMPLETE")

    def completed(*typed: str) -> list[str]:
        return [item.value for item in shell.get_completions(list(typed[:-1]), typed[-1])]

    assert completed("task", "get", "-l", "") == ["env=prod", "team=shop"]
    assert completed("task", "pause", "-l", "env=prod,t") == ["env=prod,team=shop"]
    assert completed("task", "rollback", "copy_hot_item", "--to", "") == ["0", "1", "2"]
    assert completed("task", "diff", "copy_hot_item", "0", "") == ["0", "1", "2"]
    assert completed("task", "get", "-o", "j") == ["json", "jsonpath="]
    assert completed("config", "use-context", "p") == ["prod"]
    assert completed("--context", "") == ["prod"]


def test_a_context_is_completed_from_and_a_broken_file_is_silent(
    world: World, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.http.post("/tasks", content=TASK)
    monkeypatch.delenv("REPLICATOR_SERVER")
    shell = ShellComplete(main, {}, "replicator", "_REPLICATOR_COMPLETE")
    cli("config", "set-context", "here", "--server", world.bus.url)
    assert [item.value for item in shell.get_completions(["task", "get"], "")] == ["copy_hot_item"]
    (tmp_path / "broken").write_text("{")
    monkeypatch.setenv("REPLICATOR_CONFIG", str(tmp_path / "broken"))
    assert shell.get_completions(["task", "get"], "") == []
    assert shell.get_completions(["config", "use-context"], "") == []
