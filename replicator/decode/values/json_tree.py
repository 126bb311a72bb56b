"""MySQL's binary JSON (sql-common/json_binary.h) as a mutable tree, and back to binary."""

from __future__ import annotations

import struct
from typing import Final, TypeAlias

from replicator.decode.values.json_binary import INLINE, INLINE_LARGE, MAX_DEPTH, cut, sized, uint16, uint32

Scalar: TypeAlias = tuple[int, bytes]
"""(type, the bytes that it has in a document)"""
Node: TypeAlias = "Scalar | dict[bytes, Node] | list[Node]"

_SIZES: Final = {4: 1, 5: 2, 6: 2, 7: 4, 8: 4, 9: 8, 10: 8, 11: 8}
_LARGEST_SMALL: Final = 0xFFFF


def parse(raw: bytes) -> Node:
    """Raises IndexError, ValueError: the bytes are no document."""
    return _Parser(raw).node(raw[0], 1, 0)


class _Parser:
    """`left`: bytes that nodes may still take up. Entries that share one value would multiply without end."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._left = len(raw)

    def node(self, kind: int, at: int, depth: int) -> Node:
        if kind <= 3:
            return self._container(kind, at, depth)
        raw = self._raw
        if kind in _SIZES:
            body = cut(raw, at, _SIZES[kind])
        elif kind in (12, 15):
            start = at + (kind == 15)
            text = sized(raw, start)
            end = start + 1
            while raw[end - 1] & 0x80:
                end += 1
            body = raw[at : end + len(text)]
        else:
            raise ValueError(kind)
        self._take(len(body))
        return kind, body

    def _take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ValueError("values that share their bytes")

    def _container(self, kind: int, base: int, depth: int) -> Node:
        raw, large = self._raw, kind in (1, 3)
        width, read, inline = (4, uint32, INLINE_LARGE) if large else (2, uint16, INLINE)
        count, size = read(raw, base), read(raw, base + width)
        if depth > MAX_DEPTH or base + size > len(raw):
            raise ValueError(size)
        self._take(count)
        entry = base + 2 * width
        keys: list[bytes] = []
        for _ in range(count if kind <= 1 else 0):
            keys.append(cut(raw, base + read(raw, entry), uint16(raw, entry + width)))
            self._take(len(keys[-1]))
            entry += width + 2
        values: list[Node] = []
        for _ in range(count):
            inner = raw[entry]
            place = entry + 1 if inner in inline else base + read(raw, entry + 1)
            if place <= entry:
                raise ValueError(place)  # refuses circles
            values.append(self.node(inner, place, depth + 1))
            entry += 1 + width
        return dict(zip(keys, values, strict=True)) if kind <= 1 else values


def write(node: Node) -> bytes:
    """The document as the server would write it."""
    kind, body = _body(node)
    return bytes((kind,)) + body


def _body(node: Node) -> Scalar:
    if isinstance(node, tuple):
        return node
    if isinstance(node, list):
        keys, values, kind = [], [_body(value) for value in node], 2
    else:
        keys = sorted(node, key=lambda key: (len(key), key))
        values, kind = [_body(node[key]) for key in keys], 0
    small = _container(keys, values, 2)
    return (kind, small) if len(small) <= _LARGEST_SMALL else (kind + 1, _container(keys, values, 4))


def _container(keys: list[bytes], values: list[Scalar], width: int) -> bytes:
    """Count, size, key entries, value entries, keys, values. One too long for `width` comes out too long as well."""
    inline = INLINE if width == 2 else INLINE_LARGE
    place = 2 * width + len(keys) * (width + 2) + len(values) * (1 + width)
    limit = (1 << 8 * width) - 1
    entries, tail = [], []
    for key in keys:
        entries.append(min(place, limit).to_bytes(width, "little") + struct.pack("<H", len(key)))
        tail.append(key)
        place += len(key)
    for kind, body in values:
        if kind in inline:
            entries.append(bytes((kind,)) + body.ljust(width, b"\0"))
        else:
            entries.append(bytes((kind,)) + min(place, limit).to_bytes(width, "little"))
            tail.append(body)
            place += len(body)
    head = min(len(values), limit).to_bytes(width, "little") + min(place, limit).to_bytes(width, "little")
    return b"".join((head, *entries, *tail))
