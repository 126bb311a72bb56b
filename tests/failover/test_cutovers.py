"""Cut-overs under load: tasks of one source stop at one position, or all of them go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from dev import plain_http
from dev.checker import consumer
from dev.cluster import wait_for
from dev.servers import MySQL
from replicator.coordination.overview import TaskOverview
from tests.failover.bus import Bus

pytestmark = pytest.mark.timeout(180)
MakeBus = Callable[..., Bus]


def add_second(bus: Bus, **settings: Any) -> str:
    """Another task of the same source, to other topics."""
    name = f"{bus.name}_b"
    bus.cluster.start_server()
    bus.cluster.apply(bus.task | {"name": name, "sink": bus.task["sink"] | {"topic": f"{name}.{{table}}"}} | settings)
    wait_for(lambda: look(bus, name).state == "running", f"{name} running", 40)
    wait_for(lambda: look(bus, name).checkpoint is not None, f"{name} delivers", 40)
    return name


def look(bus: Bus, name: str) -> TaskOverview:
    return bus.overview.task(name)


def numbers(bus: Bus, topic: str) -> set[tuple[int, int]]:
    records = consumer.read_topics(bus.kafka.address, lambda found: found == topic)
    return {(seen.key, seen.counter) for seen in consumer.seen(records)}


def test_135_tasks_of_one_source_stop_at_one_position_under_load(
    make_bus: MakeBus, make_mysql: Callable[..., MySQL]
) -> None:
    """The source is new: one task reads its log from the beginning."""
    bus = make_bus("host-a", "host-b", database=make_mysql())
    second = add_second(bus, source=bus.task["source"] | {"start": "earliest"})
    bus.wait_delivered(30)
    bus.cluster.cli("task", "cutover", bus.name, second, "--timeout", "30")
    ones, others = look(bus, bus.name), look(bus, second)
    assert (ones.state, others.state) == ("paused", "paused")
    assert ones.checkpoint is not None and others.checkpoint is not None
    assert ones.checkpoint.position.gtid == others.checkpoint.position.gtid != ""
    assert ones.checkpoint.position.order == others.checkpoint.position.order
    assert numbers(bus, f"{bus.topics}hot_item") == numbers(bus, f"{second}.hot_item")
    bus.cluster.cli("task", "resume", bus.name, second, "--wait")
    bus.wait_delivered(30)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)


def test_136_a_party_without_a_core_lets_the_others_go_on(make_bus: MakeBus) -> None:
    """The only Core of one task is killed as the cut-over begins: the other task is stopped and goes on."""
    bus = make_bus("host-a")
    bus.cluster.core("host-b", "--group", "cold", "--capacity", "10")
    second = add_second(bus, group="cold", standbys=0)
    bus.cluster.cores["host-b"].kill()
    login = {"Authorization": f"Bearer {bus.cluster.token}"}
    url = f"{bus.cluster.server_url}/api/v1/cutovers"
    begun = httpx.post(url, json={"tasks": [bus.name, second], "timeout_s": 5}, headers=login, timeout=30).json()

    def over() -> dict[str, Any] | None:
        found: dict[str, Any] = plain_http.get(f"{url}/{begun['id']}", headers=login).json()
        return found if found["phase"] in ("reached", "failed") else None

    found = wait_for(over, "the end of the cut-over", 40)
    assert (found["phase"], found["code"]) == ("failed", "E5152") and second in found["found"]
    bus.wait_running()
    bus.wait_delivered(30)
    assert look(bus, second).desired == "running"
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)


def test_137_a_locked_source_outlives_servers_and_cores(make_bus: MakeBus) -> None:
    """Tasks pause under load while their source is locked; the Server and the RUNNING Core are killed meanwhile."""
    bus = make_bus("host-a", "host-b")
    source = f"{bus.database.host}:{bus.database.port}"
    bus.cluster.cli("source", "lock", source, "--reason", "new disks", "--wait", "30s")
    locked = look(bus, bus.name)
    assert (locked.state, locked.desired) == ("paused", "running")
    assert "E5160" in [problem["code"] for problem in locked.problems]
    assert bus.cluster.server is not None
    bus.cluster.server.kill()
    bus.cluster.cores[locked.host].kill()
    wait_for(lambda: look(bus, bus.name).host not in ("", locked.host), "another host leads", 40)
    wait_for(lambda: look(bus, bus.name).state == "paused", "paused there, too", 40)
    after = look(bus, bus.name).checkpoint
    assert after is not None and locked.checkpoint is not None
    assert after.position == locked.checkpoint.position, "nothing was read meanwhile"
    bus.cluster.start_server()
    bus.cluster.cli("source", "unlock", source)
    bus.wait_running(other_than=locked.host)
    bus.wait_delivered(30)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)
