"""Options that take an address refuse what can't be one as wrong usage, before anything is started."""

from __future__ import annotations

import pytest

from tests.unit.cli.conftest import Cli

PROCESSES = (["core"], ["server"], ["monitor"])


@pytest.mark.parametrize("command", [*PROCESSES, ["check", "-f", "shop.yaml"]], ids=lambda words: words[0])
def test_zookeeper(cli: Cli, command: list[str]) -> None:
    result = cli(*command, "--zookeeper", "nonsense")
    assert result.exit_code == 2
    assert "'nonsense' has no port. Wanted: HOST:PORT[,...][/CHROOT]" in " ".join(result.stderr.split())


def test_the_variable_is_named_where_the_address_comes_from_it(cli: Cli) -> None:
    result = cli("core", env={"REPLICATOR_ZOOKEEPER": "zk1:2181,,"})
    assert result.exit_code == 2 and "REPLICATOR_ZOOKEEPER" in result.stderr and "empty entry" in result.stderr


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("127.0.0.1:8080", "does not begin with http://"),
        ("ftp://h", "does not begin with http://"),
        ("http://", "no host"),
        ("http://h:99999", "between 1 and 65535"),
        ("http://h:1/a b", "white space"),
        ("http://::1:8080", "in brackets"),
        ("http://[::1", "Invalid IPv6 URL"),
        ("http://user:secret@h", "no user or password"),
    ],
)
@pytest.mark.parametrize("command", [["task", "get"], ["verify", "x"]], ids=lambda words: words[0])
def test_server(cli: Cli, command: list[str], url: str, reason: str) -> None:
    result = cli(*command, "--server", url)
    assert result.exit_code == 2 and reason in " ".join(result.stderr.split())
    assert "secret" not in result.stderr


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://[::1]:1/path", "http://localhost:1"])
def test_addresses_of_servers_are_accepted(cli: Cli, url: str) -> None:
    result = cli("task", "get", "--server", url, env={"REPLICATOR_TOKEN": "x" * 20})
    assert result.exit_code == 5 and "E5005" in result.stderr
