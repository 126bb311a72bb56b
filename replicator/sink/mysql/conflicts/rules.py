"""The rule for conflicts of each table, as the configuration has it."""

from __future__ import annotations

from typing import Final

from replicator.config.conflicts import ConflictChoice, rule_of, rules_of
from replicator.errors import SinkError
from replicator.model.target_table import TargetTable
from replicator.sink.mysql import shards
from replicator.sink.mysql.conflicts import newest
from replicator.sink.mysql.conflicts.resolve import CONVERGE, Rule
from replicator.sink.mysql.row_groups import Rows

_STOP: Final = Rule("stop", recorded=False)
"""Of tables with disjoint keys: by its key alone, a row of one table could be taken for that of another."""


class Rules:
    """A `resolver.RuleOf`."""

    def __init__(self, choice: ConflictChoice, *, merges: bool = False) -> None:
        """`merges`: tables with disjoint keys may be merged into one."""
        self._rules = rules_of(choice)
        self._merges = merges
        self._known: dict[str, Rule | None] = {}

    @property
    def needed(self) -> bool:
        """Whether there is a rule that looks at rows of the target."""
        return self._merges or self.recorded

    @property
    def recorded(self) -> bool:
        """Whether conflicts may be recorded."""
        return any(rule.looks for rule in self._rules)

    def __call__(self, rows: Rows) -> Rule | None:
        """Raises SinkError E3442, E3452."""
        topic = rows.run.topic
        if topic not in self._known:
            self._known[topic] = self._made(rows.route.stored)
        return self._known[topic]

    def _made(self, table: TargetTable) -> Rule | None:
        found = rule_of(self._rules, table.source or table.qualified)
        if table.shard is not None and table.shard.disjoint and (found is None or found.policy == "stop"):
            return _STOP
        if found is None or not found.looks:
            return None
        if table.shard is not None and table.shard.disjoint and found.policy in ("source_wins", "newest_wins"):
            raise shards.no_policy(table, found.policy)
        column = -1 if found.column is None else _column(table, found.column)
        return Rule(found.policy, column, found.reads_rows)


class Converging:
    """A `resolver.RuleOf` for sources whose changes may be repeated, and do not say what each row was before."""

    needed = True
    recorded = False

    def __call__(self, rows: Rows) -> Rule | None:
        return CONVERGE


def _column(table: TargetTable, name: str) -> int:
    for column in table.columns:
        if column.name.lower() == name.lower() and newest.usable(column):
            return column.index
    has = any(column.name.lower() == name.lower() for column in table.columns)
    raise SinkError(
        "E3452",
        f"the column {name} of newest_wins cannot be compared in {table.qualified}",
        found="neither an integer nor a time" if has else "no such column",
        wanted="an integer, DATE, DATETIME, TIMESTAMP, TIME or YEAR that the task writes",
        table=table.source or table.qualified,
    )
