"""`replicator cluster outgoing`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.api import World
from tests.unit.cli.conftest import Cli

GROUP = ("cluster", "outgoing")


def test_a_list_from_its_begin_to_its_end(world: World, cli: Cli, file: Path) -> None:
    cli("task", "apply", "-f", str(file))
    empty = cli(*GROUP, "get")
    assert (empty.exit_code, empty.stdout) == (0, "")
    assert "every address is allowed" in empty.stderr

    tried = cli(*GROUP, "set", "10.0.0.0/8", "localhost:9092", "--dry-run")
    assert (tried.exit_code, tried.stdout) == (0, "10.0.0.0/8\nlocalhost:9092\n")
    assert "source.host" in tried.stderr and "127.0.0.1:3306" in tried.stderr and "Nothing was changed." in tried.stderr
    assert "bootstrap_servers" not in tried.stderr
    assert json.loads(cli(*GROUP, "get", "-o", "json").stdout)["limited"] is False

    made = cli(*GROUP, "set", "none", "--reason", "incident", "-o", "json")
    assert json.loads(made.stdout)["entries"] == ["none"]
    assert cli(*GROUP, "get").stdout == "none\n"
    file.write_text(file.read_text().replace("crm.customer", "crm.item"))
    refused = cli("task", "apply", "-f", str(file), "--dry-run")
    assert refused.exit_code != 0 and "E1050" in refused.output

    assert cli(*GROUP, "remove", "--no-input").exit_code == 2
    assert "removed" in cli(*GROUP, "remove", "-y").stderr
    assert "no list" in cli(*GROUP, "remove", "-y").stderr


def test_wrong_usage(world: World, cli: Cli) -> None:
    assert cli(*GROUP, "set").exit_code == 2
    assert cli(*GROUP, "set", "*").exit_code == 2
    mixed = cli(*GROUP, "set", "none", "10.0.0.0/8")
    assert mixed.exit_code != 0 and "E1051" in mixed.output
