"""Many idle tasks on one Core: what they cost while nothing happens."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from dev.bench.latency import here
from dev.bench.ours import task
from dev.bench.report import Entry, figure
from dev.bench.runner import Runner
from dev.bench.workers import pss_mb
from dev.cluster import Cluster, wait_for
from dev.servers import ZooKeeper
from replicator.config.load import parse_task, to_data
from replicator.coordination.layout import Layout
from replicator.coordination.overview import Overview
from replicator.coordination.registry import Registry
from replicator.zookeeper.client import connect


def fleet(runner: Runner, tasks: int, seconds: float) -> Iterator[Entry]:
    """tasks: on one Core; seconds: of rest that are measured, when all of them run."""
    os.environ["BENCH_PASSWORD"] = runner.database.replicator[1]
    names = [f"bench_fleet_{number}" for number in range(tasks)]
    with tempfile.TemporaryDirectory(prefix="mysql-replicator-bench-") as folder, contextlib.ExitStack() as open_:
        zookeeper = ZooKeeper(fast=True)
        open_.callback(zookeeper.close)
        zookeeper.start()
        layout = Layout("/bench")
        coordinator = connect(zookeeper.address, session_timeout=10)
        open_.callback(coordinator.close)
        registry, overview = Registry(coordinator, layout), Overview(coordinator, layout)
        cluster = Cluster(zookeeper.address, Path(folder), root=layout.root)
        open_.callback(cluster.close)
        for name in names:
            registry.create(name, to_data(parse_task(_config(runner, name))), "bench")
        began = time.monotonic()
        core = cluster.core("host-a")

        def running() -> bool:
            return all(overview.task(name).state == "running" for name in names)

        wait_for(running, f"{tasks} tasks running\n{core.tail(5)}", 240, every=0.5)
        yield figure("fleet.tasks", "tasks", [tasks], 0)
        yield figure("fleet.all_running", "s", [time.monotonic() - began])
        time.sleep(3)
        yield from _rest(core.pid, zookeeper, tasks, seconds)


def _config(runner: Runner, name: str) -> dict[str, Any]:
    made = task(runner.job("ours", here(runner), name, short=False))
    return {**made, "source": {**made["source"], "start": "latest"}}


def _rest(pid: int, zookeeper: ZooKeeper, tasks: int, seconds: float) -> Iterator[Entry]:
    processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    watches = _mntr(zookeeper)["zk_watch_count"]
    before, writes, began = _cpu(processes), zxid(zookeeper), time.monotonic()
    time.sleep(seconds)
    took = time.monotonic() - began
    cpu, written = _cpu(processes) - before, zxid(zookeeper) - writes
    memory = [pss_mb(process.pid)[0] for process in processes]
    yield figure("fleet.processes", "", [len(processes)], 0)
    yield figure("fleet.memory", "MB PSS", [sum(memory)])
    yield figure("fleet.memory_per_task", "MB PSS", [sum(memory) / tasks], 2)
    yield figure("fleet.cpu", "% of a core", [cpu / took * 100])
    yield figure("fleet.cpu_per_task", "% of a core", [cpu / took * 100 / tasks], 3)
    yield figure("fleet.threads", "", [sum(process.num_threads() for process in processes)], 0)
    yield figure("fleet.zookeeper_writes_per_minute", "", [written / took * 60])
    yield figure("fleet.zookeeper_writes_per_task_per_minute", "", [written / took * 60 / tasks], 2)
    yield figure("fleet.watches_per_task", "", [watches / tasks], 2)


def _cpu(processes: list[psutil.Process]) -> float:
    return sum(sum(process.cpu_times()[:2]) for process in processes)


def _mntr(zookeeper: ZooKeeper) -> dict[str, float]:
    found = {}
    for line in zookeeper.four_letter_word("mntr").splitlines():
        key, _, value = line.partition("\t")
        with contextlib.suppress(ValueError):
            found[key] = float(value)
    return found


def zxid(zookeeper: ZooKeeper) -> int:
    """Of the last write, sessions' beginnings and ends among them."""
    for line in zookeeper.four_letter_word("srvr").splitlines():
        if line.startswith("Zxid: "):
            return int(line.split()[1], 16) & 0xFFFFFFFF
    raise RuntimeError("ZooKeeper does not tell its zxid")
