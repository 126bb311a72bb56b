"""`replicator agent` as a process, over a real ZooKeeper: it reports, is missed when it is killed, and not when it ends
on purpose."""

from __future__ import annotations

import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from monitor.snapshot_history import SnapshotHistory
from monitor.snapshot_reader import SnapshotReader
from monitor.view import MachineView
from monitor.view_builder import build
from replicator.coordination.layout import Layout
from replicator.coordination.logs.processes import processes
from replicator.zookeeper.client import ZookeeperCoordinator, connect
from tests.support.waiting import eventually

pytestmark = pytest.mark.servers
REPLICATOR = str(Path(sys.executable).with_name("replicator"))
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def root() -> str:
    return f"/agent-{uuid.uuid4().hex}"


@pytest.fixture
def coordinator(zookeeper: Any) -> Iterator[ZookeeperCoordinator]:
    made = connect(zookeeper.hosts)
    yield made
    made.close()


@pytest.fixture
def start(zookeeper: Any, root: str) -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def starting(*more: str, host: str = "db-1") -> subprocess.Popen[str]:
        command = [REPLICATOR, "agent", "--zookeeper", zookeeper.hosts, "--root", root, "--host", host]
        command += ["--session-timeout", "2", "--role", "mysql", *more]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield starting
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=10)


class Eye:
    """What a Monitor shows that was started just now."""

    def __init__(self, coordinator: ZookeeperCoordinator, root: str) -> None:
        self._coordinator, self._root = coordinator, root

    def machine(self, host: str = "db-1") -> MachineView | None:
        reader = SnapshotReader(self._coordinator, Layout(self._root))
        view = build(reader.read(), SnapshotHistory(), self._root)
        return next((machine for machine in view.machines if machine.host == host), None)

    def state(self) -> str:
        machine = self.machine()
        return machine.state if machine is not None else ""


def up(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def test_it_reports_and_is_missed_when_it_is_killed(start: Start, coordinator: ZookeeperCoordinator, root: str) -> None:
    eye = Eye(coordinator, root)
    process = start()
    assert up(process).startswith(f"agent db-1: up, pid {process.pid}, zookeeper ")
    eventually(lambda: (eye.machine() or pytest.fail("it is not there")).cpu is not None)
    machine = eye.machine()
    assert machine is not None
    assert (machine.state, machine.role, machine.expected) == ("online", "mysql", "learned")
    assert machine.cores > 0 and machine.memory_total_bytes > 0 and machine.disks and machine.booted_ms > 0
    assert machine.received_per_s is not None
    (found,) = processes(coordinator, Layout(root))
    assert (found.kind, found.name, found.pid) == ("agent", "db-1", process.pid)

    process.kill()
    process.wait(10)
    eventually(lambda: eye.state() == "offline")

    again = start()
    up(again)
    eventually(lambda: eye.state() == "online")


def test_it_ends_on_purpose_and_comes_back(start: Start, coordinator: ZookeeperCoordinator, root: str) -> None:
    eye = Eye(coordinator, root)
    process = start()
    up(process)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=15)
    assert process.returncode == 0 and "Traceback" not in err
    assert eye.state() == "stopped"
    again = start()
    up(again)
    eventually(lambda: eye.state() == "online")
    again.kill()
    again.wait(10)
    eventually(lambda: eye.state() == "offline")


def test_a_second_agent_of_a_living_one_ends_with_an_error(start: Start) -> None:
    up(start())
    second = start()
    _, err = second.communicate(timeout=30)
    assert second.returncode == 1 and "E5002" in err


def test_a_role_of_the_bus_is_refused(start: Start) -> None:
    process = start("--role", "core")
    assert process.wait(10) == 2
