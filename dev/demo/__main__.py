"""`make demo`: demonstrates a fail-over with narration, and verifies the figures at the end."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from dev.checker.history import Seen
from dev.checker.verdict import Verdict, compare, judge, rebuilt
from dev.checker.writer import Writer
from dev.cluster import Cluster, wait_for
from dev.demo import before, second_server
from dev.demo.places import FilePlace, KafkaPlace, Place, open_place
from dev.demo.secured import SHOWN, Secured, SecurityCheck
from dev.errors import DevError, ServerUnavailable
from dev.paths import private_folder
from dev.servers import MariaDB, MySQL
from dev.servers.base import Server
from dev.servers.stack import start_all

TASK = "copy_hot_item"
LAG_SECONDS = 30.0


def say(text: str) -> None:
    print(f"demo: {text}", flush=True)


def databases() -> tuple[MySQL | MariaDB, MySQL | MariaDB]:
    """Source and target: MySQL 9.7 where it is to be had, else MariaDB."""
    server = MySQL(fast=True)
    try:
        server.start()
        return server, MySQL(fast=True)
    except ServerUnavailable as error:
        server.close()
        say(f"{error}; MariaDB takes its place")
    return MariaDB(fast=True), MariaDB(fast=True)


def task(source: MySQL | MariaDB, place: Place) -> dict[str, Any]:
    return {
        "name": TASK,
        "source": {
            "type": "mysql" if isinstance(source, MySQL) else "mariadb",
            "host": source.host,
            "port": source.port,
            "user": source.replicator[0],
            "password": "env:REPL_PASSWORD",
            "tables": ["shop.*"],
            "snapshot": {"mode": "initial", "tables": [f"shop.{before.TABLE}"]},
        },
        "sink": place.sink,
    }


class Story:
    """The run of the demo over servers that serve."""

    def __init__(
        self, source: MySQL | MariaDB, target: MySQL | MariaDB, secured: Secured, place: Place, folder: Path
    ) -> None:
        self.source, self.target = source, target
        self.place = place
        self.secured = secured
        self.cluster = Cluster(secured.zookeeper.address, folder, logins=secured.logins, ca=secured.ca)
        self.writer = Writer(source)
        self.killed_at = 0.0
        self.snapshot: dict[str, Any] = {}
        self.verified = "not verified"
        self.is_secured = False
        os.environ["REPL_PASSWORD"] = source.replicator[1]
        second_server.set_password()

    def begin(self) -> None:
        self.cluster.start_server()
        self.cluster.start_monitor()
        for host in ("host-a", "host-b"):
            self.cluster.core(host)
        say(f"Cores host-a and host-b, Server {self.cluster.server_url}, Monitor {self.cluster.monitor_url}")
        say(SHOWN)
        self.writer.prepare()
        before.fill(self.source)
        say(f"shop.{before.TABLE} has {before.ROWS:,} rows before the task is created")
        first = task(self.source, self.place)
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(self.create, (first, second_server.task(first["source"], self.target))))
        self.writer.start()
        say("a writer commits to shop.hot_item from now on, without a break")
        time.sleep(4)
        self.show()
        self.snapshot = wait_for(lambda: self.snapshot_complete(TASK), "the snapshot to be complete", 60)

    def create(self, task: dict[str, Any]) -> None:
        self.cluster.apply(task)
        say(f"$ replicator task apply -f {task['name']}.json")
        self.cluster.cli("task", "wait", task["name"], "--for", "running", "--timeout", "60")

    def snapshot_complete(self, task: str) -> dict[str, Any]:
        found = next((item["snapshot"] for item in self.cluster.tasks() if item["name"] == task), None) or {}
        return found if found.get("state") == "complete" else {}

    def kill_the_running_one(self) -> None:
        host = self.running()
        say(f"kill -9 of {host}, which is RUNNING")
        self.killed_at = time.time()
        self.cluster.cores[host].kill()
        after = wait_for(lambda: self.running_other_than(host), "a standby to take over", 60)
        say(f"{after} has taken over")
        time.sleep(3)
        self.cluster.core(host)
        self.wait_standby(host)
        say(f"{host} is started again and is STANDBY")
        self.show()

    def switch_over(self) -> None:
        host = self.running()
        say(f"$ replicator task switchover {TASK}   (from {host})")
        self.cluster.cli("task", "switchover", TASK)
        after = wait_for(lambda: self.running_other_than(host), "the planned switchover", 60)
        say(f"{after} has taken over from {host}")
        time.sleep(3)

    def prove(self) -> tuple[Verdict, list[Seen]]:
        journal = self.writer.stop()
        say("the writer has stopped; everything is read back and compared with its journal and with the table")
        wait_for(lambda: self.snapshot_complete(second_server.TASK), "the snapshot of the second server", 60)
        verification = second_server.Verification(self.cluster)
        security = SecurityCheck(self.secured)
        expected = sum(len(transaction.changes) for transaction in journal if transaction.outcome == "committed")
        wait_for(lambda: len(self.place.seen()) >= expected, "the last records to arrive", LAG_SECONDS, every=0.5)
        seen = self.place.seen()
        verdict = judge(journal, seen)
        verdict.differing = compare(self.writer.rows(), rebuilt(self.place.rows()))
        self.verified, rows = verification.result()
        say(f"$ replicator verify {second_server.TASK}   ({rows:,} rows: {self.verified})")
        self.is_secured, findings = security.result()
        say(f"$ replicator check --security   ({'nothing wrong' if self.is_secured else findings})")
        return verdict, seen

    def running(self) -> str:
        return str(wait_for(lambda: self.running_other_than(""), "a RUNNING Core", 60))

    def running_other_than(self, host: str) -> str:
        for item in self.cluster.tasks():
            if item["name"] == TASK and item["state"] == "running" and item["host"] != host:
                return str(item["host"])
        return ""

    def wait_standby(self, host: str) -> None:
        wait_for(
            lambda: any(host in item["standbys"] for item in self.cluster.tasks() if item["name"] == TASK),
            f"{host} to stand by",
            60,
        )

    def show(self) -> None:
        for line in self.cluster.cli("task", "get").splitlines():
            say(f"  {line}")


def of_snapshot(story: Story) -> str:
    read = before.read_rows(story.place.records(before.TABLE))
    return f"snapshot {read} of {before.ROWS} in {before.seconds(story.snapshot):.1f} s"


def figures(verdict: Verdict, seen: list[Seen], killed_at: float) -> str:
    """Take-over: SIGKILL to the first record of the next epoch. Switchover: last record of one epoch to the first of
    the next, while the writer commits on. Times of records are the producer's, in ms."""
    epochs = sorted({record.epoch for record in seen})
    first = {epoch: min(r.time_ms for r in seen if r.epoch == epoch) for epoch in epochs}
    last = {epoch: max(r.time_ms for r in seen if r.epoch == epoch) for epoch in epochs}
    takeover = switchover = float("nan")
    if len(epochs) > 1:
        takeover = first[epochs[1]] / 1000 - killed_at
    if len(epochs) > 2:
        switchover = (first[epochs[2]] - last[epochs[1]]) / 1000
    return (
        f"committed {verdict.committed}, delivered {verdict.delivered}, lost {len(verdict.lost)}, "
        f"duplicated {len(verdict.duplicated)}, reordered {len(verdict.reordered)}, "
        f"take-over {takeover:.1f} s, switchover {switchover:.1f} s"
    )


def tell(source: MySQL | MariaDB, target: MySQL | MariaDB, secured: Secured, place: Place, folder: Path) -> int:
    story = Story(source, target, secured, place, folder)
    try:
        story.begin()
        story.kill_the_running_one()
        story.switch_over()
        verdict, seen = story.prove()
        if not verdict.clean:
            say(str(verdict))
        last = f"{figures(verdict, seen, story.killed_at)}, {of_snapshot(story)}, target {story.verified}"
        if sys.stdout.isatty():
            page = f"{story.cluster.monitor_url}/tasks/{TASK}"
            say(f"the kill and the switchover: {page} (until Ctrl-C; the Monitor's authority is {secured.ca})")
            say(last)
            wait_for_interrupt()
        return finish(verdict, last, story.is_secured)
    except DevError as error:
        say(f"failed: {error}")
        for process in [*story.cluster.cores.values(), story.cluster.server]:
            if process is not None:
                say(f"--- {process.name}\n{process.tail(15)}")
        return 1
    finally:
        story.cluster.close()
        story.writer.close()


def wait_for_interrupt() -> None:
    try:
        while True:
            time.sleep(1)
    except KeyboardInterrupt:
        return


def finish(verdict: Verdict, last: str, is_secured: bool) -> int:
    say(last)
    complete = f"snapshot {before.ROWS} of {before.ROWS} in" in last and last.endswith(", target equal")
    return 0 if verdict.clean and complete and is_secured else 1


def interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def main() -> int:
    signal.signal(signal.SIGTERM, interrupt)
    folder = private_folder("demo")
    try:
        return run(folder)
    except KeyboardInterrupt:
        say("interrupted; everything is stopped")
        return 130
    except DevError as error:
        say(f"failed: {error}")
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(folder: Path) -> int:
    servers: list[Server] = []
    place: Place | None = None
    try:
        say("starting ZooKeeper, two databases and Kafka on free loopback ports")
        secured = Secured(folder / "secured")
        servers.append(secured.zookeeper)
        with ThreadPoolExecutor(1) as pool:
            established = pool.submit(secured.establish)
            place = open_place(say)
            if isinstance(place, KafkaPlace):
                servers.append(place.broker)
            source, target = databases()
            servers += [source, target]
            start_all(servers)
            established.result()
        return tell(source, target, secured, place, folder)
    finally:
        for server in reversed(servers):
            server.close()
        if isinstance(place, FilePlace):
            place.close()


if __name__ == "__main__":
    raise SystemExit(main())
