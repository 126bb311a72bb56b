"""Measures the latency of streamed rows while a snapshot of another table runs under `max_rows_per_s`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pymysql

from dev.bench.consumers import Ends, Librdkafka
from dev.bench.latency import ORDER
from dev.bench.load import DATABASE, Segment
from dev.bench.report import Entry, figure, percentile
from dev.bench.runner import Runner
from dev.bench.series import Write, measured
from dev.bench.snapshot_job import task
from dev.bench.workers import Crew
from replicator.config.snapshot import CHUNK_ROWS

RATE, SECONDS = 1000, 15.0
"""Commits per second on the streamed table, and for how long; the first two seconds are not counted."""

_TABLE = "stream"
_NAME = "bench_stream_lag"
_START_SECONDS = 20.0
_MOST = 30_000


def limit(rows: int, seconds: float) -> int:
    """`max_rows_per_s` with which a snapshot of `rows` rows lasts four times as long as a series: a slow machine takes
    its time to begin and to write."""
    return max(1, min(_MOST, int(rows / (4 * seconds))))


def stream_lag(runner: Runner, rows: int, seconds: float = SECONDS) -> Iterator[Entry]:
    """Raises RuntimeError when the snapshot does not run all the time."""
    runner.database.execute(f"CREATE TABLE IF NOT EXISTS {DATABASE}.{_TABLE} LIKE {DATABASE}.orders")
    topics = [f"{_NAME}.orders", f"{_NAME}.{_TABLE}"]
    for topic in topics:
        runner.create(topic)
    try:
        with Crew(runner.database.replicator[1]) as crew, Ends(runner.kafka.bootstrap, topics[0]) as copied:
            worker = crew.start(_task(runner, limit(rows, seconds)))
            _wait(crew, copied)
            first, began = copied.total(), time.monotonic()
            place = (runner.database.host, runner.database.port)
            found = measured(lambda: Librdkafka(runner.kafka.bootstrap, topics[1]), _writer, place, RATE, seconds)
            last, ended = copied.total(), time.monotonic()
            crew.check()
            crew.stop(worker)
    finally:
        for topic in topics:
            runner.delete(topic)
    if last >= rows:
        raise RuntimeError(f"the snapshot was over before the series was: {last} records of {rows} rows")
    yield figure("snapshot.stream_lag_ms", "ms", [max(found.ms)])
    yield figure("snapshot.stream_lag_ms.p99", "ms", [percentile(found.ms, 0.99)])
    yield figure("snapshot.stream_lag_ms.p50", "ms", [percentile(found.ms, 0.5)])
    yield figure("snapshot.stream_lag_ms.samples", "rows", [len(found.ms)], 0)
    yield figure("snapshot.stream_lag_ms.copied", "rows/s", [(last - first) / (ended - began)], 0)


def _task(runner: Runner, most: int) -> dict[str, Any]:
    config = task(runner.job("ours", Segment(_NAME, "", 4, 0, 0, 0, 0), _NAME, short=False))
    snapshot = {
        "mode": "initial",
        "tables": [f"{DATABASE}.orders"],
        "max_rows_per_s": most,
        "chunk_rows": min(most, CHUNK_ROWS),
    }
    source = {**config["source"], "tables": [f"{DATABASE}.orders", f"{DATABASE}.{_TABLE}"], "snapshot": snapshot}
    return {**config, "source": source, "sink": {**config["sink"], "topic": "{task}.{table}"}}


def _wait(crew: Crew, copied: Ends) -> None:
    end = time.monotonic() + _START_SECONDS
    while not copied.total():
        crew.check()
        if time.monotonic() > end:
            raise RuntimeError(f"the snapshot has not begun after {_START_SECONDS:g} s")
        time.sleep(0.1)


def _writer(host: str, port: int) -> Write:
    connection = pymysql.connect(host=host, port=port, user="root", password="", autocommit=False)
    cursor = connection.cursor()
    statement = f"INSERT INTO {DATABASE}.{_TABLE} {ORDER}"

    def write(row: int) -> tuple[float, float]:
        cursor.execute(statement, (row,))
        sent = time.monotonic()
        connection.commit()
        return sent, time.monotonic()

    return write
