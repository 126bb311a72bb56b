"""What of `transforms.filter` a source may test before it sends a row of a snapshot.

Only conditions that a server surely evaluates as the filter does: an integer literal compared with a column, joined by
AND. Everything else is left to the filter, which runs behind the source in any case: a source sends more rows than
needed, never fewer. Text is not tested, as collations find more texts equal than the filter does, and fewer unequal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from replicator.config.tables import TableFilter
from replicator.config.transforms import FilterRule
from replicator.expression import parse, tree
from replicator.model.row_tests import IntegerTest

MOST_VALUES: Final = 100
"""Of a list; statements are not to grow without an end."""
_FLIPPED: Final[dict[tree.Comparison, tree.Comparison]] = {
    "=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="
}  # fmt: skip


class Pushdown:
    def __init__(self, rules: Sequence[FilterRule]) -> None:
        self._rules = [(TableFilter(rule.tables), tuple(_tests(parse(rule.where)))) for rule in rules]

    def tests(self, database: str, table: str) -> tuple[IntegerTest, ...]:
        """Rows of the table that do not pass each of them are filtered out anyway."""
        return tuple(test for scope, tests in self._rules if scope.matches(database, table) for test in tests)


def _tests(expression: tree.Expression) -> Iterator[IntegerTest]:
    if isinstance(expression, tree.Joined):
        if expression.word == "AND":
            for part in expression.parts:
                yield from _tests(part)
    elif isinstance(expression, tree.Compared):
        found = _compared(expression)
        if found is not None:
            yield found
    elif isinstance(expression, tree.Listed):
        name, values = _column(expression.value), [_integer(each) for each in expression.constants]
        numbers = tuple(value for value in values if value is not None)
        if name is not None and len(numbers) == len(values) <= MOST_VALUES:
            yield IntegerTest(name, "in", numbers)


def _compared(expression: tree.Compared) -> IntegerTest | None:
    left, sign, right = expression.left, expression.comparison, expression.right
    if isinstance(left, tree.Constant):
        left, sign, right = right, _FLIPPED[sign], left
    name, value = _column(left), _integer(right)
    return IntegerTest(name, sign, (value,)) if name is not None and value is not None else None


def _column(operand: tree.Operand) -> str | None:
    """Not one of an image: such a filter is of changes, not of rows."""
    return operand.text if isinstance(operand, tree.Name) and operand.image is None else None


def _integer(operand: tree.Operand) -> int | None:
    if not isinstance(operand, tree.Constant) or not isinstance(operand.value, Decimal) or operand.written:
        return None
    value = operand.value
    if value.adjusted() > 20 or value != value.to_integral_value():
        return None
    return int(value)
