"""Collects the variables that plans print, so that expensive ones are computed only when needed."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from replicator.model.plan import Deferred, Each, RecordPlan, TablePlan, Var
from replicator.model.table import Table
from replicator.pipeline.ports import Planner

_DEEP: Final = frozenset({TablePlan, RecordPlan, Each, Deferred})
"""What has variables somewhere in it."""


class PlanVariables:
    """A `ports.Planner` that remembers in `variables` what the plans that it gave print."""

    def __init__(self, planner: Planner) -> None:
        self.variables: frozenset[str] = frozenset()
        self._planner = planner

    def __call__(self, table: Table) -> TablePlan | None:
        plan = self._planner(table)
        if plan is not None:
            self.variables |= variables(plan)
        return plan


def variables(plan: TablePlan) -> frozenset[str]:
    """Names of the variables in a plan, however deep. Not recursive: plans of many columns have thousands of steps."""
    found: set[str] = set()
    parts: list[Any] = [plan]
    while parts:
        part = parts.pop()
        kind = type(part)
        if kind is Var:
            found.add(part.name)
        elif kind is tuple:
            parts.extend(part)
        elif kind in _DEEP:
            parts.extend(msgspec.structs.astuple(part))
    return frozenset(found)
