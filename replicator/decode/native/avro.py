"""Translates templates that write JSON to parts of Avro records: constant bytes, and places of values and variables.

The JSON of a template is read once, with a token for each value: so the place of every value in the schema is known,
and a program writes the values there without any JSON around them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from replicator.decode.native.writers import BY_PYTHON, REMEMBERED, Writer
from replicator.decode.plan.lowering import Lowered
from replicator.model.encoding import RecordSchema
from replicator.model.plan import Text, Value, Var

WRITTEN: Final = "avro_written"
_TYPES: Final = {
    "int8": "avro_int",
    "int16": "avro_int",
    "int32": "avro_int",
    "int64": "avro_long",
    "float": "avro_float",
    "double": "avro_double",
    "boolean": "avro_boolean",
    "string": "avro_string",
    "bytes": "avro_bytes",
}
_FIRST, _SECOND = b"\0", b"\2"
"""Branches of a union."""


class Unfit(Exception):
    """Compiled programs can't write such a template; the Python path does."""


class Leaf(msgspec.Struct, frozen=True):
    """The schema of a value that is no constant.

    Attributes:
        type: name of a `BinaryType` in compiled/codes.pxd. `WRITTEN`: of structs and arrays, which only `write` writes.
        some, none: number of the union's branch for a value and for null, as a byte; -1: it is no union.
        write: JSON of a value, or null -> its bytes with those of the union. Raises an error for what does not fit.
    """

    type: str
    some: int
    none: int
    write: Callable[[bytes], bytes]


class Hole(msgspec.Struct, frozen=True):
    """A value or a variable, and its place in the schema."""

    step: Value | Var
    leaf: Leaf


Item: TypeAlias = bytes | Hole


def items(template: Lowered, schema: RecordSchema) -> list[Item]:
    """The record's bytes behind its head.

    Raises:
        Unfit: the template is not of the schema, or has steps whose place in it depends on the row.
        Exception: a constant is not of its type: what the schema's own function raises.
    """
    return _Items(template, schema).found


def writer(
    chosen: Writer, renderer: Callable[[bytes], str], leaf: Leaf
) -> tuple[str, int, int, bytes, Callable[[bytes], str], Leaf]:
    """Of a value whose JSON `chosen` and `renderer` write. Structs, arrays, and values whose JSON Python writes are
    written by Python alone."""

    def written(raw: bytes) -> str:
        return leaf.write(renderer(raw).encode("latin-1")).decode("latin-1")

    if leaf.type != WRITTEN and chosen.name not in (BY_PYTHON, REMEMBERED):
        return (*chosen, written, leaf)
    name = REMEMBERED if chosen.name == REMEMBERED else BY_PYTHON
    return name, 0, 0, b"", written, msgspec.structs.replace(leaf, type=WRITTEN)


class _Items:
    def __init__(self, template: Lowered, schema: RecordSchema) -> None:
        self.found: list[Item] = []
        self._part = schema.part
        self._holes: dict[str, Value | Var] = {}
        self._structs: dict[str, Sequence[Mapping[str, Any]]] = {}
        self._leaves: dict[tuple[str, bool, bool], Leaf] = {}
        text = "".join([self._text(step) for step in template])
        try:
            value = json.loads(text, object_pairs_hook=_members)
        except ValueError as error:
            raise Unfit("no JSON") from error
        self._any(json.loads(schema.connect), value)
        if self._holes:
            raise Unfit("a value that the schema has no place for")

    def _text(self, step: object) -> str:
        if isinstance(step, Text):
            return step.text
        if isinstance(step, Value) or (isinstance(step, Var) and step.before is None):
            token = f"\0{len(self._holes)}\0"
            self._holes[token] = step
            return json.dumps(token)
        raise Unfit("a part that may be missing")

    def _any(self, schema: Mapping[str, Any], value: object) -> None:
        hole = self._holes.pop(value, None) if isinstance(value, str) else None
        if hole is not None:
            self.found.append(Hole(hole, self._leaf(schema)))
        elif schema["type"] == "struct" and isinstance(value, dict):
            self._struct(schema, value)
        elif value is None and schema["optional"]:
            self.found.append(_branches(schema)[1])
        else:
            self.found.append(self._part(schema)(json.dumps(value).encode()))

    def _struct(self, schema: Mapping[str, Any], value: dict[str, object]) -> None:
        """Fields are those of the first struct with this name, as Avro has it."""
        if schema["optional"]:
            self.found.append(_branches(schema)[0])
        for field in self._structs.setdefault(schema["name"], schema["fields"]):
            if field["field"] not in value:
                raise Unfit("a field is missing")
            self._any(field, value[field["field"]])

    def _leaf(self, schema: Mapping[str, Any]) -> Leaf:
        kind, optional = schema["type"], schema["optional"]
        some, none = (branch[0] for branch in _branches(schema)) if optional else (-1, -1)
        if kind not in _TYPES:
            return Leaf(WRITTEN, some, none, self._part(schema))
        key = kind, optional, some == 0
        if key not in self._leaves:
            self._leaves[key] = Leaf(_TYPES[kind], some, none, self._part(schema))
        return self._leaves[key]


def _branches(schema: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """(of a value, of null): the type of the default comes first."""
    return (_FIRST, _SECOND) if schema.get("default") is not None else (_SECOND, _FIRST)


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Unfit("a member comes twice")
    return found
