"""One soak: a bus with two tasks, faults one after another, and the verdict."""

from __future__ import annotations

import bisect
import contextlib
import itertools
import re
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import msgspec

from dev.checker.spool import Spool
from dev.checker.verdict import Verdict
from dev.cluster import Cluster, wait_for
from dev.job import Job
from dev.paths import TREE
from dev.servers.stack import Stack
from dev.soak.archive import Archive, conditions
from dev.soak.course import Course
from dev.soak.faults import FAULTS, Planned, schedule
from dev.soak.figures import backlogs, draw
from dev.soak.hands import GROUP, PART, Hands
from dev.soak.outcome import Outcome
from dev.soak.samples import Samples, left_behind
from dev.soak.ways import DooredKafka, Ways
from replicator.coordination.layout import Layout
from replicator.coordination.overview import Overview
from replicator.errors import NotConnected
from replicator.zookeeper.client import connect

HOSTS = ("host-a", "host-b", "host-c")
MORE = 20
"""Records that must arrive after a fault."""
PATIENCE = 240.0
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
    """Args:
    name: of the last line, and of the folder under build/ where histories go.
    stack: its broker is a `DooredKafka`.
    rate, most_rows: transactions a second, and rows in each at most, of each of the two writers.
    """

    def __init__(
        self, name: str, stack: Stack, folder: Path, seed: int, *, session_seconds: float, rate: float, most_rows: int
    ) -> None:
        self._name = name
        self._stack, self._folder, self._seed = stack, folder, seed
        self._t = session_seconds
        layout = Layout("/soak")
        self._cluster = Cluster(stack.zookeeper.address, folder, session_timeout=session_seconds, root=layout.root)
        self._coordinator = connect(stack.zookeeper.address, session_timeout=10)
        overview = Overview(self._coordinator, layout)
        assert isinstance(stack.kafka, DooredKafka)
        self._ways = Ways(HOSTS, stack.zookeeper, stack.mysql, stack.kafka)
        path = SAVED / name / f"seed-{seed}-{time.strftime('%Y%m%d-%H%M%S')}.jsonl.gz"
        self._archive = Archive(path)
        self._conditions = conditions()
        self._archive.add("run", {"seed": seed, "session_seconds": session_seconds, **self._conditions})
        journals = {name: Spool(folder / f"{name}.journal") for name in ("exactly_once", "at_least_once")}
        self.jobs = [
            Job(
                name,
                stack.mysql,
                stack.kafka,
                overview,
                sink={
                    "delivery": name,
                    "bootstrap_servers": [stack.kafka.door.address],
                    "compression": "lz4",
                },
                source={"port": self._ways.mysql.port, "connect_timeout_s": 5},
                settings={"group": GROUP, "standbys": len(HOSTS) - 1},
                role_folder=self._cluster.role_folder,
                rate=rate,
                seed=seed + number,
                most_rows=most_rows,
                journal=journal,
            )
            for number, (name, journal) in enumerate(journals.items())
        ]
        self._courses = {job.name: Course(job, journals[job.name], self._archive) for job in self.jobs}
        self._hands: Hands | None = None
        self._samples = Samples(self.jobs, self._cluster)
        self._done: list[Done] = []
        self._wrong: list[str] = []
        self._began = time.monotonic()

    def begin(self) -> None:
        self._ways.start()
        self._cluster.start_server()
        for host in HOSTS:
            self._cluster.core(host, *PART, zookeeper=self._ways.zookeeper[host].address)
        for job in self.jobs:
            job.writer.prepare()
            self._cluster.apply(job.task)
            job.wait_running()
            job.writer.start()
            self._courses[job.name].start()
        for course in self._courses.values():
            course.wait_more(MORE, PATIENCE)
        servers = {"zookeeper": self._stack.zookeeper, "kafka": self._stack.kafka, "mysql": self._stack.mysql}
        self._hands = Hands(self._cluster, dict(servers), self.jobs, self._coordinator, self._t, self._ways)
        self._samples.start()
        self._began = time.monotonic()
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
            rows = sum(course.arrived for course in self._courses.values())
            task = self.jobs[planned.task].name
            self._archive.add(
                "fault",
                {"name": planned.fault.name, "task": task, "begun_ms": begun, "ended_ms": self._done[-1].ended_ms},
            )
            say(f"{len(self._done)}. {planned.fault.name} ({task}): {took:.1f} s; {rows} rows")

    def _recover(self) -> None:
        end = time.monotonic() + PATIENCE
        for job in self.jobs:
            job.wait_running(timeout=max(1.0, end - time.monotonic()))
            self._courses[job.name].wait_more(MORE, max(1.0, end - time.monotonic()))

            def stands(job: Job = job) -> bool:
                with contextlib.suppress(NotConnected):
                    return len(job.look().standbys) == len(HOSTS) - 1
                return False

            wait_for(stands, f"two standbys of {job.name}", max(1.0, end - time.monotonic()))

    # The end

    def end(self, *, keep: bool = False) -> int:
        for job in self.jobs:
            job.writer.close()
        verdicts = {
            name: course.verdict(PATIENCE, self._samples.checkpoints[name]) for name, course in self._courses.items()
        }
        self._samples.stop()
        self._outages()
        for name, verdict in verdicts.items():
            self._judge(name, verdict)
        self._cluster.close()
        self._processes()
        self._tell_logs()
        self._keep()
        if self._wrong or keep:
            self._save()
        self._figures(verdicts)
        return 1 if self._wrong else 0

    def _figures(self, verdicts: dict[str, Verdict]) -> None:
        killed, planned = self._takeovers(KILLED), self._takeovers(PLANNED)
        course = self._courses["exactly_once"]
        outcome = Outcome(
            name=self._name,
            seed=self._seed,
            session_seconds=self._t,
            minutes=round((time.monotonic() - self._began) / 60, 1),
            rounds=len(self._done),
            kinds=dict(sorted(Counter(done.planned.fault.name for done in self._done).items())),
            rows=sum(verdict.delivered for verdict in verdicts.values()),
            lost=sum(len(verdict.lost) for verdict in verdicts.values()),
            reordered=sum(len(verdict.reordered) + len(verdict.stale) for verdict in verdicts.values()),
            duplicated=len(verdicts["exactly_once"].duplicated),
            repeated=len(verdicts["at_least_once"].duplicated),
            overlap_ms=sum(verdict.overlap_s for verdict in verdicts.values()) * 1000,
            killed=killed,
            planned=planned,
            longest_outage=max((done.outage for done in self._done), default=0.0),
            drained=backlogs(course.written(), course.came),
            memory={host: most[0] for host, most in sorted(self._samples.most.items())},
            wrong=self._wrong,
            **{key: value for key, value in self._conditions.items() if key != "python"},
        )
        if killed or planned:
            draw(SAVED / self._name / "takeover.png", {"SIGKILL": killed, "planned": planned}, self._t)
        (SAVED / self._name / "outcome.json").write_bytes(
            msgspec.json.format(msgspec.json.encode(outcome), indent=2) + b"\n"
        )
        for line in outcome.lines():
            say(line)
        print(outcome.last_line(), flush=True)

    def _takeovers(self, names: tuple[str, ...]) -> list[float]:
        """Seconds, of both tasks, that followed upon a fault of these names."""
        windows = [(d.begun_ms - 500, d.ended_ms) for d in self._done if d.planned.fault.name in names]
        return [
            taken.seconds
            for course in self._courses.values()
            for taken in course.terms.takeovers()
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
        times = {name: sorted(course.stamps) for name, course in self._courses.items()}
        for number, done in enumerate(self._done):
            worst = 0.0
            for stamps in times.values():
                begin, end = done.begun_ms - 1000, done.ended_ms + 1000
                near = stamps[bisect.bisect_left(stamps, begin) : bisect.bisect_right(stamps, end)]
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

    def _keep(self) -> None:
        for course in self._courses.values():
            course.archive()
        self._archive.close()
        say(f"the history is in {self._archive.path}")

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
        for course in self._courses.values():
            course.close()
        self._archive.close()
        self._cluster.close()
        self._coordinator.close()
        self._ways.close()
