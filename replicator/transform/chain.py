"""Joins the transforms of a task into one planner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from replicator.config.transforms import Transforms
from replicator.model.plan import TablePlan
from replicator.model.snapshot_steps import SnapshotStep, TableBegins, TableEnds
from replicator.model.table import Table
from replicator.model.target_table import Shard
from replicator.pipeline.ports import Narrator, Planner
from replicator.transform.additions import Additions
from replicator.transform.column_remap import remap, ungrouped, without_query
from replicator.transform.columns import Choice, Names
from replicator.transform.filters import Filters
from replicator.transform.masks import Masks
from replicator.transform.operations import Operations
from replicator.transform.partitions import Partitions
from replicator.transform.routes import Route, Routes
from replicator.transform.view import View


class TopicNames(Protocol):
    """Names of topics that no two tables share by accident."""

    def topic(self, table: Table, source: Table) -> str:
        """The topic of `table`, which is `source` under the names that records give it."""
        ...

    def shared(self, name: str, group: str, source: Table) -> str:
        """The topic `name`, made fit for Kafka, for `source` and whatever else is of `group`."""
        ...


class Chain:
    """The view of a table is made step by step, the format plans for it, and the plan is bent back:

        columns that stay -> their names -> those that are masked -> those that are added -> the field that routes add
        to keys

    Rules name what they mean as the source does, so their order does not matter to them.
    """

    def __init__(self, config: Transforms) -> None:
        self._operations = Operations(config.operations)
        self._partitions = Partitions(config.partition_by)
        self._filters = Filters(config.filter)
        self._choice, self._masks = Choice(config.columns), Masks(config.mask)
        self._hides = bool(config.columns or config.mask or config.filter)
        self._names = Names(config.rename)
        self._additions = Additions(config.add)
        self._routes = Routes(config.route)
        self._steps: tuple[Callable[[Table, View], View], ...] = (
            self._choice,
            self._names,
            self._masks,
            self._additions,
            self._routes,
        )

    def narrator(self, inner: Narrator) -> Narrator:
        """The format's records that are not of rows, without those that are skipped, and without the text of statements
        behind rows where something of the rows is hidden."""
        return self._operations.narrator(inner, hides=self._hides)

    @property
    def keys(self) -> Mapping[str, str]:
        """References of the secrets that records depend on, and where each is in the configuration."""
        return self._masks.keys

    def view(self, source: Table) -> View:
        """Raises DecodeError E2310: a rule does not fit the table."""
        view = View.of(source)
        for step in self._steps:
            view = step(source, view)
        return view

    def name(self, source: Table) -> tuple[str, str]:
        """(database, table) as records have them; the columns of `source` need not be known."""
        return self._names.name(source)

    def changes_columns(self, source: Table) -> bool:
        """Whether rules name columns of the table; its columns need not be known."""
        by_rules = source in self._choice or source in self._masks or source in self._additions
        return by_rules or self._names.of_columns(source)

    def added(self, source: Table) -> list[tuple[str, bool]]:
        """Name, and whether it is a part of the key, of each column that is added; those of `source` need not be
        known."""
        return self._additions.columns(source)

    def shard(self, source: Table) -> Shard | None:
        """What tells its rows apart where several tables get one name; None: nothing does. The columns of `source` need
        not be known. Raises DecodeError E2310."""
        return self._additions.shard(source) or (Shard() if self._names.disjoint(source) else None)

    def topic(self, source: Table, names: TopicNames) -> str:
        """Raises ConfigError E1007: not a name for Kafka, or another table's."""
        return self._topic(source, self.view(source), names)

    def routed(self, source: Table) -> bool:
        """Whether a rule chooses the topic, which several tables may share."""
        return self._routes.route(source) is not None

    def _topic(self, source: Table, view: View, names: TopicNames) -> str:
        route: Route | None = self._routes.route(source)
        if route is not None:
            return names.shared(route.topic, route.group, source)
        return names.topic(view.table, source)

    def snapshot_step(self, step: TableBegins | TableEnds, names: TopicNames) -> tuple[SnapshotStep, str] | None:
        """The step with the table as its records have it, and their topic; None: they are skipped.

        Raises what `view` and `topic` do.
        """
        if "insert" in self._operations.skipped(step.table):
            return None
        view = self.view(step.table)
        return msgspec.structs.replace(step, table=view.table), self._topic(step.table, view, names)

    def planner(self, plan: Callable[[Table, str], TablePlan], names: TopicNames, *, snapshot: bool = False) -> Planner:
        """`plan`: the format's; `snapshot`: it is for rows of a snapshot."""

        def planner(table: Table) -> TablePlan:
            view = self.view(table)
            made = remap(plan(view.table, self._topic(table, view, names)), view)
            made = self._operations(table, self._partitions(table, made, snapshot=snapshot))
            chosen = self._filters.filter(table)
            if chosen is not None or table in self._choice or table in self._masks:
                made = without_query(made)
            return made if chosen is None else msgspec.structs.replace(ungrouped(made), filter=chosen)

        return planner
