"""/tasks/TASK/verify-order: the nightly verification that a Server ordered, and how far the Core has come with it.

Unlike commands, an order stays in its node: the Core that takes over finds it, and each change names the version that
it replaces, so that a former leader overwrites nothing.
"""

from __future__ import annotations

import msgspec

from replicator.coordination.layout import Layout
from replicator.coordination.ports import Check, Coordinator, Create, Op, Set
from replicator.coordination.records import Record, dump, load
from replicator.errors import CoordinationError, NodeExists, NodeMissing, VersionConflict
from replicator.model.nightly import VerifyOrder


class VerifyOrderRecord(Record):
    """/tasks/TASK/verify-order: the nightly verification that was ordered last, and how far it has come."""

    order: VerifyOrder | None = None


class Kept(msgspec.Struct, frozen=True):
    """`version`: of the node, -1 where there is none. `order` None: there is none, or it is not understood."""

    order: VerifyOrder | None = None
    version: int = -1


class VerifyOrders:
    """
    Args:
        reading: where orders are read: the coordinator, or a cache of it.
    """

    def __init__(self, coordinator: Coordinator, layout: Layout, reading: Coordinator | None = None) -> None:
        self._coordinator, self._layout = coordinator, layout
        self._reading = reading or coordinator

    def read(self, task: str) -> Kept:
        """Raises NotConnected."""
        path = self._layout.verify_order(task)
        try:
            node = self._reading.get(path)
        except NodeMissing:
            return Kept()
        try:
            return Kept(load(VerifyOrderRecord, node.data, path).order, node.stat.version)
        except CoordinationError as error:
            if error.transient:
                raise
            return Kept(None, node.stat.version)

    def write(self, task: str, order: VerifyOrder, version: int) -> bool:
        """Replaces `version`. False: it was replaced by others, or is gone, or the node of `order.own` is: a Core that
        is no longer in the queue changes nothing. Raises what the coordinator refuses; NotConnected."""
        try:
            self._coordinator.multi(self.changes(task, order, version))
        except (NodeExists, NodeMissing, VersionConflict):
            return False
        return True

    def changes(self, task: str, order: VerifyOrder, version: int) -> list[Op]:
        """What writes it in a transaction."""
        path, data = self._layout.verify_order(task), dump(VerifyOrderRecord(order=order))
        holder = self._layout.contender(task, order.own) if order.own else self._layout.task(task)
        return [Check(holder), Create(path, data) if version < 0 else Set(path, data, version)]
