"""One soak: a bus with two tasks, faults one after another, and the verdict."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import msgspec
from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from dev.checker.verdict import Verdict
from dev.cluster import Cluster, wait_for
from dev.job import Job
from dev.paths import TREE
from dev.servers.stack import Stack
from dev.soak.faults import FAULTS, Planned, schedule
from dev.soak.hands import Hands
from dev.soak.samples import Samples, left_behind
from replicator.coordination.layout import Layout
from replicator.coordination.overview import Overview
from replicator.errors import NotConnected
from replicator.zookeeper.client import connect

HOSTS = ("host-a", "host-b", "host-c")
MORE = 20
"""Records that must arrive after a fault."""
PATIENCE = 90.0
"""Seconds after which a fault counts as not survived."""
START = 5.0
"""Seconds that a take-over may need besides T, with the machine under the load of everything at once."""
SAVED = TREE / "build" / "soak"
_CODE = re.compile(r"\b[EW]\d{4}\b")


def say(text: str) -> None:
    print(f"soak: {text}", flush=True)


class Done(NamedTuple):
    """A fault that was survived. `outage`: longest silence of its task's topic around it, seconds."""

    planned: Planned
    begun_ms: int
    ended_ms: int
    outage: float = 0.0


class Story:
    def __init__(self, stack: Stack, folder: Path, seed: int, *, session_seconds: float, rate: float) -> None:
        self._stack, self._folder, self._seed = stack, folder, seed
        self._t = session_seconds
        layout = Layout("/soak")
        self._cluster = Cluster(stack.zookeeper.address, folder, session_timeout=session_seconds, root=layout.root)
        self._coordinator = connect(stack.zookeeper.address, session_timeout=10)
        overview = Overview(self._coordinator, layout)
        self.jobs = [
            Job(
                name,
                stack.mysql,
                stack.kafka,
                overview,
                sink={"delivery": name},
                role_folder=self._cluster.role_folder,
                rate=rate,
                seed=seed + number,
            )
            for number, name in enumerate(("exactly_once", "at_least_once"))
        ]
        self._hands: Hands | None = None
        self._samples = Samples(self.jobs, self._cluster)
        self._done: list[Done] = []
        self._wrong: list[str] = []

    def begin(self) -> None:
        self._cluster.start_server()
        for host in HOSTS:
            self._cluster.core(host)
        for job in self.jobs:
            job.writer.prepare()
            self._cluster.apply(job.task)
            job.wait_running()
            job.writer.start()
        for job in self.jobs:
            self._arrives(job, PATIENCE)
        servers = {"zookeeper": self._stack.zookeeper, "kafka": self._stack.kafka, "mysql": self._stack.mysql}
        self._hands = Hands(self._cluster, dict(servers), self.jobs, self._coordinator, self._t)
        self._samples.start()
        say(f"seed {self._seed}: three Cores, T = {self._t:g} s, {len(FAULTS)} kinds of faults; both tasks deliver")

    def run(self, until: float, only: str = "") -> None:
        assert self._hands is not None
        for planned in schedule(self._seed, len(self.jobs)):
            if only not in planned.fault.name:
                continue
            if time.monotonic() + planned.wait > until:
                return
            time.sleep(planned.wait)
            begun = time.time_ns() // 1_000_000
            try:
                self._hands.do(planned)
                self._recover()
            except Exception as error:  # whatever it is: it is told with the verdict
                self._wrong.append(f"{planned.fault.name} (of {self.jobs[planned.task].name}): {error}")
                say(f"NOT SURVIVED: {self._wrong[-1]}")
                return
            self._done.append(Done(planned, begun, time.time_ns() // 1_000_000))
            took = (self._done[-1].ended_ms - begun) / 1000
            say(f"{len(self._done)}. {planned.fault.name} ({self.jobs[planned.task].name}): {took:.1f} s")

    def _recover(self) -> None:
        end = time.monotonic() + PATIENCE
        for job in self.jobs:
            job.wait_running(timeout=max(1.0, end - time.monotonic()))
            self._arrives(job, max(1.0, end - time.monotonic()))

            def stands(job: Job = job) -> bool:
                with contextlib.suppress(NotConnected):
                    return len(job.look().standbys) == len(HOSTS) - 1
                return False

            wait_for(stands, f"two standbys of {job.name}", max(1.0, end - time.monotonic()))

    def _arrives(self, job: Job, timeout: float) -> None:
        """Until MORE records than now are visible."""
        consumer = KafkaConsumer(
            bootstrap_servers=job.kafka.address, group_id=None, isolation_level="read_committed", fetch_max_wait_ms=50
        )
        topic = job.topics + "hot_item"

        def visible() -> int:
            places = [TopicPartition(topic, partition) for partition in range(3)]
            with contextlib.suppress(KafkaError):  # the broker has just been started
                return sum(consumer.end_offsets(places).values())
            return 0

        try:
            wait_for(lambda: topic in consumer.topics(), f"topic {topic}", timeout)
            before = int(wait_for(visible, f"the end of {topic}", timeout))
            wait_for(lambda: visible() >= before + MORE, f"{MORE} more records of {job.name}", timeout, every=0.1)
        finally:
            consumer.close(autocommit=False)

    # The end

    def end(self, *, keep: bool = False) -> int:
        for job in self.jobs:
            job.writer.close()
        verdicts = {
            job.name: job.verdict(timeout=PATIENCE, checkpoints=self._samples.checkpoints[job.name])
            for job in self.jobs
        }
        self._samples.stop()
        self._outages()
        for name, verdict in verdicts.items():
            self._judge(name, verdict)
        self._cluster.close()
        self._processes()
        self._tell_logs()
        if self._wrong or keep:
            self._save()
        repeated = len(verdicts["at_least_once"].duplicated)
        lost = sum(len(verdict.lost) for verdict in verdicts.values())
        reordered = sum(len(verdict.reordered) for verdict in verdicts.values())
        longest = max((done.outage for done in self._done), default=0.0)
        say(
            f"faults {len(self._done)}, rows {sum(verdict.delivered for verdict in verdicts.values())}, lost {lost}, "
            f"reordered {reordered}, duplicated {len(verdicts['exactly_once'].duplicated)} "
            f"(at_least_once: {repeated}), longest outage {longest:.1f} s"
        )
        return 1 if self._wrong else 0

    def _judge(self, name: str, verdict: Verdict) -> None:
        for kind, findings in verdict.findings():
            if findings and (kind, name) != ("duplicated", "at_least_once"):
                self._wrong.append(f"{name}: {kind} {len(findings)}: {'; '.join(findings[:5])}")
        if not self._samples.checkpoints[name]:
            self._wrong.append(f"{name}: no checkpoint was ever seen")

    def _outages(self) -> None:
        """The longest silence of each topic from just before a fault until it was survived; producer's times."""
        times = {job.name: sorted(record.time_ms for record in job.seen()) for job in self.jobs}
        for number, done in enumerate(self._done):
            worst = 0.0
            for stamps in times.values():
                near = [stamp for stamp in stamps if done.begun_ms - 1000 <= stamp <= done.ended_ms + 1000]
                worst = max([worst, *((b - a) / 1000 for a, b in itertools.pairwise(near))])
            self._done[number] = done._replace(outage=worst)
        for done in sorted(self._done, key=lambda done: -done.outage)[:8]:
            name = f"{done.planned.fault.name} ({self.jobs[done.planned.task].name})"
            allowed = (1 + done.planned.fault.down) * self._t + START + done.planned.late
            mark = " TOO LONG" if done.outage > allowed else ""
            say(f"outage {done.outage:.1f} s, expected at most {allowed:.0f} s: {name}{mark}")

    def _processes(self) -> None:
        for host, (memory, threads, files) in sorted(self._samples.most.items()):
            say(f"{host}: at most {memory} MiB, {threads} threads, {files} open files")
        assert self._hands is not None
        time.sleep(self._t)
        self._wrong += [f"left behind: {process}" for process in left_behind(self._hands.everyone)]

    def _tell_logs(self) -> None:
        for path in sorted(self._folder.glob("*.log")):
            lines = path.read_text(errors="replace").splitlines()
            codes = Counter(code for line in lines for code in set(_CODE.findall(line)))
            traces = sum("Traceback" in line for line in lines)
            told = ", ".join(f"{code} x{count}" for code, count in sorted(codes.items()))
            say(f"{path.name}: {len(lines)} lines, {traces} tracebacks, {told}")
            if traces or codes["E5011"]:
                self._wrong.append(f"{path.name}: {traces} tracebacks, E5011 x{codes['E5011']}")

    def _save(self) -> None:
        """Everything that an inquiry needs, under build/soak/."""
        folder = SAVED / f"seed-{self._seed}-{time.strftime('%H%M%S')}"
        folder.mkdir(parents=True)
        for path in self._folder.glob("*.log"):
            shutil.copy(path, folder)
        (folder / "wrong.txt").write_text("\n".join(self._wrong))
        (folder / "faults.json").write_text(
            json.dumps([[d.begun_ms, d.ended_ms, d.outage, d.planned.fault.name, d.planned.task] for d in self._done])
        )
        for job in self.jobs:
            (folder / f"{job.name}.journal.json").write_bytes(msgspec.json.encode(job.writer.journal))
            (folder / f"{job.name}.seen.json").write_bytes(msgspec.json.encode(job.seen()))
        for line in self._wrong:
            say(f"WRONG: {line}")
        say(f"histories and logs are in {folder}")

    def close(self) -> None:
        for job in self.jobs:
            job.writer.close()
        self._cluster.close()
        self._coordinator.close()
