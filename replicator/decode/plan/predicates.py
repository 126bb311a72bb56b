"""Generates the lines of a row function that evaluate a plan's filter before anything else of a row is rendered.

SQL's logic has three values, and only "true" passes. So no unknowns are computed: each part is asked either whether it
is true or whether it is false, and NOT turns one question into the other. A comparison with NULL answers no to both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, Final

from replicator.decode.binlog.column_presence import IMAGES, Operation, Presence
from replicator.decode.plan.filter_images import FilterImages
from replicator.decode.plan.image_reader import Image
from replicator.decode.plan.source_text import SourceText
from replicator.decode.renderers.comparables import Comparable, comparable
from replicator.model import types
from replicator.model.condition import (
    And,
    Compare,
    Condition,
    Constant,
    During,
    Filter,
    IsNull,
    Like,
    Not,
    Of,
    OneOf,
    Or,
)
from replicator.model.plan import Image as ImageName
from replicator.model.table import Table

_SIGNS: Final = {"=": "==", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
OPPOSITE: Final = {"=": "!=", "<>": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


class Predicate:
    """The filter of one generated function.

    Raises:
        DecodeError: E2304: the images lack a column of the filter, so that it cannot be evaluated.
    """

    def __init__(self, out: SourceText, table: Table, operation: Operation, presence: Presence, chosen: Filter) -> None:
        self._out = out
        self._table = table
        self._operation = operation
        self._presence = presence
        self._condition = chosen.condition
        self._images = FilterImages(table, operation, presence, chosen)
        self.moves = self._images.moves
        self._comparables: dict[int, Comparable] = {}
        self._values: dict[tuple[ImageName, int], str] = {}

    def emit(self) -> tuple[str, str] | None:
        """Lines inside the loop over rows: they skip a row that does not pass, and leave the cursor at the start of one
        that does. When rows can move (`moves`): the names of two variables, whether it was in and whether it is in."""
        out = self._out
        start = out.fresh("start")
        out.line(f"{start} = _p")
        self._read()
        tests = [self._test(self._condition, side, wanted=True) for side in self._images.sides]
        moved: tuple[str, str] | None = None
        if self.moves:
            was, now = moved = out.fresh("was"), out.fresh("now")
            out.line(f"{was} = {tests[0]}")
            out.line(f"{now} = {tests[1]}")
            tests = [f"{was} or {now}"]
        out.line(f"if not ({tests[0]}):")
        out.line(" _row += 1")
        out.line(" continue")
        out.line(f"_p = {start}")
        return moved

    # Values

    def _read(self) -> None:
        """Cuts the values out of the images, and steps over all else."""
        wanted: dict[ImageName, list[int]] = {name: [] for name in IMAGES[self._operation]}
        for image_name, index in self._images.places:
            wanted[image_name].append(index)
        images = {name: self._image(name, columns) for name, columns in wanted.items()}
        for image in images.values():
            image.emit()
        for name, columns in wanted.items():
            for index in columns:
                self._values[name, index] = self._converted(index, images[name].values[index])

    def _image(self, name: ImageName, wanted: Iterable[int]) -> Image:
        columns = [column for column in self._table.columns if self._presence.has(name, column.index)]
        return Image(self._out, columns, {}, {index: self._comparable(index).cut for index in wanted})

    def _converted(self, index: int, raw: str) -> str:
        read = self._comparable(index).read
        if read is None:
            return raw
        name, call = self._out.fresh("value"), self._out.bind("read", read)
        unless = f" if {raw} is not None else None" if self._table.columns[index].nullable else ""
        self._out.line(f"{name} = {call}({raw}){unless}")
        return name

    def _comparable(self, index: int) -> Comparable:
        if index not in self._comparables:
            self._comparables[index] = comparable(self._table.columns[index], self._table)
        return self._comparables[index]

    # Logic

    def _test(self, condition: Condition, side: ImageName, *, wanted: bool) -> str:
        """An expression: whether the condition is known to be `wanted`."""
        if isinstance(condition, Not):
            return self._test(condition.part, side, wanted=not wanted)
        if isinstance(condition, And | Or):
            word = " and " if isinstance(condition, And) is wanted else " or "
            return f"({word.join(self._test(part, side, wanted=wanted) for part in condition.parts)})"
        if isinstance(condition, During):
            return str((self._operation in condition.operations) is wanted)
        value = self._value(condition.left if isinstance(condition, Compare) else condition.value, side)
        if isinstance(condition, IsNull):
            return str(wanted) if value is None else f"({value} is {'' if wanted else 'not '}None)"
        if value is None:
            return "False"
        if isinstance(condition, OneOf):
            every = frozenset(self._constant(condition.value, each) for each in condition.constants)
            return f"({value} is not None and {value} {'' if wanted else 'not '}in {self._out.bind('list', every)})"
        if isinstance(condition, Like):
            found = f"{self._out.bind('like', like(condition.pattern))}({value})"
            return f"({value} is not None and {found} is {'not ' if wanted else ''}None)"
        return self._comparison(condition, value, side, (_SIGNS if wanted else OPPOSITE)[condition.comparison])

    def _comparison(self, condition: Compare, value: str, side: ImageName, sign: str) -> str:
        if not isinstance(condition.right, Of):
            constant = self._out.bind("constant", self._constant(condition.left, condition.right))
            return f"({value} is not None and {value} {sign} {constant})"
        other = self._value(condition.right, side)
        return "False" if other is None else f"({value} is not None and {other} is not None and {value} {sign} {other})"

    def _value(self, of: Of, side: ImageName) -> str | None:
        place = self._images.place(of, side)
        return None if place is None else self._values[place]

    def _constant(self, of: Of, constant: Constant) -> Any:
        """As the servers do, a decimal literal meets a floating column as the nearest double."""
        floating = self._table.columns[of.column].type in (types.FLOAT, types.DOUBLE)
        return float(constant) if floating and isinstance(constant, int | Decimal) else constant


def like(pattern: str) -> Callable[[str], object]:
    """SQL's LIKE as a function that gives None for text that does not match.

    What a % skips is taken once and not given back (the first place where the next part fits is as good as any later
    one), so that no pattern takes more than length of text times length of pattern.
    """
    parts: list[str] = [""]
    escaped = False
    for char in pattern:
        if escaped or char not in "\\%_":
            parts[-1] += re.escape(char)
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == "_":
            parts[-1] += "."
        else:
            parts.append("")
    if escaped:
        parts[-1] += re.escape("\\")
    first, *rest = parts
    middle = "".join(f"(?>.*?{part})" for part in rest[:-1] if part)
    last = f".*{rest[-1]}" if rest else ""
    return re.compile(first + middle + last, re.DOTALL).fullmatch
