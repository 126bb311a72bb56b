"""Changes of a text at known places."""

from __future__ import annotations

import msgspec


class Edit(msgspec.Struct, frozen=True, order=True):
    start: int
    end: int
    text: str


class Edits:
    """Edits of one text. They must not overlap; an edit that covers others replaces them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._edits: list[Edit] = []

    def replace(self, span: tuple[int, int], text: str) -> None:
        start, end = span
        kept = [edit for edit in self._edits if edit.end <= start or edit.start >= end]
        self._edits = [*kept, Edit(start, end, text)]

    def covers(self, at: int) -> bool:
        return any(edit.start <= at < edit.end for edit in self._edits)

    def part(self, start: int, end: int) -> str:
        """The text from `start` to `end` with its edits."""
        parts, at = [], start
        for edit in sorted(self._edits):
            if edit.start >= start and edit.end <= end:
                parts += [self._text[at : edit.start], edit.text]
                at = edit.end
        return "".join([*parts, self._text[at:end]])

    def whole(self) -> str:
        return self.part(0, len(self._text))
