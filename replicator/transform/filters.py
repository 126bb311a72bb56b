"""`transforms.filter`: row filters, type-checked against a table version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NoReturn

from replicator.config.transforms import FilterRule
from replicator.errors import DecodeError
from replicator.expression import parse, tree
from replicator.model import condition as typed
from replicator.model import types
from replicator.model.condition import Condition, Constant, Filter, Kind, Of, kind_of
from replicator.model.table import Column, Table
from replicator.transform.constants import WANTED, constant
from replicator.transform.names import Scope, find, nearest, no_column

_FLIPPED: Final[dict[typed.Comparison, typed.Comparison]] = {
    "=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="
}  # fmt: skip
_OPERATIONS: Final[tuple[typed.Operation, ...]] = ("insert", "update", "delete")


class Filters:
    """A row passes when every rule for its table lets it."""

    def __init__(self, rules: Sequence[FilterRule]) -> None:
        self._rules = [
            (Scope(rule.tables, f"transforms.filter[{number}].where"), parse(rule.where), rule.where)
            for number, rule in enumerate(rules)
        ]

    def filter(self, source: Table) -> Filter | None:
        """
        Raises:
            DecodeError: E2310: no such column, or a comparison that can't be.
        """
        found = [(tree_, text, scope.where) for scope, tree_, text in self._rules if source in scope]
        if not found:
            return None
        conditions = tuple(_Typing(source, text, where).condition(tree_) for tree_, text, where in found)
        kinds = {_of_changes(tree_) for tree_, _, _ in found}
        if len(kinds) > 1:
            raise DecodeError(
                "E2310",
                f"transforms.filter select both rows and changes of {source.qualified}",
                found="; ".join(text for _, text, _ in found)[:500],
                wanted="filters that all use before, after or operation, or that all do not",
            )
        whole = conditions[0] if len(conditions) == 1 else typed.And(conditions)
        return Filter(whole, rows=not kinds.pop())


def _of_changes(expression: tree.Expression) -> bool:
    """Whether it speaks of changes, not of rows: it names an image or the operation."""
    return any(isinstance(one, tree.Operation) or bool(_image(one)) for one in _operands(expression))


def _image(operand: tree.Operand) -> str | None:
    return operand.image if isinstance(operand, tree.Name) else None


def _operands(expression: tree.Expression) -> Iterator[tree.Operand]:
    if isinstance(expression, tree.Joined):
        for part in expression.parts:
            yield from _operands(part)
    elif isinstance(expression, tree.Negated):
        yield from _operands(expression.part)
    elif isinstance(expression, tree.Compared):
        yield expression.left
        yield expression.right
    else:
        yield expression.value


class _Typing:
    """One expression against one table."""

    def __init__(self, table: Table, text: str, where: str) -> None:
        self._table = table
        self._text = text
        self._where = where

    def condition(self, expression: tree.Expression) -> Condition:
        if isinstance(expression, tree.Joined):
            parts = tuple(self.condition(part) for part in expression.parts)
            return typed.And(parts) if expression.word == "AND" else typed.Or(parts)
        if isinstance(expression, tree.Negated):
            return typed.Not(self.condition(expression.part))
        if isinstance(expression, tree.Compared):
            return self._compared(expression.left, expression.comparison, expression.right)
        if isinstance(expression, tree.Listed):
            return self._listed(expression)
        if isinstance(expression, tree.Matched):
            return self._matched(expression)
        return typed.IsNull(self._value(expression.value)[0])

    def _compared(self, left: tree.Operand, sign: typed.Comparison, right: tree.Operand) -> Condition:
        if isinstance(left, tree.Constant):
            if isinstance(right, tree.Constant):
                self._refuse("compares two literals", "a column on one side")
            return self._compared(right, _FLIPPED[sign], left)
        if isinstance(left, tree.Operation):
            return self._operation(right, sign)
        if isinstance(right, tree.Operation):
            return self._operation(left, sign)
        value, kind, column = self._kind(left)
        if isinstance(right, tree.Constant):
            made = self._constant(right, kind, column, exact=sign in ("=", "<>"))
            return typed.Compare(value, sign, made)
        other, other_kind, other_column = self._kind(right)
        if kind != other_kind:
            self._refuse(
                f"compares {column.name} with {other_column.name}", "columns of one kind", f"{kind} and {other_kind}"
            )
        return typed.Compare(value, sign, other)

    def _operation(self, other: tree.Operand, sign: typed.Comparison) -> Condition:
        if sign not in ("=", "<>") or not isinstance(other, tree.Constant):
            self._refuse("compares the operation", "operation = 'insert', 'update' or 'delete'")
        during = typed.During(self._operations([other]))
        return during if sign == "=" else typed.Not(during)

    def _operations(self, constants: Iterable[tree.Constant]) -> tuple[typed.Operation, ...]:
        names = [each.value.lower() if isinstance(each.value, str) else each.value for each in constants]
        for name in names:
            if name not in _OPERATIONS:
                self._refuse("compares with an unknown operation", "'insert', 'update' or 'delete'", repr(name))
        return tuple(operation for operation in _OPERATIONS if operation in names)

    def _listed(self, expression: tree.Listed) -> Condition:
        if isinstance(expression.value, tree.Operation):
            return typed.During(self._operations(expression.constants))
        value, kind, column = self._kind(expression.value)
        made = tuple(self._constant(each, kind, column, exact=True) for each in expression.constants)
        return typed.OneOf(value, tuple(dict.fromkeys(made)))

    def _matched(self, expression: tree.Matched) -> Condition:
        value, kind, column = self._kind(expression.value)
        if kind != "text":
            self._refuse(f"uses LIKE on {column.name}", "a column of text", f"it is a {kind}")
        return typed.Like(value, expression.pattern)

    def _value(self, operand: tree.Operand) -> tuple[Of, Column]:
        if not isinstance(operand, tree.Name):
            self._refuse("uses a test on the operation that only columns support", "operation = 'insert'")
        column = find(self._table, operand.text)
        if column is None:
            raise no_column(self._table, operand.text, self._where)
        return Of(column.index, operand.image or "row"), column

    def _kind(self, operand: tree.Operand) -> tuple[Of, Kind, Column]:
        value, column = self._value(operand)
        kind = kind_of(column)
        if kind is None:
            shown = types.NAMES.get(column.type, str(column.type))
            self._refuse(f"compares {column.name}", "IS NULL or IS NOT NULL for columns of this type", shown)
        return value, kind, column

    def _constant(self, literal: tree.Constant, kind: Kind, column: Column, *, exact: bool) -> Constant:
        made = constant(literal, kind)
        if made is None:
            shown = f"{literal.written} {literal.value!r}".strip()
            self._refuse(f"compares {column.name} with {shown}", WANTED[kind], f"the column is a {kind}")
        if exact and column.type == types.ENUM and column.members and made not in column.members and made != "":
            near = nearest(str(made), column.members)
            wanted = f"'{near}'?" if near else ", ".join(column.members)[:200]
            self._refuse(f"compares {column.name} with an unknown member", wanted, repr(made))
        return made

    def _refuse(self, what: str, wanted: str, found: str = "") -> NoReturn:
        raise DecodeError(
            "E2310",
            f"{self._where} {what}, in {self._table.qualified}",
            found="; ".join(part for part in (found, self._text[:300]) if part),
            wanted=wanted,
            fix=f"Correct `{self._where}`.",
        )
