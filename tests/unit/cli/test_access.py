"""`replicator token`, `user` and `audit` against a Server on a loopback port."""

from __future__ import annotations

import json
import time

import click
import pytest

from dev import plain_http
from replicator.cli.access.options import Duration, Since
from tests.support.api import TASK, World
from tests.unit.cli.conftest import Cli

PASSWORD = "correct horse battery"


def test_token_is_printed_once_and_works(cli: Cli, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    result = cli("token", "create", "ci", "--role", "operator", "--selector", "env=prod", "--expires", "90d")
    assert result.exit_code == 0 and "operator for tasks with env=prod, expires" in result.stderr
    secret = result.stdout.strip()
    listed = cli("token", "list")
    assert listed.stdout.split()[:6] == ["NAME", "ROLE", "SELECTOR", "CREATED", "BY", "EXPIRES"]
    assert "env=prod" in listed.stdout and secret not in cli("token", "list", "-o", "json").stdout
    monkeypatch.setenv("REPLICATOR_TOKEN", secret)
    assert cli("token", "whoami").stdout == "token:ci: operator for tasks with env=prod\n"
    refused = cli("token", "list")
    assert refused.exit_code == 6 and "E5072" in refused.stderr and "role admin" in refused.stderr
    monkeypatch.setenv("REPLICATOR_TOKEN", "test-token-0123456789")
    assert cli("token", "revoke", "ci").exit_code == 0
    assert cli("token", "revoke", "ci").exit_code == 3
    monkeypatch.setenv("REPLICATOR_TOKEN", secret)
    assert cli("token", "whoami").exit_code == 6


def test_token_of_a_name_exists_once(cli: Cli, world: World) -> None:
    assert cli("token", "create", "ci").exit_code == 0
    result = cli("token", "create", "ci")
    assert result.exit_code == 4 and "E5070" in result.stderr and result.stdout == ""


def test_wrong_usage(cli: Cli, world: World) -> None:
    for arguments in (("--expires", "soon"), ("--expires", "0d"), ("--role", "root")):
        assert cli("token", "create", "ci", *arguments).exit_code == 2
    assert cli("token", "create", "ci", "--selector", "env in (").exit_code == 1
    assert cli("user", "create", "ann").exit_code == 2
    assert "revoke" in cli("token", "delete", "ci").stderr
    assert cli("token", "list", "-o", "json").stdout.count('"items": []') == 1


def test_user_is_created_changed_and_removed(cli: Cli, world: World) -> None:
    made = cli("user", "create", "ann", "--role", "admin", "--password-stdin", input=f"{PASSWORD}\n")
    assert (made.exit_code, made.stderr) == (0, "User 'ann' created: admin.\n")
    url = f"{world.bus.url}/api/v1/login"
    with plain_http.client() as http:
        assert http.get(url, auth=("ann", PASSWORD)).json()["role"] == "admin"
        assert "viewer for tasks with env=prod" in cli("user", "role", "ann", "--selector", "env=prod").stderr
        cli("user", "password", "ann", "--password-stdin", input="another good password\n")
        assert http.get(url, auth=("ann", PASSWORD)).status_code == 401
        assert http.get(url, auth=("ann", "another good password")).json()["selector"] == "env=prod"
    assert cli("user", "list", "-o", "name").stdout == "ann\n"
    assert cli("user", "remove", "ann").exit_code == 2
    assert cli("user", "remove", "ann", "-y").exit_code == 0
    assert cli("user", "list").stderr.startswith("No users yet.")


def test_short_password_is_not_repeated(cli: Cli, world: World) -> None:
    result = cli("user", "create", "ann", "--password-stdin", input="hunter2\n")
    assert result.exit_code == 1 and "12 to 1024" in result.stderr and "hunter2" not in result.stderr


def test_audit_shows_changes_and_failures(cli: Cli, world: World) -> None:
    world.http.post("/tasks", content=TASK)
    world.http.put("/tasks/copy_hot_item", content=TASK.replace("3306", "3307"))
    world.http.post("/tasks/nothing/pause")
    shown = cli("audit").stdout
    assert "source.port: 3306 -> 3307" in shown and "replaceTask" in shown and "E5003" in shown
    assert "failed" not in cli("audit", "--task", "copy_hot_item").stdout
    items = json.loads(cli("audit", "--since", "1h", "--outcome", "failed", "-o", "json").stdout)["items"]
    assert [item["task"] for item in items] == ["nothing"]
    assert cli("audit", "--by", "bob").stderr == "No entries.\n"
    assert cli("audit", "--since", "yesterday").exit_code == 2


def test_durations_and_times() -> None:
    assert [Duration().convert(text, None, None) for text in ("90d", "12h", "never")] == [7_776_000, 43_200, 0]
    assert abs(Since().convert("1h", None, None) / 1000 - time.time() + 3600) < 60
    assert Since().convert("1970-01-02T00:00:00+00:00", None, None) == 86_400_000
    for text in ("", "d", "1.5d", "99999999999d"):
        with pytest.raises(click.BadParameter):
            Duration().convert(text, None, None)
