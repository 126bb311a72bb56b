"""Measures the latency from commit at the source to the moment at which a row is visible at the target."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import msgspec
import pymysql

from dev.bench.apply_job import task
from dev.bench.latency import here, writer
from dev.bench.load import DATABASE, TABLE
from dev.bench.report import Entry, figure, percentile
from dev.bench.runner import Runner
from dev.bench.series import FIRST_ID, measured
from dev.bench.target import Target
from dev.bench.workers import Crew

RATE, SECONDS = 1000, 8.0
"""Transactions of one row per second, and for how long; the first two seconds are not counted."""

_NAME = "bench_apply_latency"
_POLL_SECONDS = 0.001
_START_SECONDS = 20.0


class Rows:
    """`consumers.Consumer` of the rows that a session of the target sees. It reads every millisecond."""

    def __init__(self, target: Target) -> None:
        server = target.server
        self._connection = pymysql.connect(
            host=server.host, port=server.port, user="root", password="", autocommit=True
        )
        self._last = FIRST_ID - 1

    def keys(self, seconds: float) -> list[bytes]:
        end = time.monotonic() + seconds
        while True:
            with self._connection.cursor() as cursor:
                cursor.execute(f"SELECT id FROM {DATABASE}.{TABLE} WHERE id > %s ORDER BY id", (self._last,))
                found = [row[0] for row in cursor.fetchall()]
            if found or time.monotonic() > end:
                break
            time.sleep(_POLL_SECONDS)
        self._last = found[-1] if found else self._last
        return [json.dumps({"id": each}).encode() for each in found]

    def close(self) -> None:
        self._connection.close()


def apply_latency(runner: Runner, target: Target, seconds: float = SECONDS) -> Iterator[Entry]:
    """Raises RuntimeError when a row does not arrive."""
    target.clear()
    job = runner.job("apply", here(runner), _NAME, short=False)
    job = msgspec.structs.replace(job, bootstrap=target.server.address)
    try:
        with Crew(runner.database.replicator[1]) as crew:
            worker = crew.start(task(job))
            _wait(crew, target)
            place = (runner.database.host, runner.database.port)
            found = measured(lambda: Rows(target), writer, place, RATE, seconds)
            crew.check()
            crew.stop(worker)
    finally:
        runner.database.execute(f"DELETE FROM {DATABASE}.{TABLE} WHERE id >= %s", (FIRST_ID,))
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        yield figure(f"apply.latency_ms.{name}", "ms", [percentile(found.ms, share)], 2)
    yield figure("apply.latency_ms.samples", "rows", [len(found.ms)], 0)


def _wait(crew: Crew, target: Target) -> None:
    """Until the worker has written its position."""
    end = time.monotonic() + _START_SECONDS
    asked = "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'replicator_position'"
    while not target.server.execute(asked)[0][0]:
        crew.check()
        if time.monotonic() > end:
            raise RuntimeError(f"the task has not begun after {_START_SECONDS:g} s")
        time.sleep(0.1)
