"""One task is spoilt: it says why, the other one goes on, and once mended it loses nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from dev import plain_http
from dev.cluster import wait_for
from dev.servers import ZooKeeper
from dev.servers.ports import free_port
from replicator.zookeeper.client import connect
from tests.integration.bad_input.bus import Bus
from tests.integration.bad_input.command import Replicator

GARBAGE = b"\xff{not json"


def test_a_task_node_that_holds_garbage(bus: Bus, zookeeper: ZooKeeper) -> None:
    """The running task goes on with the configuration it has; after a restart it has none, and stands. One that never
    had any other stands, too."""
    spoilt, other = bus.tasks
    coordinator = connect(zookeeper.address)
    try:
        coordinator.set(bus.layout.task(spoilt.name), GARBAGE)
        coordinator.create(bus.layout.task("born_bad"), GARBAGE)
    finally:
        coordinator.close()
    assert "Write the configuration again" in bus.problem("born_bad", "E4009")["fix"]
    bus.problem(spoilt.name, "E4009")
    for task in bus.tasks:
        task.insert()
        task.wait_delivered()
    assert bus.cluster.cores["host-a"].terminate() == 0
    for task in bus.tasks:
        task.insert()
    before = spoilt.committed[:-1]
    bus.cluster.core("host-a")
    other.wait_delivered()
    bus.problem(spoilt.name, "E4009")
    assert spoilt.delivered() == before
    assert "unconfigured E4009" in bus.cli("get", "born_bad").ok().out
    assert bus.cli("describe", "born_bad").ok().out.count("E4009") == 2, "of the state and of the problem"
    bus.apply(spoilt).ok()
    bus.cli("wait", spoilt.name, "--for", "running").ok()
    spoilt.wait_delivered()
    assert bus.core_log().count("E4009") < 12, bus.core_log()


def test_a_task_that_fails(bus: Bus, tmp_path: Path) -> None:
    """A wrong password reaches the running task by its configuration; the remedy is a corrected file and `task retry`,
    or a corrected configuration."""
    spoilt, other = bus.tasks
    secret = tmp_path / "password"
    secret.write_text("not this one")
    secret.chmod(0o600)
    spoilt.config["source"]["password"] = f"file:{secret}"
    bus.apply(spoilt).ok()
    error = bus.problem(spoilt.name, "E2101")
    assert "replicator" in error["what"]
    bus.cli("wait", spoilt.name, "--timeout", "20").refused("E5007", "E2101", status=4)
    for task in bus.tasks:
        task.insert()
    other.wait_delivered()
    for command in ("get", "describe"):
        assert "E2101" in bus.cli(command, spoilt.name).ok().out
    secret.write_text("replicator")
    bus.cli("retry", spoilt.name).ok()
    bus.cli("wait", spoilt.name, "--for", "running").ok()
    spoilt.insert()
    spoilt.wait_delivered()


def test_a_file_that_is_not_the_tasks(bus: Bus) -> None:
    """A foreign file, and the file of a task that was deleted and made again: refused, as they were, and nothing of
    them is told by log, API or Monitor."""
    spoilt = bus.tasks[0]
    foreign = spoilt.output.with_name("foreign")
    foreign.write_text("root:the content of a foreign file" * 3)
    spoilt.config["sink"]["path"] = str(foreign)
    bus.apply(spoilt).ok()
    problem = bus.problem(spoilt.name, "E3203")
    assert str(foreign) in problem["what"] and ".position" in problem["fix"]
    assert foreign.read_text() == "root:the content of a foreign file" * 3
    bus.cluster.start_monitor()
    pages = [plain_http.get(f"{bus.cluster.monitor_url}/{each}").text for each in ("", "api/state", "metrics")]
    told = [*pages, bus.core_log(), str(bus.get(f"tasks/{spoilt.name}")), bus.cli("describe", spoilt.name).out]
    assert "E3203" in "".join(told) and not any("root:" in each for each in told)
    spoilt.config["sink"]["path"] = str(spoilt.output)
    delivered = spoilt.output.read_bytes()
    bus.cli("delete", spoilt.name, "--yes").ok()
    bus.apply(spoilt).ok()
    bus.problem(spoilt.name, "E3203")
    assert spoilt.output.read_bytes() == delivered
    for name in (spoilt.output.name, f"{spoilt.output.name}.position"):
        spoilt.output.with_name(name).rename(spoilt.output.with_name(f"old.{name}"))
    spoilt.committed.clear()
    bus.cli("retry", spoilt.name).ok()
    bus.cli("wait", spoilt.name, "--for", "running").ok()
    for task in bus.tasks:
        task.insert()
        task.wait_delivered()


def test_zookeeper_is_down_at_the_start(
    make_bus: Callable[[ZooKeeper], Bus], make_zookeeper: Callable[..., ZooKeeper]
) -> None:
    zookeeper = make_zookeeper()
    zookeeper.stop()
    bus = make_bus(zookeeper)
    bus.start_without_zookeeper()
    wait_for(lambda: "E4001" in bus.core_log(), "the Core to say so", 20)
    bus.cli("get").refused("E4001", "Fix: Check that ZooKeeper runs", status=5)
    assert plain_http.get(f"{bus.cluster.monitor_url}/healthz").status_code == 200
    assert plain_http.get(f"{bus.cluster.monitor_url}/healthz/ready").status_code == 503
    time.sleep(2)
    for process in (bus.cluster.cores["host-a"], bus.cluster.server, bus.cluster.monitor):
        assert process is not None and process.running
        assert len(process.tail(1000).splitlines()) < 12, process.tail(1000)
    zookeeper.start()
    wait_for(lambda: bus.cli("get").status == 0, "the Server to find it", 30)
    bus.run_all()
    wait_for(lambda: plain_http.get(f"{bus.cluster.monitor_url}/healthz/ready").status_code == 200, "the Monitor", 20)


def test_two_cores_of_one_name(bus: Bus) -> None:
    """Both stay visible, and the second can take over."""
    bus.cluster.cores["first"] = bus.cluster.cores["host-a"]
    log = bus.core_log()
    second = bus.cluster.core("host-a")  # appends to the same log
    said = wait_for(lambda: "E5002" in bus.core_log()[len(log) :] and bus.core_log()[len(log) :], "E5002", 30)
    assert "host-a~" in said
    hosts = wait_for(lambda: len(found := bus.get("machines")["items"]) == 2 and found, "both machines", 20)
    names = sorted(str(machine["host"]) for machine in hosts)
    assert names[0] == "host-a" and names[1].startswith("host-a~"), names
    assert bus.cluster.cores["first"].terminate() == 0
    for task in bus.tasks:
        task.insert()
        task.wait_delivered()
    assert second.running


@pytest.mark.parametrize("command", ["server", "monitor"])
def test_a_port_that_is_in_use(bus: Bus, zookeeper: ZooKeeper, command: str) -> None:
    taken = bus.cluster.server_url.removeprefix("http://")
    ended = bus.replicator(command, "--zookeeper", zookeeper.address, "--listen", taken)
    ended.refused("E5001", taken, "Fix: Choose another --listen")
    bus.cli("get").ok()


@pytest.mark.parametrize("listen", ["nowhere", "127.0.0.1:99999", "192.0.2.1:8080"])
@pytest.mark.parametrize("command", ["server", "monitor"])
def test_an_address_that_cannot_be_listened_on(replicator: Replicator, command: str, listen: str) -> None:
    zookeeper = f"127.0.0.1:{free_port()}"
    replicator(command, "--zookeeper", zookeeper, "--listen", listen).refused("E5012", listen, "--listen")


def test_interrupts(bus: Bus, zookeeper: ZooKeeper) -> None:
    """Ctrl-C of whoever watches or waits, and of each process while it serves."""
    name = bus.tasks[0].name
    watching = bus.replicator.start("task", "get", "-w")
    wait_for(lambda: name in watching.out, "the table", 20)
    assert watching.interrupt().status == 130
    waiting = bus.replicator.start("task", "wait", name, "--for", "paused")
    time.sleep(1.5)
    assert waiting.interrupt().status == 130
    for command in ("server", "monitor", "core"):
        options = ["--zookeeper", zookeeper.address, "--root", bus.layout.root]
        options += ["--host", "interrupted"] if command == "core" else ["--listen", "127.0.0.1:0"]
        process = bus.replicator.start(command, *options)
        wait_for(partial(getattr, process, "out"), f"{command} to print that it is up", 30)
        assert process.interrupt().status == 0
    for task in bus.tasks:
        task.insert()
        task.wait_delivered()
