"""`group`, `machine`, and `task pin`, `unpin` and `move`, over the API in memory."""

from __future__ import annotations

import json

import pytest

from replicator.coordination.groups.drained import Drained
from replicator.coordination.groups.groups import Groups
from replicator.coordination.groups.membership import Membership
from replicator.coordination.ports import Coordinator
from replicator.coordination.tasks.commands import Commands
from replicator.coordination.tasks.history import History
from tests.support.api import TASK, World
from tests.unit.cli.conftest import Cli

NAME, GROUP = "copy_hot_item", "blue"
TEXT = TASK + "group: blue\nstandbys: 0\nweight: 3\n"


class Cores:
    """Members of the group that place tasks, and run none."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.members: dict[str, Membership] = {}
        self.sessions: dict[str, Coordinator] = {}

    def add(self, host: str, capacity: int = 10) -> None:
        layout = self.world.bus.layout
        self.sessions[host] = session = self.world.ensemble.session()
        self.members[host] = Membership(session, layout, GROUP, capacity, lambda: None)
        self.turn()

    def turn(self) -> None:
        for _ in range(3):
            for host, member in self.members.items():
                member.turn(host, host)

    def placed(self) -> dict[str, tuple[str, ...]]:
        self.turn()
        return Groups(self.world.bus.coordinator, self.world.bus.layout).read(GROUP).record.placed


@pytest.fixture
def cores(world: World) -> Cores:
    world.http.post("/tasks", content=TEXT)
    found = Cores(world)
    found.add("core-a")
    return found


def notes(world: World) -> list[str]:
    entries = History(world.bus.coordinator, world.bus.layout).read(NAME)
    return [entry.record.reason for entry in entries if entry.record.kind == "placement"]


def test_group_get_and_describe(cli: Cli, cores: Cores) -> None:
    head, row = cli("group", "get").stdout.splitlines()
    assert head.split() == ["GROUP", "CORES", "TASKS", "WEIGHT", "UNPLACED", "SHORT"]
    assert row.split() == [GROUP, "1", "1", "3", "of", "10", "0", "0"]
    text = cli("group", "describe", GROUP).stdout
    assert "core-a  3 of 10" in text and f"{NAME}" in text and "E4050" not in text
    assert json.loads(cli("group", "get", "-o", "json").stdout)["items"][0]["tasks"][0]["hosts"] == ["core-a"]
    assert cli("group", "get", "-o", "name").stdout == "blue\n"
    assert "placed on core-a" in cli("task", "describe", NAME).stdout
    missing = cli("group", "describe", "green")
    assert missing.exit_code == 3 and "E5120" in missing.stderr


def test_no_group_is_an_answer(cli: Cli, world: World) -> None:
    result = cli("group", "get")
    assert (result.exit_code, result.stdout) == (0, "") and "There is no group" in result.stderr


def test_task_without_room_has_a_problem(cli: Cli, cores: Cores) -> None:
    big = TEXT.replace("weight: 3", "weight: 8").replace(NAME, "big")
    cores.world.http.post("/tasks", content=big)
    assert cores.placed() == {NAME: ("core-a",)}
    assert "E4050" in cli("group", "describe", GROUP).stdout
    described = cli("task", "describe", "big").stdout
    assert "E4050" in described and "placed on no Core" in described
    assert cli("group", "get", "-o", "tsv").stdout.splitlines()[1].split("\t")[4] == "1"
    other = TEXT.replace("blue", "green").replace(NAME, "other")
    cores.world.http.post("/tasks", content=other)
    assert "E4051" in cli("task", "describe", "other").stdout


def test_group_that_has_lost_its_last_core(cli: Cli, cores: Cores) -> None:
    """Nobody is left who would note it in the group's znode."""
    assert "E4051" not in cli("task", "describe", NAME).stdout
    cores.sessions["core-a"].close()
    described = cli("task", "describe", NAME).stdout
    assert "E4051" in described and "placed on no Core" in described
    assert "No Core is online" in cli("group", "describe", GROUP).stdout


def test_pin_move_and_unpin(cli: Cli, cores: Cores) -> None:
    cores.add("core-b")
    assert cli("task", "move", NAME, "--to", "core-b", "--dry-run").stdout == (f"{NAME} core-a -> core-b (dry run)\n")
    assert cores.placed() == {NAME: ("core-a",)}
    assert cli("task", "move", NAME, "--to", "core-b", "--reason", "disk").exit_code == 0
    assert cores.placed() == {NAME: ("core-b",)}
    assert cli("task", "pin", NAME, "--to", "core-a").stdout == f"{NAME} core-b -> core-a\n"
    assert cores.placed() == {NAME: ("core-a",)}
    refused = cli("task", "move", NAME, "--to", "core-b")
    assert refused.exit_code == 4 and "E5121" in refused.stderr
    assert "pinned to core-a" in cli("task", "describe", NAME).stdout
    assert cli("task", "unpin", NAME).exit_code == 0
    assert cores.placed() == {NAME: ("core-a",)}
    assert notes(cores.world) == ["moved to core-b: disk", "pinned to core-a", "unpinned"]


@pytest.mark.parametrize("verb", ["pin", "move"])
def test_host_that_can_not_take_the_task_is_refused(cli: Cli, cores: Cores, verb: str) -> None:
    cores.add("tiny", capacity=2)
    for host in ("tiny", "nobody"):
        refused = cli("task", verb, NAME, "--to", host)
        assert refused.exit_code == 4 and "E5121" in refused.stderr
    Drained(cores.world.bus.coordinator, cores.world.bus.layout).begin("tiny", "", "")
    cores.world.http.post("/tasks", content=TASK.replace(NAME, "plain"))
    assert "E5122" in cli("task", verb, "plain", "--to", "core-a").stderr


def test_rebalance(cli: Cli, cores: Cores) -> None:
    for number in range(2):
        cores.world.http.post("/tasks", content=TEXT.replace(NAME, f"t{number}"))
    cores.turn()
    cores.add("core-b")
    before = cores.placed()
    shown = cli("group", "rebalance", GROUP, "--dry-run").stdout
    assert "core-a -> core-b (dry run)" in shown and cores.placed() == before
    assert cli("group", "rebalance", GROUP).stdout == shown.replace(" (dry run)", "")
    assert sorted(cores.placed().values()) == [("core-a",), ("core-a",), ("core-b",)]
    again = cli("group", "rebalance", GROUP)
    assert again.stdout == "" and "No move" in again.stderr


def test_drain_and_undrain(cli: Cli, cores: Cores) -> None:
    cores.add("core-b")
    core = cores.world.core("core-a").stand(NAME, "running")
    waited = cli("machine", "drain", "core-a", "--reason", "memory", "--timeout", "0")
    assert waited.exit_code == 7 and "E5009" in waited.stderr
    assert cores.placed() == {NAME: ("core-b",)}
    core.leave(NAME)
    done = cli("machine", "drain", "core-a")
    assert done.exit_code == 0 and "has no task" in done.stderr
    assert notes(cores.world) == ["core-a is drained: memory"]
    assert "draining" in cli("group", "describe", GROUP).stdout
    assert cli("machine", "undrain", "core-a").stdout == "core-a: takes tasks again\n"
    assert cores.placed() == {NAME: ("core-b",)}
    unknown = cli("machine", "drain", "core-x")
    assert unknown.exit_code == 3 and "E5123" in unknown.stderr


def test_changes_are_in_the_audit(cli: Cli, cores: Cores) -> None:
    cores.world.core("core-a").stand(NAME, "running")
    cli("machine", "drain", "core-a", "--no-wait", "--reason", "memory")
    cli("group", "rebalance", GROUP)
    cli("task", "pin", NAME, "--to", "core-x")
    items = cores.world.http.get("/audit").json()["items"]
    found = {item["operation"]: item for item in items}
    assert found["drainMachine"]["target"] == "core-a" and found["drainMachine"]["reason"] == "memory"
    assert found["rebalanceGroup"]["target"] == GROUP and found["rebalanceGroup"]["outcome"] == "done"
    assert found["pinTask"]["arguments"]["to"] == "core-x" and found["pinTask"]["outcome"] == "failed"


def test_hot_standby_is_moved_to_by_a_switchover(cli: Cli, cores: Cores) -> None:
    cores.world.http.delete(f"/tasks/{NAME}")
    cores.world.http.post("/tasks", content=TEXT.replace("standbys: 0", "standbys: 1"))
    cores.add("core-b")
    first, second = cores.placed()[NAME]
    cores.world.core(first).stand(NAME, "running")
    cores.world.core(second).stand(NAME, "standby")
    assert cli("task", "move", NAME, "--to", second).exit_code == 0
    assert cores.placed()[NAME] == (second, first)
    pending = Commands(cores.world.bus.coordinator, cores.world.bus.layout).pending(NAME)
    assert [one.record.verb for one in pending if one.record] == ["switchover"]


def test_group_that_can_not_be_read_is_a_problem_of_its_tasks(cli: Cli, cores: Cores) -> None:
    cores.world.bus.coordinator.set(cores.world.bus.layout.group(GROUP), b"nonsense")
    assert "E4009" in cli("task", "describe", NAME).stdout
    assert cli("group", "get").exit_code == 0
