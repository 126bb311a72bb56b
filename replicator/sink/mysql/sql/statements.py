"""Runs of row images -> INSERT, UPDATE and DELETE statements of many rows, in the order of the rows.

A statement that has not met all of its rows is followed, or preceded, by one that fails with error 1242: the server
stops there, before the COMMIT of the same packet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from replicator.model import types
from replicator.model.column_sizes import fixed_size, prefix_size
from replicator.model.table import Column
from replicator.mysql.identifiers import quote_identifier
from replicator.mysql.statement_text import Text
from replicator.mysql.table_shape import ColumnShape, TableShape
from replicator.sink.mysql.conflicts import key_literals
from replicator.sink.mysql.image_values import Change, Layout, changes, each, values
from replicator.sink.mysql.row_runs import Run
from replicator.sink.mysql.sql import load_data, row_texts
from replicator.sink.mysql.sql.literals import FAIL, NULL
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
_UTF8: Final = frozenset({"utf8", "utf8mb3", "utf8mb4"})


class _Row(NamedTuple):
    """`key`: condition that finds the row; b"": none is wanted. `values`: literals of it afterwards."""

    key: bytes
    values: bytes
    lenient: bool


def statements(table: SqlTable, run: Run, *, load: bool = False) -> Iterator[Text]:
    """`load`: LOAD DATA may be used for inserted rows. Raises ValueError: a value has no literal, or an image is
    damaged."""
    operation, found = run.operation[-1:], changes(run, table.layout)
    if operation == b"D":
        yield from _deletes(table, found)
    elif operation == b"U":
        yield from _updates(table, found)
    elif load and run.records >= load_data.FEWEST:
        yield from load_data.statements(table.loaded, run)
    else:
        yield from _inserts(table, run.images)


def unchecked(made: Iterable[Text]) -> Iterator[Text]:
    """Without foreign keys."""
    yield _UNCHECKED
    yield from made
    yield _CHECKED


def deletion(table: bytes, hint: bytes, condition: bytes, rows: int) -> tuple[bytes, bytes]:
    """Of many tables, for the sake of the hint, which a DELETE of one table cannot have."""
    text = b"DELETE %s FROM %s%s WHERE %s" % (table, table, hint, condition)
    return text, _matched(rows)


def deletion_of(shape: TableShape, images: Sequence[bytes]) -> Iterator[bytes]:
    """`shape`: the columns of a key, which the images have."""
    layout = Layout(tuple(map(_size, shape.columns)), ())
    table = f"{quote_identifier(shape.database)}.{quote_identifier(shape.name)}".encode()
    names = [quote_identifier(column.name).encode() for column in shape.columns]
    keys = (
        term(
            names,
            [_key_text(column, value) for column, value in zip(shape.columns, values(image, layout), strict=True)],
        )
        for image in images
    )
    for _, part in _parts(_Row(key, b"", False) for key in keys):
        yield from deletion(table, b"", condition(names, [row.key for row in part]), len(part))


def condition(names: Sequence[bytes], terms: Sequence[bytes]) -> bytes:
    """Of rows that have one of the keys. `terms`: see `term`."""
    if len(names) == 1:
        return b"%s IN (%s)" % (names[0], b",".join(terms))
    return b" OR ".join(b"(%s)" % term for term in terms)


def term(names: Sequence[bytes], texts: Sequence[bytes]) -> bytes:
    return texts[0] if len(texts) == 1 else b" AND ".join(map(b"=".join, zip(names, texts, strict=True)))


def _inserts(table: SqlTable, images: bytes) -> Iterator[bytes]:
    head, at = _insert(table), 0
    for piece in row_texts.pieces(table.texts, images, _ROWS, _BYTES):
        if piece.lenient:
            for row in each(images[at : piece.end], table.layout):
                _check_texts(table, row)
        at = piece.end
        yield from _in_mode([head + piece.text], lenient=piece.lenient)


def _deletes(table: SqlTable, found: Iterable[Change]) -> Iterator[bytes]:
    names = [table.names[index] for index in table.key]
    keys = (_Row(_key(table, values(before or b"", table.layout)), b"", False) for before, _ in found)
    for _, part in _parts(keys):
        yield from deletion(table.name, table.hint, condition(names, [row.key for row in part]), len(part))


def _updates(table: SqlTable, found: Iterable[Change]) -> Iterator[bytes]:
    """Of many rows at once where their keys remain: as INSERT ... ON DUPLICATE KEY UPDATE, behind a statement that has
    found all of them. The server finds a row by its primary key first, so that none is inserted and none of another
    key is changed."""
    waiting: list[_Row] = []
    for before, after in found:
        old, new = values(before or b"", table.layout), values(after or b"", table.layout)
        same = all(old[index] == new[index] for index in table.key)
        if table.merges and same:
            waiting.append(_made(table, new, _key(table, old)))
            continue
        yield from _merged(table, waiting)
        waiting = []
        yield from _update(table, old, new)
    yield from _merged(table, waiting)


def _merged(table: SqlTable, rows: Sequence[_Row]) -> Iterator[bytes]:
    names = [table.names[index] for index in table.key]
    head, tail = _insert(table), _on_duplicate(table)
    for lenient, part in _parts(rows):
        keys = list(dict.fromkeys(row.key for row in part))
        count = b"(SELECT COUNT(*) FROM %s%s WHERE %s FOR UPDATE)" % (table.name, table.hint, condition(names, keys))
        text = head + b",".join(row.values for row in part) + tail
        yield b"SET @replicator_rows = IF(%s = %d, 1, %s)" % (count, len(keys), FAIL)
        yield from _in_mode([text], lenient=lenient)


def _update(table: SqlTable, old: list[bytes | None], new: list[bytes | None]) -> Iterator[bytes]:
    names = [table.names[index] for index in table.key]
    texts = _literals(table, new)
    sets = [b"%s=%s" % (table.names[index], text) for index, text in zip(table.written, texts, strict=True)]
    sets += [b"%s=%s" % (name, name) for name in table.kept]
    where = condition(names, [_key(table, old)])
    update = b"UPDATE %s%s SET %s WHERE %s" % (table.name, table.hint, b",".join(sets), where)
    yield from _in_mode([update, _matched(1)], lenient=_is_lenient(table, new))


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


def _parts(rows: Iterable[_Row]) -> Iterator[tuple[bool, list[_Row]]]:
    """As many in each as a statement takes."""
    part: list[_Row] = []
    size = 0
    for row in rows:
        its = len(row.key) + len(row.values)
        if part and (row.lenient != part[0].lenient or len(part) == _ROWS or size + its > _BYTES):
            yield part[0].lenient, part
            part, size = [], 0
        part.append(row)
        size += its
    if part:
        yield part[0].lenient, part


def _made(table: SqlTable, row: list[bytes | None], key: bytes) -> _Row:
    return _Row(key, b"(%s)" % b",".join(_literals(table, row)), _is_lenient(table, row))


def _literals(table: SqlTable, row: list[bytes | None]) -> list[bytes]:
    literals = table.literals
    return [NULL if (value := row[index]) is None else literals[index](value) for index in table.written]


def _is_lenient(table: SqlTable, row: list[bytes | None]) -> bool:
    """Raises as `_check_texts`."""
    lenient = any((value := row[index]) is not None and not any(value) for index in table.enums)
    if lenient:
        _check_texts(table, row)
    return lenient


def _check_texts(table: SqlTable, row: list[bytes | None]) -> None:
    """Raises ValueError: a session that is not strict would cut a text that is none."""
    for index in table.written:
        if table.columns[index].charset in _UTF8 and table.columns[index].type not in (types.ENUM, types.SET):
            (row[index] or b"").decode()


def _key(table: SqlTable, row: list[bytes | None]) -> bytes:
    texts = [_key_text(table.columns[index], row[index]) for index in table.key]
    return term([table.names[index] for index in table.key], texts)


def _key_text(column: ColumnShape, value: bytes | None) -> bytes:
    if value is None:
        raise ValueError(f"NULL in the key column {column.name}")
    return key_literals.literal(column, value).encode()


def _size(shape: ColumnShape) -> int:
    column = Column(0, shape.name, shape.type, shape.meta)
    size = fixed_size(column)
    return -prefix_size(column) if size is None else size
