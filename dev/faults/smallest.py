"""`python -m dev.faults.smallest --minutes 60 --t 1 1.5 2 4`: the smallest session timeout that holds on this machine.

For each T a bus of its own, two Cores and a light load, all at once on the same servers; nobody does anything to them.
Whatever session ends, ends for want of time. Writes build/faults/smallest.json, which `python -m dev.faults` takes into
the page.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from dev.cluster import Cluster
from dev.job import Job
from dev.paths import TREE
from dev.progress import say
from dev.servers.stack import Stack
from dev.soak.archive import conditions
from replicator.coordination.layout import Layout
from replicator.coordination.overview import Overview
from replicator.coordination.tasks.history import History
from replicator.errors import ReplicatorError
from replicator.zookeeper.client import connect

OUTPUT = TREE / "build" / "faults" / "smallest.json"
HOSTS = ("host-a", "host-b")
RATE = 2.0
"""Transactions a second of each bus."""


class Held(msgspec.Struct):
    """What became of one T. `sessions`: that ended; `leaders`: changes of the leader; `interrupted`: how often a
    lease ran out and the leader went on after it; `least_s`: the least that was left of a lease when it was renewed, of
    `lease_s`; `wrong`: what the checker found, "" for nothing."""

    t: float
    lease_s: float
    sessions: int = 0
    leaders: int = 0
    interrupted: int = 0
    least_s: float = 0.0
    rows: int = 0
    wrong: str = ""

    @property
    def held(self) -> bool:
        return not (self.sessions or self.leaders or self.interrupted or self.wrong)


class Run(msgspec.Struct):
    """`load1`: of the whole machine, mean and maximum. `notes`: what whoever reads the figures should know besides."""

    minutes: float
    load1: tuple[float, float]
    found: list[Held]
    notes: list[str] = []
    date: str = ""
    commit: str = ""
    machine: str = ""


class Trial:
    """One T: its Cores, its task, and what was seen of them."""

    def __init__(self, stack: Stack, folder: Path, t: float) -> None:
        self.held = Held(t, round(t * 2 / 3, 3))
        folder.mkdir()
        self._coordinator = connect(stack.zookeeper.address, session_timeout=10)
        name = f"t{int(t * 1000)}ms"
        layout = Layout(f"/{name}")
        self._cluster = Cluster(stack.zookeeper.address, folder, session_timeout=t, root=layout.root)
        overview = Overview(self._coordinator, layout)
        self._history = History(self._coordinator, layout)
        self._job = Job(name, stack.mysql, stack.kafka, overview, role_folder=self._cluster.role_folder, rate=RATE)
        self._places: set[int] = set()
        self._terms: set[int] = set()
        self._least = float("inf")

    def start(self) -> None:
        self._cluster.start_server()
        self._job.writer.prepare()
        for host in HOSTS:
            self._cluster.core(host)
        self._cluster.apply(self._job.task)
        self._job.wait_running(timeout=90)
        for host in HOSTS:
            self._await_place(host)
        if self._cluster.server is not None:
            self._cluster.server.close()  # it is not asked any more
        self._job.writer.start()
        time.sleep(self.held.t)

    def _await_place(self, host: str) -> None:
        end = time.monotonic() + 60
        while host not in [instance.host for instance in self._job.look().instances] and time.monotonic() < end:
            time.sleep(0.2)

    def look(self) -> None:
        """Each place in line belongs to one session: places that come are sessions that went."""
        found = self._job.look()
        self._places |= {instance.epoch for instance in found.instances}
        if found.last_commit is not None:
            self._terms.add(found.last_commit.epoch)
        if found.figures is not None and found.state == "running":
            self._least = min(self._least, found.figures.lease_least_s)

    def finish(self) -> Held:
        held = self.held
        held.sessions, held.leaders = max(0, len(self._places) - len(HOSTS)), max(0, len(self._terms) - 1)
        held.interrupted = max(0, interruptions(self._history, self._job.name) - held.leaders)
        held.least_s = round(self._least, 3)
        verdict = self._job.verdict(60)
        held.rows, held.wrong = verdict.delivered, "" if verdict.clean else str(verdict)
        return held

    def close(self) -> None:
        self._job.writer.close()
        self._cluster.close()
        self._coordinator.close()


def interruptions(history: History, task: str) -> int:
    """How often a task ran again."""
    return sum(entry.record.kind == "running" for entry in history.read(task)) - 1


def watch(trials: Iterable[Trial], minutes: float) -> tuple[float, float]:
    """The mean and the maximum of the machine's load."""
    loads = []
    end = time.monotonic() + minutes * 60
    while time.monotonic() < end:
        for trial in trials:
            with contextlib.suppress(ReplicatorError):  # the machine is so busy that we are not served: look again
                trial.look()
        loads.append(os.getloadavg()[0])
        time.sleep(1)
    return round(sum(loads) / max(1, len(loads)), 1), round(max(loads, default=0.0), 1)


def sentence(run: Run) -> str:
    """The last line."""
    told = "; ".join(
        f"T {held.t:g} s: sessions ended {held.sessions}, leader changes {held.leaders}, "
        f"interruptions {held.interrupted}, "
        f"lease left at renewal {held.least_s:g} of {held.lease_s:g} s at least"
        for held in run.found
    )
    good = [held.t for held in run.found if held.held]
    best = f"{min(good):g} s" if good else "none"
    return f"smallest: {run.minutes:g} min, load {run.load1[0]:g} (at most {run.load1[1]:g}); {told}; held: {best}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m dev.faults.smallest", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--t", type=float, nargs="+", default=[1.0, 1.5, 2.0, 4.0], help="session timeouts, seconds")
    options = parser.parse_args()
    with Stack() as stack, tempfile.TemporaryDirectory(prefix="mysql-replicator-smallest-") as folder:
        trials = [Trial(stack, Path(folder) / f"{t:g}", t) for t in options.t]
        try:
            for trial in trials:
                trial.start()
            say(f"{len(trials)} buses run; {options.minutes:g} minutes from now")
            load = watch(trials, options.minutes)
            facts = {key: value for key, value in conditions().items() if key != "python"}
            run = Run(options.minutes, load, [trial.finish() for trial in trials], **facts)
        finally:
            for trial in trials:
                trial.close()
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    OUTPUT.write_bytes(msgspec.json.format(msgspec.json.encode(run), indent=2) + b"\n")
    print(sentence(run), flush=True)
    return 1 if any(held.wrong for held in run.found) else 0


if __name__ == "__main__":
    sys.exit(main())
