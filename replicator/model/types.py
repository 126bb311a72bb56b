"""The binlog's type bytes (`enum_field_types` of both servers) and the layout of `Column.meta` for each.

`Column.meta` holds a type's metadata as one integer, put together as the servers' own `read_field_metadata` does:

    FLOAT, DOUBLE                       size of the value in bytes
    VARCHAR, VAR_STRING                 largest length in bytes
    BLOB, GEOMETRY, JSON, VECTOR        size of the length prefix, 1 to 4 bytes
    NEWDECIMAL                          precision << 8 | scale
    BIT                                 whole bytes << 8 | bits above them
    STRING                              largest length in bytes (the two bits hidden in the type byte undone)
    ENUM, SET                           size of the value in bytes
    TIME2, TIMESTAMP2, DATETIME2        digits of the fraction, 0 to 6
    all others                          0
"""

from __future__ import annotations

from typing import Final

DECIMAL: Final = 0
TINY: Final = 1
SHORT: Final = 2
LONG: Final = 3
FLOAT: Final = 4
DOUBLE: Final = 5
NULL: Final = 6
TIMESTAMP: Final = 7
LONGLONG: Final = 8
INT24: Final = 9
DATE: Final = 10
TIME: Final = 11
DATETIME: Final = 12
YEAR: Final = 13
NEWDATE: Final = 14
VARCHAR: Final = 15
BIT: Final = 16
TIMESTAMP2: Final = 17
DATETIME2: Final = 18
TIME2: Final = 19
MARIADB_BLOB_COMPRESSED: Final = 140
MARIADB_VARCHAR_COMPRESSED: Final = 141
VECTOR: Final = 242
JSON: Final = 245
NEWDECIMAL: Final = 246
ENUM: Final = 247
SET: Final = 248
TINY_BLOB: Final = 249
MEDIUM_BLOB: Final = 250
LONG_BLOB: Final = 251
BLOB: Final = 252
VAR_STRING: Final = 253
STRING: Final = 254
GEOMETRY: Final = 255

NAMES: Final[dict[int, str]] = {value: name for name, value in list(globals().items()) if isinstance(value, int)}
"""For messages: type byte -> name."""

INTEGERS: Final = frozenset({TINY, SHORT, INT24, LONG, LONGLONG})
CHARACTERS: Final = frozenset({VARCHAR, VAR_STRING, STRING})
BLOBS: Final = frozenset({TINY_BLOB, BLOB, MEDIUM_BLOB, LONG_BLOB})
ONE_BYTE_META: Final = BLOBS | {
    FLOAT, DOUBLE, TIME2, TIMESTAMP2, DATETIME2, GEOMETRY, JSON, VECTOR, MARIADB_BLOB_COMPRESSED
}  # fmt: skip
"""Types whose metadata in a table map is one byte."""
COMPRESSED: Final = frozenset({MARIADB_BLOB_COMPRESSED, MARIADB_VARCHAR_COMPRESSED})
"""Of MariaDB: characters or bytes, as the collation says."""
BINARY_COLLATION: Final = 63


def prefix_of(kind: int, meta: int) -> int:
    """Bytes of the length in front of a value of text or bytes, as its metadata has it."""
    if kind in BLOBS:
        return meta
    return 1 if meta < 256 else 2
