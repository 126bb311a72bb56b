"""Which compiled writer does what a renderer does; the twin's renderer itself, for the rest.

A writer is (number, a, b, text): see `Writer` in compiled/values.pxd. Every value has the twin's renderer beside it,
which the compiled code asks for what is rare, so that nothing here has to be complete.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from replicator.decode import charsets
from replicator.decode.extents import fixed_size
from replicator.decode.rendering import Rendering
from replicator.model import types
from replicator.model.table import Column

BY_PYTHON: Final = 0
REMEMBERED: Final = 1
SIGNED: Final = 2
UNSIGNED: Final = 3
DECIMAL_BASE64: Final = 4
DOUBLE_JAVA: Final = 7
FLOAT_JAVA: Final = 8
TEXT_UTF8: Final = 9
TEXT_ASCII: Final = 10
BASE64: Final = 11
DATE_DAYS: Final = 12
DATETIME_EPOCH: Final = 13
TIMESTAMP_ISO: Final = 14
TIME_US: Final = 15
JSON_STRING: Final = 16

SIGNED_STRING: Final = 18
UNSIGNED_STRING: Final = 19
JSON_TEXT: Final = 17
DECIMAL_STRING: Final = 6
BIG_UNSIGNED: Final = 20
DECIMAL_JAVA: Final = 21
DATETIME_TEXT: Final = 22
TIMESTAMP_TEXT: Final = 23
TIME_TEXT: Final = 24

_RAW_BEYOND: Final = 1
_LOWER: Final = 2
_WIDEST_REMEMBERED: Final = 8
_NOT_ASCII: Final = frozenset({"swe7", "ucs2", "utf16", "utf16le", "utf32"})


class Writer(NamedTuple):
    number: int
    a: int = 0
    b: int = 0
    text: bytes = b""


Chooser: TypeAlias = Callable[[Column], "Writer | None"]


def writer(name: str, column: Column, rendering: Rendering) -> Writer:
    """For a column that the twin's renderer `name` has accepted."""
    chooser = _CHOOSERS.get(name)
    chosen = chooser(column) if chooser is not None else None
    if chosen is not None:
        return chosen
    size = fixed_size(column)
    if size is not None and size <= _WIDEST_REMEMBERED:
        return Writer(REMEMBERED)
    return Writer(BY_PYTHON)


def renderer(rendering: Rendering) -> Callable[[bytes], str]:
    """The twin's renderer as a function of the raw bytes."""
    function: Callable[..., str] = eval(  # noqa: S307 of this package's renderers
        f"lambda v: {rendering.expression}", dict(rendering.names)
    )
    if rendering.cut == "bytes":
        return function
    if rendering.cut == "text":
        return lambda raw: function(raw.decode("latin-1"))
    unpack = struct.Struct(rendering.cut).unpack
    return lambda raw: function(*unpack(raw))


def _integer(column: Column) -> Writer:
    return Writer(UNSIGNED if column.unsigned else SIGNED)


def _integer_java(column: Column) -> Writer:
    return Writer(SIGNED) if column.type == types.LONGLONG else _integer(column)


def _decimal(column: Column) -> Writer:
    return Writer(DECIMAL_BASE64, column.meta >> 8, column.meta & 0xFF)


def _floating(column: Column) -> Writer:
    return Writer(FLOAT_JAVA if column.type == types.FLOAT else DOUBLE_JAVA)


def _text(column: Column) -> Writer | None:
    if column.type in types.COMPRESSED or column.collation is None:
        return None
    if charsets.is_utf8(column.collation):
        return Writer(TEXT_UTF8)
    if charsets.charset(column.collation) in _NOT_ASCII:
        return None
    return Writer(TEXT_ASCII)


def _binary(column: Column) -> Writer | None:
    if column.type in types.COMPRESSED:
        return None
    return Writer(BASE64, column.meta if column.type == types.STRING else 0)


def _days(column: Column) -> Writer:
    return Writer(DATE_DAYS, text=b"null" if column.nullable else b"0")


def _datetime(unit: int) -> Chooser:
    def choose(column: Column) -> Writer | None:
        if column.type != types.DATETIME2:
            return None
        return Writer(DATETIME_EPOCH, column.meta, unit, b"null" if column.nullable else b"0")

    return choose


def _timestamp(column: Column) -> Writer | None:
    if column.type != types.TIMESTAMP2:
        return None
    fraction = "." + "0" * column.meta if column.meta else ""
    epoch = f'"1970-01-01T00:00:00{fraction}Z"'.encode()
    return Writer(TIMESTAMP_ISO, column.meta, text=b"null" if column.nullable else epoch)


def _time(column: Column) -> Writer | None:
    return Writer(TIME_US, column.meta) if column.type == types.TIME2 else None


def _json(column: Column) -> Writer:
    return Writer(JSON_STRING)


def _json_text(column: Column) -> Writer:
    return Writer(JSON_TEXT)


def _decimal_of(number: int) -> Chooser:
    return lambda column: Writer(number, column.meta >> 8, column.meta & 0xFF)


def _bit_number(column: Column) -> Writer | None:
    return Writer(BIG_UNSIGNED)


def _temporal(column: Column) -> Writer | None:
    number = _TEXTS.get(column.type)
    return None if number is None else Writer(number, column.meta)


def _temporal_or_null(column: Column) -> Writer | None:
    number = _TEXTS.get(column.type)
    return None if number is None else Writer(number, column.meta, 1)


def _canal(column: Column) -> Writer | None:
    if column.type in types.INTEGERS:
        return Writer(UNSIGNED_STRING if column.unsigned else SIGNED_STRING)
    if column.type in (types.ENUM, types.SET):
        return Writer(UNSIGNED_STRING)
    if column.type == types.NEWDECIMAL:
        return Writer(DECIMAL_STRING, column.meta >> 8, column.meta & 0xFF)
    if column.type in (types.FLOAT, types.DOUBLE):
        return Writer(_floating(column).number, 1)
    if column.type in types.CHARACTERS | types.BLOBS and column.collation != types.BINARY_COLLATION:
        chosen = _text(column)
        return Writer(TEXT_UTF8, _RAW_BEYOND | _LOWER) if chosen == Writer(TEXT_UTF8) else chosen
    return _temporal(column)


_TEXTS: Final = {types.DATETIME2: DATETIME_TEXT, types.TIMESTAMP2: TIMESTAMP_TEXT, types.TIME2: TIME_TEXT}

_CHOOSERS: Final[dict[str, Chooser]] = {
    "int": _integer,
    "int_java": _integer_java,
    "decimal_base64": _decimal,
    "float_java": _floating,
    "text": _text,
    "base64": _binary,
    "date_days": _days,
    "datetime_ms": _datetime(1000),
    "datetime_us": _datetime(1_000_000),
    "timestamp_iso": _timestamp,
    "time_us": _time,
    "json_string": _json,
    "json": _json_text,
    "decimal_java": _decimal_of(DECIMAL_JAVA),
    "decimal_string": _decimal_of(DECIMAL_STRING),
    "bit_int": _bit_number,
    "temporal": _temporal,
    "temporal_or_null": _temporal_or_null,
    "canal": _canal,
}
