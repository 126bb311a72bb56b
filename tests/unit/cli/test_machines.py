"""`machines`, `top` and `task restart`, over the API in memory."""

from __future__ import annotations

import json
import threading

import pytest

from replicator.cli import top
from replicator.cli.task.watch import Feed, Screen
from replicator.cli.terminal import cells
from replicator.coordination.clock import now_ms
from replicator.coordination.machines.expected import ExpectedMachines
from replicator.coordination.machines.stopped import StoppedCores
from replicator.coordination.records import HistoryRecord
from replicator.coordination.tasks.commands import Commands
from replicator.coordination.tasks.history import History
from tests.support.api import TASK, World
from tests.support.waiting import eventually
from tests.unit.cli.conftest import Cli

NAME = "copy_hot_item"


@pytest.fixture
def made(world: World) -> World:
    world.http.post("/tasks", content=TASK)
    return world


@pytest.fixture
def running(made: World) -> World:
    made.core("host-a").stand(NAME, "running", rows_per_s=340.0, lag_s=45.0)
    made.core("host-b").stand(NAME, "standby")
    return made


def test_machines(cli: Cli, running: World) -> None:
    head, first, second = cli("machines").stdout.splitlines()
    assert head.split()[:6] == ["HOST", "STATE", "ROLE", "RUNNING", "STANDBY", "OTHER"]
    assert first.split()[:6] == ["host-a", "online", "core", "1", "0", "0"]
    assert second.split()[3:6] == ["0", "1", "0"]
    assert f"{NAME}=standby" in cli("machines", "-o", "wide").stdout
    assert cli("machines", "-o", "name").stdout == "host-a\nhost-b\n"
    items = json.loads(cli("machines", "-o", "json").stdout)["items"]
    assert [item["tasks"] for item in items] == [{NAME: "running"}, {NAME: "standby"}]


def test_no_machine_is_an_answer(cli: Cli, made: World) -> None:
    result = cli("machines")
    assert (result.exit_code, result.stdout) == (0, "") and "No machine is online or expected" in result.stderr


def test_a_machine_whose_report_is_not_understood(cli: Cli, running: World) -> None:
    core = running.core("host-c")
    core.coordinator.create(running.bus.layout.machine("host-c"), b"\xff", ephemeral=True)
    assert cli("machines").stdout.splitlines()[3].split()[:7] == ["host-c", "online", "-", "0", "0", "0", "-"]


def test_top_in_a_pipe_is_one_table(cli: Cli, running: World) -> None:
    running.http.post("/tasks", content=TASK.replace(NAME, "second"))
    lines = cli("top").stdout.splitlines()
    assert lines[0] == f"2 tasks: 1 running, 1 absent; 2 machines; 340 rows/s; worst lag 45s ({NAME})"
    assert [line.split()[0] for line in lines[2:]] == ["NAME", "second", NAME]
    assert [line.split()[0] for line in cli("top", "--sort", "lag").stdout.splitlines()[3:]] == [NAME, "second"]
    assert cli("top", "nobody").exit_code == 3


def item(name: str, state: str, **more: object) -> dict[str, object]:
    return {
        "name": name, "state": state, "desired": "running", "config": {}, "problems": [], "host": "h", "standbys": [],
        "lag_s": 0.0, "rows_per_s": 0.0, **more,
    }  # fmt: skip


def test_trouble_comes_first_then_lag() -> None:
    items = [
        item("a", "running"), item("b", "running", lag_s=90.0), item("c", "running", lag_s=None),
        item("d", "failed"), item("e", "running", lag_s=0.4), item("f", "paused", desired="paused", lag_s=None),
    ]  # fmt: skip
    assert "".join(str(one["name"]) for one in top.ordered(items, "trouble")) == "dcbaef"


def test_a_small_screen_shows_the_worst_and_counts_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replicator.cli.terminal.width", lambda: 30)
    items = [item(f"task_{number}", "running") for number in range(9)] + [item("bad", "failed")]
    feed = Feed(lambda: items)
    feed.ask()
    screen = Screen(
        "http://server", lambda found: top._rows(found, "trouble"), lambda found: [top.summary(found, []), ""],
        order=lambda found: top.ordered(found, "trouble"),
    )  # fmt: skip
    lines = screen.text(feed, silent=False, lines=8).splitlines()
    assert len(lines) == 7 and max(map(cells, lines)) <= 30
    assert lines[2].startswith("NAME") and lines[3].startswith("bad") and lines[-1] == "and 7 more: 7 running"


def test_restart_waits_for_its_outcome(cli: Cli, running: World) -> None:
    bus = running.bus
    commands, history = Commands(bus.coordinator, bus.layout), History(bus.coordinator, bus.layout)

    def obey(kind: str, reason: str) -> None:
        (pending,) = eventually(lambda: commands.pending(NAME))
        commands.complete(pending.path)
        history.append(NAME, HistoryRecord(kind=kind, time_ms=now_ms(), reason=reason))

    for kind, reason, status in (("restart", "", 0), ("refused", "restart: the task is paused", 4)):
        thread = threading.Thread(target=obey, args=(kind, reason))
        thread.start()
        result = cli("task", "restart", NAME)
        thread.join()
        assert result.exit_code == status, result.stderr
    assert cli("task", "restart", NAME, "--timeout", "0.1").exit_code == 7
    assert cli("task", "restart", NAME, "--no-wait").stdout == f"{NAME} restarting\n"


def test_only_a_task_with_a_worker_is_restarted(cli: Cli, made: World) -> None:
    result = cli("task", "restart", NAME)
    assert result.exit_code == 4 and "has no worker to restart" in result.stderr
    made.core("host-a").stand(NAME, "failed", error={"code": "E2101", "what": "wrong password"})
    assert f"`replicator task retry {NAME}`" in cli("task", "restart", NAME).stderr


def test_a_machine_that_never_came_is_offline_until_it_is_forgotten(cli: Cli, running: World) -> None:
    assert cli("machine", "expect", "host/x", "--reason", "rack b").stdout == "host/x: is expected, offline\n"
    row = cli("machine", "get").stdout.splitlines()[3]
    assert row.split()[:2] == ["host/x", "offline"]
    assert "2 machines, 1 offline" in cli("top").stdout
    told = cli("machine", "describe", "host/x").stdout
    assert "offline" in told and "rack b (version 0)" in told
    assert cli("machine", "expect", "host/x", "--version", "3").exit_code == 4
    assert cli("machine", "unexpect", "host/x", "--version", "3").exit_code == 4
    assert cli("machine", "unexpect", "host/x", "--version", "0").exit_code == 0
    gone = cli("machine", "unexpect", "host/x")
    assert gone.exit_code == 3 and "E5123" in gone.stderr
    assert cli("machine", "describe", "host/x").exit_code == 3
    audit = json.loads(cli("audit", "-o", "json").stdout)["items"]
    assert [(one["operation"], one["target"]) for one in audit if "xpect" in one["operation"] and not one["code"]] == [
        ("expectMachine", "host/x"),
        ("unexpectMachine", "host/x"),
    ]


def test_a_machine_that_is_online_is_not_forgotten(cli: Cli, running: World) -> None:
    refused = cli("machine", "unexpect", "host-a")
    assert refused.exit_code == 4 and "E5124" in refused.stderr


def test_the_name_of_a_second_process_is_not_expected(cli: Cli, running: World) -> None:
    for name in ("host~1234", " ", "x" * 201, "a\nb"):
        assert "E1003" in cli("machine", "expect", name).stderr


def test_a_core_that_has_ended_on_purpose_is_stopped_and_one_that_has_not_is_offline(cli: Cli, running: World) -> None:
    layout, admin = running.bus.layout, running.bus.coordinator
    for host in ("host-c", "host-d"):
        ExpectedMachines(admin, layout).learn(host)
    StoppedCores(admin, layout).record("host-d", "p")
    states = {item["name"]: item["state"] for item in json.loads(cli("machine", "get", "-o", "json").stdout)["items"]}
    assert states == {"host-a": "online", "host-b": "online", "host-c": "offline", "host-d": "stopped"}
    assert cli("machine", "unexpect", "host-d").exit_code == 0
    assert "host-d" not in cli("machine", "get").stdout, "with the record of its end"
