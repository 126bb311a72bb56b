"""`replicator ddns`, over the API in memory."""

from __future__ import annotations

import json

import pytest

from replicator.cli.ddns.changes import watch_changes
from replicator.cli.ddns.resolution import with_addresses
from replicator.cli.task.client import Client
from replicator.config.load import load_task
from replicator.coordination.addresses.book import AddressBook
from replicator.coordination.records import AddressFigures, ProbeRecord
from replicator.errors import ReplicatorError
from tests.support.api import TASK, TOKEN, World
from tests.unit.cli.conftest import Cli

NAME = "copy_hot_item"
WITH_ADDRESS = TASK.replace("  host: 127.0.0.1\n  port: 3306\n", "  address: ddns:shop/orders\n")
ERROR = {
    "code": "E4105",
    "what": "not connected",
    "found": "E2209 lacks u:1-5",
    "wanted": "",
    "fix": "",
    "position": "",
}


def book(world: World) -> AddressBook:
    return AddressBook(world.bus.coordinator, world.bus.layout)


def refused(world: World) -> None:
    world.http.post("/tasks", content=WITH_ADDRESS)
    figure = AddressFigures(
        section="source", name="shop/orders", wanted="db1:3306", in_use="db0:3306", since_ms=1, error=ERROR
    )
    world.core("host-a").stand(NAME, "running", addresses=[figure])


def test_set_get_ls_delete(cli: Cli, world: World) -> None:
    assert "is empty" in cli("ddns", "ls").stderr
    assert cli("ddns", "get", "shop/orders").exit_code == 3
    result = cli("ddns", "set", "shop/orders", "db1:3306", "--role", "replica", "--reason", "new")
    assert (result.exit_code, result.stdout) == (0, "") and "shop/orders is db1:3306 (replica)" in result.stderr
    cli("ddns", "set", "ddns:shop/orders", "[2001:db8::7]:3306", "--version", "0")
    assert cli("ddns", "set", "shop/orders", "db3:3306", "--version", "0").exit_code == 4
    shown = cli("ddns", "get", "shop/orders").stdout
    assert "address  [2001:db8::7]:3306" in shown and "db1:3306 (replica)" in shown and ": new" in shown
    assert cli("ddns", "ls", "-o", "name").stdout == "shop/orders\n"
    assert cli("ddns", "ls").stdout.splitlines()[0].split()[:3] == ["NAME", "ADDRESS", "ROLE"]
    assert json.loads(cli("ddns", "get", "shop/orders", "-o", "json").stdout)["version"] == 1
    assert cli("ddns", "delete", "shop/orders").exit_code == 2, "nobody can be asked"
    assert cli("ddns", "delete", "shop/orders", "-y").exit_code == 0
    assert cli("ddns", "delete", "shop/orders", "-y").exit_code == 3


def test_what_is_not_valid(cli: Cli, world: World) -> None:
    for name, address in (("orders", "db1:3306"), ("shop/orders", "db1"), ("shop/../x", "db1:1")):
        result = cli("ddns", "set", name, address)
        assert result.exit_code == 1 and "E4100" in result.stderr, name


def test_one_in_use_names_its_tasks(cli: Cli, world: World) -> None:
    cli("ddns", "set", "shop/orders", "db1:3306")
    world.http.post("/tasks", content=WITH_ADDRESS)
    result = cli("ddns", "delete", "shop/orders", "-y")
    assert result.exit_code == 4 and "E4103" in result.stderr and NAME in result.stderr
    assert "used by" in cli("ddns", "set", "shop/orders", "db2:3306").stderr


def test_a_probe_and_a_damaged_record(cli: Cli, world: World) -> None:
    cli("ddns", "set", "shop/orders", "db1:3306")
    probe = ProbeRecord(address="db1:3306", answers=False, since_ms=1, code="E4108", found="connection refused")
    book(world).note_probe(book(world).names()[0], probe)
    assert "no answer for" in cli("ddns", "get", "shop/orders").stdout
    assert "no answer" in cli("ddns", "ls").stdout
    world.bus.coordinator.set(world.bus.layout.address("shop", "orders"), b"junk")
    assert "E4102" in cli("ddns", "get", "shop/orders").stdout and "E4102" in cli("ddns", "ls").stdout


def test_a_refusal_is_shown_by_get_and_describe(cli: Cli, world: World) -> None:
    cli("ddns", "set", "shop/orders", "db1:3306")
    refused(world)
    assert "(address refused)" in cli("task", "get").stdout
    shown = " ".join(cli("task", "describe", NAME).stdout.split())
    assert "db0:3306 (ddns:shop/orders); db1:3306 refused" in shown and "E2209 lacks u:1-5" in shown
    assert "E4105" in shown


def test_watch_prints_changes_once(world: World, capsys: pytest.CaptureFixture[str], cli: Cli) -> None:
    cli("ddns", "set", "shop/orders", "db1:3306")
    refused(world)

    def change() -> None:
        book(world).set(book(world).names()[0], "db2:3306", "primary", "bob")

    rounds = iter([lambda: None, change, world.bus.coordinator.suspend])
    with Client(world.bus.url, TOKEN) as client:
        watch_changes(client, "shop/orders", 0, wait=lambda _: next(rounds)(), rounds=4)
    text = capsys.readouterr().out
    assert text.count("shop/orders is db1:3306") == 1 and text.count("shop/orders is db2:3306") == 1
    assert text.count("E2209 lacks") == 1 and text.count("E4001") == 1


def test_a_watch_of_what_is_missing(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    with Client(world.bus.url, TOKEN) as client:
        watch_changes(client, "shop/none", 0, wait=lambda _: None, rounds=2)
    assert capsys.readouterr().out.count("E4101") == 1


def test_a_task_file_is_resolved_by_the_server(cli: Cli, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    config = load_task(WITH_ADDRESS)
    with pytest.raises(ReplicatorError) as error:
        with_addresses(config)
    assert error.value.code == "E4101"
    cli("ddns", "set", "shop/orders", "db1:3307")
    found = with_addresses(config)
    assert (found.database.host, found.database.port, found.database.address) == ("db1", 3307, None)
    world.bus.coordinator.set(world.bus.layout.address("shop", "orders"), b"junk")
    with pytest.raises(ReplicatorError) as error:
        with_addresses(config)
    assert error.value.code == "E4102"
    monkeypatch.setenv("REPLICATOR_SERVER", "http://127.0.0.1:1")
    with pytest.raises(ReplicatorError) as error:
        with_addresses(config)
    assert error.value.code == "E4104" and "E5005" in error.value.found
    assert with_addresses(load_task(TASK)) == load_task(TASK), "no Server is asked"
