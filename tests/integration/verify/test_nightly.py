"""The nightly verification of a task by the Core that runs it, with a real worker and real servers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from core.agent import Agent
from core.launcher import Launcher
from core.process import validate
from dev.servers import Database, MySQL
from replicator.assembly.nightly import verify_task
from replicator.config.load import to_data
from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.overview import Overview, TaskOverview
from replicator.coordination.tasks.registry import Registry
from replicator.coordination.tasks.verify_orders import VerifyOrders
from replicator.model.nightly import VerifyOrder
from replicator.model.verification import Verification
from server.nightly_verifications import NightlyVerifications
from tests.support.verified import Pair, pair
from tests.support.waiting import eventually

pytestmark = pytest.mark.timeout(90)
TASK = "copy"


@pytest.fixture
def same(mysql: MySQL, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pair]:
    monkeypatch.setattr(Database, "replicator", ("root", ""))
    with pair(mysql, mysql) as made:
        yield made


class Core:
    """A Core on a bus in memory."""

    def __init__(self, config: dict[str, Any]) -> None:
        ensemble, self.layout = MemoryEnsemble(), Layout()
        self.zk = ensemble.session(10)
        Registry(self.zk, self.layout).create(TASK, config, "test")
        self.overview = Overview(self.zk, self.layout)
        self.launcher = Launcher()
        self.agent = Agent(
            ensemble.session(10), self.layout, "core-a", (), self.launcher, validate, verify=self.launcher.verify
        )
        self.thread = threading.Thread(target=self.agent.run)

    def __enter__(self) -> Core:
        self.launcher.warm()
        self.thread.start()
        eventually(lambda: self.task.state == "running", 30)
        return self

    def __exit__(self, *_: object) -> None:
        self.agent.stop()
        self.thread.join(20)
        self.launcher.close()

    @property
    def task(self) -> TaskOverview:
        return self.overview.task(TASK)

    def night(self, date: str) -> VerifyOrder:
        """The order of this date, which is over, after its end."""
        server = NightlyVerifications(self.zk, self.layout, lambda: [self.task], "server", lambda: date)
        server.order(lambda: True)

        def ended() -> VerifyOrder | None:
            found = VerifyOrders(self.zk, self.layout).read(TASK).order
            return found if found is not None and found.date == date and found.ended_ms else None

        return eventually(ended, 40)

    @property
    def result(self) -> Verification:
        found = self.task.verification
        assert found is not None
        return found


def test_a_row_that_was_deleted_at_the_target_is_found(same: Pair, tmp_path: Path) -> None:
    same.both("CREATE TABLE a (id INT PRIMARY KEY, v INT)", "CREATE TABLE b (id INT PRIMARY KEY)")
    same.both("INSERT INTO a VALUES (1, 1), (2, 2)", "INSERT INTO b VALUES (1), (2)")
    # Not of the environment: the template of workers has that of the test which started it.
    password = f"file:{tmp_path}/password"
    (tmp_path / "password").write_text("\n")
    sink = {"user": "root", "password": password, "position_database": same.other}
    verify = {"nightly": True, "wait_s": 20}
    config = to_data(same.config(name=TASK, source={"password": password}, sink=sink, verify=verify))
    with Core(config) as core:
        same.here("INSERT INTO a VALUES (3, 3)")
        eventually(lambda: same.target.execute(f"SELECT 1 FROM {same.other}.a WHERE id = 3"), 20)
        first = core.night("2026-01-01")
        assert (first.stage, first.note, first.host) == ("done", "", "core-a")
        assert (core.result.result, core.result.by, len(core.result.tables)) == ("equal", "nightly", 2)

        same.there("SET SESSION sql_log_bin = 0", f"DELETE FROM {same.other}.a WHERE id = 2")
        second = core.night("2026-01-02")
        assert second.stage == "done" and core.result.result == "differs"
        assert core.result.differing[0].missing == 1 and core.result.differing[0].table.endswith(".a")
        assert core.task.state == "running" and core.result.whole_ms > core.result.equal_ms > 0


def test_a_table_that_takes_longer_than_the_night_comes_last_in_the_next_one(same: Pair) -> None:
    same.both(*(f"CREATE TABLE {name} (id INT PRIMARY KEY)" for name in "abc"))
    same.both(*(f"INSERT INTO {name} VALUES (1), (2)" for name in "abc"))
    config, last = same.config(sink={"user": "root", "position_database": same.other}), dict[str, int]()
    moments = iter([0.0, 0.0])  # then a comparison of the first table has taken very long
    ended = verify_task(config, "", last, lambda: None, partial(next, moments, 1e9))
    assert (ended.stage, ended.whole) == ("incomplete", False)
    assert [(each.table[-1], each.result) for each in ended.tables] == [("a", "undecided")]
    assert "verify.max_hours (5)" in ended.tables[0].note and "3 of 3 tables were not compared" in ended.note
    last |= {each.table: each.time_ms for each in ended.tables}

    moments = iter([0.0] * 5)  # for one table
    ended = verify_task(config, "", last, lambda: None, partial(next, moments, 1e9))
    assert [(each.table[-1], each.result) for each in ended.tables] == [("b", "equal")]
