"""Translates templates of Canal's row events to the parts of its protobuf entries: messages, variables and cells.

As with Avro the JSON of a template is read once, with a token for each value. What the messages are made of is said by
the format (`model.encoding.CanalEntries`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import msgspec

from replicator.decode.native.avro import Leaf, Unfit
from replicator.decode.plan.lowering import Lowered, Repeated, Simple
from replicator.model.encoding import CanalColumn, CanalEntries, Count, Message, Part, Rows, Variable
from replicator.model.plan import Text, Value, Var

NUMBER: Final = "proto_number"
TEXT: Final = "proto_text"


class Cell(msgspec.Struct, frozen=True):
    """A column of a row. before: the value that it is compared with; None: it is not, see `updated`."""

    tag: bytes
    value: Value
    column: CanalColumn
    before: Value | None
    updated: bool


class Printed(msgspec.Struct, frozen=True):
    """A variable behind its tag."""

    var: Var
    tag: bytes
    leaf: Leaf


class Nested(msgspec.Struct, frozen=True):
    """A message behind its tag and its length. optional: not written when it is empty."""

    tag: bytes
    items: tuple[Item, ...]
    optional: bool = False


class Each(msgspec.Struct, frozen=True):
    """The rows of the event. step: what they were in the template."""

    items: tuple[Item, ...]
    step: Repeated


Item: TypeAlias = "bytes | Printed | Nested | Each | Cell | Count"


def items(template: Lowered, entries: CanalEntries) -> list[Item]:
    """The record's bytes.

    Raises:
        Unfit: the template is not of a row event, or has steps whose place depends on the row.
    """
    return _Items(template, entries).found


class _Items:
    def __init__(self, template: Lowered, entries: CanalEntries) -> None:
        self._entries = entries
        self._holes: dict[str, object] = {}
        event = self._read(template)
        if not isinstance(event, dict):
            raise Unfit("no row event")
        self._event = event
        self.found = [self._part(part) for part in entries.layout(event["type"])]

    def _read(self, template: Sequence[Simple | Repeated]) -> Any:
        try:
            return json.loads("".join([self._text(step) for step in template]))
        except ValueError as error:
            raise Unfit("no JSON") from error

    def _text(self, step: object) -> str:
        if isinstance(step, Text):
            return step.text
        if isinstance(step, Value | Repeated) or (isinstance(step, Var) and step.before is None):
            token = f"\0{len(self._holes)}\0"
            self._holes[token] = step
            return json.dumps(token)
        raise Unfit("a part that may be missing")

    def _step(self, value: object) -> object:
        """What stands at a place of the template: a step, or a constant."""
        return self._holes.get(value, value) if isinstance(value, str) else value

    def _part(self, part: Part) -> Item:
        if isinstance(part, Message):
            return Nested(part.tag, tuple(self._part(inner) for inner in part.parts), part.optional)
        if isinstance(part, Variable):
            return self._variable(part)
        if isinstance(part, Rows):
            return self._rows()
        return part if isinstance(part, bytes) else self._count(part)

    def _variable(self, part: Variable) -> Item:
        step = self._step(self._event[part.name])
        if isinstance(step, Var):
            kind = TEXT if part.text else NUMBER
            return Printed(step, part.tag, Leaf(kind, -1, 1 if part.optional else -1, part.write))
        if step is None or isinstance(step, str | int):
            return part.write(json.dumps(step).encode())
        raise Unfit("a variable that is none")

    def _count(self, part: Count) -> Item:
        rows = self._event["rows"]
        if not rows:
            raise Unfit("no rows")
        return part if isinstance(self._step(rows[0]), Repeated) else Count(len(rows))

    def _rows(self) -> Item:
        rows = self._event["rows"]
        if len(rows) != 1:
            raise Unfit("many rows")
        step = self._step(rows[0])
        if isinstance(step, Repeated):
            return Each((self._row(self._read(step.template)),), step)
        return self._row(rows[0])

    def _row(self, images: Any) -> Nested:
        before, after = ([self._step(value) for value in image] if image is not None else None for image in images)
        columns = self._entries.columns
        cells: list[Item] = []
        if any(image is not None and len(image) != len(columns) for image in (before, after)):
            raise Unfit("another number of columns")
        for column, value in zip(columns, before or [], strict=before is not None):
            cells += self._cell(self._entries.before, column, value, None, updated=False)
        old = before or [False] * len(columns)
        for column, value, former in zip(columns, after or [], old, strict=after is not None):
            cells += self._cell(self._entries.after, column, value, former, updated=former is False)
        return Nested(self._entries.row, tuple(cells))

    def _cell(self, tag: bytes, column: CanalColumn, value: Any, former: Any, *, updated: bool) -> list[Item]:
        """former: in the image before; None where that does not matter, False where it has no such column."""
        if value is False:
            return []
        if not isinstance(value, Value):
            if isinstance(former, Value):
                raise Unfit("a constant that was a value")
            changed = updated or (tag == self._entries.after and value != former)
            return [Nested(tag, (column.write(value, changed),))]
        if tag == self._entries.before or updated:
            return [Cell(tag, value, column, None, updated)]
        if not isinstance(former, Value) or former.renderer != value.renderer or former.column != value.column:
            raise Unfit("a value that was another one")
        return [Cell(tag, value, column, former, updated=False)]
