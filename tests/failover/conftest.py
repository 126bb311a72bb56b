"""`make_bus(**options)`: a started bus under load; everything of it is stopped at the end.

What came out of each test when it last ran is kept in build/faults/results.json, for `python -m dev.faults`.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from dev.paths import TREE
from dev.servers import Kafka, MariaDB, MySQL, ZooKeeper
from dev.soak.archive import conditions
from tests.failover.bus import Bus


@pytest.fixture
def make_bus(
    zookeeper: ZooKeeper,
    mysql: MySQL,
    kafka: Kafka,
    tmp_path: Path,
    make_zookeeper: Callable[..., ZooKeeper],
    make_mysql: Callable[..., MySQL],
    make_mariadb: Callable[..., MariaDB],
    make_kafka: Callable[..., Kafka],
) -> Iterator[Callable[..., Bus]]:
    """The factories are asked for so that a test's own servers outlive its bus."""
    with contextlib.ExitStack() as made:

        def make(
            *hosts: str,
            how: Mapping[str, dict[str, Any]] | None = None,
            before: Callable[[Bus], None] = lambda bus: None,
            part: Sequence[str] = (),
            **options: Any,
        ) -> Bus:
            """`before`: prepares what is there before the task is; `part`: arguments of every Core."""
            servers = {"zookeeper": zookeeper, "database": mysql, "kafka": kafka, **options}
            bus = Bus(folder=tmp_path, **servers)
            made.callback(bus.close)
            bus.writer.prepare()
            before(bus)
            return bus.start(*hosts, how=how, part=part)

        yield make


RESULTS: dict[str, dict[str, Any]] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A test is as good as the worst of its parameters and phases."""
    file, _, name = report.nodeid.rpartition("::")
    if "tests/failover/" not in file:
        return
    result = RESULTS.setdefault(f"{Path(file).name}::{name.partition('[')[0]}", {"outcome": "", "seconds": 0.0})
    result["seconds"] = round(result["seconds"] + report.duration, 1)
    if report.when == "call" and report.outcome == "passed" and not result["outcome"]:
        result["outcome"] = "passed"  # one that was interrupted before its body ran has not passed
    if report.outcome == "failed" or (report.outcome == "skipped" and result["outcome"] != "failed"):
        result["outcome"] = report.outcome


def pytest_sessionfinish(session: pytest.Session) -> None:
    if RESULTS and not hasattr(session.config, "workerinput"):  # the workers' reports reach the one who started them
        path = TREE / "build" / "faults" / "results.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        seen = {key: value for key, value in conditions().items() if key != "python"}
        before = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(
            json.dumps(before | {name: {**result, **seen} for name, result in RESULTS.items() if result["outcome"]})
        )
