"""Orders the snapshot of the tables that a new configuration adds to a task."""

from __future__ import annotations

import msgspec

from replicator.config.table_choice import added, choice_of
from replicator.config.task import TaskConfig
from replicator.coordination.clock import now_ms
from replicator.coordination.overview import TaskOverview
from replicator.coordination.tasks.orders import Ordered
from replicator.model.added_tables import add, withdraw


def orders_with(
    view: TaskOverview, before: Ordered | None, old: TaskConfig | None, new: TaskConfig, version: int
) -> tuple[Ordered | None, str]:
    """The orders that begin with a configuration, None if they do not change, and what the history says of it.

    Args:
        before: present orders; None: nobody understands them.
        old: None: the task has no configuration, or one that nobody understands.
        version: of the new one.

    Raises ConfigError E1003: too many snapshots of added tables wait.
    """
    if before is None or old is None:
        first = old is None and version == 1
        what = "orders of the task" if old is not None else "former configuration"
        return None, "" if first else f"tables that version {version} adds are not read: the {what} can't be read"
    source, present = new.source, before.orders.snapshots
    patterns = added(choice_of(old.source), source)
    if patterns:
        progress = view.checkpoint.position.snapshot if view.checkpoint else None
        begun = view.checkpoint is not None
        orders = add(present, progress, patterns, choice_of(old.source), version, now_ms(), begun=begun)
        told = f"{orders.requests[-1].id}: tables added by version {version}: {', '.join(orders.requests[-1].tables)}"
    elif not source.snapshots.of_added:
        orders, told = withdraw(present), f"tables added by earlier versions are not wanted by version {version}"
    else:
        return None, ""
    if orders == present:
        return None, ""
    return Ordered(msgspec.structs.replace(before.orders, snapshots=orders), before.version), told[:1000]
