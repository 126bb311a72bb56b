"""Writes znodes below a task's znode only while the task exists, so that a late write never recreates a deleted task as
an empty znode."""

from __future__ import annotations

import contextlib

from replicator.coordination.layout import Layout
from replicator.coordination.ports import Check, Coordinator, Create
from replicator.errors import NodeExists, NodeMissing

_TRIES = 3


def create_in_task(coordinator: Coordinator, layout: Layout, task: str, node: Create) -> str:
    """Creates a node whose path begins with the task's, and its parent if that was deleted by hand.

    Returns the path with its sequence number.

    Raises:
        NodeMissing: E5003, no such task.
        NodeExists: the node exists.
    """
    for _ in range(_TRIES):
        try:
            return coordinator.create(node.path, node.data, ephemeral=node.ephemeral, sequential=node.sequential)
        except NodeMissing:
            parent = node.path.rpartition("/")[0]
            _create_parent(coordinator, layout, task, parent)
    raise NodeMissing("E4004", f"the parent of {node.path} was deleted after each attempt to create it")


def _create_parent(coordinator: Coordinator, layout: Layout, task: str, parent: str) -> None:
    path = layout.task(task)
    if parent == path or coordinator.exists(path) is None:
        raise NodeMissing("E5003", f"there is no task '{task}'")
    with contextlib.suppress(NodeExists, NodeMissing):
        coordinator.multi([Check(path), Create(parent)])
