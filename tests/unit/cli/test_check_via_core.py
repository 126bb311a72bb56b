"""`replicator check NAME --via-core`, and what `task describe` shows of the last check."""

from __future__ import annotations

import json
import threading

import pytest

from replicator.coordination.records import HistoryRecord
from replicator.coordination.tasks.commands import Commands
from replicator.coordination.tasks.history import History
from tests.support.api import TASK, FakeCore, World
from tests.support.waiting import eventually
from tests.unit.cli.conftest import Cli
from tests.unit.server.test_checks import checked
from tests.unit.server.test_tasks import NAME


@pytest.fixture
def core(world: World) -> FakeCore:
    world.http.post("/tasks", content=TASK)
    return world.core("core-a").stand(NAME, "running")


def obey(world: World, core: FakeCore, *, old: bool = False) -> threading.Thread:
    """A Core that checks, or one of a release that can't."""
    commands = Commands(world.bus.coordinator, world.bus.layout)

    def run() -> None:
        (pending,) = eventually(lambda: commands.pending(NAME))
        if old:
            reason = "unknown command 'check'"
            record = HistoryRecord(kind="refused", time_ms=1, host="core-a", reason=reason)
            History(world.bus.coordinator, world.bus.layout).append(NAME, record)
        else:
            checked(world, core, pending.record.id if pending.record else "")
        commands.complete(pending.path)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_findings_of_the_core_are_shown(cli: Cli, world: World, core: FakeCore) -> None:
    thread = obey(world, core)
    found = cli("check", NAME, "--via-core")
    thread.join()
    assert found.exit_code == 11
    assert "FAIL  source.binlog_format" in found.stdout and "fix: SET GLOBAL binlog_format" in found.stdout
    assert found.stdout.splitlines()[-1] == f"{NAME} can't run: 1 ok, 1 warn, 1 fail"
    thread = obey(world, core)
    document = json.loads(cli("check", NAME, "--via-core", "-o", "json").stdout)
    thread.join()
    assert document["result"] == "fail" and len(document["findings"]) == 3


def test_a_core_of_an_earlier_release(cli: Cli, world: World, core: FakeCore) -> None:
    thread = obey(world, core, old=True)
    found = cli("check", NAME, "--via-core")
    thread.join()
    assert found.exit_code == 4 and "can't check it" in found.stderr and "replicator check -f" in found.stderr


def test_no_answer(cli: Cli, world: World, core: FakeCore) -> None:
    found = cli("check", NAME, "--via-core", "--timeout", "0")
    assert found.exit_code == 7 and "E5009" in found.stderr


def test_describe_names_the_worst(cli: Cli, world: World, core: FakeCore) -> None:
    assert "Checked:" not in cli("task", "describe", NAME).stdout
    checked(world, core)
    text = cli("task", "describe", NAME).stdout
    assert "Checked:     can't run, " in text
    assert "1 fail, 1 warn, 1 ok; source.binlog_format: STATEMENT" in " ".join(text.split())


@pytest.mark.parametrize("given", [[NAME], ["--via-core"], [NAME, "--via-core", "--security"]])
def test_what_does_not_go_together(cli: Cli, core: FakeCore, given: list[str]) -> None:
    found = cli("check", *given)
    assert found.exit_code == 2 and "NAME and --via-core together" in found.stderr
