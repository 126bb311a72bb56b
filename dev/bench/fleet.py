"""Measures the cost of many idle tasks on one Core."""

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
from replicator.coordination.tasks.registry import Registry
from replicator.zookeeper.client import connect

_TRIES = 3


def fleet(runner: Runner, tasks: int, seconds: float) -> Iterator[Entry]:
    """tasks: on one Core; seconds: of rest that are measured, when all of them run."""
    os.environ["REPL_BENCH_PASSWORD"] = runner.database.replicator[1]
    names = [f"fleet_{int(time.time())}_{number}" for number in range(tasks)]  # none has left a position before
    with tempfile.TemporaryDirectory(prefix="mysql-replicator-bench-") as folder, contextlib.ExitStack() as open_:
        zookeeper = ZooKeeper(fast=True)
        open_.callback(zookeeper.close)
        zookeeper.start()
        layout = Layout("/bench")
        coordinator = connect(zookeeper.address, session_timeout=10)
        open_.callback(coordinator.close)
        registry, overview = Registry(coordinator, layout), Overview(coordinator, layout)
        cluster = Cluster(zookeeper.address, Path(folder), session_timeout=10, root=layout.root)
        open_.callback(cluster.close)
        for name in names:
            registry.create(name, to_data(parse_task(task_config(runner, name))), "bench")
        began = time.monotonic()
        core = cluster.core("host-a")

        def running() -> bool:
            states = {overview.task(name).state for name in names}
            if "failed" in states:
                raise RuntimeError(f"a task failed: {core.tail(5)}")
            return states == {"running"}

        wait_for(running, f"{tasks} tasks running\n{core.tail(5)}", 240, every=0.5)
        yield figure("fleet.tasks", "tasks", [tasks], 0)
        yield figure("fleet.all_running", "s", [time.monotonic() - began])
        time.sleep(3)
        yield from _rest(core.pid, zookeeper, tasks, seconds)


def task_config(runner: Runner, name: str) -> dict[str, Any]:
    made = task(runner.job("ours", here(runner), name, short=False))
    return {**made, "source": {**made["source"], "start": "latest"}}


def _rest(pid: int, zookeeper: ZooKeeper, tasks: int, seconds: float) -> Iterator[Entry]:
    core = psutil.Process(pid)
    for attempt in range(_TRIES):
        workers = worker_processes(core)
        others = [core, *core.children()]
        try:
            before = _cpu(workers), _cpu(others), zxid(zookeeper), time.monotonic()
            time.sleep(seconds)
            after = _cpu(workers), _cpu(others), zxid(zookeeper), time.monotonic()
            memory = [pss_mb(each.pid)[0] for each in workers], [pss_mb(each.pid)[0] for each in others]
            break
        except (psutil.NoSuchProcess, FileNotFoundError):  # a worker lost its lease, and is started again
            if attempt == _TRIES - 1:
                raise
            time.sleep(seconds)
    took = after[3] - before[3]
    by_workers, by_others = ((after[each] - before[each]) / took * 100 for each in (0, 1))
    writes = (after[2] - before[2]) / took * 60
    yield figure("fleet.processes", "", [len(workers) + len(others)], 0)
    yield figure("fleet.memory", "MB PSS", [sum(map(sum, memory))])
    yield figure("fleet.memory_per_task", "MB PSS", [sum(map(sum, memory)) / tasks], 2)
    yield figure("fleet.memory_of_a_worker", "MB PSS", memory[0])
    yield figure("fleet.cpu", "% of a core", [by_workers + by_others])
    yield figure("fleet.cpu_of_a_worker", "% of a core", [by_workers / len(workers)], 3)
    yield figure("fleet.threads", "", [sum(each.num_threads() for each in [*workers, *others])], 0)
    yield figure("fleet.zookeeper_writes_per_minute", "", [writes])
    yield figure("fleet.zookeeper_writes_per_task_per_minute", "", [writes / tasks], 2)
    yield figure("fleet.watches_per_task", "", [_mntr(zookeeper)["zk_watch_count"] / tasks], 2)


def worker_processes(core: psutil.Process) -> list[psutil.Process]:
    """The children of the template, which is a child of the Core; without the one that checks expiry dates
    (core/expiry_checks.py), which is niced and ends within a second."""
    usual = core.nice()
    return [worker for child in core.children() for worker in child.children() if worker.nice() <= usual]


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
