"""A task with as many schema parts as a history that was never compacted could have, in a real ZooKeeper."""

from __future__ import annotations

import time
import uuid

import msgspec
import pytest

from dev.servers import ZooKeeper
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Create
from replicator.coordination.records import dump
from replicator.coordination.tasks.registry import Registry
from replicator.coordination.tasks.schema_nodes import SchemaNodes, SchemaPart
from replicator.coordination.tasks.status import Status
from replicator.model.position import Position
from replicator.model.schema_history import SchemaRecord
from replicator.zookeeper.client import connect
from tests.support.long_run import LONG

pytestmark = [pytest.mark.servers, pytest.mark.timeout(180)]
PARTS = 50_000 if LONG else 4_000


def test_a_task_with_very_many_schema_parts_is_loaded_and_deleted(zookeeper: ZooKeeper) -> None:
    layout = Layout(f"/{uuid.uuid4().hex}")
    coordinator = connect(zookeeper.hosts, session_timeout=10.0)
    try:
        registry = Registry(coordinator, layout)
        registry.register("wide", "test")
        coordinator.create(layout.schema("wide"))
        record = SchemaRecord("ddl", Position("binlog.000001", 4), data=b"x" * 30)
        raw = msgspec.msgpack.encode(record)
        part = [dump(SchemaPart(group=uuid.uuid4().hex, index=0, count=1, kind="ddl", data=raw)) for _ in range(PARTS)]
        for at in range(0, PARTS, 1000):
            coordinator.multi(
                [Create(layout.schema_prefix("wide"), data, sequential=True) for data in part[at : at + 1000]]
            )
        began = time.monotonic()
        assert len(SchemaNodes(coordinator, layout, "wide", "").load()) == PARTS
        loaded = time.monotonic()
        Status(coordinator, layout).set("wide", "deleted", "test", "")
        assert registry.remove("wide")
        assert coordinator.exists(layout.task("wide")) is None
        print(f"loaded in {loaded - began:.1f} s, deleted in {time.monotonic() - loaded:.1f} s")
    finally:
        coordinator.close()
