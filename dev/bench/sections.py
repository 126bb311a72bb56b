"""What is measured, by parts. Each part gives entries; one that fails or has no time left says so instead of ending the
run."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from operator import attrgetter
from statistics import median
from typing import Any

from dev.bench.ceiling import mysqlbinlog_runs
from dev.bench.job import Outcome
from dev.bench.load import Segment
from dev.bench.report import Entry, absent, figure, ratio
from dev.bench.runner import Runner
from replicator.config.task import KafkaSink

FORMATS = ("debezium", "maxwell", "canal")
DELIVERIES = ("exactly_once", "at_least_once")

Found = dict[str, list[Outcome]]


def interleaved(runner: Runner, segment: Segment, ways: dict[str, dict[str, Any]], runs: int) -> Found:
    """Every way in turn, `runs` times, so that whatever else the machine does meets all of them.

    ways: name -> `path` and options of `Runner.run`."""
    found: Found = defaultdict(list)
    for _ in range(runs):
        for name, how in ways.items():
            found[name].append(runner.run(how["path"], segment, **{k: v for k, v in how.items() if k != "path"}))
    return found


def against(runner: Runner, segment: Segment, size: str, runs: int) -> Iterator[Entry]:
    """Ours against each alternative over the same segment. size: "tx1" or "tx10000"."""
    ceiling = "mysqlbinlog" if runner.database.name == "MySQL" and mysqlbinlog_runs() else "socket"
    paths = ("ours", "plain", "nowhere", ceiling, "twin")
    ways: dict[str, dict[str, Any]] = {path: {"path": path} for path in paths}
    ways |= {each: {"path": "ours", "format": each} for each in FORMATS[1:]}
    found = interleaved(runner, segment, ways, runs)
    rates = {name: [each.rate for each in done] for name, done in found.items()}
    cpu = {name: [each.cpu_us for each in done] for name, done in found.items()}
    yield ratio(f"rows_{size}", "rows/s", rates["ours"], rates["plain"], value="ours")
    yield ratio(f"plain.{size}", "ratio", rates["ours"], rates["plain"])
    yield ratio(f"raw.{size}", "ratio", rates["ours"], rates[ceiling])
    yield ratio(f"twin.{size}", "ratio", rates["ours"], rates["twin"])
    yield ratio(f"nowhere.{size}", "ratio", rates["ours"], rates["nowhere"])
    yield ratio(f"plain_cpu.{size}", "ratio", cpu["ours"], cpu["plain"])
    for name in ("plain", "twin", "nowhere", ceiling):
        yield figure(f"cpu_us.{name}.{size}", "us/row", cpu[name], 2)
        yield figure(f"rate.{name}.{size}", "rows/s", rates[name], 0)
    for form in FORMATS:
        done = found["ours" if form == "debezium" else form]
        yield figure(f"cpu_us.{form}.{size}", "us/row", [each.cpu_us for each in done], 2)
        yield figure(f"rate.{form}.{size}", "rows/s", [each.rate for each in done], 0)
        yield figure(f"bytes.{form}.{size}", "B/row", [each.sent / each.rows for each in done], 0)
        yield figure(f"peak_mb.{form}.{size}", "MB", [each.peak_mb for each in done])


_cpu, _rate = attrgetter("cpu_us"), attrgetter("rate")


def guards(runner: Runner, segments: dict[str, Segment], pairs: int) -> Iterator[Entry]:
    """What the lease, the checkpoints and the metrics cost, in percent of the CPU time, twice: of runs with them and
    without, and as the guards' own threads and calls count it. The machine's mood is larger than the difference;
    so the medians of many runs are compared, from the first tenth on, and which one goes first alternates."""
    for size, segment in segments.items():
        found: Found = {"ours": [], "guarded": []}
        for number in range(pairs):
            for path in sorted(found, reverse=bool(number % 2)):
                found[path].append(runner.run(path, segment))
        cpu, rate = (
            {path: [read(each.without_start()) for each in done] for path, done in found.items()}
            for read in (_cpu, _rate)
        )
        yield figure(f"guards.{size}", "% CPU", [(median(cpu["guarded"]) / median(cpu["ours"]) - 1) * 100], 2)
        yield figure(f"guards_rate.{size}", "% rows/s", [(1 - median(rate["guarded"]) / median(rate["ours"])) * 100], 2)
        counted = [each.guards_s / each.cpu_s * 100 for each in found["guarded"]]
        yield figure(f"guards_counted.{size}", "% CPU", counted, 2)


def matrix(runner: Runner, segments: dict[str, Segment], runs: int) -> Iterator[Entry]:
    """Rows per second of every format, delivery and compression, by size of the transactions."""
    compressions = ("none", "lz4") if "compression" in KafkaSink.model_fields else ("none",)
    for (size, segment), form, delivery, compression in itertools.product(
        segments.items(), FORMATS, DELIVERIES, compressions
    ):
        name = f"rows_per_s.{form}.{delivery}.{compression}.{size}"
        options: dict[str, Any] = {"format": form, "delivery": delivery, "compression": compression}
        done = [runner.run("ours", segment, **options) for _ in range(runs)]
        yield figure(name, "rows/s", [each.rate for each in done], 0)
        if compression != "none":
            name = f"bytes.{form}.{delivery}.{compression}.{size}"
            yield figure(name, "B/row", [each.sent / each.rows for each in done])


def kinds(runner: Runner, segments: dict[str, Segment], runs: int) -> Iterator[Entry]:
    """Inserts, updates and deletes by themselves."""
    for segment in segments.values():
        done = [runner.run("ours", segment) for _ in range(runs)]
        yield figure(f"rows_per_s.{segment.name}", "rows/s", [each.rate for each in done], 0)
        yield figure(f"cpu_us.{segment.name}", "us/row", [each.cpu_us for each in done], 2)


def memory(runner: Runner, huge: Segment, runs: int, *, plain: bool) -> Iterator[Entry]:
    """One transaction, of 200,000 rows when nothing is scaled. plain: those packages, too; they take a minute."""
    ours = [runner.run("ours", huge).peak_mb for _ in range(runs)]
    if plain:
        yield ratio("memory_tx200000", "MB", ours, [runner.run("plain", huge, short=False).peak_mb], value="ours")
    else:
        yield figure("memory_tx200000", "MB", ours)


def derived(entries: dict[str, Entry]) -> Iterator[Entry]:
    """What follows from other figures: CPU seconds and gigabytes per million rows."""
    for form, size in itertools.product(FORMATS, ("tx1", "tx10000")):
        cpu, sent = entries.get(f"cpu_us.{form}.{size}"), entries.get(f"bytes.{form}.{size}")
        if cpu is not None and cpu.value is not None:
            yield figure(f"cpu_s_per_million.{form}.{size}", "s", [cpu.value])
        if sent is not None and sent.value is not None:
            yield figure(f"mb_per_million.{form}.{size}", "MB", [sent.value])


REQUIRED = {
    **{f"{other}.{size}": "ratio" for other in ("plain", "debezium", "raw") for size in ("tx1", "tx10000")},
    **{f"cpu_us.{form}.{size}": "us/row" for form in FORMATS for size in ("tx1", "tx10000")},
    **{f"snapshot.{name}": "ratio" for name in ("debezium", "maxwell", "dump")},
    "snapshot.cpu_us": "us/row",
    "snapshot.stream_lag_ms": "ms",
    **{f"latency_ms.{delivery}.{p}": "ms" for delivery in DELIVERIES for p in ("p50", "p99", "p999")},
}
"""Entries that are always there, with null and a reason if need be."""


def missing(found: dict[str, Entry], reasons: dict[str, str]) -> list[Entry]:
    """reasons: beginning of the names -> why; the first that fits counts."""
    left = [name for name in REQUIRED if name not in found]
    why = {name: next((text for start, text in reasons.items() if name.startswith(start)), "") for name in left}
    return [absent(name, REQUIRED[name], why[name] or "not measured in this run") for name in left]


def spread(ours: list[float], base: list[float]) -> tuple[float, float, float]:
    """Ratios of neighbouring runs: lowest, median, highest."""
    pairs = [mine / other for mine, other in zip(ours, base, strict=True)]
    return min(pairs), median(pairs), max(pairs)
