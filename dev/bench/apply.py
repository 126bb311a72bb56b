"""Rows into a second server: ours against the server's own replication of the same binlog."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

import msgspec

from dev.bench.apply_latency import apply_latency
from dev.bench.dump import dump_into_seconds
from dev.bench.job import Job, Outcome, measure
from dev.bench.load import Load, Segment
from dev.bench.machine import summary
from dev.bench.report import Entry, absent, fact, figure, ratio
from dev.bench.runner import Runner
from dev.bench.target import WORKERS, Target, target_of
from dev.progress import say
from dev.servers.database import MySQL

PER = {"tx1": 1, "tx10000": 10_000}
CONNECTIONS = (1, 2, 3)
"""Of ours; with more than one, rows keep the order of their key."""
_REPLICA_ROWS = {"tx1": 40_000, "tx10000": 400_000}
"""Of the slower one: it applies as many, so that a run lasts some seconds."""
_DURABLE_ROWS = {"tx1": 6_000, "tx10000": 200_000}


def apply(runner: Runner, load: Load, segments: dict[str, Segment], rows: int, runs: int) -> Iterator[Entry]:
    """Ours and the replica in turn, `runs` times. rows: of the table that a target is filled from."""
    if not isinstance(runner.database, MySQL):
        yield absent("apply.replica.tx1", "ratio", "measured on MySQL alone")
        return
    yield fact("apply.measured", summary())
    with target_of(runner.database) as target:
        for size, segment in segments.items():
            yield from _size(runner, target, size, segment, runs)
        yield from apply_latency(runner, target)
        yield from filling(runner, runner.database, target, load.table(rows), runs)
        yield from by_sql(runner, target, segments, load.table(rows), runs)
    with target_of(runner.database, durable=True) as target:
        for size, segment in segments.items():
            yield from _durable(runner, target, size, segment, runs)


def _durable(runner: Runner, target: Target, size: str, segment: Segment, runs: int) -> Iterator[Entry]:
    """On a disk, with everything flushed at each commit. The replica once with each number of workers: it is slow."""
    rows = min(segment.rows, _DURABLE_ROWS[size])
    short = segment._replace(rows=rows)
    best = max(target.replicate(short, rows // PER[size], workers).rate for workers in WORKERS)
    ours: dict[int, list[Outcome]] = {connections: [] for connections in CONNECTIONS}
    for _ in range(runs):
        _apply(runner, target, segment, ours)
    yield from _figures("apply.durable.", size, ours, [best])


def _size(runner: Runner, target: Target, size: str, segment: Segment, runs: int) -> Iterator[Entry]:
    replica: dict[int, list[Outcome]] = {workers: [] for workers in WORKERS}
    ours: dict[int, list[Outcome]] = {connections: [] for connections in CONNECTIONS}
    rows = min(segment.rows, _REPLICA_ROWS[size])
    for _ in range(runs):
        for workers, done in replica.items():
            short = segment._replace(rows=rows)
            done.append(target.replicate(short, rows // PER[size], workers))
            say(f"{segment.name} replica with {workers} workers: {done[-1].rate:,.0f} rows/s")
        _apply(runner, target, segment, ours)
    workers, rates = _best(replica)
    yield from _figures("apply.", size, ours, rates)
    yield figure(f"apply.workers.replica.{size}", "workers", [workers], 0)


def _apply(runner: Runner, target: Target, segment: Segment, ours: dict[int, list[Outcome]]) -> None:
    """Once with each number of connections."""
    for connections, done in ours.items():
        done.append(_ours(runner, target, segment, "apply", connections=connections))


def _figures(name: str, size: str, ours: dict[int, list[Outcome]], replica: list[float]) -> Iterator[Entry]:
    connections, fastest = _best(ours)
    yield ratio(f"{name}replica.{size}", "ratio", fastest, replica)
    yield ratio(f"{name}in_order.{size}", "ratio", [each.rate for each in ours[1]], replica)
    yield figure(f"{name}cpu_us.{size}", "us/row", [each.cpu_us for each in ours[connections]], 2)
    yield figure(f"{name}rate.{size}", "rows/s", fastest, 0)
    yield figure(f"{name}connections.{size}", "connections", [connections], 0)
    yield figure(f"{name}rate.in_order.{size}", "rows/s", [each.rate for each in ours[1]], 0)
    yield figure(f"{name}cpu_us.in_order.{size}", "us/row", [each.cpu_us for each in ours[1]], 2)
    yield figure(f"{name}memory_mb.{size}", "MB", [each.peak_mb for each in ours[connections]])
    yield figure(f"{name}rate.replica.{size}", "rows/s", replica, 0)


def _best(measured: dict[int, list[Outcome]]) -> tuple[int, list[float]]:
    """(how many workers or connections, their rates) of the highest median."""
    best = max(measured, key=lambda count: median(each.rate for each in measured[count]))
    return best, [each.rate for each in measured[best]]


def filling(runner: Runner, source: MySQL, target: Target, table: Segment, runs: int) -> Iterator[Entry]:
    """An empty table is filled with `table`: by a task, and by the dump program into its client, in turn."""
    ours: list[Outcome] = []
    dumps: list[float] = []
    for _ in range(runs):
        ours.append(_ours(runner, target, table, "fill"))
        _check_filled(target, table.rows)
        target.clear()
        dumps.append(table.rows / dump_into_seconds(source, target.server))
        _check_filled(target, table.rows)
        say(f"{table.name} dump: {dumps[-1]:,.0f} rows/s")
    yield ratio("apply.fill", "ratio", [each.rate for each in ours], dumps)
    yield figure("apply.fill.rate", "rows/s", [each.rate for each in ours], 0)
    yield figure("apply.fill.rate.dump", "rows/s", dumps, 0)
    yield figure("apply.fill.cpu_us", "us/row", [each.cpu_us for each in ours], 2)
    yield figure("apply.fill.memory_mb", "MB", [each.peak_mb for each in ours])


def by_sql(runner: Runner, target: Target, segments: dict[str, Segment], table: Segment, runs: int) -> Iterator[Entry]:
    """Where the account may not execute BINLOG: LOAD DATA and INSERT against row images, over one connection."""
    yield fact("apply.sql.measured", summary())
    for size, path, rows in (*((size, "apply", each) for size, each in segments.items()), ("fill", "fill", table)):
        done: dict[str, list[Outcome]] = {applied: [] for applied in ("binlog", "load", "insert")}
        for _ in range(runs):
            for applied, outcomes in done.items():
                outcomes.append(_ours(runner, target, rows, path, applied=applied))
        rates = {applied: [each.rate for each in outcomes] for applied, outcomes in done.items()}
        for applied, outcomes in done.items():
            name = f"apply.sql.{applied}.{size}"
            yield ratio(name, "ratio", rates[applied], rates["binlog"])
            yield figure(f"apply.sql.rate.{applied}.{size}", "rows/s", rates[applied], 0)
            yield figure(f"apply.sql.cpu_us.{applied}.{size}", "us/row", [each.cpu_us for each in outcomes], 2)


def _check_filled(target: Target, rows: int) -> None:
    if target.rows()[0] != rows:
        raise RuntimeError(f"the target has {target.rows()[0]} of {rows} rows")


def _ours(runner: Runner, target: Target, segment: Segment, path: str, **options: Any) -> Outcome:
    target.clear()
    job = msgspec.structs.replace(
        runner.job(path, segment, f"bench_{path}", short=False, **options), bootstrap=target.server.address
    )
    outcome = measure(job)
    _check(job, outcome, target)
    say(
        f"{segment.name} {path} {job.applied} {job.connections}: {outcome.rate:,.0f} rows/s, "
        f"{outcome.cpu_us:.1f} us of CPU per row, {outcome.peak_mb:.0f} MB"
    )
    return outcome


def _check(job: Job, outcome: Outcome, target: Target) -> None:
    if outcome.rows < job.rows or not target.rows()[0]:
        raise RuntimeError(f"{job.path} applied {outcome.rows} of {job.rows} rows; the target has {target.rows()}")
