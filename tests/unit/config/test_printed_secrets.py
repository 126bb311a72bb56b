"""Secrets that a program prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from replicator.config import printed_secrets, secrets
from replicator.config.load import parse_task
from replicator.errors import ConfigError, SecretUnavailable
from replicator.host import access

SOURCE = {"type": "mysql", "user": "replicator"}


class Store:
    """A directory of programs, one of which prints what a file has, and counts."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.content, self.count = folder, folder / "content", folder / "count"

    def program(self, text: str, mode: int = 0o755, name: str = "vault-get") -> None:
        file = self.folder / name
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(mode)

    def runs(self) -> int:
        return len(self.count.read_text()) if self.count.exists() else 0


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv(access.COMMANDS_DIRECTORY, str(tmp_path))
    monkeypatch.setattr(printed_secrets, "_known", {})
    monkeypatch.setattr(secrets, "_first", {})
    made = Store(tmp_path)
    made.program(f'printf x >> {made.count}; echo "$1:$(cat {made.content})"')
    made.content.write_text("s3cret\n")
    return made


def test_it_is_run_with_its_argument_and_its_answer_counts_for_a_while(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = "command:vault-get/secret/data/mysql@prod"
    assert secrets.resolve(reference) == "secret/data/mysql@prod:s3cret"
    assert secrets.resolve(reference) == "secret/data/mysql@prod:s3cret" and store.runs() == 1
    assert not secrets.changed() and store.runs() == 2, "after a refused login it is run again"
    store.content.write_text("another")
    assert secrets.changed() and secrets.resolve(reference) == "secret/data/mysql@prod:another"
    monkeypatch.setattr(printed_secrets, "CACHE_SECONDS", 0.0)
    before = store.runs()
    secrets.resolve(reference)
    assert store.runs() == before + 1


@pytest.mark.parametrize("text", ["echo hunter2; exit 3", "exit 0", "echo hunter2 >&2; exit 1"])
def test_one_that_fails_is_tried_again_and_shows_nothing(store: Store, text: str) -> None:
    store.program(text)
    with pytest.raises(SecretUnavailable, match="E1046") as raised:
        secrets.resolve("command:vault-get")
    assert raised.value.transient and "hunter2" not in str(raised.value)


def test_only_programs_of_the_host(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="E1012"):
        secrets.resolve("command:rm/x")
    store.program("echo x", mode=0o644)
    with pytest.raises(ConfigError, match="E1006"):
        secrets.resolve("command:vault-get")
    (store.folder / "link").symlink_to("/bin/echo")
    with pytest.raises(ConfigError, match="E1012"):
        secrets.resolve("command:link/x")
    monkeypatch.delenv(access.COMMANDS_DIRECTORY)
    with pytest.raises(ConfigError, match="E1012"):
        secrets.resolve("command:vault-get")


@pytest.mark.parametrize(
    "bad",
    [
        "command:",
        "command:../sh",
        "command:/bin/sh",
        "command:a b",
        "command:a/$(x)",
        "command:a/-o/etc/x",
        "command:.x",
    ],
)
def test_what_is_no_reference(store: Store, bad: str) -> None:
    with pytest.raises(ConfigError, match="E1005"):
        secrets.resolve(bad)
    with pytest.raises(ConfigError, match="E1005"):
        parse_task(
            {
                "name": "a",
                "source": {**SOURCE, "password": bad},
                "sink": {"type": "kafka", "bootstrap_servers": ["k:1"]},
            }
        )
