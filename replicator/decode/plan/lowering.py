"""Simplifies a plan's templates for one operation and one set of columns that are present.

What is the same for every row with these columns is decided here, so that it costs nothing per row: values that the
images do not have, objects of which no member can be missing, and the place of what is only known later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

import msgspec

from replicator.decode.binlog.column_presence import IMAGES, Operation, Presence, refuse
from replicator.decode.plan.variable_values import PER_EVENT, PER_ROW
from replicator.model.json_string import quote
from replicator.model.plan import (
    Deferred,
    Each,
    Image,
    Members,
    RawImage,
    RecordPlan,
    Step,
    TablePlan,
    Template,
    Text,
    Value,
    Var,
)
from replicator.model.table import Table

MARK: Final = "\0"
"""Stands for `Deferred` until the transaction ends: JSON text has no such byte."""


class Entry(msgspec.Struct, frozen=True):
    """A member of an object. `name`: quoted, with its colon.

    Attributes:
        changed: only there when its column differs between the images.
        not_null: only there when it is not NULL.
    """

    name: str
    value: Value
    changed: bool
    not_null: bool


class Object(msgspec.Struct, frozen=True):
    """A JSON object of which some members can be missing."""

    entries: tuple[Entry, ...]
    before: str
    empty: str


Simple: TypeAlias = Text | Value | Var | Object | RawImage


class Repeated(msgspec.Struct, frozen=True):
    """`Each`, lowered."""

    template: tuple[Simple, ...]
    separator: str


Lowered: TypeAlias = tuple[Simple | Repeated, ...]


class Lines(msgspec.Struct, frozen=True):
    """A record's templates."""

    topic: str
    key: Lowered | None
    value: Lowered | None
    headers: tuple[tuple[str, Lowered], ...]
    route: Lowered | None

    def templates(self) -> Iterator[Lowered]:
        yield from (template for template in (self.key, self.value, self.route) if template is not None)
        yield from (template for _, template in self.headers)


def simple_steps(template: Lowered) -> Iterator[Simple]:
    for step in template:
        if isinstance(step, Repeated):
            yield from step.template
        else:
            yield step


class Lowering:
    """Of one plan, operation and set of columns."""

    def __init__(self, plan: TablePlan, table: Table, operation: Operation, presence: Presence) -> None:
        self._plan = plan
        self._table = table
        self._images = IMAGES[operation]
        self._presence = presence

    def records(self, records: Iterable[RecordPlan]) -> list[Lines]:
        """
        Raises:
            ValueError: the plan can't be run as it is.
            DecodeError: E2304: no image has a column of a record's key.
        """
        return [
            Lines(
                self._plan.topic,
                self._needed(record.key),
                self._template(record.value) if record.value is not None else None,
                tuple((name, self._template(template)) for name, template in record.headers),
                self._needed(self._plan.route if record.route is None else record.route),
            )
            for record in records
        ]

    def _needed(self, template: Template | None) -> Lowered | None:
        """A key or what stands for one: without its values the record would go to any partition."""
        if template is None:
            return None
        for step in template:
            if isinstance(step, Value) and self._source(step) is None:
                refuse(self._table, "lacks a column of its key", self._table.columns[step.column].name)
        return self._template(template)

    def _template(self, template: Template) -> Lowered:
        lowered: list[Simple | Repeated] = []
        for step in template:
            if self._plan.grouped and (isinstance(step, Members | RawImage) or step == Var("row")):
                raise ValueError(f"the plan of {self._table.qualified} prints what belongs to no one row")
            if not isinstance(step, Each):
                lowered.extend(self._step(step))
            elif self._plan.grouped:
                inner = tuple(simple for part in step.template for simple in self._step(part))
                lowered.append(Repeated(inner, step.separator))
            else:
                raise ValueError(f"the plan of {self._table.qualified} has `Each` and is not grouped")
        return tuple(lowered)

    def _step(self, step: Step) -> Iterator[Simple]:
        if isinstance(step, Value):
            image = self._source(step)
            yield Text(step.absent) if image is None else msgspec.structs.replace(step, image=image)
        elif isinstance(step, Members):
            yield from self._members(step)
        elif isinstance(step, RawImage):
            yield self._raw(step)
        elif isinstance(step, Deferred):
            yield Text(MARK)
        elif isinstance(step, Var) and step.name not in PER_EVENT and step.name not in PER_ROW:
            raise ValueError(f"the plan of {self._table.qualified} prints '{step.name}' outside of `Deferred`")
        elif not isinstance(step, Each):
            yield step

    def _source(self, step: Value) -> Image | None:
        if step.image not in self._images:
            raise ValueError(f"the plan of {self._table.qualified} prints the image '{step.image}', which is not there")
        return self._presence.source(step.image, step.column)

    def _raw(self, step: RawImage) -> RawImage:
        if step.image not in self._images:
            raise ValueError(f"the plan of {self._table.qualified} copies the image '{step.image}', which is not there")
        for index in step.columns:
            if not self._presence.has(step.image, index):
                refuse(self._table, "lacks a column", self._table.columns[index].name)
        return step

    def _members(self, step: Members) -> Iterator[Simple]:
        compared = step.changed and len(self._images) > 1
        entries = []
        for member in step.members:
            image, column = self._source(member.value), member.value.column
            there = image == member.value.image or (image is not None and step.kept)
            if image is None or not there or (compared and not self._presence.has("after", column)):
                continue
            changed = compared and self._presence.has("before", column)
            not_null = not step.nulls and self._table.columns[column].nullable
            value = msgspec.structs.replace(member.value, image=image)
            entries.append(Entry(f"{quote(member.name)}:", value, changed, not_null))
        if any(entry.changed or entry.not_null for entry in entries):
            yield Object(tuple(entries), step.before, step.empty)
        elif entries:
            yield from _whole(step.before, entries)
        else:
            yield Text(step.empty)


def _whole(before: str, entries: Iterable[Entry]) -> Iterator[Simple]:
    text = f"{before}{{"
    for entry in entries:
        yield Text(f"{text}{entry.name}")
        yield entry.value
        text = ","
    yield Text("}")
