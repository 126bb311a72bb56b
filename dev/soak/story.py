"""One soak: a bus with two tasks, faults one after another, and the verdict."""

from __future__ import annotations

import contextlib
import itertools
import re
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from dev.checker.verdict import Verdict
from dev.cluster import Cluster, wait_for
from dev.job import Job
from dev.paths import TREE
from dev.servers.stack import Stack
from dev.soak.archive import Archive, conditions
from dev.soak.faults import FAULTS, Planned, schedule
from dev.soak.figures import draw, percentile, seconds, takeovers
from dev.soak.hands import Hands
from dev.soak.samples import Samples, left_behind
from dev.soak.ways import Ways
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
SAVED = TREE / "build"
KILLED = ("leader: SIGKILL", "leader-host: SIGKILL")
PLANNED = ("leader: SIGTERM", "switchover", "switchover --to")
_CODE = re.compile(r"\b[EW]\d{4}\b")


def say(text: str) -> None:
    print(f"  {text}", flush=True)


class Done(NamedTuple):
    """A fault that was survived. `outage`: longest silence of its task's topic around it, seconds."""

    planned: Planned
    begun_ms: int
    ended_ms: int
    outage: float = 0.0


class Story:
    """Args: name: of the last line, and of the folder under build/ where histories go."""

    def __init__(
        self, name: str, stack: Stack, folder: Path, seed: int, *, session_seconds: float, rate: float
    ) -> None:
        self._name = name
        self._stack, self._folder, self._seed = stack, folder, seed
        self._t = session_seconds
        layout = Layout("/soak")
        self._cluster = Cluster(stack.zookeeper.address, folder, session_timeout=session_seconds, root=layout.root)
        self._coordinator = connect(stack.zookeeper.address, session_timeout=10)
        overview = Overview(self._coordinator, layout)
        self._ways = Ways(HOSTS, stack.zookeeper, stack.mysql)
        self.jobs = [
            Job(
                name,
                stack.mysql,
                stack.kafka,
                overview,
                sink={"delivery": name},
                source={"port": self._ways.mysql.port, "connect_timeout_s": 5},
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
        self._ways.start()
        self._cluster.start_server()
        for host in HOSTS:
            self._cluster.core(host, zookeeper=self._ways.zookeeper[host].address)
        for job in self.jobs:
            job.writer.prepare()
            self._cluster.apply(job.task)
            job.wait_running()
            job.writer.start()
        for job in self.jobs:
            self._arrives(job, PATIENCE)
        servers = {"zookeeper": self._stack.zookeeper, "kafka": self._stack.kafka, "mysql": self._stack.mysql}
        self._hands = Hands(self._cluster, dict(servers), self.jobs, self._coordinator, self._t, self._ways)
        self._samples.start()
        say(f"seed {self._seed}: three Cores, T = {self._t:g} s, {len(FAULTS)} kinds of faults; both tasks deliver")

    def run(self, until: float, only: str = "", rounds: int | None = None) -> None:
        """Until the monotonic time `until`, or for so many faults."""
        assert self._hands is not None
        for planned in schedule(self._seed, len(self.jobs)):
            if only not in planned.fault.name:
                continue
            if time.monotonic() + planned.wait > until or len(self._done) == rounds:
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
        self._archive()
        if self._wrong or keep:
            self._save()
        self._figures(verdicts)
        return 1 if self._wrong else 0

    def _figures(self, verdicts: dict[str, Verdict]) -> None:
        killed, planned = self._takeovers(KILLED), self._takeovers(PLANNED)
        say(f"longest outage {max((done.outage for done in self._done), default=0.0):.1f} s")
        say(f"planned hand-over p50 {seconds(percentile(planned, 0.5))} s p99 {seconds(percentile(planned, 0.99))} s")
        say(f"at_least_once sent {len(verdicts['at_least_once'].duplicated)} records again")
        if killed or planned:
            draw(SAVED / self._name / "takeover.png", {"SIGKILL": killed, "planned": planned}, self._t)
        print(
            f"{self._name}: rounds {len(self._done)}, rows {sum(v.delivered for v in verdicts.values())}, "
            f"lost {sum(len(v.lost) for v in verdicts.values())}, "
            f"reordered {sum(len(v.reordered) + len(v.stale) for v in verdicts.values())}, "
            f"duplicated {len(verdicts['exactly_once'].duplicated)}, "
            f"overlap {sum(v.overlap_s for v in verdicts.values()) * 1000:.0f} ms, "
            f"take-over p50 {seconds(percentile(killed, 0.5))} s p99 {seconds(percentile(killed, 0.99))} s",
            flush=True,
        )

    def _takeovers(self, names: tuple[str, ...]) -> list[float]:
        """Seconds, of both tasks, that followed upon a fault of these names."""
        windows = [(d.begun_ms - 500, d.ended_ms) for d in self._done if d.planned.fault.name in names]
        return [
            taken.seconds
            for job in self.jobs
            for taken in takeovers(job.seen())
            if any(begun <= taken.begun_ms <= ended for begun, ended in windows)
        ]

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

    def _archive(self) -> None:
        path = SAVED / self._name / f"seed-{self._seed}-{time.strftime('%Y%m%d-%H%M%S')}.jsonl.gz"
        with Archive(path) as archive:
            archive.add("run", {"seed": self._seed, "session_seconds": self._t, **conditions()})
            for done in self._done:
                facts = {"name": done.planned.fault.name, "task": self.jobs[done.planned.task].name}
                archive.add("fault", {**facts, "begun_ms": done.begun_ms, "ended_ms": done.ended_ms})
            for job in self.jobs:
                archive.history(job.name, job.writer.journal, job.seen(), job.roles())
        say(f"the history is in {path}")

    def _save(self) -> None:
        """What an inquiry needs besides the history."""
        folder = SAVED / self._name / f"seed-{self._seed}-{time.strftime('%H%M%S')}-logs"
        folder.mkdir(parents=True)
        for path in self._folder.glob("*.log"):
            shutil.copy(path, folder)
        (folder / "wrong.txt").write_text("\n".join(self._wrong))
        for line in self._wrong:
            say(f"WRONG: {line}")
        say(f"logs are in {folder}")

    def close(self) -> None:
        for job in self.jobs:
            job.writer.close()
        self._cluster.close()
        self._coordinator.close()
        self._ways.close()
