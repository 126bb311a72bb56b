"""Translates a plan's row filter to the small program that `compiled.filters` runs on a row's raw values.

A program is a list of columns to read and a tree of tests for each image that is asked. Beside it is the same filter in
Python: for columns that the compiled code cannot read, and for rare values (text that is not ASCII in a character set
other than UTF-8, values that no server writes). So there is a program for every filter.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, TypeAlias

import msgspec

from replicator.decode.binlog.column_presence import Operation, Presence
from replicator.decode.plan.filter_images import FilterImages
from replicator.decode.plan.predicates import OPPOSITE, like
from replicator.decode.renderers.comparables import comparable
from replicator.decode.renderers.text import NOT_ASCII
from replicator.decode.values import charsets
from replicator.model import types
from replicator.model.column_sizes import fixed_size
from replicator.model.condition import (
    And,
    Compare,
    Condition,
    During,
    Filter,
    IsNull,
    Like,
    Not,
    Of,
    OneOf,
    Or,
    kind_of,
)
from replicator.model.plan import Image
from replicator.model.table import Column, Table

Place: TypeAlias = Callable[[Image, int], int]
"""(image, column) -> where its value is among those of a row."""
Node: TypeAlias = "tuple[Any, ...]"
"""A test, in prefix order, by its name in compiled/codes.pxd: ("all" or "any", number of nodes inside), ("true_test",),
("false_test",), ("null_test", column), ("not_null", column); a comparison (name, column, sign, constant); a list (name,
column, wanted, constants); ("member_test", column, truths), ("like", column, wanted, parts), ("columns", column, sign,
other column). Only "null_test" and "true_test" hold for NULL. `column`: index in `Program.reads`."""

_MOST_DIGITS: Final = 18
_MOST_MEMBERS: Final = 2000
_SIGNED: Final = (-(1 << 63), (1 << 63) - 1)
_UNSIGNED: Final = (0, (1 << 64) - 1)
_EVALUATED: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": lambda one, other: bool(one == other),
    "<>": lambda one, other: bool(one != other),
    "<": lambda one, other: bool(one < other),
    "<=": lambda one, other: bool(one <= other),
    ">": lambda one, other: bool(one > other),
    ">=": lambda one, other: bool(one >= other),
}


class Read(msgspec.Struct, frozen=True):
    """A value that the filter needs.

    Attributes:
        place: among the values of the row.
        reader: how the compiled code reads it, by its name in compiled/codes.pxd; "python": it does not.
        a, b: parameters of that.
        scale: what numbers are multiplied by, as a power of ten.
    """

    place: int
    reader: str
    a: int = 0
    b: int = 0
    scale: int = 0


class Program(msgspec.Struct, frozen=True):
    """
    Attributes:
        reads: the values that are needed, all of which are read first.
        before, after: tests; "before" only where rows can move in and out.
        native: False: the compiled code cannot evaluate them, and asks `python` for every row.
        python: the same: raw values, None for NULL, in the order of `reads` -> 1 for "before" holds + 2 for "after".
    """

    reads: tuple[Read, ...]
    before: tuple[Node, ...] | None
    after: tuple[Node, ...]
    native: bool
    python: Callable[[Sequence[bytes | None]], int]


class FilterPlanner:
    """Of one filter, operation and set of columns.

    Raises:
        DecodeError: as `decode.plan.predicates.Predicate`.
    """

    def __init__(self, table: Table, operation: Operation, presence: Presence, chosen: Filter, place: Place) -> None:
        self._table = table
        self._operation: Operation = operation
        self._condition = chosen.condition
        self._place = place
        self._images = FilterImages(table, operation, presence, chosen)
        self.moves = self._images.moves
        self._native = True
        self._columns = {found: number for number, found in enumerate(self._images.places)}
        self._reads = [self._read(*found) for found in self._columns]

    def program(self) -> Program:
        tests = [tuple(self._nodes(self._condition, side, wanted=True)) for side in self._images.sides]
        native = self._native and all(read.reader != "python" for read in self._reads)
        before = tests[0] if self.moves else None
        return Program(tuple(self._reads), before, tests[-1], native, self._python())

    # Values

    def _read(self, image: Image, index: int) -> Read:
        column = self._table.columns[index]
        comparable(column, self._table)  # what can't be compared is refused
        return msgspec.structs.replace(reader(column), place=self._place(image, index))

    def _number(self, of: Of, side: Image) -> int | None:
        found = self._images.place(of, side)
        return None if found is None else self._columns[found]

    # Tests

    def _nodes(self, condition: Condition, side: Image, *, wanted: bool) -> list[Node]:
        """Whether the condition is known to be `wanted`."""
        if isinstance(condition, Not):
            return self._nodes(condition.part, side, wanted=not wanted)
        if isinstance(condition, And | Or):
            parts = [node for part in condition.parts for node in self._nodes(part, side, wanted=wanted)]
            return [("all" if isinstance(condition, And) is wanted else "any", len(parts)), *parts]
        if isinstance(condition, During):
            return [_truth((self._operation in condition.operations) is wanted)]
        of = condition.left if isinstance(condition, Compare) else condition.value
        number = self._number(of, side)
        if isinstance(condition, IsNull):
            if number is None:
                return [_truth(wanted)]
            return [("null_test" if wanted else "not_null", number)]
        if number is None:
            return [_truth(False)]
        if isinstance(condition, Compare) and isinstance(condition.right, Of):
            other = self._number(condition.right, side)
            if other is None:
                return [_truth(False)]
            self._native = self._native and _alike(self._reads[number], self._reads[other])
            return [("columns", number, _sign(condition, wanted), other)]
        return [self._leaf(condition, number, self._table.columns[of.column], wanted)]

    def _leaf(self, condition: Compare | OneOf | Like, number: int, column: Column, wanted: bool) -> Node:
        """Of one column and constants."""
        read = self._reads[number]
        if read.reader == "member":
            test = _decided(condition, column, wanted)
            return ("member_test", number, bytes(test(text) for text in ("", *column.members)))
        if isinstance(condition, Like):
            parts = _parts(condition.pattern)
            self._native = self._native and parts is not None
            return ("like", number, wanted, *(parts or ()))
        if isinstance(condition, OneOf):
            return _listed(read, number, wanted, [_constant(column, each) for each in condition.constants])
        return _compared(read, number, _sign(condition, wanted), _constant(column, condition.right))

    # The same in Python

    def _python(self) -> Callable[[Sequence[bytes | None]], int]:
        readers = [_reader(self._table.columns[index], self._table) for _, index in self._columns]
        tests = [self._decision(self._condition, side, wanted=True) for side in self._images.sides]

        def decide(raws: Sequence[bytes | None]) -> int:
            found = [None if raw is None else read(raw) for read, raw in zip(readers, raws, strict=True)]
            held = [bool(test(found)) for test in tests]
            return held[-1] * 2 + (held[0] if len(held) > 1 else 0)

        return decide

    def _decision(self, condition: Condition, side: Image, *, wanted: bool) -> Callable[[Sequence[Any]], bool]:
        if isinstance(condition, Not):
            return self._decision(condition.part, side, wanted=not wanted)
        if isinstance(condition, And | Or):
            parts = [self._decision(part, side, wanted=wanted) for part in condition.parts]
            every = all if isinstance(condition, And) is wanted else any
            return lambda found: every(part(found) for part in parts)
        if isinstance(condition, During):
            held = (self._operation in condition.operations) is wanted
            return lambda found: held
        of = condition.left if isinstance(condition, Compare) else condition.value
        number = self._number(of, side)
        if isinstance(condition, IsNull):
            if number is None:
                return lambda found: wanted
            return lambda found: (found[number] is None) is wanted
        if number is None:
            return lambda found: False
        if isinstance(condition, Compare) and isinstance(condition.right, Of):
            other, compare = self._number(condition.right, side), _EVALUATED[_sign(condition, wanted)]
            if other is None:
                return lambda found: False
            return lambda found: (
                found[number] is not None and found[other] is not None and compare(found[number], found[other])
            )
        test = _decided(condition, self._table.columns[of.column], wanted)
        return lambda found: found[number] is not None and test(found[number])


def reader(column: Column) -> Read:
    """How the compiled code reads a column that can be compared."""
    size = fixed_size(column) or 0
    if column.type in types.INTEGERS:
        name = ("wide_key" if size == 8 else "unsigned_key") if column.unsigned else "signed_key"
        return Read(-1, name)
    if column.type == types.NEWDECIMAL:
        digits, scale = column.meta >> 8, column.meta & 0xFF
        return Read(-1, "decimal_key" if digits <= _MOST_DIGITS else "python", digits, scale, scale)
    if column.type == types.ENUM:
        return Read(-1, "member" if len(column.members) <= _MOST_MEMBERS else "python", len(column.members))
    if column.type in _READERS:
        return Read(-1, _READERS[column.type], column.meta)
    if column.type in types.CHARACTERS | types.BLOBS and column.collation is not None:
        if kind_of(column) == "bytes":
            return Read(-1, "bytes", column.meta if column.type == types.STRING else 0)
        name = charsets.charset(column.collation)
        if name not in NOT_ASCII:
            return Read(-1, "characters" if name in ("utf8mb4", "utf8mb3") else "plain_ascii")
    return Read(-1, "python")


_READERS: Final = {
    types.YEAR: "year_key",
    types.BIT: "bits",
    types.FLOAT: "float_key",
    types.DOUBLE: "double_key",
    types.DATE: "date_key",
    types.NEWDATE: "date_key",
    types.DATETIME2: "datetime_key",
    types.TIMESTAMP2: "timestamp_key",
    types.TIME2: "time_key",
}
_REALS: Final = frozenset({"float_key", "double_key"})
_DATES: Final = frozenset({"date_key", "datetime_key"})
_WIDE: Final = frozenset({"wide_key", "bits"})
_TEXTS: Final = frozenset({"characters", "plain_ascii", "bytes"})
_INTEGERS: Final = frozenset({"signed_key", "unsigned_key", "year_key", "decimal_key"})
_KINDS: Final = (
    _INTEGERS, _WIDE, _REALS, _DATES, frozenset({"timestamp_key"}), frozenset({"time_key"}),
    frozenset({"characters", "plain_ascii"}),
)  # fmt: skip


def _reader(column: Column, table: Table) -> Callable[[bytes], Any]:
    """The raw value -> what the Python decoder compares."""
    found = comparable(column, table)
    read = found.read or (lambda value: value)
    if found.cut == "bytes" or found.cut.endswith("s"):
        return read
    unpack = struct.Struct(found.cut).unpack
    return lambda raw: read(unpack(raw)[0])


def _alike(one: Read, other: Read) -> bool:
    """Whether the compiled code has the values of both columns as the same kind of number, or as text."""
    kinds = [next((kind for kind in _KINDS if read.reader in kind), None) for read in (one, other)]
    return kinds[0] is not None and kinds[0] == kinds[1] and one.scale == other.scale


def _truth(held: bool) -> Node:
    return ("true_test",) if held else ("false_test",)


def _sign(condition: Compare, wanted: bool) -> str:
    return condition.comparison if wanted else OPPOSITE[condition.comparison]


def _constant(column: Column, constant: Any) -> Any:
    """As the servers do, a decimal literal meets a floating column as the nearest double."""
    floating = column.type in (types.FLOAT, types.DOUBLE)
    return float(constant) if floating and isinstance(constant, int | Decimal) else constant


def _decided(condition: Compare | OneOf | Like, column: Column, wanted: bool) -> Callable[[Any], bool]:
    """Of a value that is not NULL."""
    if isinstance(condition, Like):
        found = like(condition.pattern)
        return lambda value: (found(value) is not None) is wanted
    if isinstance(condition, OneOf):
        every = frozenset(_constant(column, each) for each in condition.constants)
        return lambda value: (value in every) is wanted
    compare, constant = _EVALUATED[_sign(condition, wanted)], _constant(column, condition.right)
    return lambda value: compare(value, constant)


def _exact(read: Read, constant: Any) -> Fraction:
    """A constant as the compiled code has the column's values."""
    if read.reader in _DATES:
        return Fraction(_moment(constant))
    return Fraction(constant) * Fraction(10**read.scale)


def _moment(digits: int) -> int:
    """YYYYMMDDhhmmssffffff in the order of a packed DATETIME: see `read_datetime` in compiled/filters.pxd."""
    rest, micro = divmod(digits, 1_000_000)
    day, clock = divmod(rest, 1_000_000)
    whole = (day // 10_000 * 13 + day // 100 % 100) << 22 | day % 100 << 17
    whole |= clock // 10_000 << 12 | clock // 100 % 100 << 6 | clock % 100
    return whole << 20 | micro


def _compared(read: Read, number: int, sign: str, constant: Any) -> Node:
    if read.reader == "python":
        return ("false_test",)  # it is not asked
    if read.reader in _REALS:
        return ("real_test", number, sign, constant)
    if read.reader in _TEXTS:
        return ("bytes_test", number, sign, _raw(constant))
    exact = _exact(read, constant)
    below = exact.numerator // exact.denominator
    if exact != below:  # no value equals it
        if sign in ("=", "<>"):
            return ("false_test",) if sign == "=" else ("not_null", number)
        sign, below = ("<=", below) if sign in ("<", "<=") else (">=", below + 1)
    wide = read.reader in _WIDE
    least, most = _UNSIGNED if wide else _SIGNED
    if least <= below <= most:
        return ("wide_test" if wide else "number_test", number, sign, below)
    beyond = sign == "<>" or (sign != "=" and (sign[0] == "<") is (below > most))
    return ("not_null", number) if beyond else ("false_test",)


def _listed(read: Read, number: int, wanted: bool, constants: Sequence[Any]) -> Node:
    if read.reader == "python":
        return ("false_test",)
    if read.reader in _REALS:
        return ("reals", number, wanted, *constants)
    if read.reader in _TEXTS:
        return ("texts", number, wanted, *sorted({_raw(each) for each in constants}))
    wide = read.reader in _WIDE
    least, most = _UNSIGNED if wide else _SIGNED
    exact = {_exact(read, each) for each in constants}
    whole = sorted({each.numerator for each in exact if each.denominator == 1 and least <= each <= most})
    return ("wides" if wide else "numbers", number, wanted, *whole)


def _raw(constant: str | bytes) -> bytes:
    return constant.encode() if isinstance(constant, str) else constant


def _parts(pattern: str) -> tuple[bytes, ...] | None:
    """What is between the % of a pattern; None for one with _, which is Python's."""
    parts, escaped = [""], False
    for char in pattern:
        if escaped or char not in "\\%_":
            parts[-1] += char
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == "_":
            return None
        else:
            parts.append("")
    if escaped:
        parts[-1] += "\\"
    return tuple(part.encode() for part in parts)
