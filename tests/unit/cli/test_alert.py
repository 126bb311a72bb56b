"""`replicator alert` over the API in memory, and a Monitor that is real."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.api import World
from tests.support.receivers import Received
from tests.support.waiting import eventually
from tests.unit.cli.conftest import Cli
from tests.unit.monitor.scene import night
from tests.unit.monitor.test_app import Served


@pytest.fixture(scope="module")
def monitor() -> Iterator[str]:
    served = Served(night())
    eventually(lambda: served.client.get("/api/alerts").json()["firing"])
    yield served.url
    served.close()


def test_silence_and_unsilence(cli: Cli, world: World) -> None:
    made = cli("alert", "silence", "BusLag", "--task", "orders", "--for", "2h", "--reason", "import")
    assert made.exit_code == 0, made.output
    id_ = made.stdout.strip()
    assert f"replicator alert unsilence {id_}" in made.stderr
    head, line = cli("alert", "silences").stdout.splitlines()
    assert head.split() == ["ID", "SILENCED", "LEFT", "BY", "REASON"]
    assert line.startswith(f"{id_}  BusLag, task orders") and line.endswith("import")
    assert json.loads(cli("alert", "silences", "-o", "json").stdout)["items"][0]["id"] == id_
    assert cli("alert", "unsilence", id_).exit_code == 0
    assert "Nothing is silenced." in cli("alert", "silences").stderr
    gone = cli("alert", "unsilence", id_)
    assert gone.exit_code != 0 and "E5184" in gone.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("BusLag", "--reason", "x"),
        ("BusLag", "--for", "2h"),
        ("BusLag", "--for", "soon", "--reason", "x"),
        ("--label", "env", "--for", "2h", "--reason", "x"),
        ("--for", "2h", "--reason", "x"),
    ],
)
def test_silences_that_are_refused(cli: Cli, world: World, arguments: tuple[str, ...]) -> None:
    assert cli("alert", "silence", *arguments).exit_code != 0
    assert world.http.get("/alerts/silences").json()["items"] == []


def test_ls_and_describe(cli: Cli, monitor: str) -> None:
    listed = cli("alert", "ls", "--monitor", monitor)
    assert listed.exit_code == 0, listed.output
    assert listed.stdout.splitlines()[0].split() == ["SEVERITY", "STATE", "ALERT", "OF", "FOR", "SUMMARY"]
    assert "BusTaskFailed" in listed.stdout and "billing_invoices has stopped" in listed.stdout
    one = cli("alert", "ls", "--monitor", monitor, "--task", "billing_invoices", "-o", "json")
    assert {alert["name"] for alert in json.loads(one.stdout)["firing"]} == {"billing_invoices"}
    assert "BusNobodyRunning" in cli("alert", "ls", "--all", "-o", "tsv", "--monitor", monitor).stdout
    described = cli("alert", "describe", "BusTaskFailed", "--monitor", monitor).stdout
    assert "Condition:  state IN ('FAILED', 'UNREADABLE')" in described and "billing_invoices" in described
    unknown = cli("alert", "describe", "Bus", "--monitor", monitor)
    assert unknown.exit_code != 0 and "E5184" in unknown.stderr


def test_without_a_monitor(cli: Cli, world: World) -> None:
    failed = cli("alert", "ls")
    assert failed.exit_code != 0 and "no Monitor is online" in failed.stderr


def test_rules(cli: Cli, monitor: str, tmp_path: Path) -> None:
    shipped = cli("alert", "rules", "--shipped", "-o", "name").stdout.split()
    assert shipped == cli("alert", "rules", "--monitor", monitor, "-o", "name").stdout.split()
    assert "BusLag" in shipped
    path = tmp_path / "rules.yaml"
    path.write_text("rules: [{name: BusLag, when: lag_seconds > 60}]")
    table = cli("alert", "rules", "--check", str(path)).stdout
    assert "lag_seconds > 60" in table
    path.write_text("rules: [{name: BusLag, when: lag > 60}]")
    wrong = cli("alert", "rules", "--check", str(path))
    assert wrong.exit_code != 0 and "E5180" in wrong.stderr and "line 1" in wrong.stderr


def test_routes_and_a_test_message(cli: Cli, tmp_path: Path) -> None:
    received, path = Received(), tmp_path / "routes.yaml"
    try:
        path.write_text(f"routes: [{{name: hook, webhook: {{url: '{received.url}/secret'}}}}]")
        listed = cli("alert", "routes", "--alert-routes", str(path)).stdout
        assert "hook" in listed and "secret" not in listed
        sent = cli("alert", "test", "hook", "--alert-routes", str(path))
        assert sent.exit_code == 0, sent.output
        assert [body["status"] for body in received.bodies] == ["firing", "resolved"]
        received.status = 500
        failed = cli("alert", "test", "hook", "--alert-routes", str(path))
        assert failed.exit_code != 0 and "E5183" in failed.stderr and "500" in failed.stderr
        assert "E5184" in cli("alert", "test", "other", "--alert-routes", str(path)).stderr
    finally:
        received.close()
