"""The size of a machine node, whatever its tasks report."""

from __future__ import annotations

import random
import uuid
import zlib

import pytest

from replicator.coordination.machines.payload import BUDGET, pack, unpack
from replicator.coordination.records import MachineRecord, TaskFigures, dump
from replicator.errors import CoordinationError
from replicator.model.activity import Activity
from replicator.model.histogram import Histogram

ERROR = {"code": "E2306", "what": "w" * 300, "found": "CREATE TABLE " + "f" * 200_000, "wanted": "", "fix": "x" * 90}


def record(tasks: dict[str, TaskFigures]) -> MachineRecord:
    return MachineRecord(host="host-a", pid=1, process="p", started_ms=1, time_ms=2, tasks=tasks)


def uuids(count: int) -> str:
    return ",".join(f"{uuid.uuid4()}:1-{number * 977}" for number in range(1, count + 1))


def figures(gtid: str = "", error: dict[str, str] | None = None) -> TaskFigures:
    return TaskFigures(
        state="running",
        guid=uuid.uuid4().hex,
        epoch=12345,
        sequence=3,
        since_ms=1_700_000_000_000,
        position="binlog.000042:88123456",
        gtid=gtid,
        lag_s=0.25,
        rows=987_654,
        transactions=4321,
        rows_per_s=812.5,
        checkpoint_ms=1_700_000_000_000,
        reach={"source": True, "sink": True},
        worker_pid=4711,
        error=error,
    )


@pytest.mark.parametrize(
    ("count", "gtid", "error"),
    [(125, uuids(150), None), (1000, uuids(3), None), (1000, uuids(150), None), (1000, "", ERROR), (20_000, "", ERROR)],
)
def test_it_fits_whatever_is_reported(count: int, gtid: str, error: dict[str, str] | None) -> None:
    data = pack(record({f"copy_{number}": figures(gtid, error) for number in range(count)}))
    assert len(data) <= BUDGET
    read = unpack(data, "/machines/host-a")
    assert (read.host, read.time_ms) == ("host-a", 2)
    if count <= 1000:
        assert len(read.tasks) == count
        one = read.tasks["copy_7"]
        assert (one.state, one.reach, one.worker_pid) == ("running", {"source": True, "sink": True}, 4711)
        assert (one.error or {}).get("code") == (error or {}).get("code")


def test_what_is_small_is_not_touched() -> None:
    whole = record({"copy": figures(uuids(3), {**ERROR, "found": "3 columns"})})
    assert pack(whole) == dump(whole)
    assert unpack(dump(whole), "") == whole


def test_more_tasks_than_any_step_has_room_for() -> None:
    data = pack(record({uuid.uuid4().hex * 4: figures() for _ in range(20_000)}))
    assert len(data) <= BUDGET
    assert unpack(data, "").tasks == {}


def test_tasks_that_the_core_leads_are_the_last_to_be_left_out() -> None:
    tasks = {f"copy_{uuid.uuid4().hex}": figures() for _ in range(10_000)}
    leads = set(list(tasks)[9000:])
    for name in tasks.keys() - leads:
        tasks[name].state = "standby"
    data = pack(record(tasks))
    assert len(data) <= BUDGET <= 200_000
    assert set(unpack(data, "").tasks) == leads


@pytest.mark.parametrize("data", [b"zlib1 junk", b"zlib1 ", b"zlib1 " + zlib.compress(b"{"), b"", b"\xff"])
def test_garbage_has_a_code(data: bytes) -> None:
    with pytest.raises(CoordinationError, match="E4009"):
        unpack(data, "/machines/host-a")


def busy(chance: random.Random) -> TaskFigures:
    """Of a task that has worked for a day: each figure is another one."""
    whole = figures()
    whole.epoch, whole.rows = chance.randrange(1 << 33), chance.randrange(10**9)
    whole.position = f"binlog.{chance.randrange(10**6):06}:{chance.randrange(10**9)}"
    whole.last_event_ms = whole.checkpoint_ms = 1_700_000_000_000 + chance.randrange(10**8)
    whole.activity = Activity(
        busy_ms=tuple(chance.randrange(10**7) for _ in range(4)),
        blocked_ms=tuple(chance.randrange(10**6) for _ in range(2)),
        publishes=Histogram(tuple(chance.randrange(10**5) for _ in range(6)), chance.randrange(10**7)),
        bytes=chance.randrange(10**11),
    )
    return whole


def test_a_thousand_busy_tasks_keep_their_activity() -> None:
    chance = random.Random(7)
    tasks = {f"copy_{number}": busy(chance) for number in range(1000)}
    data = pack(record(tasks))
    assert len(data) <= BUDGET
    assert unpack(data, "").tasks == tasks


def test_activity_is_left_out_before_anything_that_is_needed() -> None:
    chance = random.Random(7)
    data = pack(record({f"copy_{number}": busy(chance) for number in range(1600)}))
    assert len(data) <= BUDGET
    one = unpack(data, "").tasks["copy_7"]
    assert one.activity is None
    assert one.rows_per_s == 812.5
