"""Chooses the replicated tables."""

from __future__ import annotations

from collections.abc import Callable

from replicator.model.plan import TablePlan
from replicator.model.table import Table
from replicator.pipeline.ports import Planner


def select(matches: Callable[[str, str], bool], plan: Planner) -> Planner:
    """A planner for only those tables for which `matches(database, table)`; rows of others stay undecoded."""

    def planner(table: Table) -> TablePlan | None:
        return plan(table) if matches(table.database, table.name) else None

    return planner
