"""`replicator run` of a task that runs on a bus: both go on, each with its own reader, transactions and position."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from dev.checker.consumer import read_topics
from dev.cluster import CLI
from dev.servers import MySQL
from replicator.coordination.tasks.history import History
from tests.failover.bus import Bus

pytestmark = pytest.mark.timeout(240)
MakeBus = Callable[..., Bus]


def run(bus: Bus, task: dict[str, Any], *arguments: str) -> subprocess.CompletedProcess[str]:
    """To the end of the log as it is now."""
    path = bus.cluster.folder / "run.json"
    path.write_text(json.dumps(task))
    return subprocess.run(
        [str(CLI), "run", "-f", str(path), "--until-current", *arguments],
        env={**os.environ, "XDG_STATE_HOME": str(bus.cluster.folder / "state")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_82_a_run_does_not_disturb_the_task_of_its_name_on_a_bus(
    make_bus: MakeBus, make_mysql: Callable[..., MySQL]
) -> None:
    """On a server of its own, whose log begins with its first transaction: `earliest` inside another test's XA
    transaction would be refused."""
    bus = make_bus(database=make_mysql())
    before = bus.look()
    own = f"beside.{bus.name}"
    task = {**bus.task, "source": {**bus.task["source"], "start": "earliest"}}
    task["sink"] = {**bus.task["sink"], "topic": own}
    seen = run(bus, task, "--sink", "stdout")
    assert seen.returncode == 0 and seen.stdout, seen.stderr
    bus.wait_delivered(20)
    refused = run(bus, {**task, "source": {**task["source"], "start": "latest"}})
    assert refused.returncode == 1 and "E3109" in refused.stderr, "where it begins is to be said"
    done = run(bus, task)
    assert done.returncode == 0, done.stderr
    bus.wait_delivered(20)
    assert run(bus, task).returncode == 0
    bus.wait_delivered(20)
    after = bus.look()
    assert (after.state, after.epoch, after.host) == ("running", before.epoch, before.host)
    kinds = {entry.record.kind for entry in History(bus.coordinator, bus.layout).read(bus.name)}
    assert not kinds & {"failed", "lost", "fenced", "gave up"}, bus.logs()
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)
    records = read_topics(bus.task["sink"]["bootstrap_servers"][0], lambda topic: topic == own)
    places = [(dict(one.headers)["position"], dict(one.headers)["row"], one.key, one.value) for one in records]
    assert places and len(places) == len(set(places)), "each once, over two runs and one to the terminal before them"
