"""Runs of inserted rows -> LOAD DATA LOCAL, whose rows are made while the server reads them.

With LOCAL a server goes on where a row is refused: it leaves the row out, or stores another value, and counts a
warning. So the statement behind it fails with error 1242 unless all rows were inserted without one, and the rows are
then inserted by INSERT, which says what is wrong (`Transaction`).

A row is its fields with a tab between them and a newline behind them. Fields of texts and bytes are those of the image,
as `CHARACTER SET binary` converts nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple

from replicator.model import types
from replicator.mysql.statement_text import LongText, Text, loading
from replicator.mysql.table_shape import BINARY, ColumnShape
from replicator.sink.mysql.image_values import Layout
from replicator.sink.mysql.row_runs import Run
from replicator.sink.mysql.sql import literals, row_texts
from replicator.sink.mysql.sql.json_literals import text_of
from replicator.sink.mysql.sql.row_texts import DOCUMENT, ESCAPED, Code, Field, Form, RowTexts, Write

FEWEST: Final = 200
"""Rows of a run from which on LOAD DATA is faster than INSERT: it takes a round trip, and two statements behind it."""
_NAME: Final = b"replicator"
"""Of the file that the server asks for. There is none."""
_FORMAT: Final = (
    b" CHARACTER SET binary FIELDS TERMINATED BY '\\t' ENCLOSED BY '' ESCAPED BY '\\\\'"
    b" LINES TERMINATED BY '\\n' STARTING BY '' "
)
LINES: Final = Form(begins=b"", between=b"\t", ends=b"\n", joins=b"", null=b"\\N")
_ROWS: Final = -1  # any number in a piece
_COUNTED: Final = b"SET @replicator_warnings = @@warning_count, @replicator_rows = ROW_COUNT()"
"""Directly behind LOAD DATA: any other statement sets both anew, as does one with a subquery before it reads them."""
_PIECE: Final = 256 << 10
_NUMBERS: Final = frozenset({types.ENUM, types.SET, types.BIT})
"""A text would be the member of that name, or bits: only a number is the same in each column."""

_WIDER: Final = {"utf8": "utf8mb4", "utf8mb3": "utf8mb4", "ucs2": "utf16"}
"""Character sets with the same bytes for the same texts; MySQL warns of the names of the narrower ones."""


class LoadedTable(NamedTuple):
    """
    Attributes:
        statement: LOAD DATA LOCAL into the table.
        texts: its rows.
    """

    statement: bytes
    texts: RowTexts


def loaded(
    table: bytes, layout: Layout, columns: tuple[ColumnShape, ...], names: tuple[bytes, ...], written: tuple[int, ...]
) -> LoadedTable:
    """Arguments as those of `SqlTable`. Raises KeyError: a type has no field."""
    targets, sets = [], []
    for number, index in enumerate(written):
        variable = b"@replicator_%d" % number
        made = _expression(columns[index], variable)
        targets.append(names[index] if made is None else variable)
        if made is not None:
            sets.append(b"%s=%s" % (names[index], made))
    statement = b"LOAD DATA LOCAL INFILE '%s' INTO TABLE %s%s(%s)" % (_NAME, table, _FORMAT, b",".join(targets))
    if sets:
        statement += b" SET " + b",".join(sets)
    fields = [Field(index, write_of(columns[index]), code_of(columns[index])) for index in written]
    return LoadedTable(statement, row_texts.row_texts(layout, fields, row_texts.enum_columns(columns, written), LINES))


def _expression(column: ColumnShape, variable: bytes) -> bytes | None:
    """The SQL expression that the column is set to; None: the field is stored as it is.

    Texts have their character set, as literals have: bytes would be taken for those of the column, whose character set
    may have been changed meanwhile.
    """
    kind = column.type
    if kind in _NUMBERS:
        return b"CAST(%s AS UNSIGNED)" % variable
    if kind == types.JSON:
        return b"CONVERT(%s USING utf8mb4)" % variable
    if kind in literals.STRINGS and column.collation != BINARY:
        charset = _WIDER.get(column.charset, column.charset)
        return b"CONVERT(%s USING %s)" % (variable, charset.encode())
    return None


def statements(table: LoadedTable, run: Run) -> Iterator[Text]:
    """`run`: of inserted rows."""
    yield _loading(table, run)
    yield _COUNTED
    failing = literals.FAIL
    yield b"SET @replicator_rows = IF(@replicator_warnings = 0 AND @replicator_rows = %d, 1, %s)" % (
        run.records,
        failing,
    )


def _loading(table: LoadedTable, run: Run) -> LongText:
    return loading(table.statement, partial(_rows, table, run.images))


def _rows(table: LoadedTable, images: bytes) -> Iterator[bytes]:
    """Ends early in front of a value that has no text, or that only INSERT takes: then rows are missing, and INSERT
    repeats all of them."""
    try:
        for piece in row_texts.pieces(table.texts, images, _ROWS, _PIECE):
            if piece.lenient:
                return
            yield piece.text
    except row_texts.NO_TEXT:
        return


def code_of(column: ColumnShape) -> Code:
    """As `write_of`, for the compiled code."""
    kind = column.type
    if kind == types.STRING and column.collation == BINARY:
        return Code(ESCAPED, column.meta)
    if kind in literals.BYTES | literals.STRINGS:
        return Code(ESCAPED)
    if kind == types.JSON:
        return Code(DOCUMENT, 1)
    return row_texts.code_of(column)


def write_of(column: ColumnShape) -> Write:
    """As `literal_of`, for what follows the same rules: numbers and times are the same digits."""
    kind, meta = column.type, column.meta
    if kind == types.YEAR:
        return lambda value: b"%d" % (1900 + value[0]) if value[0] else b"0000"  # 0 would be 2000
    if kind == types.JSON:
        return _json
    if kind == types.STRING and column.collation == BINARY:
        return lambda value: _escaped(value.ljust(meta, b"\0"))
    if kind in literals.BYTES | literals.STRINGS:
        return _escaped
    text = literals.TIMES.get(kind)
    if text is not None:
        return lambda value: text(value).encode()
    return literals.literal_of(column)  # of numbers


def _escaped(value: bytes) -> bytes:
    if b"\\" in value:
        value = value.replace(b"\\", b"\\\\")
    if b"\t" in value:
        value = value.replace(b"\t", b"\\t")
    if b"\n" in value:
        value = value.replace(b"\n", b"\\n")
    return value


def _json(value: bytes) -> bytes:
    text = text_of(value)
    if text is None:
        raise ValueError("a document that no JSON text is equal to")
    return _escaped(text)
