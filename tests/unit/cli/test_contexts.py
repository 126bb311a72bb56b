"""Contexts: the file, precedence, and which token goes to which Server."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from replicator.cli import contexts
from tests.support.api import TASK, TOKEN, World
from tests.unit.cli.conftest import Cli


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "prod.token"
    path.write_text(TOKEN)
    path.chmod(0o600)
    return path


@pytest.fixture
def bare(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Without the environment of other tests; with one task."""
    world.http.post("/tasks", content=TASK)
    monkeypatch.delenv("REPLICATOR_SERVER")
    monkeypatch.delenv("REPLICATOR_TOKEN")
    monkeypatch.setenv("REPLICATOR_CONTEXT", "")  # what --context sets is undone after the test
    return world


def file(tmp_path: Path) -> Path:
    return tmp_path / "config" / "mysql-replicator" / "contexts.json"


def test_a_context_is_used_by_commands(cli: Cli, bare: World, token: Path, tmp_path: Path) -> None:
    assert cli("task", "get").exit_code != 0
    created = cli("config", "set-context", "prod", "--server", bare.bus.url, "--token-file", str(token))
    assert created.stdout == "prod created\n", created.stderr
    assert stat.S_IMODE(file(tmp_path).stat().st_mode) == 0o600 and TOKEN not in file(tmp_path).read_text()
    for command in (["task", "get", "-o", "name"], ["top"], ["machines"], ["task", "schema", "copy_hot_item"]):
        assert cli(*command).exit_code == 0, command
    assert cli("config", "current-context").stdout == "prod\n"
    assert cli("config", "set-context", "prod", "--server", bare.bus.url).stdout == "prod unchanged\n"


def test_several_contexts(cli: Cli, bare: World, token: Path) -> None:
    cli("config", "set-context", "prod", "--server", bare.bus.url, "--token-file", str(token))
    cli("config", "set-context", "dev", "--server", "http://127.0.0.1:1")
    rows = cli("config", "get-contexts").stdout.splitlines()
    assert [row.split()[0] for row in rows] == ["CURRENT", "dev", "*"]
    assert cli("--context", "dev", "task", "get").exit_code != 0
    os.environ["REPLICATOR_CONTEXT"] = ""
    assert cli("config", "use-context", "dev").stdout == "dev is the current context\n"
    assert cli("--context", "prod", "task", "get", "-o", "name").stdout == "copy_hot_item\n"
    os.environ["REPLICATOR_CONTEXT"] = ""
    assert cli("config", "delete-context", "dev").exit_code == 0
    assert "no current context" in cli("config", "current-context").stderr
    assert cli("config", "get-contexts", "-o", "name").stdout == "prod\n"


def test_precedence_is_shown_with_its_origin(
    cli: Cli, bare: World, token: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shown() -> dict[str, tuple[str, str]]:
        answer = json.loads(cli("config", "view", "--show-origin", "-o", "json").stdout)
        return {one["name"]: (one["value"], one["origin"]) for one in answer["items"]}

    assert shown()["server"] == ("http://127.0.0.1:8080", "default")
    cli("config", "set-context", "prod", "--server", bare.bus.url, "--token-file", str(token))
    assert shown()["server"] == (bare.bus.url, "context prod")
    assert shown()["token_file"] == (str(token), "context prod")
    monkeypatch.setenv("REPLICATOR_SERVER", "http://127.0.0.1:9")
    assert shown()["server"] == ("http://127.0.0.1:9", "environment variable REPLICATOR_SERVER")
    assert shown()["token_file"][1] == "default", "the context's token is not for another Server"
    monkeypatch.setenv("REPLICATOR_TOKEN", TOKEN)
    assert shown()["token"] == ("(not shown)", "environment variable REPLICATOR_TOKEN")
    assert cli("task", "get", "--server", bare.bus.url).exit_code == 0, "an option is first"
    assert "ORIGIN" not in cli("config", "view").stdout


def test_a_context_s_token_is_not_sent_to_another_server(cli: Cli, bare: World, token: Path) -> None:
    cli("config", "set-context", "prod", "--server", "http://127.0.0.1:1", "--token-file", str(token))
    result = cli("task", "get", "--server", bare.bus.url)
    assert result.exit_code == 6 and "E5006" in result.stderr


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"contexts": []}', '{"contexts": {"a": 1}}', '{"contexts": {"a": {}}}', '{"current": 1}'],
)
def test_a_broken_file_is_named(cli: Cli, bare: World, tmp_path: Path, content: str) -> None:
    file(tmp_path).parent.mkdir(parents=True)
    file(tmp_path).write_text(content)
    for command in (["task", "get"], ["config", "get-contexts"], ["config", "view"]):
        result = cli(*command)
        assert result.exit_code == 1 and "E5093" in result.stderr and str(file(tmp_path)) in result.stderr


def test_others_may_not_change_where_tokens_go(cli: Cli, bare: World, token: Path, tmp_path: Path) -> None:
    cli("config", "set-context", "prod", "--server", bare.bus.url, "--token-file", str(token))
    file(tmp_path).chmod(0o622)
    result = cli("task", "get")
    assert result.exit_code == 1 and "chmod 600" in result.stderr


def test_what_is_refused(cli: Cli, bare: World) -> None:
    assert cli("config", "set-context", "a").exit_code == 2
    assert cli("config", "set-context", "a", "--server", "127.0.0.1").exit_code == 2
    assert "E5093" in cli("config", "set-context", "a b", "--server", "http://127.0.0.1:1").stderr
    for command in (["use-context"], ["delete-context"]):
        assert "there is no context 'none'" in cli("config", *command, "none").stderr
    assert "there is no context 'none'" in cli("--context", "none", "task", "get").stderr
    assert cli("--context", "", "task", "get").exit_code == 2


def test_files_of_tls_are_kept_and_shown(
    cli: Cli, bare: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (contexts.CA_FILE, contexts.CERTIFICATE, contexts.KEY):
        monkeypatch.setenv(name, "")

    def shown() -> dict[str, tuple[str, str]]:
        answer = json.loads(cli("config", "view", "--show-origin", "-o", "json").stdout)
        return {one["name"]: (one["value"], one["origin"]) for one in answer["items"]}

    given = {"ca_file": "ca.pem", "client_certificate": "me.pem", "client_key": "me.key"}
    options = [part for key, name in given.items() for part in (f"--{key.replace('_', '-')}", str(tmp_path / name))]
    assert cli("config", "set-context", "prod", "--server", "https://s:1", *options).exit_code == 0
    assert cli("config", "set-context", "prod", "--server", "https://s:1").stdout == "prod unchanged\n"
    assert {key: shown()[key] for key in given} == {
        key: (str(tmp_path / name), "context prod") for key, name in given.items()
    }
    listed = json.loads(cli("config", "get-contexts", "-o", "json").stdout)["items"][0]
    assert listed["ca_file"] == str(tmp_path / "ca.pem")
    assert "ca.pem" in cli("config", "get-contexts").stdout
    files = contexts.tls_files("https://s:1/")
    assert files[:3] == tuple(str(tmp_path / name) for name in given.values())
    assert contexts.tls_files("https://other:1")[:3] == ("", "", ""), "they are not for another Server"
    monkeypatch.setenv(contexts.CERTIFICATE, "/other.pem")
    assert contexts.tls_files("https://s:1")[:3] == (str(tmp_path / "ca.pem"), "/other.pem", ""), "not another's key"
    assert shown()["client_key"] == ("", f"environment variable {contexts.CERTIFICATE}")
    monkeypatch.setenv(contexts.CA_FILE, "/other-ca.pem")
    assert shown()["ca_file"] == ("/other-ca.pem", f"environment variable {contexts.CA_FILE}")
    file(tmp_path).chmod(0o644)
    assert "E5093" in cli("config", "view").stderr, "who can write it can have another CA trusted"


def test_a_key_needs_its_certificate(cli: Cli, bare: World) -> None:
    result = cli("config", "set-context", "prod", "--server", "https://s:1", "--client-key", "x")
    assert result.exit_code == 2 and "--client-certificate" in result.stderr


def test_a_file_of_an_earlier_release(cli: Cli, bare: World, tmp_path: Path) -> None:
    file(tmp_path).parent.mkdir(parents=True)
    file(tmp_path).write_text('{"current": "a", "contexts": {"a": {"server": "http://h:1", "more": 1}}}')
    assert contexts.chosen(contexts.load())[1] == contexts.Context("http://h:1")
