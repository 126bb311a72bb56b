"""The figures and the state of a task: one declaration, from ZooKeeper to the API and the dashboard."""

import msgspec
import pytest

from monitor.view import TaskRow
from replicator.coordination.in_memory.coordinator import MemoryCoordinator, MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.machines.machines import Machines
from replicator.coordination.overview import Overview, TaskOverview, TaskState
from replicator.coordination.records import (
    CommitRecord,
    DeliveryFigures,
    InstanceRecord,
    LiveFigures,
    MachineRecord,
    TaskFigures,
    TaskRecord,
    dump,
    load,
)
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from server import responses

TASK = "copy"
GTID = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-7"


@pytest.fixture
def admin() -> MemoryCoordinator:
    coordinator = MemoryEnsemble().session()
    layout = Layout()
    coordinator.create(layout.task(TASK), dump(TaskRecord(uid="u", config={"name": TASK})), parents=True)
    checkpoint = Checkpoint(Position("binlog.000042", 100, GTID), rows=3, transactions=2, time_ms=5)
    coordinator.create(layout.last_commit(TASK), dump(CommitRecord(epoch=1, checkpoint=checkpoint)))
    coordinator.create(layout.election(TASK))
    return coordinator


def running(coordinator: MemoryCoordinator, figures: TaskFigures) -> None:
    layout = Layout()
    record = InstanceRecord(host="host-a", pid=1, process="p", since_ms=1, state="RUNNING")
    coordinator.create(
        layout.contender_prefix(TASK, "host-a", figures.guid), dump(record), ephemeral=True, sequential=True
    )
    Machines(coordinator, layout).publish(
        "host-a",
        MachineRecord(host="host-a", pid=1, process="p", started_ms=1, time_ms=2, tasks={TASK: figures}),
    )


@pytest.mark.parametrize("kind", [DeliveryFigures, LiveFigures, TaskFigures, TaskState, TaskOverview, TaskRow])
def test_task_field_is_declared_once(kind):
    declared = set(kind.__annotations__)
    for base in kind.__mro__[1:-2]:
        assert not declared & set(getattr(base, "__annotations__", ())), f"{kind.__name__} repeats {base.__name__}"


def test_api_task_repeats_no_field_of_task_state():
    assert not set(responses.Task.__annotations__) & set(TaskState.__struct_fields__)


def test_overview_without_running_instance_shows_last_commit(admin):
    found = Overview(admin, Layout()).task(TASK)
    assert found is not None
    assert (found.position, found.gtid) == ("binlog.000042:100", GTID)
    assert (found.lag_s, found.rows_per_s, found.retention_headroom_s) == (None, None, None), "unknown, not 0"


def test_overview_prefers_live_figures_to_last_commit(admin):
    live = TaskFigures(
        state="RUNNING", guid="a" * 32, position="binlog.000042:200", rows=9, rows_per_s=4.0, lag_s=0.0, checkpoint_ms=6
    )
    running(admin, live)
    found = Overview(admin, Layout()).task(TASK)
    assert found is not None
    assert (found.position, found.gtid) == ("binlog.000042:200", GTID), "what is not reported is of lastCommit"
    shown = msgspec.to_builtins(responses.task(found))
    assert shown["lag_s"] == 0.0, "reported, so not null"
    assert {name: shown[name] for name in ("position", "gtid", "rows", "rows_per_s", "checkpoint_ms")} == {
        "position": "binlog.000042:200", "gtid": GTID, "rows": 9, "rows_per_s": 4.0, "checkpoint_ms": 6,
    }  # fmt: skip


def test_figures_of_an_earlier_version_are_read():
    """They left out a lag of 0; it is read as unknown."""
    data = (
        b'{"host":"h","pid":1,"process":"p","started_ms":1,"time_ms":2,"tasks":{"copy":{"state":"running","rows":7}}}'
    )
    figures = load(MachineRecord, data).tasks[TASK]
    assert (figures.rows, figures.lag_s) == (7, None)
