"""`python -m dev.bench`: starts a database and Kafka, writes the load, measures, and writes build/bench.json."""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from pathlib import Path

from dev.bench.job import Job, Outcome, measure
from dev.bench.load import Load, Segment
from dev.bench.ours import PARTITIONS
from dev.bench.report import Entry, entry, table, write
from dev.checker.consumer import read_topics
from dev.errors import ServerUnavailable
from dev.progress import say, step
from dev.servers import Kafka, MariaDB, MySQL
from dev.servers.database import Database
from dev.servers.kafka import kafka_broker
from dev.servers.stack import start_all

PATHS = ("ours", "plain")
OUTPUT = Path("build/bench.json")
BINLOG = ["--max-binlog-size=1073741824", "--sync-binlog=0"]


class Bench:
    """Runs jobs over segments, each into a topic of its own that is deleted afterwards."""

    def __init__(self, database: Database, kafka: Kafka) -> None:
        self._database = database
        self._kafka = kafka
        self._numbers = itertools.count(1)

    def compare(self, segment: Segment) -> None:
        """Both paths must say the same of the same rows, else their speeds can't be compared. Also warms Kafka up."""
        topics = [f"bench_compare_{path}" for path in PATHS]
        for path, topic in zip(PATHS, topics, strict=True):
            self._into(topic, path, segment, segment.rows if path == "plain" else 0)
        ours, plain = (contents(self._kafka.bootstrap, topic) for topic in topics)
        for partition, told in plain.items():
            for mine, theirs in zip(ours.get(partition, []), told, strict=False):
                if mine != theirs:
                    raise RuntimeError(f"the two paths differ: ours {mine}, plain {theirs}")
            if len(ours.get(partition, [])) < len(told):
                raise RuntimeError(f"partition {partition} of {segment.name} has fewer records than the plain one")
        for topic in topics:
            _delete(self._kafka.bootstrap, topic)

    def run(self, path: str, segment: Segment, limit: int = 0) -> Outcome:
        name = f"bench_{segment.name}_{path}_{next(self._numbers)}"
        try:
            return self._into(name, path, segment, limit)
        finally:
            _delete(self._kafka.bootstrap, name)

    def _into(self, name: str, path: str, segment: Segment, limit: int) -> Outcome:
        user, password = self._database.replicator
        self._kafka.create_topic(name, PARTITIONS, **{"file.delete.delay.ms": "100"})
        job = Job(
            path,
            "mariadb" if self._database.name == "MariaDB" else "mysql",
            self._database.host,
            self._database.port,
            user,
            password,
            self._kafka.bootstrap,
            name,
            segment.file,
            segment.start,
            segment.end,
            segment.rows,
            limit,
        )
        outcome = measure(job)
        # Ours stops behind the end by up to one read of the socket: those rows are delivered and count too.
        if outcome.rows < (limit or segment.rows):
            raise RuntimeError(f"{path} delivered {outcome.rows} of {limit or segment.rows} rows of {segment.name}")
        say(f"{segment.name} {path}: {outcome.rate:,.0f} rows/s, {outcome.seconds:.1f} s, {outcome.peak_mb:.0f} MB")
        return outcome

    def rates(self, segment: Segment, plain_rows: int, runs: int) -> Entry:
        """The two paths in turn, so that whatever else the machine does meets both. The plain one is so slow that it
        reads only the beginning of the segment."""
        ours, plain = [], []
        for _ in range(runs):
            ours.append(self.run("ours", segment).rate)
            plain.append(self.run("plain", segment, min(plain_rows, segment.rows)).rate)
        return entry(segment.name, "rows/s", ours, plain)

    def memory(self, segment: Segment, runs: int) -> Entry:
        ours = [self.run("ours", segment).peak_mb for _ in range(runs)]
        plain = [self.run("plain", segment).peak_mb]
        return entry(segment.name, "MB", ours, plain)


def contents(bootstrap: str, topic: str) -> dict[int, list[tuple[bytes, str, object, object]]]:
    """(key, op, before, after) per record, by partition in order; tombstones have op "tombstone"."""
    found: dict[int, list[tuple[bytes, str, object, object]]] = {}
    for record in read_topics(bootstrap, topic.__eq__):
        value = json.loads(record.value) if record.value is not None else {"op": "tombstone"}
        told = (record.key, value["op"], value.get("before"), value.get("after"))
        found.setdefault(record.partition, []).append(told)
    return found


def _delete(bootstrap: str, topic: str) -> None:
    from kafka.admin import KafkaAdminClient

    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        admin.delete_topics([topic])
    finally:
        admin.close()


def start_servers() -> tuple[Database, Kafka]:
    kafka = kafka_broker(fast=True, heap="1g")
    database: Database = MySQL(fast=True, extra_args=BINLOG)
    try:
        start_all([kafka, database])
    except ServerUnavailable as error:
        if error.name != database.name:
            raise
        say(f"{error}: measured on MariaDB instead")
        database = MariaDB(fast=True, extra_args=BINLOG)
        start_all([kafka, database])
    return database, kafka


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m dev.bench", description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="of each path over each segment; the median counts")
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of rows; below 1 for a quick look")
    parser.add_argument("--only", action="append", choices=["rows_tx1", "rows_tx10000", "memory_tx200000"])
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    database, kafka = start_servers()
    try:
        entries = measured(Bench(database, kafka), Load(database), options)
    finally:
        database.close()
        kafka.close()
    write(entries, options.output)
    print(f"\nOurs (exactly_once) and the plain packages, {database.name} -> Kafka, medians of {options.runs}:\n")
    print(table(entries))
    return 0


def measured(bench: Bench, load: Load, options: argparse.Namespace) -> list[Entry]:
    wanted = options.only or ["rows_tx1", "rows_tx10000", "memory_tx200000"]

    def scaled(rows: int, per: int = 1) -> int:
        return max(int(rows * options.scale) // per, 1) * per

    with step("writing the load"):
        load.prepare()
        warm = load.single("warm", 2000)
        single = load.single("rows_tx1", scaled(120_000)) if "rows_tx1" in wanted else warm
        groups = load.groups("rows_tx10000", scaled(400_000, 10_000), 10_000) if "rows_tx10000" in wanted else warm
        huge = load.groups("memory_tx200000", 200_000, 200_000) if "memory_tx200000" in wanted else warm
    bench.compare(warm)
    entries = []
    if single is not warm:
        entries.append(bench.rates(single, scaled(15_000), options.runs))
    if groups is not warm:
        entries.append(bench.rates(groups, scaled(40_000), options.runs))
    if huge is not warm:
        entries.append(bench.memory(huge, options.runs))
    return entries


if __name__ == "__main__":
    sys.exit(main())
