"""Tasks that are deleted with what they have left at their sinks, and created again under their names."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from contextlib import closing

import pytest

from dev.checker.consumer import open_consumer
from dev.cluster import wait_for
from dev.servers import MySQL
from tests.failover.bus import Bus

pytestmark = pytest.mark.servers
MakeBus = Callable[..., Bus]


def ids(bus: Bus) -> list[int]:
    """Of `marks`, in the order of their topic."""
    return [json.loads(record.value)["after"]["id"] for record in bus.records("marks")]


def mark(bus: Bus, number: int) -> None:
    bus.database.execute(f"INSERT INTO {bus.name}.marks VALUES ({number})")


def marks(bus: Bus) -> None:
    bus.database.execute(f"CREATE TABLE {bus.name}.marks (id INT PRIMARY KEY)")


def delete(bus: Bus, *how: str) -> str:
    return bus.cluster.cli("task", "delete", bus.name, "-y", "--timeout", "60", *how)


def arrived(bus: Bus, *numbers: int) -> None:
    wait_for(lambda: ids(bus) == list(numbers), lambda: f"{numbers}, not {ids(bus)}{bus.logs()}", 60, every=0.5)


def test_a_purged_task_begins_as_a_new_one_and_its_frozen_leader_does_not_write(make_bus: MakeBus) -> None:
    bus = make_bus(before=marks, sink={"partitions": 1})
    bus.writer.stop()
    mark(bus, 1)
    arrived(bus, 1)
    before = bus.look()
    assert before.figures is not None
    agent, worker = bus.cluster.cores[before.host], before.figures.worker_pid
    agent.pause()
    os.kill(worker, signal.SIGSTOP)
    try:
        said = delete(bus, "--purge")
        assert said == f"{bus.name} deleted\n"
        mark(bus, 2)  # of no task: the frozen worker would deliver it
        bus.cluster.apply(bus.task)
        after = bus.wait_running(other_than=before.host)
        assert after.uid != before.uid and after.problems == []
        mark(bus, 3)
        arrived(bus, 1, 3)
    finally:
        os.kill(worker, signal.SIGCONT)
        agent.resume()
    bus.wait_standby(before.host)
    mark(bus, 4)
    arrived(bus, 1, 3, 4)
    assert bus.look().host == after.host and bus.look().epoch == after.epoch

    # The topics go with it: those that no other task has written.
    shown = bus.cluster.cli("task", "delete", bus.name, "--purge-topics", "--dry-run")
    assert f"topic {bus.topics}marks of {bus.name}\n" in shown and bus.look().state == "running"
    delete(bus, "--purge-topics")
    with closing(open_consumer(bus.kafka.address)) as consumer:
        assert not [name for name in consumer.topics() if bus.name in name]
    bus.cluster.apply(bus.task)
    bus.wait_running()
    mark(bus, 5)
    arrived(bus, 5)


def test_an_end_of_the_log_is_where_a_task_goes_on(make_bus: MakeBus, make_mysql: Callable[..., MySQL]) -> None:
    """Of its own server: from the beginning of its log, everything comes again."""
    bus = make_bus("host-a", before=marks, database=make_mysql(), sink={"partitions": 1})
    bus.writer.stop()
    mark(bus, 1)
    arrived(bus, 1)
    delete(bus)
    mark(bus, 2)
    bus.cluster.apply(bus.task)
    assert bus.failed()["code"] == "E3109"

    def position(*how: str) -> tuple[str, str]:
        status, out, err = bus.cluster.failing("task", "position", "set", bus.name, *how)
        assert status == 0, err
        return out, err

    preview, _ = position("--latest", "--dry-run")
    assert "To:           latest" in preview and "NEVER sent:" in preview
    out, err = position("--latest", "-y")
    assert out == f"{bus.name} position set to latest\n" and f"now: replicator task retry {bus.name}\n" in err
    bus.cluster.cli("task", "retry", bus.name)
    bus.wait_running()
    mark(bus, 3)
    arrived(bus, 1, 3)

    bus.cluster.cli("task", "pause", bus.name, "--wait")
    out, err = position("--earliest", "-y")
    assert out == f"{bus.name} position set to earliest\n" and f"now: replicator task resume {bus.name}\n" in err
    bus.cluster.cli("task", "resume", bus.name)
    arrived(bus, 1, 3, 1, 2, 3)
    mark(bus, 4)
    time.sleep(1)
    arrived(bus, 1, 3, 1, 2, 3, 4)
