"""Syntax tree of a filter, before types are known. `at`: offset in the text, for messages."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal, TypeAlias

import msgspec

Comparison: TypeAlias = Literal["=", "<>", "<", "<=", ">", ">="]


class Name(msgspec.Struct, frozen=True):
    """A column; `image`: of which image the value is, None: of the row at hand."""

    text: str
    image: Literal["before", "after"] | None
    at: int


class Operation(msgspec.Struct, frozen=True):
    """The word `operation`."""

    at: int


class Constant(msgspec.Struct, frozen=True):
    """value: a number, a truth value, characters or bytes. `written`: the word in front of it, DATE or TIMESTAMP."""

    value: Decimal | bool | str | bytes
    at: int
    written: Literal["", "DATE", "TIME", "TIMESTAMP"] = ""


Operand: TypeAlias = Name | Operation | Constant


class Compared(msgspec.Struct, frozen=True):
    left: Operand
    comparison: Comparison
    right: Operand
    at: int


class Listed(msgspec.Struct, frozen=True):
    """`value` IN (`constants`)."""

    value: Operand
    constants: tuple[Constant, ...]
    at: int


class Matched(msgspec.Struct, frozen=True):
    """`value` LIKE `pattern`."""

    value: Operand
    pattern: str
    at: int


class Null(msgspec.Struct, frozen=True):
    """`value` IS NULL."""

    value: Operand
    at: int


class Negated(msgspec.Struct, frozen=True):
    part: Expression


class Joined(msgspec.Struct, frozen=True):
    word: Literal["AND", "OR"]
    parts: tuple[Expression, ...]


Expression: TypeAlias = Compared | Listed | Matched | Null | Negated | Joined
