"""Conditions of alert rules: the expression language of row filters, over figures; unknown is a third value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal, TypeAlias

from replicator.alerts.figures import FIGURES, Figure, Scope, Value
from replicator.errors import ConfigError
from replicator.expression.parser import parse
from replicator.expression.tree import (
    Compared,
    Comparison,
    Constant,
    Expression,
    Joined,
    Listed,
    Matched,
    Name,
    Negated,
    Null,
    Operand,
    Operation,
)

Verdict: TypeAlias = bool | None
"""None: not known."""
Test: TypeAlias = Callable[[Mapping[str, Value]], Verdict]
_Type: TypeAlias = Literal["number", "text", "flag"]
_Read: TypeAlias = Callable[[Mapping[str, Value]], Value]
LONGEST: Final = 1000
_TYPES: Final[dict[str, _Type]] = {"seconds": "number", "count": "number", "flag": "flag", "text": "text"}
_SIGNS: Final[dict[Comparison, Callable[[int], bool]]] = {
    "=": lambda order: order == 0,
    "<>": lambda order: order != 0,
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}


class Invalid(ValueError):
    """found, wanted: for the error that the operator sees."""

    def __init__(self, found: str, wanted: str) -> None:
        super().__init__(found)
        self.found = found
        self.wanted = wanted


def compiled(text: str, scope: Scope) -> Test:
    """What a condition says of the figures of one task, machine, and so on. Raises Invalid."""
    return _Compiler(FIGURES[scope], scope).test(_parsed(text))


def names(text: str) -> frozenset[str]:
    """Figures that a condition has. Raises Invalid."""
    return frozenset(_names(_parsed(text)))


def thresholds(text: str) -> list[float]:
    """Numbers that a condition compares with. Raises Invalid."""
    return [float(each.value) for each in _constants(_parsed(text)) if _type(each.value) == "number"]


def _parsed(text: str) -> Expression:
    if len(text) > LONGEST:
        raise Invalid(f"{len(text)} characters", f"at most {LONGEST}")
    try:
        return parse(text)
    except ConfigError as error:
        raise Invalid(error.found or error.what, error.wanted.replace("column", "figure")) from None


class _Compiler:
    def __init__(self, figures: Mapping[str, Figure], scope: Scope) -> None:
        self._figures = figures
        self._scope = scope

    def test(self, tree: Expression) -> Test:
        match tree:
            case Joined():
                return _joined(tree.word, [self.test(part) for part in tree.parts])
            case Negated():
                return _negated(self.test(tree.part))
            case Compared():
                return self._compared(tree)
            case Listed():
                kind, read = self._operand(tree.value)
                wanted = []
                for each in tree.constants:
                    self._same(kind, self._operand(each)[0])
                    wanted.append(_plain(each.value))
                values = frozenset(wanted)
                return lambda figures: None if (value := read(figures)) is None else value in values
            case Matched():
                kind, read = self._operand(tree.value)
                self._same(kind, "text")
                pattern = re.compile(_pattern(tree.pattern), re.DOTALL)
                return lambda figures: (
                    None if (value := read(figures)) is None else pattern.fullmatch(str(value)) is not None
                )
            case Null():
                _, read = self._operand(tree.value)
                return lambda figures: read(figures) is None

    def _compared(self, tree: Compared) -> Test:
        (kind, left), (other, right) = self._operand(tree.left), self._operand(tree.right)
        self._same(kind, other)
        if kind != "number" and tree.comparison not in ("=", "<>"):
            raise Invalid(f"{tree.comparison} of {kind}s", "= or <>, or numbers")
        sign = _SIGNS[tree.comparison]

        def test(figures: Mapping[str, Value]) -> Verdict:
            one, two = left(figures), right(figures)
            if one is None or two is None:
                return None
            return sign((one > two) - (one < two))  # type: ignore[operator]  # both are of one kind

        return test

    def _operand(self, operand: Operand) -> tuple[_Type, _Read]:
        if isinstance(operand, Constant) and not operand.written and not isinstance(operand.value, bytes):
            value = _plain(operand.value)
            return _type(value), lambda figures: value
        if not isinstance(operand, Name) or operand.image is not None:
            word = "OPERATION" if isinstance(operand, Operation) else "a date, bytes or an image of a row"
            raise Invalid(word, "figures, numbers, strings, TRUE and FALSE")
        name = operand.text.lower()
        figure = self._figures.get(name)
        if figure is None:
            raise Invalid(f"'{operand.text}'", f"a figure of a {self._scope}: {', '.join(self._figures)}")
        return _TYPES[figure.kind], lambda figures: figures.get(name)

    @staticmethod
    def _same(one: _Type, other: _Type) -> None:
        if one != other:
            raise Invalid(f"a comparison of a {one} with a {other}", f"a {one} on both sides")


def _joined(word: Literal["AND", "OR"], tests: list[Test]) -> Test:
    """As in SQL: FALSE decides AND, TRUE decides OR, whatever is unknown."""
    decides = word == "OR"

    def test(figures: Mapping[str, Value]) -> Verdict:
        unknown = False
        for each in tests:
            found = each(figures)
            if found is decides:
                return decides
            unknown = unknown or found is None
        return None if unknown else not decides

    return test


def _negated(test: Test) -> Test:
    return lambda figures: None if (found := test(figures)) is None else not found


def _plain(value: object) -> float | bool | str:
    return value if isinstance(value, bool | str) else float(value)  # type: ignore[arg-type]  # bytes were refused


def _type(value: object) -> _Type:
    return "flag" if isinstance(value, bool) else "text" if isinstance(value, str | bytes) else "number"


def _pattern(like: str) -> str:
    return "".join(".*" if char == "%" else "." if char == "_" else re.escape(char) for char in like)


def _operands(tree: Expression) -> Iterator[Operand]:
    match tree:
        case Joined():
            for part in tree.parts:
                yield from _operands(part)
        case Negated():
            yield from _operands(tree.part)
        case Compared():
            yield tree.left
            yield tree.right
        case Listed():
            yield tree.value
            yield from tree.constants
        case Matched() | Null():
            yield tree.value


def _names(tree: Expression) -> Iterator[str]:
    return (each.text.lower() for each in _operands(tree) if isinstance(each, Name))


def _constants(tree: Expression) -> Iterator[Constant]:
    return (each for each in _operands(tree) if isinstance(each, Constant))
