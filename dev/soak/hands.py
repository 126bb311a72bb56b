"""The fault injector of a soak: executes the actions of the fault table on a bus of real processes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from typing import Any

from dev.cluster import Cluster, Process
from dev.job import Job
from dev.servers.base import Server
from dev.servers.database import Database
from dev.soak.administrator import Administrator
from dev.soak.faults import Planned
from dev.soak.ways import Ways
from replicator.coordination.layout import Layout
from replicator.coordination.overview import TaskOverview
from replicator.coordination.ports import Coordinator

GROUP = "soak"
PART = ("--group", GROUP)
"""Of every Core: they place the tasks together, also under faults."""


class Hands:
    """Args:
    servers: by the names that the table uses.
    t: session timeout of the Cores, seconds.
    """

    def __init__(
        self,
        cluster: Cluster,
        servers: dict[str, Server],
        jobs: list[Job],
        coordinator: Coordinator,
        t: float,
        ways: Ways,
    ) -> None:
        self._cluster = cluster
        self._servers = servers
        self._jobs = jobs
        self._coordinator = coordinator
        self._layout = Layout(cluster.root)
        self._t = t
        self._ways = ways
        database = servers["mysql"]
        assert isinstance(database, Database)
        self._administrator = Administrator(cluster, jobs, database, coordinator)
        self.everyone: list[Process] = list(cluster.cores.values())
        """Every Core process there ever was."""
        self._asked: list[Process] = []
        self._job = jobs[0]
        self._before: TaskOverview = TaskOverview(name="")

    def do(self, planned: Planned) -> None:
        self._job = self._jobs[planned.task]
        self._before = self._job.look()  # who leads is asked once: a fault's SIGCONT goes where its SIGSTOP went
        for verb, *arguments in planned.fault.steps:
            getattr(self, str(verb))(*arguments)
        self.mend(planned.late)

    def mend(self, late: float = 0.0) -> None:
        """Starts again what is dead."""
        time.sleep(0.1)
        ending = [core for core in self._cluster.cores.values() if core in self._asked or not core.running]
        if not ending:
            return
        time.sleep(late)
        for core in ending:
            core.wait(30)
            self.everyone.append(
                self._cluster.core(core.name, *PART, zookeeper=self._ways.zookeeper[core.name].address)
            )
        self._asked.clear()

    # Verbs

    def sleep(self, times: float) -> None:
        time.sleep(times * self._t)

    def signal(self, who: str, name: str) -> None:
        number = signal.Signals[f"SIG{name}"]
        for pid in self._pids(who):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        if number in (signal.SIGTERM, signal.SIGKILL):  # on a busy machine even the latter takes its time
            self._asked = [core for core in self._cluster.cores.values() if core.pid in self._pids(who)]

    def delete_own_node(self) -> None:
        running = self._before.running
        election = self._layout.election(self._job.name)
        for name in self._coordinator.children(election):
            if running is not None and running.guid in name:
                self._coordinator.delete(self._layout.contender(self._job.name, name))

    def cli(self, *words: str) -> None:
        standbys = self._before.standbys
        names = {"{task}": self._job.name, "{last standby}": standbys[-1].host if standbys else ""}
        self._cluster.cli(*(names.get(word, word) for word in words))

    def by_hand(self, what: str) -> None:
        """A method of `Administrator`, done to the fault's task."""
        getattr(self._administrator, what)(self._job)

    def restart(self, server: str, after: float) -> None:
        self._servers[server].kill()
        self.sleep(after)
        self._servers[server].start()

    def freeze(self, server: str, times: float) -> None:
        self._servers[server].pause()
        self.sleep(times)
        self._servers[server].resume()

    def cut(self, way: str, verb: str, times: float, *arguments: str | float) -> None:
        """Does `verb` of the proxy to the leader's way to ZooKeeper, or to all ways to a server, for so long."""
        self.begin(way, verb, *arguments)
        self.sleep(times)
        self.begin(way, "pass_")

    def begin(self, way: str, verb: str, *arguments: str | float) -> None:
        """The same until another verb of the proxy comes."""
        shared = {"mysql": self._ways.mysql, "kafka": self._ways.kafka}
        proxy = shared.get(way) or self._ways.zookeeper.get(self._before.host)
        if proxy is not None:  # else nobody leads
            getattr(proxy, verb)(*arguments)

    def starve(self, times: float) -> None:
        """Twice as many busy processes as there are processors."""
        burners = [
            subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))
        ]
        try:
            self.sleep(times)
        finally:
            for burner in burners:
                burner.kill()
                burner.wait()

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        database = self._servers["mysql"]
        assert isinstance(database, Database)
        return database.execute(statement)

    def kill_dumps(self) -> None:
        for row in self.sql("SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'"):
            self.sql(f"KILL {int(row[0])}")

    def _pids(self, who: str) -> list[int]:
        before, cores = self._before, self._cluster.cores
        figures = before.figures
        worker = [figures.worker_pid] if figures is not None and figures.worker_pid else []
        leader = [cores[before.host].pid] if before.host else []
        return {
            "leader": leader,
            "leader-host": leader + worker,
            "worker": worker,
            "standby": [cores[standby.host].pid for standby in before.standbys[:1]],
            "all": [core.pid for core in cores.values()],
        }[who]
