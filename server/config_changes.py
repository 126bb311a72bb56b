"""What a request that writes a configuration is checked for, and what the audit has of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import Request

from replicator.config.load import to_data
from replicator.config.task import TaskConfig
from replicator.errors import NodeMissing
from server import task_scope
from server.audit import differences
from server.request_facts import facts_of


def writes(request: Request, config: TaskConfig, before: Mapping[str, Any] | None = None) -> None:
    """Call it before the configuration is written. Raises ProcessError E5072 for a task that the login could not see
    afterwards."""
    facts = facts_of(request.scope)
    replaces(request, to_data(config), before)
    if not facts.task:
        facts.task = config.name
    elif facts.task != config.name:
        facts.target = config.name


def replaces(request: Request, after: Mapping[str, Any], before: Mapping[str, Any] | None) -> None:
    """As `writes`, of a configuration as plain data."""
    facts = facts_of(request.scope)
    _visible(request, before)
    task_scope.check_config(facts.known, after)
    facts.changes = differences(before, after)


def removes(request: Request, before: Mapping[str, Any] | None) -> None:
    _visible(request, before)
    facts_of(request.scope).changes = differences(before, None)


def visible(request: Request) -> Callable[[Mapping[str, Any] | None], bool]:
    """Whether the login of the request may see a task with a configuration."""
    known = facts_of(request.scope).known
    return lambda config: task_scope.includes(known, config)


def _visible(request: Request, before: Mapping[str, Any] | None) -> None:
    """The request was admitted by the labels that the task had then; they may have changed since. Raises NodeMissing
    E5003 as if the task did not exist."""
    facts = facts_of(request.scope)
    if before is not None and not task_scope.includes(facts.known, before):
        raise NodeMissing("E5003", f"there is no task '{facts.task}'")
