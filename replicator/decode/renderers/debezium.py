"""Renderers of numbers and bytes for Debezium's options."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from binascii import b2a_base64
from collections.abc import Callable
from functools import cache
from typing import Final

from replicator.decode.binlog import mariadb_compression
from replicator.decode.renderers.cache import Cache
from replicator.decode.renderers.contract import Rendering
from replicator.decode.values import java_floats
from replicator.decode.values.decimals import plain, reader
from replicator.model import types
from replicator.model.table import Column, Table


def boolean(column: Column, table: Table) -> Rendering:
    """TINYINT: false for 0."""
    return Rendering("B", '("true" if v else "false")', hint=5)


def unsigned_base64(column: Column, table: Table) -> Rendering:
    """BIGINT UNSIGNED as Base64 of its two's complement, big-endian, in as few bytes as hold it with a sign."""
    return Rendering("<Q", "unscaled(v)", {"unscaled": _unscaled}, hint=2)


def _unscaled(value: int) -> str:
    raw = value.to_bytes(value.bit_length() // 8 + 1, "big")
    return f'"{b2a_base64(raw, newline=False).decode("ascii")}"'


def decimal_string(column: Column, table: Table) -> Rendering:
    """DECIMAL as a string with all digits of the scale."""
    size, texts = _decimals(column.meta >> 8, column.meta & 0xFF, _quoted)
    return Rendering(f">{size}s", "decimal[v]", {"decimal": texts}, hint=9)


def decimal_double(column: Column, table: Table) -> Rendering:
    """DECIMAL as the nearest double, in Java's notation."""
    size, texts = _decimals(column.meta >> 8, column.meta & 0xFF, _double)
    return Rendering(f">{size}s", "decimal[v]", {"decimal": texts}, hint=9)


@cache
def _decimals(precision: int, scale: int, write: Callable[[str], str]) -> tuple[int, Cache[bytes]]:
    size, read = reader(precision, scale)
    return size, Cache(lambda raw: write(plain(read(raw), scale)))


def _quoted(text: str) -> str:
    return f'"{text}"'


def _double(text: str) -> str:
    return java_floats.double(float(text))


def base64_url(column: Column, table: Table) -> Rendering:
    """Bytes as the URL-safe kind of Base64, with padding."""
    return _binary(column, _url)


def hexadecimal(column: Column, table: Table) -> Rendering:
    """Bytes as lower-case hexadecimal digits."""
    return _binary(column, _hex)


def _binary(column: Column, write: Callable[[bytes], str]) -> Rendering:
    """The binlog cuts the trailing zeros of BINARY(n) off; they belong to the value."""
    if column.type in types.COMPRESSED:
        return Rendering(
            "bytes", "write(inflate(v))", {"write": write, "inflate": mariadb_compression.value}, hint=1000
        )
    if column.type == types.STRING:
        return Rendering("bytes", f"write(v.ljust({column.meta}, zero))", {"write": write, "zero": b"\0"}, hint=4)
    return Rendering("bytes", "write(v)", {"write": write}, hint=4)


def _url(raw: bytes) -> str:
    return f'"{urlsafe_b64encode(raw).decode("ascii")}"'


def _hex(raw: bytes) -> str:
    return f'"{raw.hex()}"'


_BYTES: Final = types.CHARACTERS | types.BLOBS | types.COMPRESSED

RENDERERS: Final[dict[str, tuple[Callable[[Column, Table], Rendering], frozenset[int]]]] = {
    "bool": (boolean, frozenset({types.TINY})),
    "unsigned_base64": (unsigned_base64, frozenset({types.LONGLONG})),
    "decimal_string": (decimal_string, frozenset({types.NEWDECIMAL})),
    "decimal_double": (decimal_double, frozenset({types.NEWDECIMAL})),
    "base64_url": (base64_url, _BYTES),
    "hex": (hexadecimal, _BYTES),
}
