"""Measures the latency from commit at the source to a read_committed consumer, and from the start of a worker to its
first record."""

from __future__ import annotations

import gc
import json
import multiprocessing
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import pymysql
from kafka import KafkaConsumer

from dev.bench.consumers import Consumer, KafkaPython, Librdkafka, open_consumer
from dev.bench.job import Job
from dev.bench.load import Segment
from dev.bench.ours import task
from dev.bench.report import Entry, figure, percentile
from dev.bench.runner import Runner
from dev.bench.sections import DELIVERIES
from dev.bench.workers import Crew, pss_mb

_FIRST_ID = 1 << 40
_WARM = 0.1
"""Of the time, and at least two seconds: not counted."""

_HEAT = 1000, 4.0
"""Rows per second, and for how many, before anything counts: see `Runner.heat`."""

_IDLE_ROWS, _IDLE_SECONDS = 100, 15.0
"""What an idle worker has delivered, and for how long it rests: it has asked how long the log will last by then."""

_INSERT = """INSERT INTO bench.orders VALUES (%s, 7, 'SKU-000007', 1, 9.99, 1, '2026-11-21 09:40:12.345',
    '2026-11-21 09:40:12.345', 'order of the day', '{"channel": "web"}')"""


def latencies(runner: Runner, rates: dict[int, float], series: int = 1) -> Iterator[Entry]:
    """Medians of `series`, each with its own percentiles: the machine's stalls are longer than what is measured.

    rates: transactions per second -> for how many seconds."""
    with Crew(runner.database.replicator[1]) as crew:
        for delivery in DELIVERIES:
            _latency(runner, crew, delivery, *_HEAT, name="heat")
            for rate, seconds in rates.items():
                found = [_latency(runner, crew, delivery, rate, seconds, name=f"latency{n}") for n in range(series)]
                key = "latency_ms" if rate == 100 else f"latency_ms_{rate}"
                yield from _parts(f"{key}.{delivery}", [each.ms for each in found])
                yield figure(f"{key}.{delivery}.samples", "rows", [sum(len(each.ms) for each in found)], 0)
                if rate == 100:
                    commits = [percentile(each.commit_ms, 0.5) for each in found]
                    yield figure(f"latency_commit_ms.{delivery}.p50", "ms", commits, 2)
                    python = _latency(runner, crew, delivery, rate, seconds, KafkaPython, name="latency_python")
                    yield from _parts(f"latency_ms_python.{delivery}", [python.ms])


def _parts(key: str, series: list[list[float]]) -> Iterator[Entry]:
    for name, share in (("p50", 0.5), ("p99", 0.99), ("p999", 0.999)):
        yield figure(f"{key}.{name}", "ms", [percentile(each, share) for each in series], 2)


class _Found(NamedTuple):
    """Milliseconds per row: from just before COMMIT is sent to the moment the consumer has the record, and to the
    database's answer."""

    ms: list[float]
    commit_ms: list[float]


def _latency(
    runner: Runner,
    crew: Crew,
    delivery: str,
    rate: int,
    seconds: float,
    reader: Callable[[str, str], Consumer] = Librdkafka,
    name: str = "latency",
) -> _Found:
    name = f"bench_{name}_{delivery}_{rate}"
    runner.create(name)
    segment = here(runner)
    worker = crew.start(task(runner.job("ours", segment, name, short=False, delivery=delivery)))
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    place = (runner.database.host, runner.database.port)
    writer = context.Process(target=_write, args=(theirs, place, rate, seconds), daemon=True)
    writer.start()
    try:
        seen = _consume(reader(runner.kafka.bootstrap, name), ours)
        sent: dict[int, tuple[float, float]] = ours.recv()
    finally:
        writer.kill()
        crew.stop(worker)
        runner.delete(name)
        runner.database.execute("DELETE FROM bench.orders WHERE id >= %s", (_FIRST_ID,))
    crew.check()
    lost = sent.keys() - seen.keys()
    if lost:
        raise RuntimeError(f"{len(lost)} rows never arrived")
    counted = sorted(sent)[int(max(_WARM * seconds, 2) * rate) :] or sorted(sent)
    return _Found(
        [(seen[each] - sent[each][0]) * 1000 for each in counted],
        [(sent[each][1] - sent[each][0]) * 1000 for each in counted],
    )


def _write(pipe: Connection, place: tuple[str, int], rate: int, seconds: float) -> None:
    """A process of its own. Says in the end how many rows, and when each COMMIT was sent and answered."""
    connection = pymysql.connect(host=place[0], port=place[1], user="root", password="", autocommit=False)
    cursor = connection.cursor()
    committed: dict[int, tuple[float, float]] = {}
    pipe.recv()
    began = time.monotonic()
    total = int(rate * seconds)
    for number in range(total):
        early = began + number / rate - time.monotonic()
        if early > 0:
            time.sleep(early)
        cursor.execute(_INSERT, (_FIRST_ID + number,))
        sent = time.monotonic()
        connection.commit()
        committed[_FIRST_ID + number] = sent, time.monotonic()
    pipe.send(total)
    pipe.send(committed)


def _consume(consumer: Consumer, pipe: Connection) -> dict[int, float]:
    """id -> when it came. Ends when all that were written are there, or none has come for ten seconds."""
    seen: dict[int, float] = {}
    total = None
    gc.collect()
    gc.disable()
    try:
        pipe.send("begin")
        quiet = time.monotonic() + 30
        while (total is None or len(seen) < total) and time.monotonic() < quiet:
            keys = consumer.keys(0.2)
            now = time.monotonic()
            for key in keys:
                seen.setdefault(json.loads(key)["id"], now)
            if keys:
                quiet = now + 10
            elif total is None and pipe.poll(0):
                total = pipe.recv()
    finally:
        gc.enable()
        consumer.close()
    if total is None:
        total = pipe.recv()
    return seen


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
        _rested(runner, crew, jobs, consumers, _FIRST_ID, 0.0)
        return _rested(runner, crew, jobs, consumers, _FIRST_ID + _IDLE_ROWS, _IDLE_SECONDS)
    finally:
        for consumer in consumers:
            consumer.close(autocommit=False)
        for name in names.values():
            runner.delete(name)
        runner.database.execute("DELETE FROM bench.orders WHERE id >= %s", (_FIRST_ID,))


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
