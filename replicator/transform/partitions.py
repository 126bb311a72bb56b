"""`transforms.partition_by`: selects the partition of a record by columns instead of its key. The first rule for a
table applies; without one the format decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from replicator.config.transforms import PartitionRule
from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.condition import kind_of
from replicator.model.plan import Each, Image, Members, RecordPlan, Step, TablePlan, Template, Text, Value, Var
from replicator.model.table import Column, Table
from replicator.transform.column_remap import ungrouped
from replicator.transform.names import Scope, find, no_column
from replicator.transform.view import key_of


class Partitions:
    def __init__(self, rules: Sequence[PartitionRule]) -> None:
        self._rules = [(Scope(rule.tables), rule) for rule in rules]

    def rule(self, source: Table) -> PartitionRule | None:
        return next((rule for scope, rule in self._rules if source in scope), None)

    def _where(self, source: Table) -> str:
        number = next(number for number, (scope, _) in enumerate(self._rules) if source in scope)
        return f"transforms.partition_by[{number}].columns"

    def __call__(self, source: Table, plan: TablePlan, *, snapshot: bool = False) -> TablePlan:
        """`snapshot`: the plan is for rows of a snapshot, which are of no transaction: then their key chooses.

        Raises DecodeError E2310: no such column, or one of a type that can't be compared."""
        rule = self.rule(source)
        if rule is None:
            return plan
        if rule.by == "table":
            return _everywhere(plan, (Text(source.qualified),))
        if rule.by == "database":
            return _everywhere(plan, (Text(source.database),))
        if rule.by == "transaction" and not snapshot:
            return _everywhere(plan, (Var("gtid"),))
        if rule.by == "columns":
            return _by_values(plan, partition_columns(source, rule, self._where(source)))
        return _by_key(source, plan)


def partition_columns(source: Table, rule: PartitionRule, where: str = "") -> tuple[Column, ...]:
    """The columns of a rule with `by: columns`, which stand at `where`. Raises DecodeError E2310."""
    found = []
    for name in rule.columns:
        column = find(source, name)
        if column is None:
            raise no_column(source, name, where)
        if kind_of(column) is None:
            shown = types.NAMES.get(column.type, str(column.type))
            raise DecodeError("E2310", f"{where} can't use {source.qualified}.{column.name}", found=shown)
        found.append(column)
    return tuple(found)


def _everywhere(plan: TablePlan, route: Template | None) -> TablePlan:
    """One route for all records, instead of those that the format chose."""
    return _each(plan, lambda record, side: msgspec.structs.replace(record, route=None), route)


def _by_key(source: Table, plan: TablePlan) -> TablePlan:
    """The record's key, where there is one; else the key's columns."""
    records = (*plan.insert, *plan.update, *plan.delete, *(plan.rekey or ()))
    if all(record.key is not None for record in records):
        return _split(_everywhere(plan, None), key_of(source))
    return _by_values(plan, tuple(source.columns[index] for index in key_of(source)))


def _by_values(plan: TablePlan, columns: Sequence[Column]) -> TablePlan:
    """Each record by the columns' values in the image that it is about."""
    if not columns:
        return _everywhere(plan, None)
    split = _split(plan, [column.index for column in columns])
    return _each(split, lambda record, side: msgspec.structs.replace(record, route=_values(columns, side)), None)


def _split(plan: TablePlan, columns: Sequence[int]) -> TablePlan:
    """An update of these columns, too, is a delete and an insert: each goes to its own partition."""
    plan = ungrouped(plan)
    rekey = plan.delete + plan.insert if plan.rekey is None else plan.rekey
    keys = plan.keys if plan.rekey is not None else ()
    return msgspec.structs.replace(plan, rekey=rekey, keys=tuple(dict.fromkeys((*keys, *columns))))


def _each(plan: TablePlan, change: Callable[[RecordPlan, Image], RecordPlan], route: Template | None) -> TablePlan:
    return msgspec.structs.replace(
        plan,
        insert=tuple(change(record, "after") for record in plan.insert),
        update=tuple(change(record, "after") for record in plan.update),
        delete=tuple(change(record, "before") for record in plan.delete),
        rekey=plan.rekey and tuple(change(record, _side(record)) for record in plan.rekey),
        route=route,
    )


def _side(record: RecordPlan) -> Image:
    """Which of an update's images a record of `rekey` is about."""
    images = _images(record.key or record.value or ())
    return "before" if images == {"before"} else "after"


def _images(template: Sequence[Step]) -> set[Image]:
    found: set[Image] = set()
    for step in template:
        if isinstance(step, Value):
            found.add(step.image)
        elif isinstance(step, Members):
            found.update(member.value.image for member in step.members)
        elif isinstance(step, Each):
            found |= _images(step.template)
    return found


def _values(columns: Sequence[Column], image: Image) -> Template:
    steps: list[Step] = []
    for column in columns:
        steps += [Text("," if steps else "["), Value(column.index, image, "plain:")]
    return (*steps, Text("]"))
