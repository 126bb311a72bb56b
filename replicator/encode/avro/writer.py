"""Encodes JSON of Connect values in Avro's binary encoding, by a function generated for each schema.

msgspec reads the JSON into structs of the schema's types, so that it is checked, and bytes come out of Base64, in one
pass. fastavro's writer is not used: it tries which branch of each union fits, and a nullable column is a union.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from replicator.encode.avro.schema import Connect
from replicator.model.decoding import json_decoder

_LIMIT: Final = 10_000
_LONGEST: Final = 64
_TYPES: Final[dict[str, type]] = {
    "int8": int,
    "int16": int,
    "int32": int,
    "int64": int,
    "float": float,
    "double": float,
    "boolean": bool,
    "string": str,
    "bytes": bytes,
}
_NUMBERS: Final = {
    "int8": "int_[{}]",
    "int16": "int_[{}]",
    "int32": "int_[{}]",
    "int64": "long[{}]",
    "float": "float_({})",
    "double": "double({})",
    "boolean": "(b'\\1' if {} else b'\\0')",
    "bytes": "blob({})",
}


class Writer:
    """Called with JSON of the schema; returns Avro.

    Raises msgspec.MsgspecError: the JSON is not of the schema; OverflowError: a number is too large for its type.
    """

    def __init__(self, schema: Connect) -> None:
        made = _Functions()
        kind, expression = made.of(schema, "value", repeats=False)
        self._decode = json_decoder(kind).decode
        self._write = made.compiled(expression)

    def __call__(self, text: bytes) -> bytes:
        return self._write(self._decode(text))


def part_writer(schema: Mapping[str, Any]) -> Writer:
    """The writer of a part of a schema. Those of plain types are shared: a table has as many parts as columns."""
    if schema["type"] in ("struct", "array"):
        return Writer(schema)
    return _plain_writer(schema["type"], schema["optional"], schema.get("default") is not None)


@lru_cache(maxsize=100)
def _plain_writer(kind: str, optional: bool, has_default: bool) -> Writer:
    """A default decides which branch of the union is null; what it is does not matter."""
    return Writer({"type": kind, "optional": optional, **({"default": 0} if has_default else {})})


class _Functions:
    """The functions of one schema: one for each struct. Fields have numbers, so that no name is in code."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._known: dict[str, tuple[type, str]] = {}

    def of(self, schema: Connect, value: str, *, repeats: bool) -> tuple[Any, str]:
        """The type of its values, and the expression that writes `value`."""
        kind, expression = self._required(schema, "it" if schema["optional"] else value, repeats=repeats)
        if not schema["optional"]:
            return kind, expression
        some, none = (b"\0", b"\2") if schema.get("default") is not None else (b"\2", b"\0")
        return kind | None, f"({some!r} + {expression} if (it := {value}) is not None else {none!r})"

    def _required(self, schema: Connect, value: str, *, repeats: bool) -> tuple[Any, str]:
        kind = schema["type"]
        if kind == "struct":
            made, name = self._struct(schema)
            return made, f"{name}({value})"
        if kind == "array":
            item, expression = self.of(schema["items"], "each", repeats=repeats)
            return list.__class_getitem__(item), f"array([{expression} for each in {value}])"
        if kind == "string":
            return str, f"name[{value}]" if repeats else f"text({value})"
        return _TYPES[kind], _NUMBERS[kind].format(value)

    def _struct(self, schema: Connect) -> tuple[type, str]:
        name = schema["name"]
        if name not in self._known:
            repeats = not name.endswith((".Value", ".Key"))
            parts = [
                self.of(field, f"value.f{number}", repeats=repeats) for number, field in enumerate(schema["fields"])
            ]
            names = {f"f{number}": field["field"] for number, field in enumerate(schema["fields"])}
            types = [(own, kind) for own, (kind, _) in zip(names, parts, strict=True)]
            function = f"struct_{len(self._known)}"
            self._lines.append(f"def {function}(value): return join(({''.join(f'{part}, ' for _, part in parts)}))")
            self._known[name] = msgspec.defstruct("Row", types, rename=names, gc=False), function
        return self._known[name]

    def compiled(self, expression: str) -> Callable[[Any], bytes]:
        namespace: dict[str, Any] = {
            "join": b"".join,
            "int_": _INTS,
            "long": _LONGS,
            "name": _NAMES,
            "text": _text,
            "blob": _blob,
            "array": _array,
            "float_": struct.Struct("<f").pack,
            "double": struct.Struct("<d").pack,
        }
        code = "\n".join([*self._lines, f"def write(value): return {expression}"])
        exec(compile(code, "<generated Avro>", "exec"), namespace)  # noqa: S102 made from types and numbers of fields
        write: Callable[[Any], bytes] = namespace["write"]
        return write


class _Memo(dict[Any, bytes]):
    """What was written last: most of what is around a row is the same in the next one. A few MB at most."""

    def __init__(self, make: Callable[[Any], bytes]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: Any) -> bytes:
        made = self._make(key)
        if len(made) <= _LONGEST:
            if len(self) >= _LIMIT:
                self.clear()
            self[key] = made
        return made


def _number(number: int, bits: int) -> bytes:
    """Zigzag, in groups of seven bits, the least significant first."""
    if not -(1 << bits) <= number < 1 << bits:
        raise OverflowError(f"{number} has more than {bits + 1} bits")
    rest = number << 1 if number >= 0 else ~(number << 1)
    made = bytearray()
    while rest > 0x7F:
        made.append((rest & 0x7F) | 0x80)
        rest >>= 7
    made.append(rest)
    return bytes(made)


_SIZES: Final = tuple(_number(size, 63) for size in range(1024))


def _blob(data: bytes) -> bytes:
    size = len(data)
    return (_SIZES[size] if size < len(_SIZES) else _number(size, 63)) + data


def _text(text: str) -> bytes:
    return _blob(text.encode())


def _array(items: list[bytes]) -> bytes:
    return b"".join((_number(len(items), 63), *items, b"\0")) if items else b"\0"


_INTS: Final = _Memo(lambda number: _number(number, 31))
_LONGS: Final = _Memo(lambda number: _number(number, 63))
_NAMES: Final = _Memo(_text)
