"""The registry of tasks: creates, configures and registers them.

A task's znode and the empty nodes below it are made in one transaction, so that nobody ever sees half a task.
"""

from __future__ import annotations

import contextlib
import uuid
from typing import Any, Final

import msgspec

from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Check, Coordinator, Create, Op, Set, Watcher
from replicator.coordination.records import CommitRecord, OrdersRecord, StatusRecord, TaskRecord, dump, load
from replicator.coordination.tasks.orders import Ordered, OrdersStore
from replicator.coordination.tasks.removal import Removal
from replicator.coordination.tasks.versions import Versions
from replicator.errors import CoordinationError, NodeExists, NodeMissing, VersionConflict
from replicator.model.quarantine import TaskOrders

_TRIES: Final = 3


class TaskNode(msgspec.Struct, frozen=True):
    """A task as stored in its znode. `version` is the configuration's version: give it back to `configure`.
    `czxid`: of the node, as far as it was read."""

    name: str
    record: TaskRecord
    version: int
    czxid: int = 0

    @property
    def configured(self) -> bool:
        return self.record.config is not None


class Registry:
    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator = coordinator
        self._layout = layout
        self._versions = Versions(coordinator, layout)

    def names(self, watch: Watcher | None = None) -> list[str]:
        """All tasks, sorted; nodes with names that none of us would make are left out. Makes the parent when it is not
        there, so that the watch is always set."""
        try:
            children = self._coordinator.children(self._layout.tasks, watch)
        except NodeMissing:
            self._make_root()
            children = self._coordinator.children(self._layout.tasks, watch)
        return self._names(children)

    def present_names(self) -> list[str]:
        """As `names`. Raises NodeMissing where the parent is not there."""
        return self._names(self._coordinator.children(self._layout.tasks))

    def _names(self, children: list[str]) -> list[str]:
        return sorted(self._layout.task_name(child) for child in children if self._layout.is_task(child))

    def _make_root(self) -> None:
        try:
            self._coordinator.create(self._layout.tasks, parents=True)
        except NodeExists:
            return  # somebody else was first

    def read(self, task: str, watch: Watcher | None = None) -> TaskNode:
        """Raises NodeMissing E5003 (no such task), CoordinationError E4009/E4010 (content not understood)."""
        path = self._layout.task(task)
        try:
            node = self._coordinator.get(path, watch)
        except NodeMissing:
            raise NodeMissing("E5003", f"there is no task '{task}'") from None
        record = load(TaskRecord, node.data, path)
        _drop_state(record.config)
        return TaskNode(task, record, node.stat.version, node.stat.czxid)

    def register(self, task: str, by: str) -> TaskNode:
        """What a Core does: creates the task, not yet configured, when it is first; joins it otherwise."""
        return self._make_or_read(task, TaskRecord(uid=uuid.uuid4().hex, updated_ms=now_ms(), updated_by=by))

    def create(
        self,
        task: str,
        config: dict[str, Any],
        by: str,
        orders: TaskOrders | None = None,
        reason: str = "",
        *,
        adopt: bool = True,
    ) -> TaskNode:
        """What the Server does. `orders`: of tables that are left out from its beginning; they are there before anybody
        sees the configuration. `adopt`: configure a task that a Core registered and nobody configured yet.

        Raises NodeExists E5004 for a task that is configured already, and for one that is not to be adopted.
        """
        record = TaskRecord(uid=uuid.uuid4().hex, config=config, updated_ms=now_ms(), updated_by=by)
        present = self._make_or_read(task, record, orders, reason)
        if present.record is record:
            return present
        if present.configured or not adopt:
            raise NodeExists("E5004", f"task '{task}' already exists")
        if orders is not None:
            ordered = OrdersStore(self._coordinator, self._layout)
            ordered.write(task, orders, ordered.read(task).version)
        return self.configure(task, config, by, present.version, reason=reason)

    def _make_or_read(
        self, task: str, record: TaskRecord, orders: TaskOrders | None = None, reason: str = ""
    ) -> TaskNode:
        """The task as created from `record`, or as it is already. One that is deleted in between is created."""
        for _ in range(_TRIES):
            try:
                return self._make(task, record, orders, reason)
            except NodeExists:
                with contextlib.suppress(NodeMissing):
                    return self.read(task)
        raise NodeMissing("E5003", f"task '{task}' was deleted after each attempt to create it")

    def _make(self, task: str, record: TaskRecord, orders: TaskOrders | None, reason: str) -> TaskNode:
        self.names()
        layout = self._layout
        status = StatusRecord(by=record.updated_by, time_ms=record.updated_ms)
        self._coordinator.multi(
            [
                Create(layout.task(task), dump(record)),
                Create(layout.election(task)),
                Create(layout.status(task), dump(status)),
                Create(layout.commands(task)),
                Create(layout.history(task)),
                *self._versions.first(task, record, reason),
                *([Create(layout.orders(task), dump(OrdersRecord(orders=orders)))] if orders else []),
            ]
        )
        return TaskNode(task, record, 0)

    def configure(
        self,
        task: str,
        config: dict[str, Any],
        by: str,
        version: int,
        ordered: Ordered | None = None,
        *,
        reason: str = "",
        restores: int | None = None,
        proof: str = "",
    ) -> TaskNode:
        """Writes a new configuration. Also mends a znode whose content nobody understands.

        Args:
            version: of the configuration that this one replaces; the new one has the next.
            ordered: orders that begin with it, and the version of those that they replace. Written in one transaction.
            proof: znode that exists as long as this may be written; "": none is required.
            reason, restores: of the record of the version (`versions`), which is written in the same transaction.

        Raises:
            VersionConflict: somebody else changed it, or the orders, since.
            NodeMissing: E5003.
        """
        before = self._understood(task)
        uid = before.record.uid if before else self._uid_of_commit(task) or uuid.uuid4().hex
        record = TaskRecord(uid=uid, config=config, updated_ms=now_ms(), updated_by=by)
        known = before.record if before and before.version == version else None
        changes: list[Op] = [Set(self._layout.task(task), dump(record), version)]
        changes += self._versions.next(task, version + 1, record, known, reason, restores)
        if proof:
            changes.append(Check(proof))
        if ordered is not None:
            store = OrdersStore(self._coordinator, self._layout)
            changes.append(store.change(task, ordered.orders, ordered.version))
        try:
            self._coordinator.multi(changes)
        except NodeExists as error:
            raise VersionConflict(
                "E4006", f"the orders or the versions of '{task}' have changed in the meantime"
            ) from error
        except NodeMissing:
            raise NodeMissing("E5003", f"there is no task '{task}'") from None
        with contextlib.suppress(CoordinationError):  # the configuration is written; the next one trims as well
            self._versions.trim(task)
        return TaskNode(task, record, version + 1)

    def _understood(self, task: str) -> TaskNode | None:
        """The present record, None where nobody understands it. Raises NodeMissing E5003."""
        try:
            return self.read(task)
        except NodeMissing:
            raise
        except CoordinationError as error:
            if error.transient:
                raise
            return None

    def _uid_of_commit(self, task: str) -> str:
        """The incarnation goes on when only its configuration is damaged: its progress knows the uid too."""
        path = self._layout.last_commit(task)
        try:
            return load(CommitRecord, self._coordinator.get(path).data, path).uid
        except NodeMissing:
            return ""
        except CoordinationError as error:
            if error.transient:
                raise
            return ""

    def version(self, task: str) -> int:
        """Of the configuration, also when its content is not understood. Raises NodeMissing E5003."""
        stat = self._coordinator.exists(self._layout.task(task))
        if stat is None:
            raise NodeMissing("E5003", f"there is no task '{task}'")
        return stat.version

    def is_deleted(self, task: str) -> bool:
        """Whether `remove` has something to do, once nobody stands for the task any more."""
        return Removal(self._coordinator, self._layout, task).is_deleted()

    def remove(self, task: str) -> bool:
        """Removes a task whose status is "deleted", with everything below it; see `removal`. False when there is
        nothing to remove: it is gone already, or a task of the name was created again.

        Raises ProcessError E5007 while anybody stands for it: the Cores withdraw when they see the status.
        """
        return Removal(self._coordinator, self._layout, task).run()


def _drop_state(config: dict[str, Any] | None) -> None:
    """Earlier versions kept what operators had ordered of tables in the configuration, most of the time nothing. Marks
    in lastCommit end by an order alone, so that nothing is lost with past orders; a choice that may not have become a
    mark yet stays, and is refused (E1013)."""
    source = (config or {}).get("source")
    if isinstance(source, dict):
        source.pop("mended", None)
        source.pop("replay", None)
        if not source.get("quarantine", True):
            del source["quarantine"]
