"""What operators do to a task under load: handing over, holding still, going back, passing a transaction."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from dev.cluster import wait_for
from dev.errors import ServerFailed
from dev.servers import MySQL
from tests.failover.bus import Bus
from tests.support.settings import set_global

pytestmark = pytest.mark.timeout(180)
MakeBus = Callable[..., Bus]


def test_62_maintenance_nobody_is_promoted_until_it_ends(make_bus: MakeBus) -> None:
    bus = make_bus()
    before = bus.look()
    bus.cluster.cli("task", "pause", bus.name, "--maintenance", "--reason", "new disks")
    bus.wait_delivered(20)  # RUNNING goes on
    bus.cluster.cores[before.host].kill()
    wait_for(lambda: len(bus.look().instances) == 1, "the dead one's node to go", 30)
    time.sleep(bus.session_seconds)
    found = bus.look()
    assert (found.state, found.epoch != before.epoch, found.maintenance) == ("standby", True, "task")
    assert found.last_commit is not None and found.last_commit.epoch == before.epoch, "nobody opened a term"
    assert "(maintenance)" in bus.cluster.cli("task", "get", bus.name)
    with pytest.raises(ServerFailed, match="E5007"):
        bus.cluster.cli("task", "switchover", bus.name)
    bus.cluster.cli("task", "resume", bus.name, "--maintenance")
    bus.wait_running(other_than=before.host)
    bus.wait_delivered(50)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)


def test_62_a_paused_task_stays_paused_when_its_leader_dies(make_bus: MakeBus) -> None:
    bus = make_bus()
    leader = bus.look().host
    bus.cluster.cli("task", "pause", bus.name)
    wait_for(lambda: bus.look().state == "paused", "paused", 20)
    bus.cluster.cores[leader].kill()
    wait_for(lambda: bus.look().state == "paused" and bus.look().host != leader, "paused on the other one", 30)
    quiet = len(bus.seen())
    time.sleep(1)
    assert len(bus.seen()) == quiet
    bus.cluster.cli("task", "resume", bus.name)
    bus.wait_running(other_than=leader)
    bus.wait_delivered(50)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)


def test_new_labels_keep_the_worker_and_a_restart_keeps_the_term(make_bus: MakeBus, tmp_path: Path) -> None:
    bus = make_bus()

    def worker() -> tuple[int, int, int, str]:
        seen = wait_for(lambda: (found := bus.look()).figures and found.figures.worker_pid and found, "a worker", 20)
        return seen.figures.worker_pid, seen.figures.config_version, seen.epoch, seen.host

    pid, version, epoch, host = worker()
    file = tmp_path / "task.yaml"
    file.write_text(bus.cluster.cli("task", "export", bus.name) + "labels: {env: prod}\n")
    assert bus.cluster.cli("task", "apply", "-f", str(file)) == f"{bus.name} configured\n"
    wait_for(lambda: worker()[1] == version + 1, "the new version in use", 20)
    assert worker() == (pid, version + 1, epoch, host)
    assert bus.cluster.cli("task", "restart", "-l", "env=prod").startswith(f"{bus.name} restarted in ")
    wait_for(lambda: worker()[0] != pid, "the figures of the new worker", 20)
    assert worker()[1:] == (version + 1, epoch, host)
    assert bus.name in bus.cluster.cli("top") and host in bus.cluster.cli("machines")
    bus.wait_delivered(50)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)


@pytest.mark.parametrize(("delivery", "by"), [("exactly_once", "gtid"), ("at_least_once", "time")])
def test_a_position_set_back_repeats_from_there_and_loses_nothing(make_bus: MakeBus, delivery: str, by: str) -> None:
    bus = make_bus(sink={"delivery": delivery})
    commit = bus.look().last_commit
    assert commit is not None and commit.checkpoint is not None
    earlier = commit.checkpoint.position
    where = ["--gtid", earlier.gtid] if by == "gtid" else ["--at", _first_position(bus)]
    bus.wait_delivered(50)
    with pytest.raises(ServerFailed, match="E5007"):
        bus.cluster.cli("task", "position", "set", bus.name, *where, "-y")
    bus.cluster.cli("task", "pause", bus.name)
    wait_for(lambda: bus.look().state == "paused", "paused", 20)
    assert "Sent again:" in bus.cluster.cli("task", "position", "set", bus.name, *where, "--dry-run")
    bus.cluster.cli("task", "position", "set", bus.name, *where, "-y", "--reason", "again")
    wait_for(lambda: _reset(bus) == 1, "the position to be set", 20)
    bus.cluster.cli("task", "resume", bus.name)
    bus.wait_running()
    bus.wait_delivered(50)
    verdict = bus.verdict()
    assert verdict.lost == [] and verdict.stale == [] and verdict.differing == []
    assert len(verdict.duplicated) >= 40, "what was ordered to be sent again was not"
    history = json.loads(bus.cluster.cli("task", "history", bus.name, "-o", "json"))["items"]
    assert any(item["event"] == "position" and item["reason"] == "again" for item in history)


def _first_position(bus: Bus) -> str:
    """Its time, as an operator would say it."""

    def points() -> list[dict[str, Any]]:
        return list(json.loads(bus.cluster.cli("task", "position", "history", bus.name, "-o", "json"))["items"])

    first = wait_for(points, "a point of the position history", 20)[0]
    return datetime.fromtimestamp(first["time_ms"] / 1000 + 0.001).astimezone().isoformat()


def _reset(bus: Bus) -> int:
    commit = bus.look().last_commit
    return commit.checkpoint.position.reset if commit and commit.checkpoint else 0


def test_80_a_transaction_that_fails_the_task_is_skipped_and_no_other(make_bus: MakeBus) -> None:
    bus = make_bus(sink={"max_record_bytes": 4096})
    database = bus.database
    before = database.execute("SELECT @@GLOBAL.gtid_executed")[0][0]
    database.execute(f"CREATE TABLE {bus.name}.big (id INT PRIMARY KEY, text MEDIUMTEXT)")
    database.execute(f"INSERT INTO {bus.name}.big VALUES (1, REPEAT('x', 20000))")
    problem = bus.failed(30)
    assert problem["code"] == "E3102"
    gtid = problem["transaction"]
    assert gtid not in before
    source, _, number = gtid.rpartition(":")
    with pytest.raises(ServerFailed, match="E5016"):  # one that has not been written yet
        bus.cluster.cli("task", "skip", bus.name, "-y", "--transaction", f"{source}:{int(number) + 100_000}")
    assert bus.failed(30)["transaction"] == gtid
    bus.cluster.cli("task", "skip", bus.name, "-y", "--transaction", gtid, "--reason", "a test row")
    bus.wait_running()
    bus.wait_delivered(50)
    bus.writer.stop()
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)
    assert not [record for record in bus.records() if b"x" * 100 in (record.value or b"")]
    history = json.loads(bus.cluster.cli("task", "history", bus.name, "-o", "json"))["items"]
    recorded = [item["reason"] for item in history if item["event"] == "position"]
    assert recorded == [f"transaction {gtid} skipped: a test row"]


def test_80_a_statement_that_is_skipped_counts_for_the_tables_all_the_same(make_bus: MakeBus, mysql: MySQL) -> None:
    """Names are not logged: rows behind it have those that the statement gave, as it was read before it failed."""
    with set_global(mysql, "binlog_row_metadata", "'MINIMAL'"):
        bus = make_bus(sink={"max_record_bytes": 4096})
        table = f"{bus.name}.renamed"
        mysql.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, a INT, b INT)")
        mysql.execute(f"INSERT INTO {table} VALUES (1, 1, 1)")
        mysql.execute(f"ALTER TABLE {table} RENAME COLUMN a TO b, RENAME COLUMN b TO a /* {'x' * 5000} */")
        mysql.execute(f"INSERT INTO {table} VALUES (2, 2, 2)")
        problem = bus.failed(30)
        assert problem["code"] == "E3102"
        bus.cluster.cli("task", "skip", bus.name, "-y", "--transaction", problem["transaction"])
        bus.wait_running()
        rows = wait_for(lambda: found if len(found := bus.records("renamed")) == 2 else [], "both rows", 30)
        after = [json.loads(row.value)["after"] for row in sorted(rows, key=lambda row: json.loads(row.key)["id"])]
        assert [list(row) for row in after] == [["id", "a", "b"], ["id", "b", "a"]]
        bus.writer.stop()
        verdict = bus.verdict()
        assert verdict.clean, str(verdict)


def test_a_fork_sees_everything_after_its_point(make_bus: MakeBus) -> None:
    bus = make_bus()
    name = f"{bus.name}fork"
    bus.cluster.cli("task", "fork", bus.name, name)
    wait_for(lambda: bus.overview.task(name).state == "running", "the fork running", 30)
    config = bus.overview.task(name).config
    assert config is not None
    start = config["source"]["start"]
    assert set(start) == {"gtid", "reached"} and start["gtid"]
    uuid = bus.database.execute("SELECT @@server_uuid")[0][0]
    assert start["reached"]["server"].partition("@")[0] == uuid, "whose position it is"
    assert start["reached"]["file"] and start["reached"]["position"] >= 4
    bus.wait_delivered(20)
    verdict = bus.verdict()
    assert verdict.lost == []


def test_switchover_dry_run_changes_nothing(make_bus: MakeBus) -> None:
    bus = make_bus()
    before = bus.look()
    standby = before.standbys[0].host
    assert f"-> {standby} (dry run)" in bus.cluster.cli("task", "switchover", bus.name, "--dry-run")
    bus.wait_delivered(20)
    assert bus.look().epoch == before.epoch
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)
