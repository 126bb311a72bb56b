"""Values of row images -> SQL literals that a column stores as the same value.

Literals consist of hexadecimal or decimal digits and constants of this module, so that no value can end one. Texts have
the character set of their column and are not converted; times are UTC, as is the session's time zone.
"""

from __future__ import annotations

import struct
from binascii import hexlify
from collections.abc import Callable, Sequence
from math import isfinite
from typing import Final

from replicator.model import types
from replicator.mysql.table_shape import BINARY, ColumnShape
from replicator.sink.mysql import value_texts
from replicator.sink.mysql.image_values import Layout
from replicator.sink.mysql.sql import row_texts
from replicator.sink.mysql.sql.json_literals import document
from replicator.sink.mysql.sql.row_texts import DOCUMENT, HEXADECIMAL, Code, Field, Form, RowTexts, Write

VALUES: Final = Form(begins=b"(", between=b",", ends=b")", joins=b",", null=b"NULL")
"""Rows of INSERT."""
NULL: Final = b"NULL"
FAIL: Final = b"(SELECT 1 UNION ALL SELECT 2)"
"""A subquery that fails with error 1242."""
BYTES: Final = frozenset({types.GEOMETRY, types.VECTOR})
STRINGS: Final = types.CHARACTERS | types.BLOBS
TIMES: Final[dict[int, Callable[[bytes], str]]] = {
    types.DATE: value_texts.date,
    types.DATETIME2: value_texts.date_time,
    types.TIMESTAMP2: value_texts.timestamp,
    types.TIME2: value_texts.time,
}


def literal_of(column: ColumnShape) -> Write:
    """Raises KeyError: the type has no literal."""
    kind, meta = column.type, column.meta
    if kind in types.INTEGERS:
        return _unsigned if column.unsigned else _signed
    if kind in (types.ENUM, types.SET):
        return _unsigned
    if kind == types.BIT:
        return _bits
    if kind == types.YEAR:
        return _year
    if kind == types.NEWDECIMAL:
        precision, scale = meta >> 8, meta & 0xFF
        return lambda value: value_texts.decimal(value, precision, scale).encode()
    if kind == types.FLOAT:
        return lambda value: number(struct.unpack("<f", value)[0])
    if kind == types.DOUBLE:
        return lambda value: number(struct.unpack("<d", value)[0])
    if kind == types.JSON:
        return document
    if kind == types.STRING and column.collation == BINARY:  # images lack zeros at the end, which UUID and INET6 need
        return lambda value: hexadecimal(value.ljust(meta, b"\0"))
    if kind in BYTES or (kind in STRINGS and column.collation == BINARY):
        return hexadecimal
    if kind in STRINGS:
        return _text(column.charset)
    text = TIMES[kind]
    return lambda value: b"'%s'" % text(value).encode()


def rows_of(layout: Layout, columns: Sequence[ColumnShape], written: Sequence[int]) -> RowTexts:
    """Rows of INSERT. Raises KeyError: a type has no literal."""
    fields = [Field(index, literal_of(columns[index]), code_of(columns[index])) for index in written]
    return row_texts.row_texts(layout, fields, row_texts.enum_columns(columns, written), VALUES)


def code_of(column: ColumnShape) -> Code:
    """The same for the compiled code."""
    kind = column.type
    if kind == types.STRING and column.collation == BINARY:
        return Code(HEXADECIMAL, column.meta, 0, b"X'", b"'")
    if kind in BYTES or (kind in STRINGS and column.collation == BINARY):
        return Code(HEXADECIMAL, 0, 0, b"X'", b"'")
    if kind in STRINGS:
        return Code(HEXADECIMAL, 0, 0, f"_{column.charset} X'".encode(), b"'")
    if kind == types.JSON:
        return Code(DOCUMENT, 0, 0, b"_utf8mb4 X'", b"'")
    made = row_texts.code_of(column)
    return made._replace(before=b"'", behind=b"'") if kind in TIMES else made


def hexadecimal(value: bytes) -> bytes:
    return b"X'%s'" % hexlify(value)


def number(value: float) -> bytes:
    """Of a FLOAT or DOUBLE: the shortest digits that are this number alone; the exponent makes it a DOUBLE. MariaDB
    stores 0 for -0."""
    if not isfinite(value):
        raise ValueError("not a number that a server stores")
    text = repr(value)
    return (text if "e" in text else f"{text}e0").encode()


def _text(charset: str) -> Write:
    if not charset.isalnum():
        raise ValueError(charset)
    head = f"_{charset} ".encode()
    return lambda value: b"%sX'%s'" % (head, hexlify(value))


def _signed(value: bytes) -> bytes:
    return b"%d" % int.from_bytes(value, "little", signed=True)


def _unsigned(value: bytes) -> bytes:
    return b"%d" % int.from_bytes(value, "little")


def _bits(value: bytes) -> bytes:
    return b"%d" % int.from_bytes(value, "big")


def _year(value: bytes) -> bytes:
    return b"%d" % (1900 + value[0] if value[0] else 0)
