"""Measures real idle tasks over two Cores: MySQL to Kafka, each with its worker process."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from dev.bench.command import BINLOG, DELETED_AT_ONCE
from dev.bench.fleet import task_config, worker_processes, zxid
from dev.bench.load import Load
from dev.bench.report import Entry, fact, figure
from dev.bench.runner import Runner
from dev.bench.workers import pss_mb
from dev.cluster import Cluster, Process, wait_for
from dev.fleet.asked import counter, received
from dev.servers import MySQL, ZooKeeper
from dev.servers.kafka import kafka_broker
from dev.servers.stack import start_all
from replicator.config.load import parse_task, to_data
from replicator.coordination.cached_overview import CachedOverview
from replicator.coordination.layout import Layout
from replicator.coordination.tasks.registry import Registry
from replicator.zookeeper.client import connect

SESSION_SECONDS = 10.0
ROOT = "/fleet"


def measure(tasks: int, seconds: float) -> Iterator[Entry]:
    with contextlib.ExitStack() as open_:
        kafka = kafka_broker(fast=True, heap="1g", properties=DELETED_AT_ONCE)
        mysql = MySQL(fast=True, extra_args=BINLOG)
        zookeeper = ZooKeeper(fast=True)
        for server in (kafka, mysql, zookeeper):
            open_.callback(server.close)
        start_all([kafka, mysql, zookeeper])
        folder = Path(open_.enter_context(tempfile.TemporaryDirectory(prefix="mysql-replicator-fleet-")))
        runner, layout = Runner(mysql, kafka), Layout(ROOT)
        Load(mysql).prepare()
        os.environ["REPL_BENCH_PASSWORD"] = mysql.replicator[1]
        coordinator = connect(zookeeper.address, session_timeout=SESSION_SECONDS)
        open_.callback(coordinator.close)
        overview, registry = CachedOverview(coordinator, layout), Registry(coordinator, layout)
        cluster = Cluster(zookeeper.address, folder, session_timeout=SESSION_SECONDS, root=ROOT)
        open_.callback(cluster.close)
        names = [f"fleet_{int(time.time())}_{number}" for number in range(tasks)]  # none has left a position before
        for name in names:
            registry.create(name, to_data(parse_task(task_config(runner, name))), "fleet")
        halves = names[: tasks // 2], names[tasks // 2 :]

        def run_on(host: str, wanted: Sequence[str]) -> None:
            def all_run() -> bool:
                overview.catch_up()
                views = {view.name: view for view in overview.tasks()}
                failed = [view.problems for view in views.values() if view.state == "failed"]
                if failed:
                    raise RuntimeError(f"a task failed: {failed[0]}")
                return all((views[name].state, views[name].host) == ("running", host) for name in wanted)

            wait_for(all_run, f"{len(wanted)} tasks to run on {host}", 400, every=0.5)

        yield fact(
            "real_run",
            f"{tasks} idle tasks, two Cores, T = {SESSION_SECONDS:g} s, "
            f"load average before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores",
        )
        began = time.monotonic()
        first = cluster.core("host-0", *_tasks(halves[0]))
        run_on("host-0", halves[0])
        second = cluster.core("host-1", *_tasks([*halves[1], *halves[0]]))
        run_on("host-1", halves[1])
        yield figure("real_all_running_s", "s", [time.monotonic() - began])
        time.sleep(10)
        yield from _rest((first, second), zookeeper, coordinator.session_id, tasks, seconds)
        began = time.monotonic()
        first.kill()
        run_on("host-1", halves[0])
        yield figure("real_takeover_s", "s", [time.monotonic() - began])
        yield figure("real_takeover_tasks", "", [len(halves[0])], 0)


def _tasks(names: Sequence[str]) -> list[str]:
    return [part for name in names for part in ("--task", name)]


def _rest(cores: Sequence[Process], zookeeper: ZooKeeper, own: int, tasks: int, seconds: float) -> Iterator[Entry]:
    processes = []
    for core in map(psutil.Process, [core.pid for core in cores]):
        processes += [core, *core.children(), *worker_processes(core)]
    cpu, written, asked = _cpu(processes), zxid(zookeeper), received([zookeeper])
    began = time.monotonic()
    time.sleep(seconds)
    took = time.monotonic() - began
    after = {session: count for session, count in received([zookeeper]).items() if session != own}
    yield figure("real_processes", "", [len(processes)], 0)
    yield figure(
        "real_memory", "MB PSS", [sum(pss_mb(process.pid)[0] for process in processes if process.is_running())]
    )
    yield figure("real_cpu", "% of a core", [(_cpu(processes) - cpu) / took * 100])
    yield figure("real_core_requests_per_s", "/s", [(count - asked.get(key, 0)) / took for key, count in after.items()])
    writes = (
        zxid(zookeeper) - written - len(cores) * took
    )  # one write a second of each Core, whatever the number of tasks
    yield figure("real_writes_per_task_per_minute", "", [max(0.0, writes) / took * 60 / tasks], 2)
    yield figure("real_watches", "", [counter([zookeeper], "zk_watch_count")], 0)


def _cpu(processes: Sequence[psutil.Process]) -> float:
    total = 0.0
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            total += sum(process.cpu_times()[:2])
    return total
