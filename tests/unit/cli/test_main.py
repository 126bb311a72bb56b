"""The command itself: help, typos, colours, exit statuses, errors as one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from replicator.cli import failures
from replicator.cli.main import LAZY, main
from replicator.errors import CoordinationError, ProcessError, ReplicatorError
from tests.unit.cli.conftest import Cli


def raising(error: BaseException) -> click.Command:
    @click.command("broken")
    def command() -> None:
        raise error

    return command


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    def install(error: BaseException) -> None:
        monkeypatch.setitem(main.commands, "broken", raising(error))
        monkeypatch.setattr(type(main), "list_commands", lambda self, ctx: ["broken"])
        monkeypatch.setattr(type(main), "get_command", lambda self, ctx, name: self.commands.get(name))

    return install


def test_help_names_every_command_and_process_without_importing_them() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from replicator.cli.main import main;"
        "print(CliRunner().invoke(main, ['--help']).output);"
        "assert not {'pydantic', 'httpx', 'kazoo', 'kafka', 'pymysql', 'fastapi'} & set(sys.modules), sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert all(f"  {name} " in done.stdout for name in (*LAZY, "core", "server", "monitor"))


@pytest.mark.parametrize("name", sorted(LAZY))
def test_every_command_loads_and_has_help(cli: Cli, name: str) -> None:
    result = cli(name, "--help")
    assert result.exit_code == 0 and result.stdout.startswith("Usage: replicator")


@pytest.mark.parametrize(
    ("typed", "meant"), [(["tsak"], "task"), (["chekc"], "check"), (["task", "switchver"], "switchover")]
)
def test_a_typo_gets_a_suggestion(cli: Cli, typed: list[str], meant: str) -> None:
    result = cli(*typed)
    assert result.exit_code == 2
    assert f"Did you mean '{meant}'?" in result.stderr and result.stdout == ""


def test_a_plug_in_that_is_broken_does_not_take_the_help_away(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    class Point:
        name = "odd"

        def load(self) -> click.Command:
            raise ModuleNotFoundError("No module named 'odd'")

    monkeypatch.setattr("replicator.cli.main.entry_points", lambda group: [Point()])
    result = cli("--help")
    assert result.exit_code == 0 and "can't be loaded" in result.stdout


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ProcessError("E5003", "x"), 3),
        (CoordinationError("E4006", "x"), 4),
        (ProcessError("E5007", "x"), 4),
        (ProcessError("E5005", "x"), 5),
        (CoordinationError("E4001", "x"), 5),
        (ProcessError("E5006", "x"), 6),
        (ProcessError("E5009", "x"), 7),
        (ProcessError("E5011", "x"), 1),
    ],
)
def test_an_error_is_one_line_and_a_status(
    cli: Cli, broken: Callable[[BaseException], None], error: ReplicatorError, status: int
) -> None:
    broken(error)
    result = cli("broken")
    assert result.exit_code == status
    assert result.stdout == "" and result.stderr == f"{error}\n"


def test_a_fault_of_ours_is_said_without_a_traceback_unless_asked(
    cli: Cli, broken: Callable[[BaseException], None]
) -> None:
    broken(KeyError("boom"))
    result = cli("broken")
    assert result.exit_code == 1
    assert result.stderr.startswith("E5011 process: KeyError: 'boom'") and "Traceback" not in result.stderr
    assert "Traceback" in cli("--debug", "broken").stderr
    os.environ.pop("REPLICATOR_DEBUG")


def test_interrupts_are_130(cli: Cli, broken: Callable[[BaseException], None]) -> None:
    broken(KeyboardInterrupt())
    result = cli("broken")
    assert result.exit_code == 130 and "Traceback" not in result.stderr


def test_every_status_of_the_table_belongs_to_a_code() -> None:
    from replicator.codes import CODES

    assert set(failures._STATUS) <= set(CODES)


@pytest.mark.parametrize(
    ("environment", "arguments", "coloured"),
    [
        ({}, [], False),
        ({"FORCE_COLOR": "1"}, [], True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, [], False),
        ({}, ["--color", "always"], True),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, [], False),
        ({"FORCE_COLOR": "1"}, ["--color", "never"], False),
    ],
)
def test_colour(
    cli: Cli, broken: Callable[[BaseException], None], environment: dict[str, str], arguments: list[str], coloured: bool
) -> None:
    broken(ProcessError("E5003", "x"))
    result = cli(*arguments, "broken", env=environment)
    assert ("\x1b[" in result.stderr) is coloured


def replicator(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "replicator.cli.main", *arguments]


def test_a_reader_that_leaves_is_no_error() -> None:
    with subprocess.Popen(replicator("schema"), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.wait(20) == 141
        assert process.stderr.read() == b""


def test_ctrl_c_while_it_waits_for_a_server(tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        environment = {**os.environ, "REPLICATOR_TOKEN": "x" * 20}
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with subprocess.Popen(
            replicator("task", "get", "--server", url), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        ) as process:
            silent.settimeout(20)
            connection, _ = silent.accept()
            time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            assert process.wait(10) == 130
            assert process.stderr is not None and b"Traceback" not in process.stderr.read()
            connection.close()
