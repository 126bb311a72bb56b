"""Debezium over the same segments: rows per second and CPU from the first tenth of the records to the last, of both."""

from __future__ import annotations

import time
from collections.abc import Iterator

import psutil

from dev.bench.connect import TOPIC, Connect
from dev.bench.consumers import Ends
from dev.bench.job import Outcome
from dev.bench.load import Segment
from dev.bench.ours import LEFT_OUT
from dev.bench.report import Entry, figure, ratio
from dev.bench.runner import Runner, warm_memory
from dev.progress import say

_SECONDS = 300.0
_CALM_SECONDS, _CALM_SHARE = 0.5, 0.05


def prepare(runner: Runner) -> Connect:
    """Before the load is written, when its table is there. Raises ServerFailed, RuntimeError."""
    connect = Connect(runner.database, runner.kafka)
    runner.create(TOPIC)
    try:
        connect.start()
        connect.make()
    except BaseException:
        connect.close()
        raise
    return connect


def debezium(runner: Runner, connect: Connect, segments: dict[str, Segment], runs: int) -> Iterator[Entry]:
    """Ours and Debezium in turn. segments: "tx1" and "tx10000"."""
    try:
        for size, segment in segments.items():
            ours, theirs = [], []
            for _ in range(runs):
                ours.append(runner.run("ours", segment).without_start())
                theirs.append(_read(runner, connect, segment))
            yield ratio(f"debezium.{size}", "ratio", [each.rate for each in ours], [each.rate for each in theirs])
            cpu = [each.cpu_us for each in ours], [each.cpu_us for each in theirs]
            yield ratio(f"debezium_cpu.{size}", "ratio", *cpu)
            yield figure(f"rate.debezium.steady.{size}", "rows/s", [each.rate for each in ours], 0)
            yield figure(f"cpu_us.debezium.steady.{size}", "us/row", cpu[0], 2)
            yield figure(f"rate.debezium.peer.{size}", "rows/s", [each.rate for each in theirs], 0)
            yield figure(f"cpu_us.debezium.peer.{size}", "us/row", cpu[1], 2)
            yield figure(f"peak_mb.debezium.peer.{size}", "MB", [each.peak_mb for each in theirs])
    finally:
        connect.close()
        runner.delete(TOPIC)


def _read(runner: Runner, connect: Connect, segment: Segment) -> Outcome:
    """One pass over the segment. It goes on behind its end until it is halted: what comes then is not counted."""
    process = psutil.Process(connect.pid)
    warm_memory()
    with Ends(runner.kafka.bootstrap, TOPIC) as ends:
        before, wanted = ends.total(), segment.rows + segment.deletes  # a delete has a tombstone
        connect.read(segment.file, segment.start, segment.gtids)
        first = wait_until(connect, ends, before + int(wanted * LEFT_OUT), process)
        last = wait_until(connect, ends, before + wanted, process)
    connect.halt()
    calm(process)
    seconds, records = last[0] - first[0], last[2] - first[2]
    rows = int(records * segment.rows / wanted)
    outcome = Outcome(rows, seconds, process.memory_info().rss / 1e6, last[1] - first[1])
    say(f"{segment.name} debezium: {outcome.rate:,.0f} rows/s, {outcome.cpu_us:.1f} us of CPU per row")
    return outcome


def wait_until(connect: Connect, ends: Ends, wanted: int, process: psutil.Process) -> tuple[float, float, int]:
    """(when, CPU seconds so far, records) as soon as there are as many records."""
    end = time.monotonic() + _SECONDS
    while (found := ends.total()) < wanted:
        if time.monotonic() > end:
            connect.check()
            raise TimeoutError(f"Debezium has written {found} of {wanted} records in {_SECONDS:g} s")
        time.sleep(0.05)
    times = process.cpu_times()
    return time.monotonic(), times.user + times.system, found


def calm(process: psutil.Process) -> None:
    """Waits until what it still had to do is done, so that the next path has the machine to itself."""
    end = time.monotonic() + _SECONDS
    while process.cpu_percent(_CALM_SECONDS) > _CALM_SHARE * 100 and time.monotonic() < end:
        pass
