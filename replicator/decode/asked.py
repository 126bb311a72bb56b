"""Which variables plans print, so that what is dear is made only when one asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from replicator.model.plan import TablePlan, Var
from replicator.model.table import Table
from replicator.ports import Planner


class Asked:
    """A `ports.Planner` that remembers in `variables` what the plans that it gave print."""

    def __init__(self, planner: Planner) -> None:
        self.variables: frozenset[str] = frozenset()
        self._planner = planner

    def __call__(self, table: Table) -> TablePlan | None:
        plan = self._planner(table)
        if plan is not None:
            self.variables |= frozenset(step.name for step in _steps(plan) if isinstance(step, Var))
        return plan


def _steps(part: Any) -> Iterator[Any]:
    """Every struct in a plan, however deep."""
    if isinstance(part, msgspec.Struct):
        yield part
        part = msgspec.structs.astuple(part)
    if isinstance(part, tuple):
        for each in part:
            yield from _steps(each)
