"""Debezium's initial snapshot of the same table: rows/s and CPU from the first tenth of the records to the last."""

from __future__ import annotations

import psutil

from dev.bench.connect import TOPIC, Connect
from dev.bench.consumers import Ends
from dev.bench.job import Outcome
from dev.bench.ours import LEFT_OUT
from dev.bench.peer import calm, wait_until
from dev.bench.runner import Runner, warm_memory
from dev.progress import say

TUNED = {"max_batch_size": "8192", "max_queue_size": "32768"}
SETTINGS: dict[str, dict[str, str]] = {
    "tuned": TUNED,
    "two_threads": {**TUNED, "snapshot_max_threads": "2"},
    "defaults": {
        "max_batch_size": "2048",
        "max_queue_size": "8192",
        "poll_interval_ms": "500",
        "producer_override_linger_ms": "5",
        "producer_override_batch_size": "16384",
    },
}
"""Name -> settings of the connector beyond those of `Connect`, with _ for the dot. snapshot.fetch.size is not set: the
connector then streams row by row, the fastest way of the driver. "defaults": the defaults of connector and producer."""

_WARM = 0.2
"""Of the table, read before anything is measured: the JVM compiles what it does."""


class SnapshotPeer:
    """A Connect worker that reads the table again and again."""

    def __init__(self, runner: Runner, rows: int) -> None:
        self._runner, self._rows = runner, rows
        self._connect = Connect(runner.database, runner.kafka)
        try:
            self._connect.start()
            self._connect.make_initial()
            self._process = psutil.Process(self._connect.pid)
            self._copy(SETTINGS["tuned"], int(rows * _WARM))
        except BaseException:
            self._connect.close()
            raise

    def run(self, settings: str) -> Outcome:
        """settings: a name of SETTINGS. Raises RuntimeError, TimeoutError."""
        outcome = self._copy(SETTINGS[settings], self._rows)
        say(f"snapshot debezium {settings}: {outcome.rate:,.0f} rows/s, {outcome.cpu_us:.1f} us of CPU per row")
        return outcome

    def _copy(self, settings: dict[str, str], rows: int) -> Outcome:
        """Its first `rows` rows; the connector is halted then."""
        self._runner.create(TOPIC)
        warm_memory()
        try:
            with Ends(self._runner.kafka.bootstrap, TOPIC) as ends:
                self._connect.copy(**settings)
                first = wait_until(self._connect, ends, int(rows * LEFT_OUT), self._process)
                last = wait_until(self._connect, ends, rows, self._process)
            self._connect.halt()
            calm(self._process)
        finally:
            self._runner.delete(TOPIC)
        memory = self._process.memory_info().rss / 1e6
        return Outcome(last[2] - first[2], last[0] - first[0], memory, last[1] - first[1])

    def close(self) -> None:
        self._connect.close()
