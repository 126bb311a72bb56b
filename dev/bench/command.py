"""`python -m dev.bench`: starts a database and Kafka, writes the load, measures, and writes build/bench.json and
docs/performance.md."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from dev.bench import latency, sections
from dev.bench.apply import apply
from dev.bench.flames import flames
from dev.bench.fleet import fleet
from dev.bench.load import KINDS, Load, Segment
from dev.bench.machine import facts
from dev.bench.monitor import monitor
from dev.bench.peer import debezium, prepare
from dev.bench.report import OUTPUT, Entry, absent, read, table, write
from dev.bench.runner import Runner
from dev.bench.snapshots import ROWS, snapshots
from dev.errors import DevError, ServerUnavailable
from dev.progress import say, step
from dev.servers import Kafka, MariaDB, MySQL
from dev.servers.database import Database
from dev.servers.kafka import kafka_broker
from dev.servers.stack import start_all

BINLOG = ["--max-binlog-size=1073741824", "--sync-binlog=0", "--max-connections=1000"]
DELETED_AT_ONCE = {"log.segment.delete.delay.ms": 100}
"""Of the broker, which else keeps the logs of deleted topics for a minute: a snapshot's is two gigabytes on a tmpfs."""
SIZES = {"small": 0.02, "default": 1.0, "full": 5.0}
BIG: tuple[str, ...] = ("tx1", "tx10000")
COMPARED = frozenset({"tx1", "tx10000", "debezium"})
PARTS = (
    "compare", "tx1", "tx10000", "debezium", "snapshot", "apply", "latency", "workers", "guards", "memory", "fleet",
    "monitor",    "kinds", "matrix", "flames",
)  # fmt: skip


class Plan:
    """The parts of a run, in the order of what matters most. A part that fails, or that begins too late, says so in the
    figures and on the terminal; the others go on."""

    def __init__(self, output: Path, minutes: float, only: list[str]) -> None:
        self._output = output
        self._end = time.monotonic() + minutes * 60
        self._only = only
        self.entries: dict[str, Entry] = {}
        self.failed: list[str] = []
        self._done: set[str] = set()

    def wants(self, part: str) -> bool:
        return not self._only or part in self._only or (part == "compare" and not COMPARED.isdisjoint(self._only))

    def part(self, name: str, measure: Callable[[], Iterable[Entry]]) -> None:
        if not self.wants(name):
            return
        if time.monotonic() > self._end:
            self._keep(absent(f"left_out.{name}", "part", "no time was left for it: make bench SIZE=full"))
            say(f"{name}: left out, the time is over")
            return
        try:
            with step(name):
                for entry in measure():
                    self._keep(entry)
            self._done |= {f"failed.{name}", f"left_out.{name}"}
        except Exception as error:
            self.failure(name, error)

    def failure(self, name: str, error: Exception) -> None:
        self.failed.append(name)
        self._keep(absent(f"failed.{name}", "part", f"{type(error).__name__}: {error}"[:500]))
        say(f"{name}: {type(error).__name__}: {error}")

    def _keep(self, entry: Entry) -> None:
        self.entries[entry.name] = entry

    def finish(self, reasons: dict[str, str]) -> None:
        found = {**read(self._output), **self.entries}
        for entry in (*sections.missing(found, reasons), *sections.derived(self.entries)):
            self._keep(entry)
        write(list(self.entries.values()), self._output, outdated=self._done)


def start_servers() -> tuple[Database, Kafka]:
    kafka = kafka_broker(fast=True, heap="1g", properties=DELETED_AT_ONCE)
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


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m dev.bench", description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="default", help="small: a trial; full: five times the rows")
    parser.add_argument("--runs", type=int, default=5, help="of each path over each segment; the median counts")
    parser.add_argument("--minutes", type=float, default=0, help="after which no part begins; default: 14, full: none")
    parser.add_argument("--only", action="append", choices=PARTS, default=[], help="these parts alone; repeatable")
    parser.add_argument("--peers", action="store_true", help="measure Debezium, too")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    return parser.parse_args()


def main() -> int:
    options = arguments()
    minutes = options.minutes or (14 if options.size == "default" and not options.peers else 1e6)
    plan = Plan(options.output, minutes, options.only)
    database, kafka = start_servers()
    try:
        measure(plan, Runner(database, kafka), options)
    finally:
        database.close()
        kafka.close()
    reasons = {"debezium": "measured with PEERS=1 make bench alone"}
    plan.finish(reasons)
    print(f"\n{database.name} -> Kafka, medians of {options.runs}:\n")
    print(table(list(plan.entries.values())))
    if options.size != "small":
        publish(options.output)
    return 1 if plan.failed else 0


def publish(output: Path) -> None:
    from dev.bench.page import write_page
    from dev.bench.plot import draw

    draw(read(output))
    write_page(read(output))


def measure(plan: Plan, runner: Runner, options: argparse.Namespace) -> None:
    scale, runs, small = SIZES[options.size], options.runs, options.size == "small"
    writer, connect = Load(runner.database), None
    writer.prepare()
    if options.peers and plan.wants("debezium"):
        try:
            connect = prepare(runner)
        except (DevError, RuntimeError) as error:
            plan.failure("debezium", error)
    segments = load(writer, scale, plan)
    few = runs if options.size == "full" or options.peers else 1
    plan.part("compare", lambda: runner.compare(segments["warm"]))
    plan.part("facts", lambda: facts(runner, options))
    with step("warming Kafka up"):
        runner.heat(segments["heat"])

    def against(size: str) -> Iterable[Entry]:
        return sections.against(runner, segments[size], size, runs)

    for size in BIG:
        plan.part(size, partial(against, size))
    both = {size: segments[size] for size in BIG if size in segments}
    if connect is not None:
        plan.part("debezium", lambda: debezium(runner, connect, both, runs))
    rows = int(ROWS * min(scale, 1))
    again, peers = min(runs, 3), options.peers
    plan.part(
        "snapshot",
        lambda: snapshots(runner, writer, rows, again, peer_runs=again if peers else 1, full=peers),
    )
    plan.part("apply", lambda: apply(runner, writer, both, rows, again))
    rates = {100: 3.0, 1000: 3.0} if small else {100: 15.0 * max(scale, 1), 1000: 8.0 * max(scale, 1)}
    plan.part("latency", lambda: latency.latencies(runner, rates, few))
    plan.part("workers", lambda: latency.workers(runner, segments.get("tx10000", segments["warm"]), runs))
    plan.part("guards", lambda: sections.guards(runner, both, 1 if small else 3 * runs))
    plan.part("memory", lambda: sections.memory(runner, segments["huge"], min(runs, 3), plain=options.size == "full"))
    plan.part("fleet", lambda: fleet(runner, 5 if small else 100, 3 if small else 20))
    plan.part("monitor", lambda: monitor(10, 5, 3, 2) if small else monitor(1000, 500, 50, 20))
    alone = {name: segment for name, segment in segments.items() if name.partition("_")[0] in KINDS}
    plan.part("kinds", lambda: sections.kinds(runner, alone, few))
    plan.part("flames", lambda: flames(runner, both))
    sizes = {name.removeprefix("matrix_"): segment for name, segment in segments.items() if name.startswith("matrix_")}
    plan.part("matrix", lambda: sections.matrix(runner, sizes, few))


def load(load: Load, scale: float, plan: Plan) -> dict[str, Segment]:
    """The segments that the wanted parts need."""

    def scaled(rows: int, per: int) -> int:
        return max(int(rows * scale) // per, 2) * per

    sizes: dict[str, Any] = {
        "tx1": (400_000, 1, ("tx1", "debezium", "apply", "guards", "flames")),
        "tx10000": (800_000, 10_000, ("tx10000", "debezium", "apply", "workers", "guards", "flames")),
        "matrix_tx1": (80_000, 1, ("matrix",)),
        "matrix_tx10": (100_000, 10, ("matrix",)),
        "matrix_tx10000": (200_000, 10_000, ("matrix",)),
    }
    with step("writing the load"):
        segments = {"warm": load.mixed("warm", 2000, 1), "heat": load.mixed("heat", scaled(250_000, 1), 1)}
        for size, (rows, per, parts) in sizes.items():
            if any(plan.wants(part) for part in parts):
                segments[size] = load.mixed(f"rows_{size}", scaled(rows, per), per)
        if plan.wants("memory"):
            huge = max(int(200_000 * min(scale, 1)), 2000)
            segments["huge"] = load.mixed("huge", huge, huge)
        if plan.wants("kinds"):
            for per, rows in ((1, 40_000), (10, 60_000), (10_000, 200_000)):
                for kind in load.kinds(scaled(rows, per), per).values():
                    segments[kind.name] = kind
        load.close_last()
    return segments
