"""Measures the latency from commit at the source to a read_committed consumer, and from the start of a worker to its
first record."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pymysql
from kafka import KafkaConsumer

from dev.bench.baseline import librdkafka
from dev.bench.consumers import Consumer, KafkaPython, Librdkafka, open_consumer
from dev.bench.job import Job
from dev.bench.load import Segment
from dev.bench.machine import steal
from dev.bench.ours import task
from dev.bench.report import Entry, figure, percentile
from dev.bench.runner import Runner
from dev.bench.sections import DELIVERIES
from dev.bench.series import FIRST_ID, Series, Write, measured
from dev.bench.workers import Crew, pss_mb

_HEATS = ((1000, 15.0), (100, 15.0))
"""Rows per second, and for how many, before anything counts: a broker still compiles for that long (`Runner.heat`)."""

_SERIES = 3
"""At 100 rows per second, at least: a stall of the machine is longer than what is measured."""

_IDLE_ROWS, _IDLE_SECONDS = 100, 15.0
"""What an idle worker has delivered, and for how long it rests: it has asked how long the log will last by then."""

ORDER = """VALUES (%s, 7, 'SKU-000007', 1, 9.99, 1, '2026-11-21 09:40:12.345',
    '2026-11-21 09:40:12.345', 'order of the day', '{"channel": "web"}')"""
"""Of a row with an id."""
_INSERT = f"INSERT INTO bench.orders {ORDER}"


def latencies(runner: Runner, rates: dict[int, float], series: int = 1) -> Iterator[Entry]:
    """Medians of `series`, each with its own percentiles: the machine's stalls are longer than what is measured.

    rates: transactions per second -> for how many seconds."""
    stolen = steal()
    with Crew(runner.database.replicator[1]) as crew:
        for delivery in DELIVERIES:
            for rate, seconds in _HEATS:
                _latency(runner, crew, delivery, rate, min(seconds, max(rates.values())), name="heat")
            for rate, seconds in rates.items():
                yield from _at(runner, crew, delivery, rate, seconds, max(series, _SERIES) if rate == 100 else series)
    yield figure("latency_steal", "% CPU", [stolen()], 2)


def _at(runner: Runner, crew: Crew, delivery: str, rate: int, seconds: float, series: int) -> Iterator[Entry]:
    """The baseline's series are between ours: what the machine does meanwhile, it does to both."""
    key = "latency_ms" if rate == 100 else f"latency_ms_{rate}"
    found, others = [], []
    for number in range(series):
        found.append(_latency(runner, crew, delivery, rate, seconds, name=f"latency{number}"))
        if rate == 100 and delivery == "exactly_once":
            others.append(librdkafka(runner, rate, seconds))
    yield from _parts(f"{key}.{delivery}", found)
    yield figure(f"{key}.{delivery}.samples", "rows", [sum(len(each.ms) for each in found)], 0)
    if others:
        yield from _parts(f"latency_ms_baseline.{delivery}", others)
    if rate == 100:
        yield figure(f"latency_commit_ms.{delivery}.p50", "ms", [percentile(each.commit_ms, 0.5) for each in found], 2)
        python = _latency(runner, crew, delivery, rate, seconds, KafkaPython, name="latency_python")
        yield from _parts(f"latency_ms_python.{delivery}", [python])


def _parts(key: str, found: list[Series]) -> Iterator[Entry]:
    for name, share in (("p50", 0.5), ("p99", 0.99), ("p999", 0.999)):
        yield figure(f"{key}.{name}", "ms", [percentile(each.ms, share) for each in found], 2)


def _latency(
    runner: Runner,
    crew: Crew,
    delivery: str,
    rate: int,
    seconds: float,
    reader: Callable[[str, str], Consumer] = Librdkafka,
    name: str = "latency",
) -> Series:
    name = f"bench_{name}_{delivery}_{rate}"
    runner.create(name)
    segment = here(runner)
    worker = crew.start(task(runner.job("ours", segment, name, short=False, delivery=delivery)))
    place = (runner.database.host, runner.database.port)
    try:
        found = measured(lambda: reader(runner.kafka.bootstrap, name), writer, place, rate, seconds)
    finally:
        crew.stop(worker)
        runner.delete(name)
        runner.database.execute("DELETE FROM bench.orders WHERE id >= %s", (FIRST_ID,))
    crew.check()
    return found


def writer(host: str, port: int) -> Write:
    connection = pymysql.connect(host=host, port=port, user="root", password="", autocommit=False)
    cursor = connection.cursor()

    def write(row: int) -> tuple[float, float]:
        cursor.execute(_INSERT, (row,))
        sent = time.monotonic()
        connection.commit()
        return sent, time.monotonic()

    return write


def here(runner: Runner) -> Segment:
    """From the end of the binlog on, in a file of its own: where a task begins at a given place, what stands before it
    in the file is looked through first, which takes seconds behind a hundred megabytes."""
    runner.database.execute("FLUSH BINARY LOGS")
    return Segment("live", *runner.database.end_of_log(), 1 << 40, 0, 0, 0)


def workers(runner: Runner, backlog: Segment, runs: int) -> Iterator[Entry]:
    """From a worker's start, in a Core that runs, to its first record; and its memory with a backlog and without."""
    first, busy = [], []
    with Crew(runner.database.replicator[1]) as crew:
        for number in range(runs):
            name = f"bench_first_{number}"
            runner.create(name)
            consumer = open_consumer(runner.kafka.bootstrap, name)
            began = time.monotonic()
            worker = crew.start(task(runner.job("ours", backlog, name, short=False)))
            while not consumer.poll(timeout_ms=1000):
                crew.check()
            first.append(time.monotonic() - began)
            consumer.close(autocommit=False)
            busy.append(_most(worker.pid, 1.0))
            crew.stop(worker)
            runner.delete(name)
        idle = _idle(runner, crew)
        crew.check()
    yield figure("first_record_s", "s", first, 3)
    yield figure("worker_backlog_pss_mb", "MB", busy)
    yield figure("worker_idle_pss_mb", "MB", [idle["exactly_once"][0]])
    yield figure("worker_idle_private_mb", "MB", [idle["exactly_once"][1]])
    yield figure("worker_idle_private_mb.at_least_once", "MB", [idle["at_least_once"][1]])


def _idle(runner: Runner, crew: Crew) -> dict[str, tuple[float, float]]:
    """delivery -> megabytes (proportional, private) of a worker that went on where another had stopped, has delivered
    some rows, each a transaction, and rests. Two at a time, as a Core has several: code of the libraries is shared by
    any two."""
    names = {delivery: f"bench_idle_{delivery}" for delivery in DELIVERIES}
    for name in names.values():
        runner.create(name)
    segment = here(runner)
    jobs = {each: runner.job("ours", segment, name, short=False, delivery=each) for each, name in names.items()}
    consumers = [open_consumer(runner.kafka.bootstrap, name) for name in names.values()]
    try:
        _rested(runner, crew, jobs, consumers, FIRST_ID, 0.0)
        return _rested(runner, crew, jobs, consumers, FIRST_ID + _IDLE_ROWS, _IDLE_SECONDS)
    finally:
        for consumer in consumers:
            consumer.close(autocommit=False)
        for name in names.values():
            runner.delete(name)
        runner.database.execute("DELETE FROM bench.orders WHERE id >= %s", (FIRST_ID,))


def _rested(
    runner: Runner, crew: Crew, jobs: dict[str, Job], consumers: list[Any], first: int, seconds: float
) -> dict[str, tuple[float, float]]:
    """The memory of workers that live until they have delivered rows, and that many seconds more."""
    workers = {delivery: crew.start(task(job)) for delivery, job in jobs.items()}
    connection = runner.database.connect()
    try:
        for number in range(first, first + _IDLE_ROWS):
            connection.cursor().execute(_INSERT, (number,))
        for consumer in consumers:
            _wait(crew, consumer, first + _IDLE_ROWS - 1)
        time.sleep(seconds)
        return {delivery: pss_mb(worker.pid) for delivery, worker in workers.items()}
    finally:
        for worker in workers.values():
            crew.stop(worker)
        connection.close()


def _wait(crew: Crew, consumer: KafkaConsumer, last: int) -> None:
    """Until a row has come."""
    seen = -1
    while seen < last:
        crew.check()
        for records in consumer.poll(timeout_ms=1000).values():
            for record in records:
                seen = max(seen, json.loads(record.key or b"")["id"])


def _most(pid: int, seconds: float) -> float:
    end, most = time.monotonic() + seconds, 0.0
    while time.monotonic() < end:
        most = max(most, pss_mb(pid)[0])
        time.sleep(0.05)
    return most
