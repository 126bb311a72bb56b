"""Snapshots of a table: ours against Debezium's and against the server's own dump program, and beside a stream."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

import psutil

from dev.bench.dump import dump_seconds
from dev.bench.job import Outcome
from dev.bench.load import Load, Segment
from dev.bench.machine import summary
from dev.bench.report import Entry, absent, fact, figure, ratio
from dev.bench.runner import Runner
from dev.bench.snapshot_command import run_command
from dev.bench.snapshot_peer import SETTINGS, SnapshotPeer
from dev.bench.stream_lag import SECONDS, stream_lag
from dev.errors import DevError, ServerFailed
from dev.progress import say
from dev.servers.base import Server

ROWS = 2_000_000
FORMATS = ("debezium", "maxwell")


class Shares(NamedTuple):
    """Microseconds of CPU per row that the servers took during a run."""

    database: float
    broker: float


def snapshots(runner: Runner, load: Load, rows: int, runs: int, *, peer_runs: int, full: bool) -> Iterator[Entry]:
    """Ours and the dump in turn, `runs` times, and then Debezium, so that its JVM is not beside them.

    full: Debezium with default settings, too, once."""
    segment = load.table(rows)
    yield figure("snapshot.rows", "rows", [rows], 0)
    yield fact("snapshot.measured", summary())
    ours: dict[str, list[Outcome]] = {name: [] for name in FORMATS}
    shares: dict[str, list[Shares]] = {name: [] for name in FORMATS}
    dumps = []
    for _ in range(runs):
        for name in FORMATS:
            outcome, share = _ours(runner, segment, name)
            ours[name].append(outcome)
            shares[name].append(share)
        dumps.append(rows / dump_seconds(runner.database))
        say(f"dump: {dumps[-1]:,.0f} rows/s")
    for name in FORMATS:
        yield from snapshot_figures(name, ours[name], shares[name])
    yield ratio("snapshot.dump", "ratio", [each.rate for each in ours["debezium"]], dumps)
    yield figure("snapshot.rate.dump", "rows/s", dumps, 0)
    yield from _command(runner, segment)
    yield from stream_lag(runner, rows, SECONDS if rows == ROWS else 4.0)
    yield from _peer(runner, ours, rows, peer_runs, defaults=full)


def _ours(runner: Runner, segment: Segment, form: str) -> tuple[Outcome, Shares]:
    before = _cpu_s(runner.database), _cpu_s(runner.kafka)
    outcome = runner.run("snapshot", segment, format=form)
    after = _cpu_s(runner.database), _cpu_s(runner.kafka)
    return outcome, Shares(*((new - old) / segment.rows * 1e6 for new, old in zip(after, before, strict=True)))


def _cpu_s(server: Server) -> float:
    """0 for a server that is not ours."""
    try:
        times = psutil.Process(server.pid).cpu_times()
    except ServerFailed:
        return 0.0
    return times.user + times.system


def snapshot_figures(name: str, done: list[Outcome], shares: list[Shares]) -> Iterator[Entry]:
    """Ours in one format. name: the format."""
    steady = [each.without_start() for each in done]
    end = "" if name == "debezium" else f".{name}"
    yield figure(f"snapshot.cpu_us{end}", "us/row", [each.cpu_us for each in done], 2)
    yield figure(f"snapshot.memory_mb{end}", "MB", [each.peak_mb for each in done])
    yield figure(f"snapshot.rate.{name}", "rows/s", [each.rate for each in done], 0)
    yield figure(f"snapshot.rate.{name}.steady", "rows/s", [each.rate for each in steady], 0)
    yield figure(f"snapshot.cpu_us.{name}.steady", "us/row", [each.cpu_us for each in steady], 2)
    yield figure(f"snapshot.cpu_us.{name}.database", "us/row", [each.database for each in shares], 2)
    yield figure(f"snapshot.cpu_us.{name}.broker", "us/row", [each.broker for each in shares], 2)
    yield figure(f"snapshot.bytes.{name}", "B/row", [each.sent / each.rows for each in done], 0)


def _command(runner: Runner, segment: Segment) -> Iterator[Entry]:
    """Once: `replicator run --snapshot-only`, debezium."""
    name = "bench_snapshot_command"
    runner.create(name)
    try:
        outcome = run_command(runner.job("snapshot", segment, name, short=False))
    finally:
        runner.delete(name)
    yield figure("snapshot.command.rate", "rows/s", [outcome.rate], 0)
    yield figure("snapshot.command.cpu_us", "us/row", [outcome.cpu_us], 2)
    yield figure("snapshot.command.memory_mb", "MB", [outcome.peak_mb])


def _peer(runner: Runner, ours: dict[str, list[Outcome]], rows: int, runs: int, *, defaults: bool) -> Iterator[Entry]:
    """Ratios are of the faster of the tuned settings."""
    try:
        peer = SnapshotPeer(runner, rows)
    except DevError as error:
        yield from (absent(f"snapshot.{name}", "ratio", str(error)) for name in FORMATS)
        return
    found: dict[str, list[Outcome]] = {name: [] for name in SETTINGS if defaults or name != "defaults"}
    try:
        for number in range(runs):
            for name, done in found.items():
                if name != "defaults" or not number:
                    done.append(peer.run(name))
    finally:
        peer.close()
    yield from peer_figures(ours, found)


def peer_figures(ours: dict[str, list[Outcome]], found: dict[str, list[Outcome]]) -> Iterator[Entry]:
    """ours: by format; found: Debezium's, by name of its settings. All from the first tenth of the rows on."""
    steady = {name: [each.without_start() for each in done] for name, done in ours.items()}
    rates = {name: [each.rate for each in done] for name, done in found.items()}
    best = max((name for name in found if name != "defaults"), key=lambda name: median(rates[name]))
    for form, done in steady.items():
        yield ratio(f"snapshot.{form}", "ratio", [each.rate for each in done], rates[best])
        if "defaults" in found:
            yield ratio(f"snapshot.{form}.defaults", "ratio", [each.rate for each in done], rates["defaults"])
    cpu, peer_cpu = ([each.cpu_us for each in done] for done in (steady["debezium"], found[best]))
    yield ratio("snapshot.debezium_cpu", "ratio", cpu, peer_cpu)
    for name, done in found.items():
        yield figure(f"snapshot.rate.peer.{name}", "rows/s", rates[name], 0)
        yield figure(f"snapshot.cpu_us.peer.{name}", "us/row", [each.cpu_us for each in done], 2)
        yield figure(f"snapshot.memory_mb.peer.{name}", "MB", [each.peak_mb for each in done], 0)
