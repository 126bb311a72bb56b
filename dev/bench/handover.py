"""`python -m dev.bench.handover`: take-over and switchover under load, into build/bench.json."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from kafka import KafkaConsumer, TopicPartition

from dev.bench.fleet import zxid
from dev.bench.report import OUTPUT, Entry, figure, part, read, table, write
from dev.cluster import Cluster
from dev.errors import DevError
from dev.job import Job
from dev.kafka_sockets import PROXY_URL
from dev.progress import say
from dev.servers.stack import Stack
from replicator.coordination.layout import Layout
from replicator.coordination.leadership.grace import LEASE
from replicator.coordination.overview import Overview, TaskOverview
from replicator.coordination.tasks.commands import Commands
from replicator.zookeeper.client import connect

HOSTS = ("host-a", "host-b")


class Race:
    """Two Cores, one task, a writer. Each try ends when a consumer has a record of the new term."""

    def __init__(self, stack: Stack, folder: Path, session_seconds: float, rate: float) -> None:
        layout = Layout("/bench")
        self._session_seconds = session_seconds
        self.zookeeper = stack.zookeeper
        self._coordinator = connect(stack.zookeeper.address, session_timeout=10)
        self.cluster = Cluster(stack.zookeeper.address, folder, session_timeout=session_seconds, root=layout.root)
        overview = Overview(self._coordinator, layout)
        self._commands = Commands(self._coordinator, layout)
        usual = {"checkpoint_interval_ms": 1000}
        roles = self.cluster.role_folder
        self.job = Job("handover", stack.mysql, stack.kafka, overview, rate=rate, settings=usual, role_folder=roles)
        self._bootstrap = stack.kafka.bootstrap

    def start(self) -> None:
        self.cluster.start_server()
        for host in HOSTS:
            self.cluster.core(host)
        self.job.writer.prepare()
        self.cluster.apply(self.job.task)
        self.job.wait_running()
        self.job.writer.start()
        self.job.wait_delivered(20)

    def takeover(self) -> float:
        """Seconds from SIGKILL of the leading Core to the first record of its successor."""
        leader = self._both()
        with Listener(self._bootstrap, self.job.topics) as listener:
            began = time.monotonic()
            self.cluster.cores[leader.host].kill()
            try:
                return listener.later_than(leader.epoch, began)
            finally:
                self.cluster.core(leader.host)

    def switchover(self) -> float:
        """Seconds from the command, as the server queues it, to the first record of the other one."""
        leader = self._both()
        with Listener(self._bootstrap, self.job.topics) as listener:
            began = time.monotonic()
            self._commands.submit(self.job.name, "switchover", {"to": "", "host": ""}, "bench")
            return listener.later_than(leader.epoch, began)

    def _both(self) -> TaskOverview:
        """The leader, when the other one stands by and the stream has run for a moment."""
        leader = self.job.wait_running()
        other = next(host for host in HOSTS if host != leader.host)
        self.job.wait_standby(other)
        time.sleep(1)
        return leader

    def logs(self) -> str:
        return "\n".join(f"{host}:\n{self.cluster.cores[host].tail(12)}" for host in HOSTS)

    def writes_per_minute(self, seconds: float) -> float:
        """Of ZooKeeper, under load."""
        self._both()
        before, began = zxid(self.zookeeper), time.monotonic()
        time.sleep(seconds)
        return (zxid(self.zookeeper) - before) / (time.monotonic() - began) * 60

    def lease_least(self, seconds: float) -> tuple[float, float]:
        """How little was left of the leader's lease when it was renewed, at the least, with all processors busy; and of
        how much. In seconds."""
        leader = self._both()
        whole = self._session_seconds * LEASE
        busy = [sys.executable, "-c", "while True: pass"]
        burners = [subprocess.Popen(busy) for _ in range(2 * (os.cpu_count() or 1))]
        least, end = whole, time.monotonic() + seconds
        try:
            while time.monotonic() < end:
                figures = self.job.look().figures
                if figures is not None and figures.lease_least_s:
                    least = min(least, figures.lease_least_s)
                time.sleep(0.5)
        finally:
            for burner in burners:
                burner.kill()
                burner.wait()
        if self.job.look().epoch != leader.epoch:
            raise RuntimeError("the task was led by another one meanwhile")
        return least, whole

    def close(self) -> None:
        self.job.writer.close()
        self.cluster.close()
        self._coordinator.close()


class Listener:
    """Sees the records that come from now on, and of which term they are."""

    def __init__(self, bootstrap: str, prefix: str) -> None:
        self._consumer = KafkaConsumer(
            bootstrap_servers=bootstrap,
            proxy_url=PROXY_URL,
            group_id=None,
            enable_auto_commit=False,
            isolation_level="read_committed",
        )
        topics = sorted(topic for topic in self._consumer.topics() if topic.startswith(prefix))
        places = [
            TopicPartition(topic, number)
            for topic in topics
            for number in sorted(self._consumer.partitions_for_topic(topic) or ())
        ]
        self._consumer.assign(places)
        self._consumer.seek_to_end(*places)
        for place in places:
            self._consumer.position(place)

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close(autocommit=False)

    def later_than(self, epoch: int, began: float, timeout: float = 60.0) -> float:
        """Seconds since `began` when the first record of a later term than `epoch` comes."""
        while time.monotonic() < began + timeout:
            for records in self._consumer.poll(timeout_ms=100).values():
                if any(int(dict(record.headers)["epoch"]) > epoch for record in records):
                    return time.monotonic() - began
        raise TimeoutError(f"no record of a term later than {epoch} within {timeout:g} s")


def figures(name: str, samples: list[float]) -> Iterator[Entry]:
    for key, share in (("p50", 0.5), ("p99", 0.99), ("max", 1.0)):
        yield part(f"{name}.{key}", "s", samples, share, 3)
    yield figure(f"{name}.mean", "s", samples, 3)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m dev.bench.handover", description=__doc__)
    parser.add_argument("--tries", type=int, default=50, help="of each kind")
    parser.add_argument("--session-timeout", type=float, default=4.0, help="T of the Cores, seconds")
    parser.add_argument("--rate", type=float, default=80.0, help="transactions a second of the writer")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    with Stack() as stack, tempfile.TemporaryDirectory(prefix="mysql-replicator-bench-") as folder:
        race = Race(stack, Path(folder), options.session_timeout, options.rate)
        try:
            race.start()
            entries = list(measured(race, options.tries))
        finally:
            race.close()
    write(entries, options.output)
    print(table(entries))
    if options.output == OUTPUT:
        from dev.bench.page import write_page

        write_page(read())
    return 0


def measured(race: Race, tries: int) -> Iterator[Entry]:
    """A try that fails is told, with the logs, and counted; the others go on."""
    yield figure("zookeeper.writes_per_task_per_minute_under_load", "", [race.writes_per_minute(min(20, tries))])
    for name, attempt in (("switchover_s", race.switchover), ("takeover_s", race.takeover)):
        samples: list[float] = []
        for number in range(tries):
            try:
                samples.append(attempt())
                say(f"{name} {number + 1} of {tries}: {samples[-1]:.3f} s")
            except (DevError, TimeoutError) as error:
                say(f"{name} {number + 1} of {tries}: {error}\n{race.logs()}")
        if samples:
            yield from figures(name, samples)
        yield figure(f"{name}.failed", "tries", [tries - len(samples)], 0)
    least, whole = race.lease_least(30.0 if tries > 5 else 5.0)
    yield figure("lease.least_left_when_renewed", "s", [least], 3)
    yield figure("lease.whole", "s", [whole], 3)
    verdict = race.job.verdict(timeout=120)
    say(f"everything read back: {verdict}")
    yield figure("handover.rows", "rows", [verdict.committed], 0)
    for name, findings in verdict.findings():
        yield figure(f"handover.{name}", "findings", [len(findings)], 0)


if __name__ == "__main__":
    sys.exit(main())
