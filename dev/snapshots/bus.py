"""Rounds with real processes: two Cores, Kafka and ZooKeeper, each of which may fail, and a source that fails over."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pymysql

from dev.checker.consumer import read_topics
from dev.cluster import Cluster, wait_for
from dev.errors import DevError, ServerFailed
from dev.servers.database import Database, MySQL
from dev.servers.replication import await_caught_up, promote
from dev.servers.stack import Stack
from dev.snapshots.scene import Findings, Scene
from dev.snapshots.verdict import Verdict
from dev.soak.ways import DooredKafka, Ways
from replicator.coordination.layout import Layout
from replicator.coordination.overview import Overview, TaskOverview
from replicator.errors import NotConnected
from replicator.zookeeper.client import connect

HOSTS: Final = ("host-a", "host-b")
SESSION_S: Final = 2.0
_PATIENCE_S: Final = 120.0
"""Until a task has delivered everything, once nothing fails any more."""


class Bus:
    """Servers and Cores for many rounds. `source`: a running server; the bus has the others."""

    def __init__(self, source: Database) -> None:
        self.source = source
        kafka = DooredKafka(fast=True)
        self.stack = Stack(mysql=False, broker=kafka)
        self.kafka = kafka
        self._folder = tempfile.TemporaryDirectory(prefix="mysql-replicator-snapshots-")

    def __enter__(self) -> Bus:
        self.stack.start()
        self.ways = Ways(HOSTS, self.stack.zookeeper, self.source, self.kafka)
        self.ways.start()
        self.cluster = Cluster(self.stack.zookeeper.address, Path(self._folder.name), session_timeout=SESSION_S)
        self.coordinator = connect(self.stack.zookeeper.address, session_timeout=10)
        self.overview = Overview(self.coordinator, Layout(self.cluster.root))
        self.cluster.start_server()
        return self

    def start_cores(self) -> None:
        """Those that do not run. Their environment has the password of the scene."""
        for host in HOSTS:
            core = self.cluster.cores.get(host)
            if core is None or not core.running:
                self.cluster.core(host, zookeeper=self.ways.zookeeper[host].address)

    def look(self, task: str) -> TaskOverview | None:
        """None: ZooKeeper is away."""
        with contextlib.suppress(NotConnected):
            return self.overview.task(task)
        return None

    def logs(self) -> list[str]:
        """Lines with errors that nobody asked for."""
        return [
            line
            for path in Path(self._folder.name).glob("*.log")
            for line in path.read_text(errors="replace").splitlines()
            if "Traceback" in line or "E5011" in line
        ]

    def __exit__(self, *ignored: object) -> None:
        self.cluster.close()
        self.coordinator.close()
        self.ways.close()
        self.stack.close()
        self._folder.cleanup()


class BusFaults:
    """What is done to a task, its hosts and servers. Each method ends with everything on its way to normal."""

    def __init__(self, bus: Bus, task: str, scene: Scene, replica: MySQL | None, seed: str) -> None:
        self._bus, self._task, self._scene, self._replica = bus, task, scene, replica
        self._chance = random.Random(f"{seed}/bus")
        self.done: list[str] = []

    def next(self) -> None:
        kinds: list[tuple[int, Callable[[], None]]] = [
            (4, self.kill_leader),
            (4, self.kill_worker),
            (3, self.freeze_worker),
            (2, self.freeze_leader),
            (3, self.switch_over),
            (2, self.pause_task),
            (3, self.pause_snapshot),
            (3, self.kill_connections),
            (2, self.cut_source),
            (2, self.freeze_kafka),
            (2, self.cut_kafka),
            (1, self.restart_kafka),
            (2, self.freeze_zookeeper),
            (1, self.restart_zookeeper),
            (2, self.cut_leader_off),
            (1, self.restart_source),
            (2, self.flush_logs),
        ]
        if self._replica is not None:
            kinds.append((5, self.fail_over))
        act = self._chance.choices([act for _, act in kinds], [weight for weight, _ in kinds])[0]
        self.done.append(act.__name__)
        act()
        self._bus.start_cores()

    def kill_leader(self) -> None:
        self._signal("leader", signal.SIGKILL)

    def kill_worker(self) -> None:
        self._signal("worker", signal.SIGKILL)

    def freeze_worker(self) -> None:
        self._freeze("worker")

    def freeze_leader(self) -> None:
        self._freeze("leader")

    def switch_over(self) -> None:
        self._cli("task", "switchover", self._task)

    def pause_task(self) -> None:
        self._cli("task", "pause", self._task)
        time.sleep(self._chance.uniform(0, 2))
        self._cli("task", "resume", self._task)

    def pause_snapshot(self) -> None:
        self._cli("task", "snapshot", "pause", self._task)
        time.sleep(self._chance.uniform(0, 2))
        self._cli("task", "snapshot", "resume", self._task)

    def kill_connections(self) -> None:
        server, user = self._scene.place.server, Database.replicator[0]
        with contextlib.suppress(pymysql.Error, OSError):
            found = [int(row[0]) for row in server.execute("SHOW PROCESSLIST") if row[1] == user]
            for connection in self._chance.sample(found, min(len(found), self._chance.choice((1, 1, 9)))):
                with contextlib.suppress(pymysql.Error):
                    server.execute(f"KILL {connection}")

    def cut_source(self) -> None:
        way = self._bus.ways.mysql
        self._chance.choice((way.reset, lambda: way.cut_after(20_000), way.black_hole, way.refuse))()
        time.sleep(self._chance.uniform(0, 3))
        way.pass_()

    def freeze_kafka(self) -> None:
        self._bus.kafka.pause()
        time.sleep(self._chance.uniform(0.2, 2))
        self._bus.kafka.resume()

    def cut_kafka(self) -> None:
        way = self._bus.ways.kafka
        self._chance.choice((way.reset, lambda: way.cut_after(3000, "up"), way.black_hole))()
        time.sleep(self._chance.uniform(0, 3))
        way.pass_()

    def restart_kafka(self) -> None:
        self._bus.kafka.kill()
        self._bus.kafka.start()

    def freeze_zookeeper(self) -> None:
        self._bus.stack.zookeeper.pause()
        time.sleep(self._chance.uniform(0.3, 2) * SESSION_S)
        self._bus.stack.zookeeper.resume()

    def restart_zookeeper(self) -> None:
        self._bus.stack.zookeeper.kill()
        time.sleep(self._chance.uniform(0, 2) * SESSION_S)
        self._bus.stack.zookeeper.start()

    def cut_leader_off(self) -> None:
        """Of ZooKeeper, for longer than its session."""
        found = self._bus.look(self._task)
        if found is not None and found.host in self._bus.ways.zookeeper:
            way = self._bus.ways.zookeeper[found.host]
            way.black_hole()
            time.sleep(1.5 * SESSION_S)
            way.pass_()

    def restart_source(self) -> None:
        with self._everything_locked():
            self._scene.place.server.kill()
            self._scene.place.server.start()

    def flush_logs(self) -> None:
        self._scene.place.server.execute("FLUSH BINARY LOGS")

    def fail_over(self) -> None:
        """The replica is promoted as tools do it, and the former primary is gone."""
        replica, self._replica = self._replica, None
        primary = self._scene.place.server
        assert replica is not None and isinstance(primary, MySQL)
        with self._everything_locked():
            primary.execute("SET GLOBAL super_read_only = ON")
            await_caught_up(replica, primary)
            promote(replica)
            self._scene.place.server = replica
            primary.kill()

    @contextlib.contextmanager
    def _everything_locked(self) -> Iterator[None]:
        with contextlib.ExitStack() as locks:
            for table in self._scene.tables:
                locks.enter_context(table.lock.alone())
            yield

    def _freeze(self, who: str) -> None:
        pids = self._signal(who, signal.SIGSTOP)
        time.sleep(self._chance.uniform(0.2, 2) * SESSION_S)
        for pid in pids:
            _send(pid, signal.SIGCONT)

    def _signal(self, who: str, number: signal.Signals) -> list[int]:
        found = self._bus.look(self._task)
        if found is None:
            return []
        figures, core = found.figures, self._bus.cluster.cores.get(found.host)
        worker = [figures.worker_pid] if figures is not None and figures.worker_pid else []
        leader = [core.pid] if core is not None and core.running else []
        pids = worker if who == "worker" else [*leader, *worker]
        for pid in pids:
            _send(pid, number)
        return pids

    def _cli(self, *words: str) -> None:
        """A command may be refused while nobody leads."""
        with contextlib.suppress(ServerFailed):
            self._bus.cluster.cli(*words)


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


class BusRound:
    """
    Args:
        database: name of one that does not exist yet; also that of the task.
        replica: of the bus's source, which may take its place.
    """

    def __init__(self, bus: Bus, database: str, seed: str, seconds: float, replica: MySQL | None = None) -> None:
        self._bus, self._task, self._seed, self._seconds, self._replica = bus, database, seed, seconds, replica
        self._scene = Scene(bus.source, database, seed)
        self._topic = f"{database}.rows"

    def run(self) -> Findings:
        scene, bus = self._scene, self._bus
        scene.make()
        bus.start_cores()
        faults = BusFaults(bus, self._task, scene, self._replica, self._seed)
        for writer in scene.writers:
            writer.start()
        try:
            bus.cluster.apply(self._configuration())
            wait_for(lambda: self._state() == "running", f"{self._task} running", 60)
            since = scene.begun()
            scene.administrator.start()
            end = time.monotonic() + self._seconds
            chance = random.Random(f"{self._seed}/times")
            while time.monotonic() < end:
                time.sleep(chance.expovariate(1 / 2.0))
                faults.next()
        finally:
            scene.stop()
            bus.ways.open_all()
        verdict = self._judged(since)
        found = bus.look(self._task)
        errors = [str(problem) for problem in found.problems] if found is not None else []
        bus.cluster.cli("task", "delete", self._task, "-y")
        for line in bus.logs():
            verdict.add("log", line)
        return scene.findings(verdict, faults=faults.done, errors=errors)

    def _configuration(self) -> dict[str, Any]:
        bus, found = self._bus, self._scene.configuration(self._bus.ways.mysql.port)
        if self._replica is not None:
            del found["source"]["port"]
            found["source"]["hosts"] = [bus.ways.mysql.address, self._replica.address]
        sink = {
            "type": "kafka",
            "bootstrap_servers": [bus.kafka.door.address],
            "topic": self._topic,
            "partitions": 1,
            "delivery": "exactly_once",
        }
        return {**found, "name": self._task, "sink": {**found["sink"], **sink}, "checkpoint_interval_ms": 300}

    def _state(self) -> str:
        found = self._bus.look(self._task)
        return found.state if found is not None else ""

    def _judged(self, since: int) -> Verdict:
        self._bus.start_cores()
        server = self._scene.place.server
        file, offset = server.end_of_log()

        def arrived() -> bool:
            found = self._bus.look(self._task)
            if found is not None and found.state == "failed":
                raise ServerFailed(self._task, f"failed: {found.problems}")
            checkpoint = found.checkpoint if found is not None else None
            progress = checkpoint.position.snapshot if checkpoint is not None else None
            if checkpoint is None or progress is None or not progress.ended_ms:
                return False
            return (checkpoint.position.file, checkpoint.position.offset) >= (file, offset)

        verdict = Verdict()
        try:
            wait_for(arrived, self._not_arrived, _PATIENCE_S, every=0.3)
        except DevError as error:
            verdict.add("the task has not come to the end", str(error))
        records = read_topics(self._bus.kafka.address, lambda topic: topic == self._topic)
        found = self._scene.judged(records, since)
        found.findings = {**verdict.findings, **found.findings}
        return found

    def _not_arrived(self) -> str:
        found = self._bus.look(self._task)
        return f"{found} {[core.tail(10) for core in self._bus.cluster.cores.values()]}"
