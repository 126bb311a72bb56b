"""Runs jobs over segments, each into a separate topic that is deleted afterwards."""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from dev.bench.job import Job, Outcome, measure
from dev.bench.load import Segment
from dev.bench.ours import PARTITIONS
from dev.bench.report import Entry, figure
from dev.checker.consumer import read_topics
from dev.progress import say
from dev.servers import Kafka
from dev.servers.database import Database

SLOW = ("plain", "twin")
"""Paths that read only the beginning of a segment."""


Contents = dict[int, list[tuple[bytes | None, str, object, object]]]

_VISIBLE_SECONDS = 20.0
_WARM_MB = 1500
_BYTES = 1200
"""Of a record of a snapshot at the most, headers and indexes included."""
_HEATS = 8


class Runner:
    def __init__(self, database: Database, kafka: Kafka) -> None:
        self.database = database
        self.kafka = kafka
        self._numbers = itertools.count(1)

    def job(self, path: str, segment: Segment, name: str, *, short: bool, **options: Any) -> Job:
        user, password = self.database.replicator
        return Job(
            path=path,
            flavor="mariadb" if self.database.name == "MariaDB" else "mysql",
            host=self.database.host,
            port=self.database.port,
            user=user,
            password=password,
            bootstrap=self.kafka.bootstrap,
            name=name,
            file=segment.file,
            start=segment.start,
            end=segment.short if short else segment.end,
            rows=segment.short_rows if short else segment.rows,
            **options,
        )

    def run(
        self,
        path: str,
        segment: Segment,
        *,
        short: bool | None = None,
        tree: Path | None = None,
        prefix: tuple[str, ...] = (),
        **options: str,
    ) -> Outcome:
        """short: only the segment's beginning; None: as the path is used to. options: format, delivery, compression.
        Raises RuntimeError when not everything has arrived."""
        name = f"bench_{segment.name}_{path}_{next(self._numbers)}"
        short = path in SLOW if short is None else short
        self.create(name)
        warm_memory(max(_WARM_MB, segment.rows * _BYTES // 1_000_000 if path == "snapshot" else 0))
        try:
            job = self.job(path, segment, name, short=short, **options)
            outcome = measure(job, tree=tree, prefix=prefix)
            outcome = msgspec.structs.replace(outcome, sent=self.logged(name))
        finally:
            self.delete(name)
        # Ours stops behind the end by up to one read of the socket: those rows are delivered and count too.
        if outcome.rows < job.rows:
            raise RuntimeError(f"{path} delivered {outcome.rows} of {job.rows} rows of {segment.name}")
        what = " ".join((segment.name, path, *options.values()))
        say(f"{what}: {outcome.rate:,.0f} rows/s, {outcome.cpu_us:.1f} us of CPU per row, {outcome.peak_mb:.0f} MB")
        return outcome

    def heat(self, segment: Segment) -> None:
        """A JVM compiles what it does most only after some millions of records: a broker that has just started needs
        several times the CPU. What is measured on it would depend on what came before."""
        for _ in range(_HEATS):
            self.run("ours", segment)

    def compare(self, segment: Segment) -> Iterator[Entry]:
        """Ours, its twin and the plain packages must say the same of the same rows, else their speeds can't be
        compared."""
        names = [f"bench_compare_{path}" for path in ("ours", "twin", "plain")]
        for name in names:
            self.create(name)
            measure(self.job(name.rpartition("_")[2], segment, name, short=False))
        self.agree({name: self._all(name, segment.rows + segment.deletes) for name in names})
        for name in names:
            self.delete(name)
        yield figure("compared", "rows", [segment.rows], 0)

    @staticmethod
    def agree(told: dict[str, Contents]) -> None:
        """Raises RuntimeError when a path says something else of the same rows than the first one. Each may have gone
        on behind the segment's end by what it had read."""
        (_, ours), *others = told.items()
        for name, other in others:
            for partition, theirs in other.items():
                for one, another in zip(ours.get(partition, []), theirs, strict=False):
                    if one != another:
                        raise RuntimeError(f"{name} differs: ours {one}, the other {another}")

    def _all(self, name: str, records: int) -> Contents:
        """What the topic holds, once it is as much as there has to be: commits are visible a moment after they end.
        Raises RuntimeError when it stays less."""
        end = time.monotonic() + _VISIBLE_SECONDS
        while sum(map(len, (found := contents(self.kafka.bootstrap, name)).values())) < records:
            if time.monotonic() > end:
                raise RuntimeError(f"{name} has {sum(map(len, found.values()))} of {records} records")
            time.sleep(0.2)
        return found

    def create(self, name: str) -> None:
        self.kafka.create_topic(name, PARTITIONS, **{"file.delete.delay.ms": "100"})

    def delete(self, name: str) -> None:
        from kafka.admin import KafkaAdminClient

        admin = KafkaAdminClient(bootstrap_servers=self.kafka.bootstrap)
        try:
            admin.delete_topics([name])
        finally:
            admin.close()

    def logged(self, name: str) -> int:
        """Bytes of the topic's log; 0 where the broker is not ours to look into."""
        try:
            logs = list((self.kafka.folder / "data").glob(f"{name}-*/*.log"))
            return sum(log.stat().st_size for log in logs)
        except OSError:
            return 0


def warm_memory(megabytes: int = _WARM_MB) -> None:
    """Touches as much memory as a run lets Kafka write, and gives it back: a virtual machine's host hands memory out at
    the first touch, several times slower than a broker writes, and takes it back soon after."""
    piece = bytes(1 << 20)
    with os.fdopen(os.memfd_create("warm"), "wb") as file:
        for _ in range(megabytes):
            file.write(piece)


def contents(bootstrap: str, topic: str) -> Contents:
    """(key, op, before, after) per record, by partition in order; tombstones have op "tombstone"."""
    found: Contents = {}
    for record in read_topics(bootstrap, topic.__eq__):
        value = json.loads(record.value) if record.value is not None else {"op": "tombstone"}
        told = (record.key, value["op"], value.get("before"), value.get("after"))
        found.setdefault(record.partition, []).append(told)
    return found
