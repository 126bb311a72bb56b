"""`python -m dev.bench.shared`: what it costs that 1 and 20 tasks of a Core read one source, over connections of their
own and over a shared one, into build/bench.json.

The tasks match no table, so that their workers do nothing but read. What the writer itself costs the server is measured
without tasks and taken off.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from dev.bench.report import OUTPUT, Entry, figure, table, write
from dev.cluster import Cluster, wait_for
from dev.progress import say
from dev.servers import MySQL, ZooKeeper
from replicator.config.load import parse_task, to_data
from replicator.coordination.layout import Layout
from replicator.coordination.overview import Overview
from replicator.coordination.tasks.registry import Registry
from replicator.zookeeper.client import connect

_ROWS_PER_TRANSACTION = 50
_WIDTH = 400
_REST_SECONDS = 2.0


class Site:
    """A source, and a Core with so many tasks that read it. share: as in `source.share`."""

    def __init__(self, mysql: MySQL, zookeeper: ZooKeeper, folder: Path, tasks: int, share: str) -> None:
        os.environ["REPL_BENCH_PASSWORD"] = mysql.replicator[1]
        self._mysql = mysql
        layout = Layout(f"/shared-{tasks}-{share}-{time.time_ns()}")
        self._coordinator = connect(zookeeper.address, session_timeout=10)
        registry, self._overview = Registry(self._coordinator, layout), Overview(self._coordinator, layout)
        self._cluster = Cluster(zookeeper.address, folder, session_timeout=10, root=layout.root)
        self._names = [f"read_{number}_{time.time_ns()}" for number in range(tasks)]
        for name in self._names:
            registry.create(name, to_data(parse_task(self._config(name, share))), "bench")
        self._core = self._cluster.core(f"host-{tasks}-{share}", "--file-sink-directory", str(folder))
        self._shared = share == "auto" and tasks > 1
        wait_for(self._ready, f"{tasks} tasks, {share}\n{self._core.tail(5)}", 240, every=0.5)
        time.sleep(_REST_SECONDS)

    def _config(self, name: str, share: str) -> dict[str, Any]:
        source = {
            "type": "mysql",
            "host": self._mysql.host,
            "port": self._mysql.port,
            "user": self._mysql.replicator[0],
            "password": "env:REPL_BENCH_PASSWORD",
            "tables": ["nothing.*"],
            "share": share,
        }
        return {"name": name, "source": source, "sink": {"type": "file", "path": f"{name}.jsonl"}}

    def _ready(self) -> bool:
        views = [self._overview.task(name) for name in self._names]
        running = all(view.state == "running" for view in views)
        return running and (not self._shared or all(view.source_shared for view in views))

    def caught_up(self) -> bool:
        end = self._mysql.end_of_log()
        places = [self._overview.task(name).position.split(" ")[0] for name in self._names]
        return all(place.startswith(f"{end[0]}:{end[1]}") for place in places)

    def cpu(self) -> float:
        """Seconds of the Core's children: template, workers, relay."""
        return sum(sum(each.cpu_times()[:2]) for each in psutil.Process(self._core.pid).children(recursive=True))

    def cpu_of_the_reader(self) -> float:
        """Seconds of the process that has the connection: the relay, or the worker of the only task."""
        what = "shared stream started" if self._shared else "worker started"
        lines = [line for line in self._core.log_path.read_text().splitlines() if what in line]
        pid = int(re.findall(r"\bpid\W+(\d+)", lines[-1])[0])
        return sum(psutil.Process(pid).cpu_times()[:2])

    def close(self) -> None:
        self._cluster.close()
        self._coordinator.close()


def _sent(mysql: MySQL) -> int:
    return int(mysql.execute("SHOW GLOBAL STATUS LIKE 'Bytes_sent'")[0][1])


def _load(mysql: MySQL, rows: int) -> None:
    connection = mysql.connect(autocommit=False)
    with connection.cursor() as cursor:
        for _ in range(rows // _ROWS_PER_TRANSACTION):
            values = ",".join([f"(REPEAT('x', {_WIDTH}))"] * _ROWS_PER_TRANSACTION)
            cursor.execute(f"INSERT INTO bench.notes (note) VALUES {values}")
            connection.commit()
    connection.close()


def _run(mysql: MySQL, zookeeper: ZooKeeper, tasks: int, share: str, rows: int) -> tuple[float, ...]:
    """(MB sent, CPU seconds of the server, of the Core's processes, of the one that reads from the server)"""
    with tempfile.TemporaryDirectory(prefix="mysql-replicator-bench-") as folder:
        site = Site(mysql, zookeeper, Path(folder), tasks, share) if tasks else None
        try:
            server = psutil.Process(mysql.pid)
            before = _seen(mysql, server, site)
            _load(mysql, rows)
            if site is not None:
                wait_for(site.caught_up, "all tasks at the end of the log", 240, every=0.2)
            after = _seen(mysql, server, site)
        finally:
            if site is not None:
                site.close()
    return tuple(end - begin for begin, end in zip(before, after, strict=True))


def _seen(mysql: MySQL, server: psutil.Process, site: Site | None) -> tuple[float, ...]:
    own = (site.cpu(), site.cpu_of_the_reader()) if site is not None else (0.0, 0.0)
    return (_sent(mysql) / 1e6, sum(server.cpu_times()[:2]), *own)


def measured(mysql: MySQL, zookeeper: ZooKeeper, tasks: int, rows: int, tries: int) -> Iterator[Entry]:
    mysql.execute("CREATE DATABASE IF NOT EXISTS bench")
    mysql.execute("CREATE TABLE bench.notes (id INT AUTO_INCREMENT PRIMARY KEY, note TEXT)")
    _load(mysql, rows)
    alone = [_run(mysql, zookeeper, 0, "never", rows) for _ in range(tries)]
    writer = min(each[1] for each in alone)
    for count, share in ((1, "never"), (tasks, "never"), (tasks, "auto")):
        runs = [_run(mysql, zookeeper, count, share, rows) for _ in range(tries)]
        name = f"shared.{count}_{'tasks' if count > 1 else 'task'}_{'shared' if share == 'auto' else 'own'}"
        say(f"{name}: {runs}")
        yield figure(f"{name}.sent", "MB", [each[0] for each in runs])
        yield figure(f"{name}.cpu_of_the_source", "s", [max(0.0, each[1] - writer) for each in runs], 2)
        yield figure(f"{name}.cpu_of_the_core", "s", [each[2] for each in runs], 2)
        if count == 1 or share == "auto":
            yield figure(f"{name}.cpu_of_the_reader", "s", [each[3] for each in runs], 2)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m dev.bench.shared")
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--tries", type=int, default=3)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    with MySQL(fast=True, extra_args=["--sync-binlog=0"]) as mysql, ZooKeeper(fast=True) as zookeeper:
        entries = list(measured(mysql, zookeeper, options.tasks, options.rows, options.tries))
    print(table(entries))
    write(entries, options.output)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
