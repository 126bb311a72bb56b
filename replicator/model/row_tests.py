"""Tests of integer columns that follow from a row filter: a source may leave out rows that fail one of them."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Sign: TypeAlias = Literal["=", "<>", "<", "<=", ">", ">=", "in"]


class IntegerTest(msgspec.Struct, frozen=True):
    """`column` compared with integers, one unless `sign` is "in". The case of letters in `column` does not count. NULL
    passes no test. A column that is missing or of another type makes no test."""

    column: str
    sign: Sign
    values: tuple[int, ...]
