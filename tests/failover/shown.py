"""What each output shows of a task, against the truth that a test knows: the table and the description of the command
line, the API, the Monitor's page and its metrics."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from dev import plain_http
from dev.cluster import Cluster, wait_for
from tests.failover.bus import Bus

TOLERANCE = 3.0
"""Seconds: figures are written once a second, read once a second, and the machine is busy."""


def _only(rows: list[dict[str, Any]], task: str) -> dict[str, Any]:
    found = [row for row in rows if row["name"] == task]
    assert len(found) == 1, f"{task} is shown {len(found)} times: {rows}"
    return found[0]


class Shown:
    """Everything that is shown of one task, from `first` to `last`, monotonic s: a command takes its time."""

    def __init__(self, bus: Bus, task: str) -> None:
        cluster = bus.cluster
        self.first = time.monotonic()
        with ThreadPoolExecutor(2) as pool:
            row = pool.submit(cluster.cli, "task", "get", task, "--no-headers")
            text = pool.submit(cluster.cli, "task", "describe", task)
            self.api = _only(cluster.tasks(), task)
            self._ask_monitor(cluster, task)
            self.row, self.text = row.result(), text.result()
        self.last = time.monotonic()

    def _ask_monitor(self, cluster: Cluster, task: str) -> None:
        state = plain_http.get(f"{cluster.monitor_url}/api/state").json()
        self.monitor = _only(state["tasks"], task)
        page = plain_http.get(cluster.monitor_url).text
        self.page = page[page.index(f'data-key="tasks:{task}"') :].partition("</tbody>")[0]
        self.problems = "".join(
            line for line in re.findall(r'<li class="cause-line.*?</li>', page, re.DOTALL) if f">{task}<" in line
        )
        text = plain_http.get(f"{cluster.monitor_url}/metrics").text
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
        assert re.search(
            rf"Retrying:    the (schema )?{side} for .*: {codes}. .*{re.escape(retrying['effect'])}\n", self.text
        )
        assert "RUNNING, retrying" in self.page and re.search(rf"{codes}\d* for ", self.page)
        assert re.search(r"and retr(y|ies)\b", self.problems) and re.search(codes, self.problems)
        assert self.metrics["task_retrying_seconds"] > 0

    def check_behind(self) -> None:
        """Binlog that the source has and the sink does not take."""
        assert self.metrics["task_behind_bytes"] > 0 and self.api["behind_bytes"] > 0, self.text
        assert "Behind:      " in self.text

    def check_old(self, host: str, began: float) -> None:
        assert self.api["host"] == host, "nobody knows yet that it is dead"
        assert self.api["figures_old"]
        self.check_true(self.api["figures_age_s"], began)
        assert "(no report for " in self.row and "the Core does not report" in self.text
        assert "no report of its Core" in self.page and 'class="chip idle"' in self.page
        assert self.metrics["task_figures_age_seconds"] > 3

    def check_calm(self) -> None:
        assert self.api["retrying"] is None and self.api["problems"] == [], self.text
        assert self.lags() == {0.0}, self.text
        assert " running " in self.row and "retrying" not in self.row + self.text + self.page + self.problems
        assert not self.api["figures_old"] and not any("retry" in name for name in self.metrics)
        assert self.metrics["task_behind_bytes"] == self.metrics["inflight_records"] == 0, self.text


class Blind:
    """Everything that is shown while ZooKeeper does not answer."""

    def __init__(self, bus: Bus) -> None:
        cluster = bus.cluster
        self.first = time.monotonic()
        self.state: dict[str, Any] = plain_http.get(f"{cluster.monitor_url}/api/state").json()
        self.page = plain_http.get(cluster.monitor_url).text
        self.metrics = plain_http.get(f"{cluster.monitor_url}/metrics").text
        self.health = plain_http.get(f"{cluster.monitor_url}/healthz").text
        self.ready = plain_http.get(f"{cluster.monitor_url}/healthz/ready").status_code
        self.last, self._wall = time.monotonic(), time.time()
        self._cluster = cluster

    def fresh_or_old(self, began: float) -> bool:
        """Soon after the beginning it may not be known yet; the age is true all the same."""
        age = self.state["age_s"]
        return bool(self.state["stale_since_ms"] is not None or age < 3 + self.last - began)

    def check(self, began: float, task: str) -> None:
        """The command line and the API have no figure, and say why."""
        with ThreadPoolExecutor(2) as pool:
            shown = [pool.submit(self._cluster.failing, "task", verb, task) for verb in ("get", "describe")]
            answer = plain_http.get(
                f"{self._cluster.server_url}/api/v1/tasks/{task}",
                headers={"Authorization": f"Bearer {self._cluster.token}"},
                timeout=30,
            )
        assert answer.status_code == 503 and answer.json()["error"]["code"] in ("E4001", "E4002", "E4003")
        for status, out, err in (one.result() for one in shown):
            assert (status, out) == (5, ""), "no old figure is shown as if it were of now"
            assert re.search(r"^E400[123] ", err, re.M) and "ZooKeeper" in err, err

    def _check_blind(self) -> None:
        assert '<html lang="en" class="stale"' in self.page and "data-stale" in self.page
        assert "check that most of the ZooKeeper servers run" in self.page
        assert "\nbus_zookeeper_connected 0.0\n" in self.metrics and "bus_task_" not in self.metrics
        assert self.ready == 503 and self.health.startswith("ok\n")

    def check_monitor(self, began: float, task: str) -> None:
        """The last figures, and how old they are."""
        self._check_blind()
        least, most = self.first - began - TOLERANCE, self.last - began + TOLERANCE
        for age in (self.state["age_s"], self._wall - self.state["stale_since_ms"] / 1000):
            assert least <= age <= most, f"{age}, not {least} to {most}"
        assert task in self.page and '<span role="alert">No data from ZooKeeper since ' in self.page
        assert "Everything below is the state of that time." in self.page
        assert "\nzookeeper: no data since " in self.health

    def check_no_figures(self, task: str) -> None:
        """Of a Monitor that was started in the outage."""
        assert self.state["tasks"] == [] and self.state["age_s"] is None
        assert f'data-key="tasks:{task}"' not in self.page
        assert "\nbus_zookeeper_connected 0.0\n" in self.metrics and "bus_task_" not in self.metrics
        assert self.ready == 503

    def check_new_monitor(self, task: str) -> None:
        """It has no figures at all, and says so."""
        self._check_blind()
        self.check_no_figures(task)
        assert "No data from ZooKeeper since this Monitor was started at " in self.page
        assert "It has never read anything." in self.page
        assert "\nzookeeper: nothing was ever read since the start at " in self.health


def shows(bus: Bus, task: str, *checks: Callable[[Shown], None], timeout: float = 20.0) -> None:
    """Every output passes these checks. What a busy machine has not written in time is looked at again: the truth goes
    on meanwhile, and what is false stays false."""
    end = time.monotonic() + timeout
    while True:
        try:
            shown = Shown(bus, task)
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
        try:
            tasks = bus.cluster.tasks()
        except httpx.HTTPStatusError as error:
            assert error.response.status_code == 503, error  # not connected to ZooKeeper again
            return False
        return all(item["lag_s"] == 0.0 and not item["retrying"] for item in tasks)

    wait_for(passes, lambda: f"calm: {bus.cluster.failing('task', 'get')}{bus.logs()}", 60, every=0.3)
    shows(bus, task, Shown.check_calm)


def at(began: float, seconds: float) -> None:
    time.sleep(max(0.0, began + seconds - time.monotonic()))
