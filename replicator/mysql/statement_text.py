"""Texts of statements: bytes, or, where they are long, made piece by piece while they are sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeAlias


class LongText:
    """A text that is never in memory as a whole.

    Args:
        size: bytes.
        pieces: makes it, from the beginning each time.
    """

    def __init__(self, size: int, pieces: Callable[[], Iterator[bytes]]) -> None:
        self._size, self.pieces = size, pieces

    def __len__(self) -> int:
        return self._size


Text: TypeAlias = bytes | LongText


def joined(statements: Sequence[Text]) -> Text:
    """Several statements as one text."""
    short = [statement for statement in statements if isinstance(statement, bytes)]
    if len(short) == len(statements):
        return b";".join(short)
    return LongText(sum(map(len, statements)) + len(statements) - 1, partial(_pieces, statements))


def _pieces(statements: Sequence[Text]) -> Iterator[bytes]:
    for number, statement in enumerate(statements):
        if number:
            yield b";"
        if isinstance(statement, bytes):
            yield statement
        else:
            yield from statement.pieces()
