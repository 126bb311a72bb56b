"""Two texts side by side, line by line, with what is equal in both left out but for its edges. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

import msgspec

Kind = Literal["equal", "changed", "removed", "added", "skipped"]


class Side(msgspec.Struct, frozen=True):
    """A line: what is before and after the part that differs, "" where none does. number: 1 is the first one."""

    number: int
    before: str
    differs: str = ""
    after: str = ""

    @property
    def text(self) -> str:
        return self.before + self.differs + self.after


class Row(msgspec.Struct, frozen=True):
    """left, right: None where the other text has no such line; skipped: number of equal lines that are left out."""

    kind: Kind
    left: Side | None = None
    right: Side | None = None
    skipped: int = 0


def rows(before: Sequence[str], after: Sequence[str], context: int = 3) -> tuple[Row, ...]:
    """`context`: equal lines around a difference. () for equal texts."""
    if list(before) == list(after):
        return ()
    operations = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    found: list[Row] = []
    for at, (tag, first, last, to_first, to_last) in enumerate(operations):
        if tag == "equal":
            equal = [
                Row(
                    "equal",
                    Side(first + step + 1, before[first + step]),
                    Side(to_first + step + 1, before[first + step]),
                )
                for step in range(last - first)
            ]
            head = context if at else 0
            tail = context if at + 1 < len(operations) else 0
            found += _shortened(equal, head, tail)
        else:
            found += _different(before[first:last], after[to_first:to_last], first, to_first)
    return tuple(found)


def _shortened(equal: list[Row], head: int, tail: int) -> Iterator[Row]:
    left_out = len(equal) - head - tail
    if left_out <= 1:
        yield from equal
        return
    yield from equal[:head]
    yield Row("skipped", skipped=left_out)
    yield from equal[len(equal) - tail :]


def _different(before: Sequence[str], after: Sequence[str], first: int, to_first: int) -> Iterator[Row]:
    """Lines in pairs, then what one side has more."""
    for step in range(max(len(before), len(after))):
        old = before[step] if step < len(before) else None
        new = after[step] if step < len(after) else None
        if old is not None and new is not None:
            left, right = _sides(old, new, first + step + 1, to_first + step + 1)
            yield Row("changed", left, right)
        elif old is not None:
            yield Row("removed", Side(first + step + 1, old))
        elif new is not None:
            yield Row("added", None, Side(to_first + step + 1, new))


def _sides(old: str, new: str, number: int, to_number: int) -> tuple[Side, Side]:
    """Without what both begin and end with."""
    most = min(len(old), len(new))
    head = next((at for at in range(most) if old[at] != new[at]), most)
    tail = next((at for at in range(most - head) if old[-1 - at] != new[-1 - at]), most - head)
    return _side(old, number, head, tail), _side(new, to_number, head, tail)


def _side(text: str, number: int, head: int, tail: int) -> Side:
    end = len(text) - tail
    return Side(number, text[:head], text[head:end], text[end:])
