"""The renderers "canal" and "canal_sql_type": values as strings, and the type that Canal gives them.

TINYINT to BIGINT, BIT      decimal digits; BIT as an unsigned number
YEAR                        four digits
DECIMAL                     plain notation, all digits of the scale
FLOAT, DOUBLE               Java's text
DATE                        YYYY-MM-DD, whatever the calendar says of it
TIME                        [-]hh:mm:ss, hours up to 838, the column's digits of fraction
DATETIME, TIMESTAMP         YYYY-MM-DD hh:mm:ss, the column's digits of fraction; TIMESTAMP in UTC
ENUM, SET                   the index; the bit mask as an unsigned number
CHAR, VARCHAR, TEXTs        text
BINARY, BLOBs, geometry     text of one character per byte (ISO 8859-1); BINARY(n) with all its n bytes
JSON                        JSON text, see `canal_json.py`
VECTOR                      "[1.0,-2.5]"
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from functools import cache
from typing import Final

from replicator.decode.binlog import mariadb_compression
from replicator.decode.renderers import canal_json, canal_temporal
from replicator.decode.renderers.cache import Cache
from replicator.decode.renderers.contract import Rendering
from replicator.decode.renderers.debezium import decimal_string
from replicator.decode.renderers.quoting import needs_care
from replicator.decode.renderers.spatial import vector_text
from replicator.decode.renderers.text import NOT_ASCII, collation
from replicator.decode.values import charsets, java_floats
from replicator.model import types
from replicator.model.table import Column, Table

_ESCAPED: Final = re.compile('[\x00-\x1f"\\\\]')
_ESCAPES: Final = {chr(code): f"\\u{code:04x}" for code in range(32)} | {
    '"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"
}  # fmt: skip


def _quote(latin: str) -> str:
    """A JSON string as fastjson2 writes it, from latin-1 text of UTF-8: control characters, quote and backslash are
    escaped, in lower case, and nothing else is."""
    return '"' + _ESCAPED.sub(lambda match: _ESCAPES[match[0]], latin) + '"'


def _quote_text(text: str) -> str:
    return _quote(text.encode().decode("latin-1"))


def _quote_utf8(latin: str) -> str:
    """From latin-1 text of what should be UTF-8; what is not becomes U+FFFD."""
    raw = latin.encode("latin-1")
    try:
        raw.decode()
    except UnicodeDecodeError:
        return _quote_text(raw.decode("utf-8", "replace"))
    return _quote(latin)


def _quote_bytes(raw: bytes) -> str:
    return _quote_text(raw.decode("latin-1"))


def value(column: Column, table: Table) -> Rendering:
    """Any column as the string that Canal makes of it."""
    return _BUILDERS[column.type](column, table)


_TINY: Final = (tuple(f'"{v - 256 if v > 127 else v}"' for v in range(256)), tuple(f'"{v}"' for v in range(256)))
_INTEGERS: Final = {types.SHORT: ("<h", "<H"), types.LONG: ("<i", "<I"), types.LONGLONG: ("<q", "<Q")}


def _integer(column: Column, table: Table) -> Rendering:
    if column.type == types.TINY:
        name = "quoted_tinyu" if column.unsigned else "quoted_tinys"
        return Rendering("B", f"{name}[v]", {name: _TINY[column.unsigned]})
    if column.type == types.INT24:
        signed = "" if column.unsigned else ", signed=True"
        return Rendering("<3s", f'f\'"{{from_bytes(v, "little"{signed})}}"\'', {"from_bytes": int.from_bytes})
    return Rendering(_INTEGERS[column.type][column.unsigned], "f'\"{v}\"'")


def _bit(column: Column, table: Table) -> Rendering:
    size = (column.meta >> 8) + bool(column.meta & 0xFF)
    return Rendering(f">{size}s", 'f\'"{from_bytes(v, "big")}"\'', {"from_bytes": int.from_bytes})


def _year(column: Column, table: Table) -> Rendering:
    return Rendering("B", "quoted_years[v]", {"quoted_years": _YEARS})


_YEARS: Final = ('"0000"', *(f'"{1900 + v}"' for v in range(1, 256)))


def _floating(column: Column, table: Table) -> Rendering:
    if column.type == types.FLOAT:
        return Rendering("<4s", "quoted_float32[v]", {"quoted_float32": _FLOATS})
    return Rendering("<d", "quoted_float64(v)", {"quoted_float64": _quote_double})


def _quote_double(value: float) -> str:
    text = java_floats.double(value)
    return text if text[0] == '"' else f'"{text}"'


def _quote_single(raw: bytes) -> str:
    text = java_floats.single(struct.unpack("<f", raw)[0])
    return text if text[0] == '"' else f'"{text}"'


_FLOATS: Final[Cache[bytes]] = Cache(_quote_single)


def _index(column: Column, table: Table) -> Rendering:
    return Rendering({1: "B", 2: "<H"}[column.meta], "f'\"{v}\"'")


def _mask(column: Column, table: Table) -> Rendering:
    if column.meta == 3:
        return Rendering("<3s", 'f\'"{from_bytes(v, "little")}"\'', {"from_bytes": int.from_bytes})
    return Rendering({1: "B", 2: "<H", 4: "<I", 8: "<Q"}[column.meta], "f'\"{v}\"'")


def _characters(column: Column, table: Table) -> Rendering:
    number = collation(column, table)
    if number == types.BINARY_COLLATION:
        return _bytes(column, table)
    name = f"canal_quote_{number}"
    if column.type in types.COMPRESSED:
        return Rendering("bytes", f"inflated_{name}(v)", {f"inflated_{name}": _inflated_text(number)}, hint=1000)
    if charsets.charset(number) in NOT_ASCII:
        return Rendering("bytes", f"wide_{name}(v)", {f"wide_{name}": _wide_text(number)}, hint=12)
    utf8 = charsets.is_utf8(number)
    name, quote = ("canal_quote_utf8", _quote_utf8) if utf8 else (name, _narrow_text(number))
    return Rendering("text", f"(f'\"{{v}}\"' if needs_care(v) is None else {name}(v))", _with_care(name, quote))


def _with_care(name: str, quote: Callable[[str], str]) -> dict[str, Callable[[str], object]]:
    return {"needs_care": needs_care, name: quote}


@cache
def _wide_text(number: int) -> Callable[[bytes], str]:
    decode = charsets.decoder(number)
    return lambda raw: _quote_text(decode(raw))


@cache
def _inflated_text(number: int) -> Callable[[bytes], str]:
    decode = charsets.decoder(number)
    return lambda raw: _quote_text(decode(mariadb_compression.value(raw)))


@cache
def _narrow_text(number: int) -> Callable[[str], str]:
    decode = charsets.decoder(number)
    return lambda latin: _quote_text(decode(latin.encode("latin-1")))


def _bytes(column: Column, table: Table) -> Rendering:
    if column.type in types.COMPRESSED:
        return Rendering("bytes", "inflated_bytes(v)", {"inflated_bytes": _inflated_bytes}, hint=1000)
    names = {"canal_quote_bytes": _quote_bytes}
    if column.type == types.STRING:
        return Rendering("bytes", f"canal_quote_bytes(v.ljust({column.meta}, zero))", {**names, "zero": b"\0"})
    return Rendering("bytes", "canal_quote_bytes(v)", names)


def _inflated_bytes(raw: bytes) -> str:
    return _quote_bytes(mariadb_compression.value(raw))


def _json(column: Column, table: Table) -> Rendering:
    return Rendering("bytes", "canal_json(v)", {"canal_json": _json_text}, hint=400)


def _json_text(raw: bytes) -> str:
    return _quote_text(canal_json.to_text(raw))


def _vector(column: Column, table: Table) -> Rendering:
    return Rendering("bytes", "f'\"{vector(v)}\"'", {"vector": vector_text}, hint=5)


_BUILDERS: Final[dict[int, Callable[[Column, Table], Rendering]]] = {
    **dict.fromkeys(types.INTEGERS, _integer),
    **dict.fromkeys(types.CHARACTERS | types.BLOBS | types.COMPRESSED, _characters),
    **canal_temporal.BUILDERS,
    types.BIT: _bit,
    types.YEAR: _year,
    types.NEWDECIMAL: decimal_string,
    types.FLOAT: _floating,
    types.DOUBLE: _floating,
    types.ENUM: _index,
    types.SET: _mask,
    types.JSON: _json,
    types.GEOMETRY: _bytes,
    types.VECTOR: _vector,
}


def sql_type(column: Column, table: Table) -> Rendering:
    """`java.sql.Types` of a value where it depends on that: UNSIGNED integers above what a signed one holds get the
    next wider type. SET and JSON have another one for NULL, which the plan gives."""
    if column.type in _CONSTANT:
        return Rendering(*_CONSTANT[column.type](column))
    cut, limit, wide, narrow = SQL_TYPES[column.type]
    return Rendering(cut, f'("{wide}" if v > {limit} else "{narrow}")')


SQL_TYPES: Final = {
    types.TINY: ("B", 0x7F, 5, -6),
    types.SHORT: ("<H", 0x7FFF, 4, 5),
    types.LONG: ("<I", 0x7FFFFFFF, -5, 4),
    types.LONGLONG: ("<Q", 0x7FFFFFFFFFFFFFFF, 3, -5),
}
"""By an UNSIGNED integer's type: layout, largest value of the signed one, type beyond that, type up to it."""
_CONSTANT: Final[dict[int, Callable[[Column], tuple[str, str]]]] = {
    types.SET: lambda column: (f"<{column.meta}s", '"-7"'),
    types.JSON: lambda column: ("bytes", '"12"'),
}

RENDERERS: Final[dict[str, tuple[Callable[[Column, Table], Rendering], frozenset[int]]]] = {
    "canal": (value, frozenset(_BUILDERS)),
    "canal_sql_type": (sql_type, frozenset(SQL_TYPES) | frozenset(_CONSTANT)),
}
