"""What a configuration may use of the host: said by flags, found by every process that is started from there."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from core.cli import command as core
from replicator.cli import check, host_options, run
from replicator.host import access

VARIABLES = (
    access.FILE_SINK_DIRECTORY, access.SECRETS_DIRECTORY, access.SECRETS_ENV_PREFIX, access.ALLOW_OUTGOING
)  # fmt: skip


@click.command()
@host_options.host_access()
def probe() -> None:
    for variable in VARIABLES:
        click.echo(os.environ.get(variable, "-"))
    os.environ.update(dict.fromkeys(VARIABLES, ""))


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.setenv(variable, "x")  # so that it is put back
        monkeypatch.delenv(variable)


def said(*arguments: str, **environment: str) -> list[str]:
    result = CliRunner(env=environment).invoke(probe, arguments)
    assert result.exit_code == 0, result.output
    return result.output.splitlines()


def test_flags_and_variables() -> None:
    assert said() == ["-", "-", "-", "-"]
    flags = ["--file-sink-directory", "/f", "--secrets-directory", "/a", "--secrets-directory", "/b"]
    flags += ["--allow-outgoing", "db1:3306", "--allow-outgoing", "10.0.0.0/8"]
    prefixes = ["--secrets-env-prefix", "A_", "--secrets-env-prefix", "B_"]
    assert said(*flags, *prefixes) == ["/f", "/a:/b", "A_ B_", "db1:3306 10.0.0.0/8"]
    given = dict(zip(VARIABLES, ("/g", "/c:/d", "C_ D_", "none"), strict=True))
    assert said(**given) == ["/g", "/c:/d", "C_ D_", "none"]
    assert said(*flags, **given) == ["/f", "/a:/b", "C_ D_", "db1:3306 10.0.0.0/8"]


@pytest.mark.parametrize("given", [["--allow-outgoing", "*"], ["--allow-outgoing", "http://db1"]])
def test_entries_that_are_not_valid_are_wrong_usage(given: list[str]) -> None:
    result = CliRunner().invoke(probe, given)
    assert result.exit_code == 2
    assert "Wanted: one such as db1.example.com" in result.output
    assert CliRunner(env={access.ALLOW_OUTGOING: "10.0.0.0/33"}).invoke(probe, []).exit_code == 2


def test_relative_directories_are_of_where_the_process_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert said("--file-sink-directory", "out", "--secrets-directory", "in") == [
        f"{tmp_path}/out",
        f"{tmp_path}/in",
        "-",
        "-",
    ]


@pytest.mark.parametrize("command", [core, run.command, check.command])
def test_every_command_that_resolves_secrets_has_them(command: click.Command) -> None:
    text = CliRunner().invoke(command, ["--help"]).output
    options = ("file-sink-directory", "secrets-directory", "secrets-env-prefix", "commands-directory", "allow-outgoing")
    assert all(f"--{name}" in text for name in options)
