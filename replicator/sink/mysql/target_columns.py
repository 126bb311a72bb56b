"""Compares the columns of row images with those of their table at the target.

The servers don't: a column that the target lacks is dropped silently, NULL in a NOT NULL column becomes a default,
an ENUM's number means another member. So everything that is not known to store the same value is refused before a row
is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

import msgspec

from replicator.errors import SinkError
from replicator.model import types
from replicator.model.column_sizes import fixed_size, prefix_size
from replicator.model.table import Column
from replicator.model.target_table import TargetTable
from replicator.mysql.table_shape import ColumnShape
from replicator.sink.mysql.conversions import conversion
from replicator.sink.mysql.target_definition import Definition
from replicator.sink.mysql.transcoding import Plan, Step

_SHOWN: Final = 12


class Placed(msgspec.Struct, frozen=True):
    """Where the columns of the images are at the target.

    Attributes:
        columns: of the target, as the table map has them: up to the last one of the images.
        places: index in `columns` of each column of the stored images, ascending.
        stored: the table as the images have it that are executed.
        plan: how the source's images become those; None: they are.
    """

    columns: tuple[Column, ...]
    places: tuple[int, ...]
    stored: TargetTable
    plan: Plan | None = None


class Problem(msgspec.Struct, frozen=True):
    """Attributes:
    column: its name at the target.
    kind: missing, at the target; type, which does not store every value; null, not allowed at the target; generated,
        on one side only; value, which the server would choose for a column that the rows lack.
    """

    column: str
    why: str
    kind: Literal["missing", "type", "null", "generated", "value"]


def problems(table: TargetTable, definition: Definition, *, mariadb: bool) -> list[Problem]:
    """Why the rows of a table could not be stored as they are.

    Args:
        definition: of the table at the target.
        mariadb: the target is one.
    """
    found = _compared(table, definition, same_server=table.mariadb == mariadb)
    return [*(one for one in found if isinstance(one, Problem)), *_without_value(table, definition)]


def place(table: TargetTable, definition: Definition, *, mariadb: bool) -> Placed:
    """Arguments as of `problems`. Raises SinkError E3422: rows would not be stored as they are at the source."""
    same_server = table.mariadb == mariadb
    steps = []
    wrong = []
    for found in _compared(table, definition, same_server=same_server):
        if isinstance(found, Problem):
            wrong.append(found)
        else:
            steps.append(found)
    if wrong:
        raise _mismatch(table, wrong, "columns that can store every value of the source unchanged")
    unfilled = list(_without_value(table, definition))
    if unfilled:
        raise _mismatch(table, unfilled, "columns that the source lacks to be nullable, or to have a default")
    target = definition.shape.columns
    at = _places(definition)
    of_image = {at[column.name.lower()]: column for column in table.columns}
    places = tuple(sorted(of_image))
    # A column behind the last one of the images is not in the table map: else AUTO_INCREMENT would write zeros.
    columns = tuple(
        _mapped(index, shape, of_image.get(index)) for index, shape in enumerate(target[: max(places, default=-1) + 1])
    )
    steps.sort(key=lambda step: at[table.columns[step.column].name.lower()])
    plan = Plan(tuple(_size(column) for column in table.columns), tuple(steps))
    if plan.same:
        return Placed(columns, places, table)
    return Placed(columns, places, _stored(table, steps, [columns[index] for index in places]), plan)


def _places(definition: Definition) -> dict[str, int]:
    return {column.name.lower(): index for index, column in enumerate(definition.shape.columns)}


def _compared(table: TargetTable, definition: Definition, *, same_server: bool) -> Iterator[Step | Problem]:
    at, columns = _places(definition), definition.shape.columns
    generated = {column.name for column in columns if column.name.lower() in definition.generated}
    for column in table.columns:
        index = at.get(column.name.lower())
        if index is None:
            yield Problem(column.name, "no such column", "missing")
            continue
        if column.declared is not None and not column.declared.generated and columns[index].name in generated:
            yield Problem(column.name, "generated at the target only", "generated")
            continue
        found = conversion(column, columns[index], same_server=same_server)
        yield found if isinstance(found, Step) else Problem(column.name, found, "type")
        if column.nullable and not columns[index].nullable:
            yield Problem(column.name, "NOT NULL at the target only", "null")
    for name in table.omitted:
        if name.lower() not in at:
            yield Problem(name, "no such column", "missing")
        elif name.lower() not in definition.generated:
            why = "generated at the source, whose updates do not have it, and not at the target"
            yield Problem(name, why, "generated")


def _without_value(table: TargetTable, definition: Definition) -> Iterator[Problem]:
    """Columns that rows lack and the server would give another value than INSERT."""
    given = {column.name.lower() for column in table.columns}
    for name, why in definition.unfilled.items():
        if name.lower() not in given:
            yield Problem(name, why, "value")
    at = _places(definition)
    end = max((at[name] for name in given if name in at), default=-1)
    automatic = definition.automatic
    if automatic is not None and automatic.lower() not in given and at[automatic.lower()] < end:
        yield Problem(automatic, "an AUTO_INCREMENT column in front of columns of the source", "value")


def _mapped(index: int, shape: ColumnShape, image: Column | None) -> Column:
    """With the metadata of the target: then the server converts nothing. Compressed values are for it to read."""
    if image is not None and image.type in types.COMPRESSED:
        return Column(index, shape.name, image.type, image.meta, shape.nullable)
    return Column(
        index, shape.name, shape.type, shape.meta, shape.nullable, shape.unsigned, dimensions=shape.dimensions
    )


def _stored(table: TargetTable, steps: Sequence[Step], mapped: Sequence[Column]) -> TargetTable:
    columns = tuple(
        msgspec.structs.replace(
            table.columns[step.column], index=place, type=column.type, meta=column.meta, unsigned=column.unsigned
        )
        for place, (step, column) in enumerate(zip(steps, mapped, strict=True))
    )
    now = {step.column: place for place, step in enumerate(steps)}
    return msgspec.structs.replace(table, columns=columns, primary_key=tuple(now[old] for old in table.primary_key))


def _size(column: Column) -> int:
    size = fixed_size(column)
    return -prefix_size(column) if size is None else size


def _mismatch(table: TargetTable, found: Sequence[Problem], wanted: str) -> SinkError:
    return SinkError(
        "E3422",
        f"table {table.qualified} at the target does not match the source's rows",
        found="; ".join(f"{one.column}: {one.why}" for one in found[:_SHOWN]),
        wanted=wanted,
        table=table.source or table.qualified,
    )
