"""Orders of nightly verifications, over the memory twin and over a real ZooKeeper."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import msgspec

from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.tasks.registry import Registry
from replicator.coordination.tasks.status import Status
from replicator.coordination.tasks.verifications import Verifications
from replicator.coordination.tasks.verify_orders import Kept, VerifyOrders
from replicator.coordination.tree_cache import TreeCache
from replicator.errors import CoordinationError
from replicator.model.nightly import VerifyOrder
from replicator.model.verification import VerificationReport, VerifiedTable
from tests.support.waiting import eventually

TASK = "copy items"


def stand(zk: Coordinator, layout: Layout, host: str) -> str:
    prefix = layout.contender_prefix(TASK, host, "0" * 32)
    return zk.create(prefix, b"{}", ephemeral=True, sequential=True).rpartition("/")[2]


def test_from_the_server_to_two_cores(session: Callable[[], Coordinator]) -> None:
    layout, server, core, other = Layout(f"/verify-{uuid.uuid4().hex}"), session(), session(), session()
    Registry(server, layout).create(TASK, {"name": TASK}, "test")
    uid = Registry(server, layout).read(TASK).record.uid
    ordering, cached = VerifyOrders(server, layout), VerifyOrders(core, layout, TreeCache(core, layout.root))
    assert cached.read(TASK) == Kept() and ordering.read(TASK) == Kept()
    order = VerifyOrder(uid=uid, date="2026-11-26", stage="ordered")
    assert ordering.write(TASK, order, -1) and not ordering.write(TASK, order, -1)
    eventually(lambda: cached.read(TASK).order == order)

    first = msgspec.structs.replace(order, stage="running", own=stand(core, layout, "a"), attempts=1)
    second = msgspec.structs.replace(order, stage="running", own=stand(other, layout, "b"), attempts=2)
    assert cached.write(TASK, first, 0)
    assert not VerifyOrders(other, layout).write(TASK, second, 0), "it has changed since"
    assert VerifyOrders(other, layout).write(TASK, second, 1)
    eventually(lambda: cached.read(TASK).order == second)

    report = VerificationReport(
        uid=uid, version=0, whole=True, began_ms=1, ended_ms=2, tables=(VerifiedTable("a.b", "equal", 2),)
    )
    stale, results = cached.changes(TASK, first.ended("done", 3), 1), Verifications(core, layout)
    try:
        results.add(TASK, report, "nightly", stale)
        raise AssertionError("a former leader has written a result")
    except CoordinationError as error:
        assert error.code == "E4006"
    assert results.read(TASK, uid) is None
    done = VerifyOrders(other, layout).changes(TASK, second.ended("done", 3), 2)
    assert Verifications(other, layout).add(TASK, report, "nightly", done).result == "equal"
    assert ordering.read(TASK).version == 3

    third = msgspec.structs.replace(second, own="h-" + "0" * 32 + "-0000000099")
    assert not cached.write(TASK, third, 3), "it is not in the queue"
    core.close()
    other.close()
    Status(server, layout).set(TASK, "deleted", "test")
    assert Registry(server, layout).remove(TASK)
    assert not ordering.write(TASK, order, -1) and ordering.read(TASK) == Kept()
