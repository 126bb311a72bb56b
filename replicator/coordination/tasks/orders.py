"""/tasks/TASK/quarantine: operators' orders of tables in quarantine and of snapshots.

They are not part of the configuration, so applying a file again does not change them.
"""

from __future__ import annotations

import msgspec

from replicator.coordination.layout import Layout
from replicator.coordination.ports import Check, Coordinator, Create, Op, Set, Watcher
from replicator.coordination.records import OrdersRecord, dump, load
from replicator.errors import NodeExists, NodeMissing, VersionConflict
from replicator.model.quarantine import TaskOrders


class Ordered(msgspec.Struct, frozen=True):
    """`version`: of the node, -1 where there is none; give it back to `write`."""

    orders: TaskOrders = TaskOrders()
    version: int = -1


class OrdersStore:
    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator = coordinator
        self._layout = layout

    def read(self, task: str, watch: Watcher | None = None) -> Ordered:
        """Without a node there are no orders; `watch` then waits for one. Raises CoordinationError E4009/E4010."""
        path = self._layout.orders(task)
        try:
            node = self._coordinator.get(path, watch)
        except NodeMissing:
            if watch is not None:
                self._coordinator.exists(path, watch)
            return Ordered()
        return Ordered(load(OrdersRecord, node.data, path).orders, node.stat.version)

    def write(self, task: str, orders: TaskOrders, version: int) -> None:
        """Raises VersionConflict E4006 when the node is not of `version` any more, NodeMissing E5003 (no such task)."""
        try:
            self._coordinator.multi([Check(self._layout.task(task)), self.change(task, orders, version)])
        except (VersionConflict, NodeExists) as error:
            raise VersionConflict(
                "E4006", f"another operator has changed the orders of '{task}' in the meantime"
            ) from error
        except NodeMissing:
            raise NodeMissing("E5003", f"there is no task '{task}'") from None

    def change(self, task: str, orders: TaskOrders, version: int) -> Op:
        """What writes them in a transaction; `version` as in `write`."""
        path, data = self._layout.orders(task), dump(OrdersRecord(orders=orders))
        return Create(path, data) if version < 0 else Set(path, data, version)
