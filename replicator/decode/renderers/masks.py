"""Renderers that hide or replace a value. Their names have parameters:

plain:              what is hashed, as a JSON string: for routes, which must not depend on the format
constant:JSON       that text for every value
mask:fixed:TEXT     a JSON string, the same for every value
mask:last:N:NAME    as renderer NAME, all characters but the last N as `*`; without NAME as a JSON string
mask:hash:ENC:REF   HMAC-SHA256 of the value under the key that REF names, in hex or base64

NULL stays NULL. What is hashed is the value, not its notation, so that the digest is the same in every format and for
text in every character set: UTF-8 of characters, bytes as they are, numbers in decimal, dates as `2026-11-21`, times of
day as `13:05:00`, both together with a blank between them and with the column's digits of fraction.
"""

from __future__ import annotations

import hmac
from base64 import b64encode
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

import msgspec

from replicator.decode.renderers.comparables import comparable
from replicator.decode.renderers.contract import Rendering
from replicator.decode.renderers.quoting import quote
from replicator.errors import ConfigError, DecodeError
from replicator.model import json_string, types
from replicator.model.column_sizes import fixed_size
from replicator.model.condition import kind_of
from replicator.model.table import Column, Table

Base = Callable[[str, Column, Table], Rendering]
STAR: Final = "*"
_UTF8MB4: Final = 45


def is_mask(name: str) -> bool:
    return name.startswith(("mask:", "constant:", "plain:"))


def mask(name: str, column: Column, table: Table, base: Base, keys: Mapping[str, bytes]) -> Rendering:
    """
    Args:
        base: what makes other renderers.
        keys: by reference.

    Raises:
        ConfigError: E1006: there is no such key.
        DecodeError: E2310: a value of that type can't be masked like this.
    """
    kind, _, rest = name.partition(":")
    if kind == "constant":
        return _constant(column, rest)
    if kind == "plain":
        return _as_string(column, table)
    kind, _, rest = rest.partition(":")
    if kind == "fixed":
        return _constant(column, json_string.quote(rest))
    if kind == "last":
        count, _, inner = rest.partition(":")
        return _wrapped(inner, column, table, int(count), base) if inner else _last(column, table, int(count))
    encoding, _, reference = rest.partition(":")
    if reference not in keys:
        raise ConfigError("E1006", f"the key {reference} of a mask could not be read")
    return _hash(column, table, keys[reference], encoding)


def _constant(column: Column, text: str) -> Rendering:
    name = f"constant_{column.index}"
    return Rendering(_whole(column), name, {name: text.encode().decode("latin-1")}, hint=max(6, len(text)))


def _whole(column: Column) -> str:
    size = fixed_size(column)
    return "bytes" if size is None else f"{size}s"


# Hashes


def _hash(column: Column, table: Table, key: bytes, encoding: str) -> Rendering:
    cut, plain = _plain(column, table)

    def digest(value: Any) -> str:
        text = plain(value)
        raw = hmac.digest(key, text if isinstance(text, bytes) else text.encode("utf-8", "replace"), "sha256")
        return f'"{raw.hex()}"' if encoding == "hex" else f'"{b64encode(raw).decode()}"'

    name = f"hash_{column.index}"
    return Rendering(cut, f"{name}(v)", {name: digest}, hint=80)


def _plain(column: Column, table: Table) -> tuple[str, Callable[[Any], str | bytes]]:
    """How the value is cut out, and its text."""
    found = comparable(column, table)
    read, text = found.read, _text_of(column)
    return found.cut, (lambda raw: text(raw)) if read is None else lambda raw: text(read(raw))


def _text_of(column: Column) -> Callable[[Any], str | bytes]:
    kind = kind_of(column)
    digits = column.meta if column.type in (types.DATETIME2, types.TIMESTAMP2, types.TIME2) else 0
    if kind == "datetime" and column.type in (types.DATE, types.NEWDATE):
        return lambda value: _moment(value, 0)[:10]
    if kind == "datetime":
        return lambda value: _moment(value, digits)
    if kind == "timestamp":
        return lambda value: _instant(value, digits)
    if kind == "time":
        return lambda value: _clock(value, digits)
    if column.type == types.NEWDECIMAL:
        return lambda value: f"{value:f}" if isinstance(value, Decimal) else str(value)
    return (lambda value: value) if kind in ("text", "bytes") else repr


def _fraction(micro: int, digits: int) -> str:
    return f".{micro:06d}"[: digits + 1] if digits else ""


def _moment(value: int, digits: int) -> str:
    whole, micro = divmod(value, 1_000_000)
    t = f"{whole:014d}"
    return f"{t[:4]}-{t[4:6]}-{t[6:8]} {t[8:10]}:{t[10:12]}:{t[12:]}{_fraction(micro, digits)}"


def _instant(value: int, digits: int) -> str:
    """In UTC; the zero timestamp as the servers print it."""
    seconds, micro = divmod(value, 1_000_000)
    if not value:
        return _moment(0, digits)
    at = datetime.fromtimestamp(seconds, UTC)
    return f"{at:%Y-%m-%d %H:%M:%S}{_fraction(micro, digits)}"


def _clock(value: int, digits: int) -> str:
    seconds, micro = divmod(abs(value), 1_000_000)
    sign = "-" if value < 0 else ""
    return f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{_fraction(micro, digits)}"


def _as_string(column: Column, table: Table) -> Rendering:
    cut, plain = _plain(column, table)

    def show(value: Any) -> str:
        text = plain(value)
        return quote(text.hex() if isinstance(text, bytes) else text)

    name = f"plain_{column.index}"
    return Rendering(cut, f"{name}(v)", {name: show}, hint=12)


# The last characters


def starred(text: str, count: int) -> str:
    """A text of no more than `count` characters shows none of them."""
    shown = text[-count:] if count and len(text) > count else ""
    return STAR * (len(text) - len(shown)) + shown


def _last(column: Column, table: Table, count: int) -> Rendering:
    cut, plain = _plain(column, table)

    def show(value: Any) -> str:
        text = plain(value)
        if isinstance(text, bytes):
            raise DecodeError("E2310", f"'{column.name}' of {table.qualified} contains bytes, not characters")
        return quote(starred(text, count))

    name = f"last_{column.index}"
    return Rendering(cut, f"{name}(v)", {name: show}, hint=12)


def _wrapped(name: str, column: Column, table: Table, count: int, base: Base) -> Rendering:
    """The inner renderer is given the masked text as that of a column in UTF-8."""
    cut, plain = _plain(column, table)
    inner = base(name, msgspec.structs.replace(column, type=types.VARCHAR, meta=65535, collation=_UTF8MB4), table)

    def masked(raw: Any) -> str | bytes:
        utf8 = starred(str(plain(raw)), count).encode("utf-8", "replace")
        return utf8.decode("latin-1") if inner.cut == "text" else utf8

    made = f"starred_{column.index}_{count}"
    expression = f"[{inner.expression} for v in ({made}(v),)][0]"
    return Rendering(cut, expression, {**inner.names, made: masked}, hint=inner.hint * 4)
