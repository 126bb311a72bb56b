"""What operators are shown in an incident, in each output, against what the test knows to be true.

One task has a row that waits, another one is idle all the time. Outputs: the table and the description of the command
line, the API, the Monitor's page and its metrics.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from dev.servers import ZooKeeper
from replicator.config.load import parse_task, to_data
from replicator.coordination.tasks.registry import Registry
from tests.failover.bus import Bus
from tests.failover.shown import Blind, Shown, at, calm, shows
from tests.support.long_run import LONG

pytestmark = [pytest.mark.servers, pytest.mark.timeout(900)]
SESSION_SECONDS = 10.0
"""Of the Cores: a host that is killed still looks as if it had the task for as long."""

_LATE = 60 if LONG else 25
"""Seconds: long after all time-outs."""


@pytest.fixture
def zookeeper(make_zookeeper: Callable[..., ZooKeeper]) -> ZooKeeper:
    """Of this test alone, which freezes it."""
    return make_zookeeper(tick_time=500)


@pytest.fixture
def bus(make_bus: Callable[..., Bus], zookeeper: ZooKeeper) -> Iterator[Bus]:
    def tables(made: Bus) -> None:
        for database in (made.name, f"{made.name}_idle"):
            made.database.execute(f"CREATE DATABASE IF NOT EXISTS {database}")
            made.database.execute(f"CREATE TABLE {database}.orders (id INT PRIMARY KEY, note VARCHAR(20))")

    made = make_bus(session_seconds=SESSION_SECONDS, before=tables, first_rows=1, zookeeper=zookeeper)
    made.writer.stop()
    idle = f"{made.name}_idle"
    config = {**made.task, "name": idle, "source": {**made.task["source"], "tables": [f"{idle}.*"]}}
    Registry(made.coordinator, made.layout).create(idle, to_data(parse_task(config)), "test")
    made.cluster.start_server()
    made.cluster.start_monitor()
    yield made
    zookeeper.resume()
    made.kafka.resume()
    made.database.resume()
    made.database.execute(f"DROP DATABASE {idle}")


def test_what_operators_see(bus: Bus, zookeeper: ZooKeeper) -> None:
    task, idle = bus.name, f"{bus.name}_idle"
    calm(bus, task)

    # The sink is frozen, and a row waits.
    bus.kafka.pause()
    began = time.monotonic()
    bus.database.execute(f"INSERT INTO {task}.orders VALUES (1, 'waits')")
    at(began, 1)
    shows(bus, task, lambda shown: shown.check_lag(began))
    for seconds in (5, 15, _LATE):
        at(began, seconds)
        shows(
            bus,
            task,
            lambda shown: shown.check_lag(began),
            lambda shown: shown.check_retrying("sink", "E300"),
            lambda shown: shown.check_true(shown.api["retrying"]["seconds"], began),
            *([Shown.check_behind] if seconds >= 15 else []),
        )
    Shown(bus, idle).check_no_false_lag()
    bus.kafka.resume()
    calm(bus, task)
    assert Shown(bus, task).metrics["publish_duration_seconds_count"] >= 1

    # The source is frozen, while nothing waits. It is missed by its heartbeats; then nobody knows how far behind it is.
    bus.database.pause()
    began = time.monotonic()
    for seconds in (1, 5):
        at(began, seconds)
        assert Shown(bus, task).lags() <= {0.0, None}
    for seconds in (15, _LATE):
        at(began, seconds)
        shows(bus, task, Shown.check_unknown, lambda shown: shown.check_retrying("source", "E200"))
    bus.database.resume()
    calm(bus, task)

    # The Core is killed. ZooKeeper keeps its nodes for a session timeout.
    host = bus.look().host
    bus.cluster.cores[host].kill()
    began = time.monotonic()
    at(began, 1)
    shown = Shown(bus, task)
    assert shown.api["host"] == host and shown.lags() <= {0.0, None}
    shown.check_true(shown.api["figures_age_s"], began)
    at(began, 4.5)  # 5 s, in a window that the end of the session closes
    shows(bus, task, lambda shown: shown.check_old(host, began), Shown.check_unknown, timeout=4)
    bus.wait_running(other_than=host)
    for seconds in (15, _LATE):
        at(began, seconds)
        calm(bus, task)
        assert bus.look().host != host

    # ZooKeeper is frozen: what was read last is shown, as old as it is, by the Monitor; the Server knows nothing.
    zookeeper.pause()
    began = time.monotonic()
    at(began, 1)
    assert Blind(bus).fresh_or_old(began)
    for seconds in (5, 15, _LATE):
        at(began, seconds)
        blind = Blind(bus)
        blind.check(began, task)
        blind.check_monitor(began, task)

    # The Monitor is started again meanwhile: it has no figures at all, and says so.
    assert bus.cluster.monitor is not None
    bus.cluster.monitor.terminate()
    bus.cluster.start_monitor()
    restarted = time.monotonic()
    at(restarted, 1)
    Blind(bus).check_no_figures(task)
    for seconds in (6, 15, _LATE):  # it says for 5 s that it is connecting
        at(restarted, seconds)
        blind = Blind(bus)
        blind.check(began, task)
        blind.check_new_monitor(task)
    zookeeper.resume()
    bus.wait_running()
    calm(bus, task)
