"""What operators are shown in an incident, in each output, against what the test knows to be true.

One task has a row that waits, another one is idle all the time. Outputs: the table and the description of the command
line, the API, the Monitor's page and its metrics.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from dev.cluster import Cluster, wait_for
from replicator.config.load import parse_task, to_data
from replicator.coordination.tasks.registry import Registry
from tests.failover.bus import Bus

pytestmark = pytest.mark.servers
SESSION_SECONDS = 10.0
"""Of the Cores: a host that is killed still looks as if it had the task for as long."""
TOLERANCE = 3.0
"""Seconds: figures are written once a second, read once a second, and the machine is busy."""


class Shown:
    """Everything that is shown of one task, from `first` to `last`, monotonic s: a command takes its time."""

    def __init__(self, bus: Bus, task: str) -> None:
        cluster = bus.cluster
        self.first = time.monotonic()
        with ThreadPoolExecutor(2) as pool:
            row = pool.submit(cluster.cli, "task", "get", task, "--no-headers")
            text = pool.submit(cluster.cli, "task", "describe", task)
            self.api = next(item for item in cluster.tasks() if item["name"] == task)
            self._ask_monitor(cluster, task)
            self.row, self.text = row.result(), text.result()
        self.last = time.monotonic()

    def _ask_monitor(self, cluster: Cluster, task: str) -> None:
        state = httpx.get(f"{cluster.monitor_url}/api/state").json()
        self.monitor: dict[str, Any] = next(row for row in state["tasks"] if row["name"] == task)
        page = httpx.get(cluster.monitor_url).text
        self.page = page[page.index(f'data-key="tasks:{task}"') :].partition("</tbody>")[0]
        text = httpx.get(f"{cluster.monitor_url}/metrics").text
        self.metrics = {
            sample.name.removeprefix("bus_"): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.labels.get("task") == task
        }

    def lags(self) -> set[float | None]:
        """By the API, the Monitor and the metrics."""
        return {self.api["lag_s"], self.monitor["lag_s"], self.metrics.get("task_lag_seconds")}

    def check_true(self, figure: float | None, began: float) -> None:
        """It is the time since `began`."""
        least, most = self.first - began - TOLERANCE, self.last - began + TOLERANCE
        assert figure is not None and least <= figure <= most, f"{figure}, not {least} to {most}: {self.text}"

    def check_lag(self, began: float) -> None:
        for lag in self.lags():
            self.check_true(lag, began)

    def check_no_false_lag(self) -> None:
        """Of a task without a change: 0, or unknown, or a bound that says that it is one."""
        assert self.lags() == {0.0} or self.lags() == {None} or self.api["lag_at_most"], self.text

    def check_unknown(self) -> None:
        assert self.lags() == {None}, self.text
        assert "unknown" in self.row and "Lag:         unknown (" in self.text and ">unknown<" in self.page
        assert self.metrics["task_lag_unknown"] == 1

    def check_retrying(self, side: str, codes: str) -> None:
        retrying = self.api["retrying"]
        assert retrying and retrying["side"] == side and re.match(codes, retrying["code"]), self.text
        assert "running, retrying" in self.row and "State:       running, retrying" in self.text
        assert re.search(rf"Retrying:    the {side} for .*: {codes}. .*{re.escape(retrying['effect'])}\n", self.text)
        assert "RUNNING, retrying" in self.page and f"retrying the {side}" in self.page
        assert self.metrics["task_retrying_seconds"] > 0

    def check_old(self, host: str, began: float) -> None:
        assert self.api["host"] == host, "nobody knows yet that it is dead"
        assert self.api["figures_old"]
        self.check_true(self.api["figures_age_s"], began)
        assert "(no report for " in self.row and "the Core does not report" in self.text
        assert "no report for " in self.page and 'class="chip idle"' in self.page
        assert self.metrics["task_figures_age_seconds"] > 3

    def check_calm(self) -> None:
        assert self.api["retrying"] is None and self.api["problems"] == [], self.text
        assert self.lags() == {0.0}, self.text
        assert " running " in self.row and "retrying" not in self.row + self.text + self.page
        assert not self.api["figures_old"] and not any("retry" in name for name in self.metrics)


def shows(bus: Bus, task: str, *checks: Callable[[Shown], None], timeout: float = 20.0) -> None:
    """Every output passes these checks. What a busy machine has not written in time is looked at again: the truth goes
    on meanwhile, and what is false stays false."""
    end = time.monotonic() + timeout
    while True:
        shown = Shown(bus, task)
        try:
            for check in checks:
                check(shown)
            return
        except AssertionError:
            if time.monotonic() > end:
                raise
        time.sleep(0.3)


def calm(bus: Bus, task: str) -> None:
    """All is well in every output, also with the idle task."""

    def passes() -> bool:
        return all(item["lag_s"] == 0.0 and not item["retrying"] for item in bus.cluster.tasks())

    wait_for(passes, lambda: f"calm: {bus.cluster.tasks()}{bus.logs()}", 60, every=0.3)
    shows(bus, task, Shown.check_calm)


def at(began: float, seconds: float) -> None:
    time.sleep(max(0.0, began + seconds - time.monotonic()))


@pytest.fixture
def bus(make_bus: Callable[..., Bus]) -> Iterator[Bus]:
    def tables(made: Bus) -> None:
        for database in (made.name, f"{made.name}_idle"):
            made.database.execute(f"CREATE DATABASE IF NOT EXISTS {database}")
            made.database.execute(f"CREATE TABLE {database}.orders (id INT PRIMARY KEY, note VARCHAR(20))")

    made = make_bus(session_seconds=SESSION_SECONDS, before=tables, first_rows=1)
    made.writer.stop()
    idle = f"{made.name}_idle"
    config = {**made.task, "name": idle, "source": {**made.task["source"], "tables": [f"{idle}.*"]}}
    Registry(made.coordinator, made.layout).create(idle, to_data(parse_task(config)), "test")
    made.cluster.start_server()
    made.cluster.start_monitor()
    yield made
    made.kafka.resume()
    made.database.resume()
    made.database.execute(f"DROP DATABASE {idle}")


def test_what_operators_see(bus: Bus) -> None:
    task, idle = bus.name, f"{bus.name}_idle"
    calm(bus, task)

    # The sink is frozen, and a row waits.
    bus.kafka.pause()
    began = time.monotonic()
    bus.database.execute(f"INSERT INTO {task}.orders VALUES (1, 'waits')")
    at(began, 1)
    shows(bus, task, lambda shown: shown.check_lag(began))
    for seconds in (5, 15):
        at(began, seconds)
        shows(
            bus,
            task,
            lambda shown: shown.check_lag(began),
            lambda shown: shown.check_retrying("sink", "E300"),
            lambda shown: shown.check_true(shown.api["retrying"]["seconds"], began),
        )
    Shown(bus, idle).check_no_false_lag()
    bus.kafka.resume()
    calm(bus, task)

    # The source is frozen, while nothing waits. It is missed by its heartbeats; then nobody knows how far behind it is.
    bus.database.pause()
    began = time.monotonic()
    for seconds in (1, 5):
        at(began, seconds)
        assert Shown(bus, task).lags() <= {0.0, None}
    at(began, 13)
    shows(bus, task, Shown.check_unknown, lambda shown: shown.check_retrying("source", "E200"))
    bus.database.resume()
    calm(bus, task)

    # The Core is killed. ZooKeeper keeps its nodes for a session timeout.
    host = bus.look().host
    bus.cluster.cores[host].kill()
    began = time.monotonic()
    at(began, 4)
    shows(bus, task, lambda shown: shown.check_old(host, began), Shown.check_unknown, timeout=5)
    bus.wait_running(other_than=host)
    calm(bus, task)
