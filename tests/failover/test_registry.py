"""A schema registry that only one of two hosts reaches, or none."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

import pytest

from dev.cluster import wait_for
from dev.faults.island import Island
from dev.faults.proxy import Proxy
from dev.servers import Kafka, MySQL, Registry, ZooKeeper
from replicator.coordination.tasks.history import History
from tests.failover.bus import Bus
from tests.failover.shown import at, calm, shows

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root"),
]


@pytest.fixture
def island(zookeeper: ZooKeeper, kafka: Kafka, mysql: MySQL, registry: Registry) -> Iterator[Island]:
    doors = {"zookeeper": zookeeper.port, "kafka": kafka.port, "mysql": mysql.port, "registry": registry.port}
    with Island(doors) as island:
        yield island


def test_60_a_registry_that_only_the_standby_reaches_makes_it_lead(
    island: Island, registry: Registry, make_bus: Callable[..., Bus]
) -> None:
    """It is missed with the first row of a schema that it does not know yet; what comes before is delivered."""
    avro = {"converter": "avro", "schema_registry": {"url": registry.url, "timeout_s": 1}}
    bus = make_bus(
        "host-a",
        how={"host-a": {"prefix": island.enter}},
        sink={"debezium": avro},
        settings={"hand_over_after_s": 2},
    )
    bus.cluster.core("host-b")
    bus.wait_standby("host-b")
    island.doors["registry"].refuse()
    bus.database.execute(f"CREATE TABLE {bus.name}.extra (id INT PRIMARY KEY)")
    bus.database.execute(f"INSERT INTO {bus.name}.extra VALUES (1), (2)")
    bus.wait_running(other_than="host-a", timeout=60)
    wait_for(lambda: len(bus.records("extra")) == 2, "rows with the new schema", 40, every=0.5)
    bus.wait_delivered(20)
    gave_up = [e.record for e in History(bus.coordinator, bus.layout).read(bus.name) if e.record.kind == "gave up"]
    assert len(gave_up) == 1 and "registry" in gave_up[0].reason, gave_up
    island.doors["registry"].pass_()
    bus.wait_standby("host-a")


def test_60_an_outage_of_the_registry_is_shown(registry: Registry, make_bus: Callable[..., Bus]) -> None:
    """In every output, with its code and what it means, while the rows that need no new schema were delivered."""
    with Proxy(registry.port) as way:
        url = registry.url.replace(f":{registry.port}/", f":{way.port}/")
        avro = {"converter": "avro", "schema_registry": {"url": url, "timeout_s": 1}}
        bus = make_bus("host-a", sink={"debezium": avro}, first_rows=1)
        bus.writer.stop()
        bus.cluster.start_server()
        bus.cluster.start_monitor()
        calm(bus, bus.name)
        way.refuse()
        bus.database.execute(f"CREATE TABLE {bus.name}.extra (id INT PRIMARY KEY)")
        bus.database.execute(f"INSERT INTO {bus.name}.extra VALUES (1)")
        began = time.monotonic()
        at(began, 5)
        shows(
            bus,
            bus.name,
            lambda shown: shown.check_lag(began),
            lambda shown: shown.check_retrying("registry", "E330"),
        )
        way.pass_()
        calm(bus, bus.name)
