"""What is an expression, what it binds, and where one that is none is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.errors import ConfigError
from replicator.expression import parse
from replicator.expression.parser import DEEPEST, MOST_CONSTANTS
from replicator.expression.tokens import LONGEST
from replicator.expression.tree import Compared, Constant, Joined, Listed, Matched, Name, Negated, Null, Operation


def shape(expression: object) -> str:
    """The tree in parentheses."""
    if isinstance(expression, Joined):
        return f"({f' {expression.word} '.join(map(shape, expression.parts))})"
    if isinstance(expression, Negated):
        return f"!{shape(expression.part)}"
    if isinstance(expression, Compared):
        return f"{shape(expression.left)}{expression.comparison}{shape(expression.right)}"
    if isinstance(expression, Listed):
        return f"{shape(expression.value)} in {','.join(map(shape, expression.constants))}"
    if isinstance(expression, Matched):
        return f"{shape(expression.value)} like {expression.pattern}"
    if isinstance(expression, Null):
        return f"{shape(expression.value)} null"
    if isinstance(expression, Name):
        return f"{expression.image}.{expression.text}" if expression.image else expression.text
    if isinstance(expression, Operation):
        return "op"
    assert isinstance(expression, Constant)
    return f"{expression.written}{expression.value!r}".replace("Decimal", "")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a=1 or b=2 and not c=3", "(a=('1') OR (b=('2') AND !c=('3')))"),
        ("(a=1 or b=2) and c=3", "((a=('1') OR b=('2')) AND c=('3'))"),
        ("NOT NOT a IS NULL", "!!a null"),
        ("a BETWEEN 1 AND 2 AND b IS NOT NULL", "((a>=('1') AND a<=('2')) AND !b null)"),
        ("a not between 1 and 2", "!(a>=('1') AND a<=('2'))"),
        ("a NOT IN ('it''s', -1.5e3, .5)", "!a in \"it's\",('-1.5E+3'),('0.5')"),
        ("a NOT LIKE '100\\%'", "!a like 100\\%"),
        ("before.a != after.`b``c`", "before.a<>after.b`c"),
        ("after.date = date '2026-01-01'", "after.date=DATE'2026-01-01'"),
        ("date > TIMESTAMP'2026-01-01 00:00'", "date>TIMESTAMP'2026-01-01 00:00'"),
        ("operation = 'insert' AND `operation` = x'00ff'", "(op='insert' AND operation=b'\\x00\\xff')"),
        ("größe >= TRUE", "größe>=True"),
    ],
)
def test_trees(text: str, tree: str) -> None:
    assert shape(parse(text)) == tree


@pytest.mark.parametrize(
    ("text", "at", "wanted"),
    [
        ("", 1, "a column or a literal"),
        ("a", 2, "=, <>"),
        ("a = ", 5, "a column or a literal"),
        ("a = 1 b = 2", 7, "AND, OR or the end"),
        ("(a = 1", 7, ")"),
        ("a = NULL", 5, "IS NULL"),
        ("a IN ()", 7, "a column or a literal"),
        ("a IN (b)", 7, "a literal"),
        ("a IS 1", 6, "NULL"),
        ("a LIKE b", 8, "a pattern in quotes"),
        ("a = 'open", 5, "a column, a literal"),
        ("a = x'0'", 6, "AND, OR or the end"),
        ("a ; b", 3, "a column, a literal"),
        ("before = 1", 8, "."),
        ("a AND b = 1", 3, "=, <>"),
        ("5", 2, "a comparison"),
        ("a = 1e9999", 5, "a column, a literal"),
        ("__import__('os').system('x')", 11, "=, <>"),
    ],
)
def test_what_is_none(text: str, at: int, wanted: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse(text)
    assert raised.value.code == "E1010"
    assert f"at character {at}" in raised.value.found
    assert wanted in raised.value.wanted


def test_bounds() -> None:
    inside = "(" * DEEPEST + "a = 1" + ")" * DEEPEST
    with pytest.raises(ConfigError, match=f"at most {DEEPEST} deep"):
        parse(inside)
    parse(inside[1:-1])
    with pytest.raises(ConfigError, match=f"up to {LONGEST}"):
        parse("a = '" + "x" * LONGEST + "'")
    parse(f"a IN ({','.join(['1'] * MOST_CONSTANTS)})")
    with pytest.raises(ConfigError, match=f"at most {MOST_CONSTANTS} values"):
        parse(f"a IN ({','.join(['1'] * (MOST_CONSTANTS + 1))})")
    assert shape(parse(" AND ".join(["a=1"] * 1000))).count("AND") == 999


PIECES = ["a", "b.c", "before.", "=", "<>", "(", ")", ",", "1", "-.5", "'x", "'", "''", "`", "NOT", "OR", "IN", "X'f"]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=30).map(" ".join))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parse(text)
    except ConfigError as error:
        assert error.code == "E1010"
