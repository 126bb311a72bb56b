"""Over which ways the command line sends its token."""

from __future__ import annotations

import pytest

from replicator.cli.task.client import INSECURE, Client
from replicator.errors import ProcessError
from tests.unit.cli.conftest import Cli

TOKEN = "x" * 40


@pytest.mark.parametrize(
    "server", ["http://127.0.0.1:8080", "http://localhost", "http://[::1]:80/", "https://bus.example"]
)
def test_this_machine_and_https(server: str) -> None:
    Client(server, TOKEN).__exit__()


@pytest.mark.parametrize("server", ["http://bus.example:8080", "http://192.0.2.1", "http://127.0.0.1.evil.example"])
def test_the_network_unencrypted_only_for_those_who_say_so(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(INSECURE, raising=False)
    with pytest.raises(ProcessError) as raised:
        Client(server, TOKEN)
    assert raised.value.code == "E5021" and TOKEN not in str(raised.value)
    monkeypatch.setenv(INSECURE, "1")
    Client(server, TOKEN).__exit__()


def test_the_command_says_so(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(INSECURE, raising=False)
    monkeypatch.setenv("REPLICATOR_TOKEN", TOKEN)
    result = cli("task", "get", "--server", "http://bus.example:8080")
    assert result.exit_code != 0 and "E5021" in result.stderr
