"""Texts of statements: bytes, or, where they are long, made piece by piece while they are sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

Pieces: TypeAlias = Callable[[], Iterator[bytes]]
"""Makes bytes piece by piece, from the beginning each time."""


class LongText:
    """A text that is never in memory as a whole.

    Args:
        size: bytes.
        pieces: makes it.
        loads: makes the rows of each LOAD DATA LOCAL in it, in their order: the server asks for them when it executes
            the statement.
    """

    def __init__(self, size: int, pieces: Pieces, loads: Sequence[Pieces] = ()) -> None:
        self._size, self.pieces, self.loads = size, pieces, loads

    def __len__(self) -> int:
        return self._size


Text: TypeAlias = bytes | LongText


def loading(statement: bytes, rows: Pieces) -> LongText:
    """A LOAD DATA LOCAL statement, with its rows."""
    return LongText(len(statement), lambda: iter((statement,)), (rows,))


def loads_of(text: Text) -> Sequence[Pieces]:
    return () if isinstance(text, bytes) else text.loads


def joined(statements: Sequence[Text]) -> Text:
    """Several statements as one text."""
    short = [statement for statement in statements if isinstance(statement, bytes)]
    if len(short) == len(statements):
        return b";".join(short)
    loads = [rows for statement in statements for rows in loads_of(statement)]
    return LongText(sum(map(len, statements)) + len(statements) - 1, partial(_pieces, statements), loads)


def _pieces(statements: Sequence[Text]) -> Iterator[bytes]:
    for number, statement in enumerate(statements):
        if number:
            yield b";"
        if isinstance(statement, bytes):
            yield statement
        else:
            yield from statement.pieces()
