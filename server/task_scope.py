"""The tasks that a login with a selector can see and change: those whose labels it selects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replicator.config.labels import labels_of, parse_selector
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.tasks.registry import Registry
from replicator.errors import ConfigError, CoordinationError, NodeMissing, ProcessError
from replicator.model.principal import Principal


def includes(principal: Principal, config: Mapping[str, Any] | None) -> bool:
    """Whether the login may see a task with this configuration. A selector excludes tasks whose labels are not known,
    and one that can't be parsed excludes all."""
    if not principal.selector:
        return True
    try:
        return config is not None and parse_selector(principal.selector).matches(labels_of(config))
    except ConfigError:
        return False


def check_config(principal: Principal, config: Mapping[str, Any]) -> None:
    """Raises ProcessError E5072 for a task that the login could not see once it is written."""
    if includes(principal, config):
        return
    labels = ",".join(f"{key}={value}" for key, value in sorted(labels_of(config).items()))
    raise ProcessError(
        "E5072",
        f"{principal.label} may not write a task with these labels",
        found=labels or "no labels",
        wanted=f"labels that match {principal.selector}",
        fix="Set `labels:` of the task accordingly, or use a login for these tasks.",
    )


class TaskScope:
    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._registry = Registry(coordinator, layout)

    def check(self, principal: Principal, task: str) -> None:
        """Blocks. Raises NodeMissing E5003 as if the task did not exist."""
        if not principal.selector:
            return
        try:
            config = self._registry.read(task).record.config
        except NodeMissing:
            raise
        except CoordinationError as error:
            if error.transient:
                raise
            config = None
        if not includes(principal, config):
            raise NodeMissing("E5003", f"there is no task '{task}'")
