"""Random JSON documents in MySQL's binary form, as the server would write them."""

from __future__ import annotations

import struct

from hypothesis import strategies as st

from replicator.decode.values.json_tree import Node, write
from replicator.model import types
from replicator.mysql.row_images.decimals import pack


def _sized(raw: bytes) -> bytes:
    size, head = len(raw), bytearray()
    while size > 0x7F:
        head.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*head, size]) + raw


def _integer(value: int, *, unsigned: bool) -> Node:
    for kind, form, most in ((6, "<H", 1 << 16), (8, "<I", 1 << 32), (10, "<Q", 1 << 64)):
        if unsigned and value < most:
            return kind, struct.pack(form, value)
    for kind, form, half in ((5, "<h", 1 << 15), (7, "<i", 1 << 31), (9, "<q", 1 << 63)):
        if -half <= value < half:
            return kind, struct.pack(form, value)
    raise ValueError(value)


def _opaque(kind: int, raw: bytes) -> Node:
    return 15, bytes((kind,)) + _sized(raw)


def _packed(date: int, clock: int, micro: int, negative: bool = False) -> bytes:
    value = (date << 17 | clock) << 24 | micro
    return (-value if negative else value).to_bytes(8, "little", signed=True)


def _decimal(digits: int, scale: int, negative: bool) -> Node:
    text = str(digits).rjust(scale + 1, "0")
    whole, part = text[: len(text) - scale], text[len(text) - scale :]
    precision = -(-len(whole) // 9) * 9 + scale  # whole groups of digits, as the server counts
    raw = pack(f"{'-' * negative}{whole}{'.' * bool(scale)}{part}".encode(), precision, scale)
    return _opaque(types.NEWDECIMAL, bytes((precision, scale)) + raw)


_text = st.text(st.characters(codec="utf-8"), max_size=150).map(lambda text: (12, _sized(text.encode())))
_date = st.builds(lambda y, m, d: (y * 13 + m) << 5 | d, st.integers(1, 9999), st.integers(1, 12), st.integers(1, 28))
_clock = st.builds(lambda h, m: h << 12 | m << 6 | m, st.integers(0, 23), st.integers(0, 59))
_micro = st.integers(0, 999_999)
_scalars: st.SearchStrategy[Node] = st.one_of(
    st.sampled_from([(4, b"\0"), (4, b"\1"), (4, b"\2")]),
    st.integers(-(1 << 63), (1 << 63) - 1).map(lambda value: _integer(value, unsigned=False)),
    st.integers(0, (1 << 64) - 1).map(lambda value: _integer(value, unsigned=True)),
    st.integers(-9, 9).map(lambda value: _integer(value, unsigned=value > 0)),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda value: (11, struct.pack("<d", value))),
    _text,
    st.builds(_decimal, st.integers(1, 10**20), st.integers(0, 9), st.booleans()),
    _date.map(lambda day: _opaque(types.DATE, _packed(day, 0, 0))),
    st.builds(lambda d, c, m: _opaque(types.DATETIME, _packed(d, c, m)), _date, _clock, _micro),
    st.builds(lambda c, m, n: _opaque(types.TIME, _packed(0, c, m, n)), _clock, _micro, st.booleans()),
    st.binary(max_size=200).map(lambda raw: _opaque(types.VARCHAR, raw)),
)
_keys = st.text(st.characters(codec="utf-8"), max_size=8).map(str.encode)


def _containers(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    return st.lists(inner, max_size=4) | st.dictionaries(_keys, inner, max_size=4)


documents: st.SearchStrategy[bytes] = st.recursive(_scalars, _containers, max_leaves=12).map(write)
