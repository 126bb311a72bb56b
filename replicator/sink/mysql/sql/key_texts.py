"""Keys in row images -> conditions that find these rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from replicator.model import types
from replicator.mysql.table_shape import BINARY, ColumnShape
from replicator.sink.mysql.conflicts import key_literals
from replicator.sink.mysql.image_values import Layout
from replicator.sink.mysql.sql import row_texts
from replicator.sink.mysql.sql.literals import TIMES
from replicator.sink.mysql.sql.row_texts import HEXADECIMAL, Code, Field, Form, Piece, RowTexts, Write

_JOINS: Final = b"\0"
"""Between the keys of a piece: neither literals nor names have it."""
_FORM: Final = Form(begins=b"", between=b" AND ", ends=b"", joins=_JOINS, null=b"NULL")


class Keys(NamedTuple):
    """
    Attributes:
        names: of the columns of a key, quoted.
        texts: of keys: "1", or "`a`=1 AND `b`=2".
        fields: that these are made of.
    """

    names: tuple[bytes, ...]
    texts: RowTexts
    fields: Sequence[Field]

    def term(self, row: Sequence[bytes | None]) -> bytes:
        """The text of the key of one row, whose values are taken apart."""
        values = ((row[each.column], each.write) for each in self.fields)
        return _FORM.between.join(_FORM.null if value is None else write(value) for value, write in values)

    def condition(self, terms: Sequence[bytes]) -> bytes:
        """Of rows that have one of the keys."""
        if len(self.names) == 1:
            return b"%s IN (%s)" % (self.names[0], b",".join(terms))
        return b" OR ".join(b"(%s)" % term for term in terms)

    def conditions(self, images: bytes, most_rows: int, most: int) -> Iterator[tuple[bytes, int]]:
        """(condition, rows) of all images. Raises as `RowTexts.piece`."""
        for piece in row_texts.pieces(self.texts, images, most_rows, most):
            yield self.condition(piece.text.split(_JOINS)), piece.rows


def keys_of(layout: Layout, columns: Sequence[ColumnShape], names: Sequence[bytes], key: Sequence[int]) -> Keys:
    """`key`: indexes of its columns. Other arguments as those of `SqlTable`."""
    fields = []
    for index in key:
        before = b"%s=" % names[index] if len(key) > 1 else b""
        fields.append(Field(index, _write(columns[index], before), _code(columns[index], before)))
    return Keys(tuple(names[index] for index in key), row_texts.row_texts(layout, fields, (), _FORM), fields)


def terms(piece: Piece) -> list[bytes]:
    """Of the different keys in it."""
    return list(dict.fromkeys(piece.text.split(_JOINS)))


def _write(column: ColumnShape, before: bytes) -> Write:
    literal: Callable[[ColumnShape, bytes], str] = key_literals.literal
    return lambda value: before + literal(column, value).encode()


def _code(column: ColumnShape, before: bytes) -> Code:
    kind = column.type
    if kind in types.CHARACTERS | types.BLOBS:
        if column.collation == BINARY:
            filled = column.meta if kind == types.STRING else 0
            return Code(HEXADECIMAL, filled, 0, before + b"X'", b"'")
        return Code(
            HEXADECIMAL, 0, 0, before + f"_{column.charset} X'".encode(), f"' COLLATE {column.collation_name}".encode()
        )
    quote = b"'" if kind in TIMES else b""
    return row_texts.code_of(column)._replace(before=before + quote, behind=quote)
