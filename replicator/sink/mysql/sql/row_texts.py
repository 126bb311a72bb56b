"""Row images -> the rows of a statement, many at once: "(1,X'61'),(2,NULL)" of INSERT, or lines of LOAD DATA.

Rows of one piece have all or none an ENUM with the value 0, which is no member: only a session that is not strict takes
it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol, TypeAlias

from replicator import compiled
from replicator.model import types
from replicator.mysql.table_shape import ColumnShape
from replicator.sink.mysql.image_values import Layout, values_at

Write: TypeAlias = Callable[[bytes], bytes]
"""Value of an image -> its text. Raises one of NO_TEXT: it has none."""

NO_TEXT: Final = (ValueError, IndexError, OverflowError, struct.error)
"""What writing a value raises that has no text, or is damaged."""
PYTHON: Final = 0
SIGNED: Final = 1
UNSIGNED: Final = 2
BITS: Final = 3
YEAR: Final = 4
FLOATING: Final = 5
DECIMAL: Final = 6
DATE: Final = 7
DATETIME: Final = 8
TIMESTAMP: Final = 9
TIME: Final = 10
HEXADECIMAL: Final = 11
ESCAPED: Final = 12
DOCUMENT: Final = 13
_TIMES: Final = {types.DATE: DATE, types.DATETIME2: DATETIME, types.TIMESTAMP2: TIMESTAMP, types.TIME2: TIME}


class Code(NamedTuple):
    """How the compiled code writes a value that is not NULL; what it has no code for, the twin writes.

    Attributes:
        kind: one of the numbers above.
        first, second: digits of a DECIMAL and of its fraction; bytes that a binary text is filled to with zeros; 1: a
            document has escapes, and not hexadecimal digits.
        before, behind: what is around the value.
    """

    kind: int = PYTHON
    first: int = 0
    second: int = 0
    before: bytes = b""
    behind: bytes = b""


class Form(NamedTuple):
    """begins, ends: around a row; between: its values; joins: between rows; null: a value that is NULL."""

    begins: bytes
    between: bytes
    ends: bytes
    joins: bytes
    null: bytes


class Field(NamedTuple):
    """column: in the images. write, code: its text, by the twin and by the compiled code."""

    column: int
    write: Write
    code: Code


class Piece(NamedTuple):
    """text: of so many rows. end: of their images. lenient: each row has an ENUM with the value 0."""

    text: bytes
    end: int
    rows: int
    lenient: bool


class RowTexts(Protocol):
    def piece(self, images: bytes, at: int, most_rows: int, most: int) -> tuple[bytes, int, int, bool]:
        """The `Piece` that begins at `at`: at most so many rows and bytes, but one row at least.

        Raises one of NO_TEXT.
        """

    def halves(self, images: bytes) -> tuple[bytes, bytes]:
        """(images before, images after) of updates. Raises ValueError: an image is damaged, or the last one missing."""


def row_texts(layout: Layout, fields: Sequence[Field], members: Sequence[int], form: Form) -> RowTexts:
    """`members`: columns that are ENUM."""
    if not compiled.available():
        return Twin(layout, fields, members, form)
    steps = [
        (each.code.kind, each.column, each.code.first, each.code.second, each.code.before, each.code.behind)
        for each in fields
    ]
    made: RowTexts = compiled.module("row_texts").RowTexts(
        layout.sizes, steps, [each.write for each in fields], list(members), tuple(form)
    )
    return made


def enum_columns(columns: Sequence[ColumnShape], written: Sequence[int]) -> tuple[int, ...]:
    """Those of `written` that are ENUM."""
    return tuple(index for index in written if columns[index].type == types.ENUM)


def pieces(texts: RowTexts, images: bytes, most_rows: int, most: int) -> Iterator[Piece]:
    """All rows of the images. Raises as `piece`."""
    at = 0
    while at < len(images):
        found = Piece(*texts.piece(images, at, most_rows, most))
        at = found.end
        yield found


class Twin:
    """The same in Python."""

    def __init__(self, layout: Layout, fields: Sequence[Field], members: Sequence[int], form: Form) -> None:
        self._layout, self._fields, self._members, self._form = layout, fields, members, form

    def piece(self, images: bytes, at: int, most_rows: int, most: int) -> tuple[bytes, int, int, bool]:
        form, texts, size, lenient = self._form, list[bytes](), 0, False
        while at < len(images) and len(texts) != most_rows:
            row, end = values_at(images, self._layout, at)
            its = any((value := row[index]) is not None and not any(value) for index in self._members)
            if texts and its != lenient:
                break
            written = [form.null if (value := row[each.column]) is None else each.write(value) for each in self._fields]
            text = form.begins + form.between.join(written) + form.ends
            more = len(text) + (len(form.joins) if texts else 0)
            if texts and size + more > most:
                break
            texts.append(text)
            size, at, lenient = size + more, end, its
        return form.joins.join(texts), at, len(texts), lenient

    def halves(self, images: bytes) -> tuple[bytes, bytes]:
        halves: tuple[list[bytes], list[bytes]] = [], []
        at = index = 0
        while at < len(images):
            _, end = values_at(images, self._layout, at)
            halves[index].append(images[at:end])
            at, index = end, 1 - index
        if index:
            raise ValueError("an update without its image after")
        return b"".join(halves[0]), b"".join(halves[1])


def code_of(column: ColumnShape) -> Code:
    """Of a number; of a time, without quotes; of others `PYTHON`."""
    kind, meta = column.type, column.meta
    if kind in types.INTEGERS:
        return Code(UNSIGNED if column.unsigned else SIGNED)
    if kind in (types.ENUM, types.SET):
        return Code(UNSIGNED)
    if kind == types.BIT:
        return Code(BITS)
    if kind == types.YEAR:
        return Code(YEAR)
    if kind == types.NEWDECIMAL:
        return Code(DECIMAL, meta >> 8, meta & 0xFF)
    if kind in (types.FLOAT, types.DOUBLE):
        return Code(FLOATING)
    return Code(_TIMES.get(kind, PYTHON))
