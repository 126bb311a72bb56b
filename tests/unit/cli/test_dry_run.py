"""`--dry-run` of pause, resume, retry and restart: checked by the Server, nothing is changed."""

from __future__ import annotations

from replicator.coordination.tasks.commands import Commands
from tests.support.api import TASK, World
from tests.unit.cli.conftest import Cli

NAME = "copy_hot_item"


def test_dry_runs(cli: Cli, world: World) -> None:
    made = world
    assert made.http.post("/tasks", content=TASK).status_code == 201
    core = made.core("host-a").stand(NAME, "running")
    assert cli("task", "pause", NAME, "--dry-run").stdout == f"{NAME} running on host-a, would be paused (dry run)\n"
    assert (
        cli("task", "restart", NAME, "--dry-run").stdout == f"{NAME} running on host-a, would be restarted (dry run)\n"
    )
    assert cli("task", "retry", NAME, "--dry-run").exit_code == 4, "it has not failed"
    assert made.http.get(f"/tasks/{NAME}").json()["desired"] == "running"
    core.stand(NAME, "failed", error={"code": "E2206", "what": "purged"})
    assert cli("task", "retry", NAME, "--dry-run").stdout == f"{NAME} failed on host-a, would be retried (dry run)\n"
    assert cli("task", "resume", NAME, "--dry-run").exit_code == 0
    assert cli("task", "pause", NAME, "--dry-run", "--maintenance").exit_code == 2
    assert Commands(made.bus.coordinator, made.bus.layout).pending(NAME) == []
