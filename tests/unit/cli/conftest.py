from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from replicator.cli.main import main
from tests.support.api import TASK, TOKEN, World, memory_worlds

Cli = Callable[..., Result]


@pytest.fixture(scope="package")
def worlds() -> Iterator[Callable[[], World]]:
    with memory_worlds() as make:
        yield make


@pytest.fixture
def world(worlds: Callable[[], World], monkeypatch: pytest.MonkeyPatch) -> World:
    made = worlds()
    monkeypatch.setenv("REPLICATOR_SERVER", made.bus.url)
    monkeypatch.setenv("REPLICATOR_TOKEN", TOKEN)
    return made


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No colour, no token and no debugging from outside."""
    for name in (
        "REPLICATOR_TOKEN", "REPLICATOR_TOKEN_FILE", "REPLICATOR_SERVER", "REPLICATOR_DEBUG", "NO_COLOR",
        "FORCE_COLOR", "COLUMNS", "REPLICATOR_CONTEXT", "REPLICATOR_CONFIG",
    ):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def cli() -> Cli:
    """`cli("task", "get", input="...")`: runs the command; stdout and stderr apart."""

    def run(*arguments: str, **options: Any) -> Result:
        return CliRunner().invoke(main, list(arguments), **options)

    return run


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "task.yaml"
    path.write_text(TASK)
    return path
