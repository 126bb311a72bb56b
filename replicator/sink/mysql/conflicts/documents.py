"""Whether two JSON texts are the same document."""

from __future__ import annotations

import json
from decimal import Decimal
from math import isfinite
from typing import Any


def equal(one: str, other: str) -> bool:
    """Numbers by their value: a document that was selected does not say whether 0.1 was a DECIMAL."""
    return one == other or bool(_read(one) == _read(other))


def _read(text: str) -> Any:
    return json.loads(text, parse_int=_number, parse_float=_number)


def _number(text: str) -> tuple[Decimal]:
    """The shortest number that is the same DOUBLE, if it is one. In a tuple, so that 1 is not True."""
    exact = Decimal(text)
    number = float(text)
    if not isfinite(number):
        return (exact,)
    shortest = Decimal(repr(number))
    return (shortest if exact in (shortest, Decimal(number)) else exact,)
