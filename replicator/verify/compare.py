"""Compares rows of two sides. No server is involved: rows are tuples of bytes, None for NULL."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Final, Literal, TypeAlias

import msgspec

Row: TypeAlias = tuple[bytes | None, ...]
KeyValue: TypeAlias = tuple[bytes, ...]
Verdict: TypeAlias = Literal["missing", "extra", "different"]
"""`missing`: only at the source; `extra`: only at the target."""

_EXACT_DIGITS: Final = 17
"""Digits that a DOUBLE has at most: a number with more is compared as a decimal number."""
_LARGEST: Final = 2**64


class Difference(msgspec.Struct, frozen=True):
    """`source`, `target`: the row at each side, None: there is none."""

    key: KeyValue
    source: Row | None
    target: Row | None

    @property
    def verdict(self) -> Verdict:
        if self.source is None:
            return "extra"
        return "missing" if self.target is None else "different"


class Comparison:
    """Compares rows of one table.

    Args:
        key: indexes of the key's columns.
        documents: indexes of columns with JSON, whose text may differ.
    """

    def __init__(self, key: Sequence[int], documents: Iterable[int] = ()) -> None:
        self._key, self._documents = tuple(key), tuple(documents)

    def key(self, row: Row) -> KeyValue:
        return tuple(row[index] or b"" for index in self._key)

    def columns(self, one: Row, other: Row) -> tuple[int, ...]:
        """Indexes of the columns that differ."""
        return tuple(
            index
            for index, (mine, its) in enumerate(zip(one, other, strict=True))
            if mine != its and not (index in self._documents and same_document(mine, its))
        )

    def canonical(self, row: Row) -> Row:
        """Equal rows have equal values in it."""
        if not self._documents:
            return row
        values = list(row)
        for index in self._documents:
            values[index] = document(values[index])
        return tuple(values)

    def differences(self, source: Sequence[Row], target: Sequence[Row]) -> list[Difference]:
        """Of two sets of rows with the same range of keys, in any order. A second row with one key is an extra one."""
        if source == target:
            return []
        theirs: dict[KeyValue, list[Row]] = {}
        for row in target:
            theirs.setdefault(self.key(row), []).append(row)
        found = []
        for row in source:
            key = self.key(row)
            others = theirs.get(key)
            if not others:
                found.append(Difference(key, row, None))
                continue
            equal = next((place for place, other in enumerate(others) if not self.columns(row, other)), None)
            other = others.pop(equal or 0)
            if equal is None:
                found.append(Difference(key, row, other))
        found += (Difference(key, None, row) for key, rows in theirs.items() for row in rows)
        return found


def same_document(one: bytes | None, other: bytes | None) -> bool:
    """Whether two texts are the same JSON: the order of an object's members and blanks do not count."""
    return one is not None and other is not None and (one == other or document(one) == document(other))


def document(text: bytes | None, number: Callable[[str], object] | None = None) -> bytes | None:
    """A text that all notations of a JSON document have in common. What is not JSON stays as it is. `number`: what is
    taken of a number with a point or an exponent."""
    if text is None:
        return None
    try:
        read = json.loads(text, parse_float=number or _float, parse_int=_integer, parse_constant=_refuse)
        return json.dumps(read, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()
    except (ValueError, RecursionError):
        return text


def _integer(text: str) -> object:
    value = int(text)
    return value if -_LARGEST < value < _LARGEST else _float(text)


def _float(text: str) -> object:
    """Numbers with a point or an exponent are not integers in JSON documents of MySQL: 1.0 is not 1."""
    digits = text.lower().partition("e")[0].replace(".", "").lstrip("-0")
    if len(digits) <= _EXACT_DIGITS:
        return {"\0number": repr(float(text))}
    return {"\0number": str(Decimal(text).normalize())}


def _refuse(text: str) -> object:
    raise ValueError(text)
