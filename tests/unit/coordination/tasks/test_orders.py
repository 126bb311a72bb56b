"""Orders of tables beside the configuration: a worker takes them up, whoever leads, and nothing else changes them."""

from __future__ import annotations

import pytest

from replicator.coordination.leadership.state import State
from replicator.coordination.tasks.orders import Ordered, OrdersStore
from replicator.coordination.tasks.registry import Registry
from replicator.errors import CoordinationError, NodeMissing, VersionConflict
from replicator.model.quarantine import TaskOrders
from replicator.model.snapshot_orders import SnapshotOrders, SnapshotRequest
from tests.support.cores import TASK, SimCore, World

PUT = TaskOrders({"shop.item": 5})


@pytest.fixture
def world() -> World:
    return World()


def running(world: World) -> SimCore:
    core = world.core()
    core.turn()
    core.work()
    world.settle(2)
    assert core.participant.state is State.RUNNING
    return core


def seen(core: SimCore) -> TaskOrders:
    worker = core.participant.facts.worker
    assert worker is not None
    return worker.config.orders


def order(world: World, orders: TaskOrders) -> None:
    recipe = OrdersStore(world.admin, world.layout)
    recipe.write(TASK, orders, recipe.read(TASK).version)


def test_a_worker_takes_up_what_is_ordered_and_a_standby_the_same(world: World) -> None:
    core = running(world)
    assert seen(core) == TaskOrders()
    order(world, PUT)
    world.settle(3)
    assert seen(core) == PUT
    standby = world.core()
    world.settle(2)
    core.participant.stop()
    world.settle(4)
    assert seen(standby) == PUT


def test_81_a_configuration_that_is_written_again_changes_no_order(world: World) -> None:
    core = running(world)
    order(world, PUT)
    world.settle(3)
    registry = Registry(world.admin, world.layout)
    registry.configure(TASK, {"name": TASK, "x": 1}, "ann", registry.version(TASK))
    world.settle(3)
    assert seen(core) == PUT
    worker = core.participant.facts.worker
    assert worker is not None and worker.config.data["x"] == 1


def test_a_worker_of_the_former_configuration_gets_no_order_of_the_next(world: World) -> None:
    """It would end the snapshot at once, as it does not replicate the tables yet."""
    core = running(world)
    registry, store = Registry(world.admin, world.layout), OrdersStore(world.admin, world.layout)
    version = registry.version(TASK)
    request = SnapshotRequest(1, ("shop.new",), version=version + 1)
    added = TaskOrders(snapshots=SnapshotOrders((request,), last=1))
    order(world, added)
    world.settle(3)
    assert seen(core).snapshots == SnapshotOrders()
    registry.configure(TASK, {"name": TASK, "x": 1}, "ann", version, Ordered(added, store.read(TASK).version))
    world.settle(3)
    assert seen(core).snapshots == added.snapshots
    with pytest.raises(VersionConflict):
        registry.configure(TASK, {"name": TASK, "x": 2}, "ann", version + 1, Ordered(TaskOrders(), 0))
    assert registry.version(TASK) == version + 1, "both are written, or none"


def test_it_is_a_new_chance_for_a_task_that_has_failed(world: World) -> None:
    core = running(world)
    core.participant.on_failed({"code": "E2309", "what": "a statement"})
    world.settle(2)
    states = [core.participant.state]
    order(world, PUT)
    world.settle(3)
    states.append(core.participant.state)
    assert states == [State.FAILED, State.RUNNING] and seen(core) == PUT


def test_what_nobody_understands_stops_nobody_who_runs_and_starts_nobody(world: World) -> None:
    core = running(world)
    order(world, PUT)
    world.settle(3)
    path = world.layout.orders(TASK)
    world.admin.set(path, b"rubbish", world.admin.get(path).stat.version)
    world.settle(3)
    assert (core.participant.state, seen(core)) == (State.RUNNING, PUT)
    view = core.participant.view
    assert view is not None and view.config_error is not None and view.config_error["code"] == "E4009"
    core.participant.stop()
    world.settle(3)
    late = world.core()
    world.settle(4)
    assert late.participant.state is State.UNCONFIGURED, "all of its tables would come back"


def test_a_node_that_is_deleted_by_hand_is_no_order(world: World) -> None:
    core = running(world)
    order(world, PUT)
    world.settle(3)
    world.admin.delete(world.layout.orders(TASK))
    world.settle(3)
    assert seen(core) == TaskOrders() and not TaskOrders().mended, "marks end by an order alone"


def test_no_task_no_orders(world: World) -> None:
    recipe = OrdersStore(world.admin, world.layout)
    with pytest.raises(NodeMissing):
        recipe.write("nobody", PUT, -1)
    assert recipe.read("nobody").version == -1
    assert world.admin.exists(world.layout.task("nobody")) is None
    order(world, PUT)
    with pytest.raises(CoordinationError):
        recipe.write(TASK, TaskOrders(), 7)
