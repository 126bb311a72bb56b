"""Renderers of characters, bytes, ENUM, SET and JSON."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from replicator.decode.binlog import mariadb_compression
from replicator.decode.renderers.cache import Cache
from replicator.decode.renderers.contract import Rendering
from replicator.decode.renderers.quoting import base64, needs_care, quote, quote_utf8
from replicator.decode.values import charsets, json_binary
from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.column_sizes import fixed_size
from replicator.model.table import Column, Table

NOT_ASCII: Final = frozenset({"swe7", "ucs2", "utf16", "utf16le", "utf32"})
"""Character sets in which a byte below 0x80 need not be that ASCII character."""


def text(column: Column, table: Table) -> Rendering:
    """CHAR, VARCHAR and the TEXTs of any character set. ASCII without escapes, the usual case, is copied."""
    number = collation(column, table)
    if column.type in types.COMPRESSED:
        name = f"quote_inflated_{number}"
        return Rendering("bytes", f"{name}(v)", {name: _quote_inflated(number)}, hint=1000)
    if charsets.is_utf8(number):
        return Rendering("text", _UTF8, {"needs_care": needs_care, "quote_utf8": quote_utf8})
    name = f"quote_{number}"
    if charsets.charset(number) in NOT_ASCII:
        return Rendering("bytes", f"{name}(v)", {name: _quote_bytes(number)}, hint=12)
    names = {"needs_care": needs_care, name: _quote_latin(number)}
    return Rendering("text", f"(f'\"{{v}}\"' if needs_care(v) is None else {name}(v))", names)


def collation(column: Column, table: Table) -> int:
    """The column's collation id. Raises DecodeError E2306 where the table map has none."""
    if column.collation is None:
        raise DecodeError(
            "E2306",
            f"column {table.qualified}.{column.name} has no collation in its table map",
            found=types.NAMES.get(column.type, str(column.type)),
            wanted="binlog_row_metadata = FULL",
        )
    return column.collation


_UTF8: Final = "(f'\"{v}\"' if needs_care(v) is None else quote_utf8(v))"


@cache
def _quote_bytes(collation: int) -> Callable[[bytes], str]:
    decode = charsets.decoder(collation)
    return lambda raw: quote(decode(raw))


@cache
def _quote_inflated(collation: int) -> Callable[[bytes], str]:
    decode = charsets.decoder(collation)
    return lambda raw: quote(decode(mariadb_compression.value(raw)))


@cache
def _quote_latin(collation: int) -> Callable[[str], str]:
    decode = charsets.decoder(collation)
    return lambda latin: quote(decode(latin.encode("latin-1")))


def binary(column: Column, table: Table) -> Rendering:
    """Bytes as Base64. The binlog cuts the trailing zeros of BINARY(n) off; they belong to the value."""
    if column.type in types.COMPRESSED:
        return Rendering(
            "bytes", "base64(inflate(v))", {"base64": base64, "inflate": mariadb_compression.value}, hint=1000
        )
    if column.type == types.STRING:
        return Rendering("bytes", f"base64(v.ljust({column.meta}, zero))", {"base64": base64, "zero": b"\0"}, hint=4)
    return Rendering("bytes", "base64(v)", {"base64": base64})


def enum(column: Column, table: Table) -> Rendering:
    """The member's text; index 0, which MySQL stores for a refused value, is the empty string."""
    texts = [quote(member) for member in column.members]

    def make(index: int) -> str:
        if index == 0:
            return '""'
        if index > len(texts):
            raise no_member(column, table, index)
        return texts[index - 1]

    name = f"enum_{column.index}"
    cut = {1: "B", 2: "<H"}[column.meta]
    return Rendering(cut, f"{name}[v]", {name: Cache(make)}, hint=max(map(len, texts), default=2))


SET_CUTS: Final = {1: "B", 2: "<H", 3: "<3s", 4: "<I", 8: "<Q"}
"""By a SET's size in bytes."""


def members(column: Column, table: Table) -> Rendering:
    """SET: the members' texts in definition order, joined by commas."""

    def make(value: int | bytes) -> str:
        bits = value if isinstance(value, int) else int.from_bytes(value, "little")
        if bits >> len(column.members):
            raise no_member(column, table, bits)
        return quote(",".join(member for place, member in enumerate(column.members) if bits >> place & 1))

    name = f"set_{column.index}"
    return Rendering(
        SET_CUTS[column.meta],
        f"{name}[v]",
        {name: Cache(make)},
        hint=8 * max(map(len, map(quote, column.members)), default=2),
    )


def no_member(column: Column, table: Table, value: int) -> DecodeError:
    """For a value that an ENUM or SET does not have."""
    kind = "ENUM" if column.type == types.ENUM else "SET"
    return DecodeError(
        "E2302",
        f"column {table.qualified}.{column.name} has the value {value}, which is not a member of its {kind}",
        found=f"{len(column.members)} members",
    )


def json(column: Column, table: Table) -> Rendering:
    """MySQL's binary JSON as a JSON string of compact text. (MariaDB's JSON is LONGTEXT: see `text`.)"""
    return Rendering("bytes", "json_text(v)", {"json_text": _json}, hint=400)


def _json(raw: bytes) -> str:
    return quote(json_binary.to_text(raw))


def raw(column: Column, table: Table) -> Rendering:
    """A value of any type as the binlog has it, as hexadecimal digits: for comparisons, see `RowKeys`."""
    size = fixed_size(column)
    return Rendering("bytes" if size is None else f"<{size}s", "f'\"{v.hex()}\"'", hint=4)


_BYTES: Final = types.CHARACTERS | types.BLOBS | types.COMPRESSED

RENDERERS: Final[dict[str, tuple[Callable[[Column, Table], Rendering], frozenset[int]]]] = {
    "text": (text, _BYTES),
    "base64": (binary, _BYTES),
    "enum": (enum, frozenset({types.ENUM})),
    "set": (members, frozenset({types.SET})),
    "json_string": (json, frozenset({types.JSON})),
    "raw": (raw, frozenset(types.NAMES)),
}
