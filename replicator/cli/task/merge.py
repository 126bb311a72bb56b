"""Merges two changes of one text, line by line; where they overlap, the three forms are shown between markers."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

YOURS, BASE, BETWEEN, THEIRS = "<<<<<<< ", "||||||| ", "=======", ">>>>>>> "


class Merged(NamedTuple):
    """`conflicts`: number of places that were changed differently by both."""

    text: str
    conflicts: int


class _Change(NamedTuple):
    """Lines `start` to `end` of the base became `lines`."""

    start: int
    end: int
    lines: tuple[str, ...]


def merge(base: str, yours: str, theirs: str, names: tuple[str, str, str]) -> Merged:
    """`names` of base, yours and theirs, for the markers."""
    lines = base.splitlines()
    mine, other = _changes(lines, yours.splitlines()), _changes(lines, theirs.splitlines())
    found: list[str] = []
    conflicts, at = 0, 0
    for first, second in _together(mine, other):
        start = min(change.start for change in (*first, *second))
        end = max(change.end for change in (*first, *second))
        found += lines[at:start]
        at = end
        own, others = _applied(lines, first, start, end), _applied(lines, second, start, end)
        if not second or own == others:
            found += own
        elif not first:
            found += others
        else:
            conflicts += 1
            found += [f"{YOURS}{names[1]}", *own, f"{BASE}{names[0]}", *lines[start:end]]
            found += [BETWEEN, *others, f"{THEIRS}{names[2]}"]
    found += lines[at:]
    return Merged("".join(f"{line}\n" for line in found), conflicts)


def has_markers(text: str) -> bool:
    return any(line.startswith((YOURS, BASE, THEIRS)) for line in text.splitlines())


def _changes(base: Sequence[str], text: Sequence[str]) -> list[_Change]:
    matcher = difflib.SequenceMatcher(None, base, text, autojunk=False)
    return [
        _Change(start, end, tuple(text[first:last]))
        for tag, start, end, first, last in matcher.get_opcodes()
        if tag != "equal"
    ]


def _together(mine: list[_Change], other: list[_Change]) -> Iterator[tuple[list[_Change], list[_Change]]]:
    """Changes of both that touch each other, in groups, from the first line on."""
    left, right = list(mine), list(other)
    while left or right:
        begin = min(change.start for change in (*left[:1], *right[:1]))
        end = begin
        first: list[_Change] = []
        second: list[_Change] = []
        while True:
            for rest, taken in ((left, first), (right, second)):
                if rest and rest[0].start <= end:
                    taken.append(rest.pop(0))
                    end = max(end, taken[-1].end)
                    break
            else:
                break
        yield first, second


def _applied(base: Sequence[str], changes: list[_Change], start: int, end: int) -> list[str]:
    """Lines `start` to `end` of the base after the changes."""
    found: list[str] = []
    for change in changes:
        found += [*base[start : change.start], *change.lines]
        start = change.end
    return [*found, *base[start:end]]
