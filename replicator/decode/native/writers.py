"""Maps each renderer to its compiled writer, or to the Python renderer where there is none.

A writer is (name, a, b, text): see `Writer` in compiled/values.pxd, which numbers them. Every value has the twin's
renderer beside it, which the compiled code asks for what is rare, so that nothing here has to be complete.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from replicator.decode.renderers import canal
from replicator.decode.renderers.contract import Rendering
from replicator.decode.renderers.raw_values import renderer
from replicator.decode.renderers.text import NOT_ASCII
from replicator.decode.values import charsets
from replicator.model import types
from replicator.model.column_sizes import fixed_size
from replicator.model.table import Column

BY_PYTHON: Final = "by_python"
REMEMBERED: Final = "remembered"
SIGNED: Final = "signed"
UNSIGNED: Final = "unsigned"
DECIMAL_BASE64: Final = "decimal_base64"
DECIMAL_STRING: Final = "decimal_string"
DOUBLE_JAVA: Final = "double_java"
FLOAT_JAVA: Final = "float_java"
TEXT_UTF8: Final = "text_utf8"
TEXT_ASCII: Final = "text_ascii"
BASE64: Final = "base64"
DATE_DAYS: Final = "date_days"
DATETIME_EPOCH: Final = "datetime_epoch"
TIMESTAMP_ISO: Final = "timestamp_iso"
TIME_US: Final = "time_us"
JSON_STRING: Final = "json_string"
JSON_TEXT: Final = "json_text"
SIGNED_STRING: Final = "signed_string"
UNSIGNED_STRING: Final = "unsigned_string"
BIG_UNSIGNED: Final = "big_unsigned"
DECIMAL_JAVA: Final = "decimal_java"
DATETIME_TEXT: Final = "datetime_text"
TIMESTAMP_TEXT: Final = "timestamp_text"
TIME_TEXT: Final = "time_text"
DATE_TEXT: Final = "date_text"
DATE_ISO: Final = "date_iso"
DATETIME_NS: Final = "datetime_ns"
DATETIME_ISO: Final = "datetime_iso"
TIME_MS: Final = "time_ms"
TIME_NS: Final = "time_ns"
TIME_ISO: Final = "time_iso"
HEX: Final = "hex"
LATIN1: Final = "latin1"
BIT_BASE64: Final = "bit_base64"
UNSCALED: Final = "unscaled"
BOOLEAN: Final = "boolean"
CONSTANT: Final = "constant"
BEYOND: Final = "beyond"

_RAW_BEYOND: Final = 1
_LOWER: Final = 2
_SPACED: Final = 1
_WINDOWED: Final = 16
_WIDEST_REMEMBERED: Final = 8
_DATES: Final = frozenset({types.DATE, types.NEWDATE})


class Writer(NamedTuple):
    name: str
    a: int = 0
    b: int = 0
    text: bytes = b""


Chooser: TypeAlias = Callable[[Column], "Writer | None"]
Dated: TypeAlias = Callable[[Column, str | None, int], "Writer | None"]
"""Of a column, with what is written for dates that are none (None: as the column's nullability has it), and a flag."""


def writer(name: str, column: Column, rendering: Rendering) -> Writer:
    """For a column that the twin's renderer `name` has accepted."""
    chosen = _dated(name, column)
    if chosen is None and name in _CHOOSERS:
        chosen = _CHOOSERS[name](column)
    if chosen is not None:
        return chosen
    size = fixed_size(column)
    if size is not None and size <= _WIDEST_REMEMBERED:
        return Writer(REMEMBERED)
    return Writer(BY_PYTHON)


def asked(chosen: Writer, rendering: Rendering) -> Callable[[bytes], str]:
    """The twin's renderer as a function of the raw bytes, for the values that a writer asks it for. Where these are
    rare it is made when the first one comes: most tables never have one, and it takes a compilation for each column."""
    if chosen.name in (REMEMBERED, BY_PYTHON):
        return renderer(rendering)
    made: Callable[[bytes], str] | None = None

    def rarely(raw: bytes) -> str:
        nonlocal made
        if made is None:
            made = renderer(rendering)
        return made(raw)

    return rarely


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
    if charsets.charset(column.collation) in NOT_ASCII:
        return None
    return Writer(TEXT_ASCII)


def _bytes(name: str, *, url: bool = False) -> Chooser:
    """The binlog cuts the trailing zeros of BINARY(n) off."""

    def choose(column: Column) -> Writer | None:
        if column.type in types.COMPRESSED:
            return None
        return Writer(name, column.meta if column.type == types.STRING else 0, int(url))

    return choose


def _bit(column: Column) -> Writer:
    return Writer(BOOLEAN if column.meta == 1 else BIT_BASE64)


def _dated(name: str, column: Column) -> Writer | None:
    """NAME, NAME_windowed, either of them with :TEXT."""
    name, takes, text = name.partition(":")
    base = name.removesuffix("_windowed")
    chooser = _DATED.get(base)
    return chooser(column, text if takes else None, _WINDOWED if base != name else 0) if chooser is not None else None


def _or_else(column: Column, invalid: str | None, zero: str) -> bytes:
    if invalid is None:
        invalid = "null" if column.nullable else zero
    return invalid.encode("latin-1")


def _date(name: str, zero: str) -> Dated:
    def choose(column: Column, invalid: str | None, windowed: int) -> Writer | None:
        return Writer(name, windowed, text=_or_else(column, invalid, zero))

    return choose


def _datetime(name: str, zero: str = "0", unit: int = 0) -> Dated:
    def choose(column: Column, invalid: str | None, windowed: int) -> Writer | None:
        if column.type != types.DATETIME2:
            return None
        return Writer(name, column.meta | windowed, unit, _or_else(column, invalid, zero))

    return choose


def _timestamp(column: Column, invalid: str | None, windowed: int) -> Writer | None:
    if column.type != types.TIMESTAMP2:
        return None
    fraction = "." + "0" * column.meta if column.meta else ""
    zero = f'"1970-01-01T00:00:00{fraction}Z"'
    return Writer(TIMESTAMP_ISO, column.meta, text=_or_else(column, invalid, zero))


def _time(name: str, *, of_day: bool = False) -> Chooser:
    def choose(column: Column) -> Writer | None:
        return Writer(name, column.meta, int(of_day and column.nullable)) if column.type == types.TIME2 else None

    return choose


def _json(column: Column) -> Writer:
    return Writer(JSON_STRING)


def _json_text(column: Column) -> Writer:
    return Writer(JSON_TEXT)


def _decimal_of(name: str) -> Chooser:
    return lambda column: Writer(name, column.meta >> 8, column.meta & 0xFF)


def _temporal(column: Column) -> Writer | None:
    name = _TEXTS.get(column.type)
    return None if name is None else Writer(name, column.meta)


def _temporal_or_null(column: Column) -> Writer | None:
    name = _TEXTS.get(column.type)
    return None if name is None else Writer(name, column.meta, 1)


def _canal(column: Column) -> Writer | None:
    if column.type in types.INTEGERS:
        return Writer(UNSIGNED_STRING if column.unsigned else SIGNED_STRING)
    if column.type in (types.ENUM, types.SET):
        return Writer(UNSIGNED_STRING)
    if column.type == types.BIT:
        return Writer(BIG_UNSIGNED, 1)
    if column.type == types.NEWDECIMAL:
        return Writer(DECIMAL_STRING, column.meta >> 8, column.meta & 0xFF)
    if column.type in (types.FLOAT, types.DOUBLE):
        return Writer(_floating(column).name, 1)
    if column.type == types.JSON:
        return Writer(JSON_STRING, _SPACED, _RAW_BEYOND | _LOWER)
    if column.type == types.GEOMETRY or column.collation == types.BINARY_COLLATION:
        return _bytes(LATIN1)(column)
    if column.type in types.CHARACTERS | types.BLOBS:
        chosen = _text(column)
        return Writer(TEXT_UTF8, _RAW_BEYOND | _LOWER) if chosen == Writer(TEXT_UTF8) else chosen
    return _temporal(column)


def _canal_sql_type(column: Column) -> Writer:
    if column.type in canal.SQL_TYPES:
        _, limit, beyond, usual = canal.SQL_TYPES[column.type]
        return Writer(BEYOND, len(str(beyond)), limit, f"{beyond}{usual}".encode())
    return Writer(CONSTANT, text=b"-7" if column.type == types.SET else b"12")


_TEXTS: Final = {
    types.DATETIME2: DATETIME_TEXT,
    types.TIMESTAMP2: TIMESTAMP_TEXT,
    types.TIME2: TIME_TEXT,
    **dict.fromkeys(_DATES, DATE_TEXT),
}

_DATED: Final[dict[str, Dated]] = {
    "date_days": _date(DATE_DAYS, "0"),
    "date_iso": _date(DATE_ISO, '"1970-01-01Z"'),
    "datetime_ms": _datetime(DATETIME_EPOCH, unit=1000),
    "datetime_us": _datetime(DATETIME_EPOCH, unit=1_000_000),
    "datetime_ns": _datetime(DATETIME_NS),
    "datetime_iso": _datetime(DATETIME_ISO, '"1970-01-01T00:00:00Z"'),
    "timestamp_iso": _timestamp,
}
_CHOOSERS: Final[dict[str, Chooser]] = {
    "int": _integer,
    "int_java": _integer_java,
    "bool": lambda column: Writer(BOOLEAN),
    "bit": _bit,
    "decimal_base64": _decimal,
    "float_java": _floating,
    "text": _text,
    "base64": _bytes(BASE64),
    "base64_url": _bytes(BASE64, url=True),
    "hex": _bytes(HEX),
    "raw": lambda column: Writer(HEX),
    "time_us": _time(TIME_US),
    "time_ms": _time(TIME_MS, of_day=True),
    "time_ns": _time(TIME_NS),
    "time_iso": _time(TIME_ISO, of_day=True),
    "json_string": _json,
    "json": _json_text,
    "decimal_java": _decimal_of(DECIMAL_JAVA),
    "decimal_string": _decimal_of(DECIMAL_STRING),
    "unsigned_base64": lambda column: Writer(UNSCALED),
    "bit_int": lambda column: Writer(BIG_UNSIGNED),
    "temporal": _temporal,
    "temporal_or_null": _temporal_or_null,
    "canal": _canal,
    "canal_sql_type": _canal_sql_type,
}
