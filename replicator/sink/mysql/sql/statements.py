"""Runs of row images -> INSERT, UPDATE and DELETE statements of many rows, in the order of the rows.

A statement that has not met all of its rows is followed, or preceded, by one that fails with error 1242: the server
stops there, before the COMMIT of the same packet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from replicator.model import types
from replicator.model.column_sizes import fixed_size, prefix_size
from replicator.model.table import Column
from replicator.mysql.identifiers import quote_identifier
from replicator.mysql.statement_text import Text
from replicator.mysql.table_shape import ColumnShape, TableShape
from replicator.sink.mysql.image_values import Layout, iter_values
from replicator.sink.mysql.row_runs import Run
from replicator.sink.mysql.sql import key_texts, load_data, row_texts
from replicator.sink.mysql.sql.key_texts import Keys, keys_of
from replicator.sink.mysql.sql.literals import FAIL, NULL
from replicator.sink.mysql.sql.row_texts import Piece
from replicator.sink.mysql.sql.sql_table import SqlTable

MODE: Final = "STRICT_TRANS_TABLES,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES"
"""sql_mode of sessions that write rows."""
_STRICT: Final = f"SET SESSION sql_mode = '{MODE}'".encode()
_LENIENT: Final = b"SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES'"
"""For ENUM values 0, which are no members: a strict session refuses them."""
_CHECKED: Final = b"SET SESSION foreign_key_checks = 1"
_UNCHECKED: Final = b"SET SESSION foreign_key_checks = 0"
RESTORED: Final = (_STRICT, _CHECKED)
"""What a session gets back after an error in the middle of statements."""
_ROWS: Final = 500
"""In one statement: more keys than a range of an index takes become a scan of the table."""
_BYTES: Final = 1 << 20
_ANY: Final = 1 << 62
_UTF8: Final = frozenset({"utf8", "utf8mb3", "utf8mb4"})


def statements(table: SqlTable, run: Run, *, load: bool = False) -> Iterator[Text]:
    """`load`: LOAD DATA may be used for inserted rows. Raises ValueError: a value has no literal, or an image is
    damaged."""
    operation = run.operation[-1:]
    if operation == b"D":
        yield from _deletions(table.name, table.hint, table.keys, run.images)
    elif operation == b"U":
        yield from _updates(table, run.images)
    elif load and run.records >= load_data.FEWEST:
        yield from load_data.statements(table.loaded, run)
    else:
        yield from _inserts(table, run.images)


def unchecked(made: Iterable[Text]) -> Iterator[Text]:
    """Without foreign keys."""
    yield _UNCHECKED
    yield from made
    yield _CHECKED


def deletion_of(shape: TableShape, images: Sequence[bytes]) -> Iterator[bytes]:
    """`shape`: the columns of a key, which the images have."""
    layout = Layout(tuple(map(_size, shape.columns)), ())
    table = f"{quote_identifier(shape.database)}.{quote_identifier(shape.name)}".encode()
    names = [quote_identifier(column.name).encode() for column in shape.columns]
    keys = keys_of(layout, shape.columns, names, range(len(names)))
    yield from _deletions(table, b"", keys, b"".join(images))


def _deletions(table: bytes, hint: bytes, keys: Keys, images: bytes) -> Iterator[bytes]:
    """Of many tables, for the sake of the hint, which a DELETE of one table cannot have."""
    for condition, rows in keys.conditions(images, _ROWS, _BYTES):
        yield b"DELETE %s FROM %s%s WHERE %s" % (table, table, hint, condition)
        yield _matched(rows)


def _inserts(table: SqlTable, images: bytes) -> Iterator[bytes]:
    head, at = _insert(table), 0
    for piece in row_texts.pieces(table.texts, images, _ROWS, _BYTES):
        if piece.lenient:
            _check_texts(table, images[at : piece.end])
        at = piece.end
        yield from _in_mode([head + piece.text], lenient=piece.lenient)


def _updates(table: SqlTable, images: bytes) -> Iterator[bytes]:
    """Of many rows at once where their keys remain: as INSERT ... ON DUPLICATE KEY UPDATE, behind a statement that has
    found all of them. The server finds a row by its primary key first, so that none is inserted and none of another
    key is changed."""
    befores, afters = table.texts.halves(images)
    keys = table.keys.texts
    old = new = 0
    while new < len(afters):
        piece = Piece(*table.texts.piece(afters, new, _ROWS, _BYTES))
        found = Piece(*keys.piece(befores, old, piece.rows, _ANY))
        here = afters[new : piece.end]
        if piece.lenient:
            _check_texts(table, here)
        if table.merges and found.text == keys.piece(afters, new, piece.rows, _ANY)[0]:
            yield from _merged(table, found, piece)
        else:
            for before, after in zip(
                iter_values(befores[old : found.end], table.layout), iter_values(here, table.layout), strict=True
            ):
                yield from _update(table, before, after, lenient=piece.lenient)
        old, new = found.end, piece.end


def _merged(table: SqlTable, found: Piece, piece: Piece) -> Iterator[bytes]:
    terms = key_texts.terms(found)
    condition = table.keys.condition(terms)
    count = b"(SELECT COUNT(*) FROM %s%s WHERE %s FOR UPDATE)" % (table.name, table.hint, condition)
    yield b"SET @replicator_rows = IF(%s = %d, 1, %s)" % (count, len(terms), FAIL)
    yield from _in_mode([_insert(table) + piece.text + _on_duplicate(table)], lenient=piece.lenient)


def _update(table: SqlTable, old: list[bytes | None], new: list[bytes | None], *, lenient: bool) -> Iterator[bytes]:
    texts = [NULL if (value := new[index]) is None else table.literals[index](value) for index in table.written]
    sets = [b"%s=%s" % (table.names[index], text) for index, text in zip(table.written, texts, strict=True)]
    sets += [b"%s=%s" % (name, name) for name in table.kept]
    where = table.keys.condition([table.keys.term(old)])
    update = b"UPDATE %s%s SET %s WHERE %s" % (table.name, table.hint, b",".join(sets), where)
    yield from _in_mode([update, _matched(1)], lenient=lenient)


def _in_mode(made: Sequence[bytes], *, lenient: bool) -> Iterator[bytes]:
    if lenient:
        yield _LENIENT
    yield from made
    if lenient:
        yield _STRICT


def _matched(rows: int) -> bytes:
    """Sessions have CLIENT_FOUND_ROWS: a row that has the values already counts."""
    return b"SET @replicator_rows = IF(ROW_COUNT() = %d, 1, %s)" % (rows, FAIL)


def _insert(table: SqlTable) -> bytes:
    return b"INSERT INTO %s (%s) VALUES " % (table.name, b",".join(table.names[index] for index in table.written))


def _on_duplicate(table: SqlTable) -> bytes:
    new = b"%s=replicator_new.%s" if table.alias else b"%s=VALUES(%s)"
    sets = [new % (table.names[index], table.names[index]) for index in table.written]
    sets += [b"%s=%s.%s" % (name, table.name, name) for name in table.kept]
    return b"%s ON DUPLICATE KEY UPDATE %s" % (b" AS replicator_new" if table.alias else b"", b",".join(sets))


def _check_texts(table: SqlTable, images: bytes) -> None:
    """Raises ValueError: a session that is not strict would cut a text that is none."""
    for row in iter_values(images, table.layout):
        for index in table.written:
            if table.columns[index].charset in _UTF8 and table.columns[index].type not in (types.ENUM, types.SET):
                (row[index] or b"").decode()


def _size(shape: ColumnShape) -> int:
    column = Column(0, shape.name, shape.type, shape.meta)
    size = fixed_size(column)
    return -prefix_size(column) if size is None else size
