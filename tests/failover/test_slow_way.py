"""A slow path to Kafka: 1.2 MB/s, at which what is in flight takes longer to arrive than a drain waits for nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

from dev.cluster import wait_for
from dev.faults.proxy import Proxy
from dev.servers import Kafka
from dev.servers.ports import free_port
from tests.failover.bus import Bus

pytestmark = pytest.mark.timeout(300)
MakeBus = Callable[..., Bus]


def test_91_sigterm_right_after_an_outage_waits_for_what_is_acknowledged(
    make_bus: MakeBus, make_kafka: Callable[..., Kafka]
) -> None:
    """What was sent and is acknowledged only after the worker is killed would be sent again by the next one."""
    with Proxy(0, port=free_port()) as proxy:
        broker = make_kafka(properties={"advertised.listeners": f"PLAINTEXT://{proxy.address}"})
        proxy.target = broker.port
        bus = make_bus(kafka=broker, rate=20, sink={"delivery": "at_least_once"})
        bus.writer.stop()
        bus.database.execute(f"CREATE TABLE {bus.name}.bulk (id INT PRIMARY KEY, padding VARCHAR(2000))")
        bus.database.execute(f"INSERT INTO {bus.name}.bulk VALUES (0, '')")
        wait_for(lambda: bulk_ids(bus), "the topic", 30, every=0.5)
        leader = bus.look().host
        proxy.throttle(1_200_000, "up")
        broker.pause()
        rows = 30_001
        for first in range(1, rows, 250):
            values = ",".join(f"({number}, '{number:0>400}')" for number in range(first, first + 250))
            bus.database.execute(f"INSERT INTO {bus.name}.bulk VALUES {values}")
        time.sleep(3)
        broker.resume()
        began = time.monotonic()
        assert bus.cluster.cores[leader].terminate(60) == 0
        assert time.monotonic() - began > 11, f"the outage was too short to show anything {bus.logs()}"
        proxy.pass_()
        bus.wait_running(other_than=leader)
        found = wait_for(lambda: len(ids := bulk_ids(bus)) >= rows and ids, "every row", 60, every=1)
        assert len(set(found)) == rows
        assert len(found) - rows < 600, "rows are sent again that were acknowledged"


def bulk_ids(bus: Bus) -> list[int]:
    return [json.loads(record.value)["after"]["id"] for record in bus.records("bulk")]
