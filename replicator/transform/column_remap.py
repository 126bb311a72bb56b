"""Maps a plan that was made for a changed table back to the columns of the row images."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.plan import (
    Deferred,
    Each,
    Member,
    Members,
    RawImage,
    RawText,
    RecordPlan,
    Step,
    TablePlan,
    Template,
    Text,
    Value,
    Var,
)
from replicator.model.table import Column
from replicator.transform.view import Origin, View


def remap(plan: TablePlan, view: View) -> TablePlan:
    """Values of the view's columns become what the view says of them."""
    if view.untouched:
        return plan
    origins, columns = view.origins, view.table.columns
    keys = tuple(origins[index].column for index in plan.keys if origins[index].constant is None)
    remapped = each_template(plan, lambda template: tuple(_outer(step, origins, columns) for step in template))
    return msgspec.structs.replace(remapped, keys=keys)


def ungrouped(plan: TablePlan) -> TablePlan:
    """The same plan with a record for each row, where it made one of all rows of an event: rows that are filtered or go
    to partitions of their own can't share one."""
    if not plan.grouped:
        return plan
    spread = each_template(plan, lambda template: tuple(step for outer in template for step in _spread(outer)))
    return msgspec.structs.replace(spread, grouped=False)


def _spread(step: Step) -> Template:
    return step.template if isinstance(step, Each) else (step,)


def without_query(plan: TablePlan) -> TablePlan:
    """The plan without the text of the statement behind a row, which holds the values that were to be hidden."""

    def step(one: Step) -> Step:
        if isinstance(one, Each):
            return Each(tuple(_hushed(inner) for inner in one.template), one.separator)
        return one if isinstance(one, Deferred | RawImage) else _hushed(one)

    return each_template(plan, lambda template: tuple(step(one) for one in template))


def _hushed(step: Text | Value | Var | Members) -> Text | Value | Var | Members:
    if isinstance(step, Var) and step.name == "query":
        return Text("null" if step.before is None else "")
    return step


def each_template(plan: TablePlan, change: Callable[[Template], Template]) -> TablePlan:
    """The plan with every template changed."""

    def records(group: Iterable[RecordPlan]) -> tuple[RecordPlan, ...]:
        return tuple(
            msgspec.structs.replace(
                record,
                key=None if record.key is None else change(record.key),
                value=None if record.value is None else change(record.value),
                headers=tuple((name, change(template)) for name, template in record.headers),
                route=None if record.route is None else change(record.route),
            )
            for record in group
        )

    return msgspec.structs.replace(
        plan,
        insert=records(plan.insert),
        update=records(plan.update),
        delete=records(plan.delete),
        rekey=None if plan.rekey is None else records(plan.rekey),
        route=None if plan.route is None else change(plan.route),
    )


def _outer(step: Step, origins: tuple[Origin, ...], columns: tuple[Column, ...]) -> Step:
    if isinstance(step, Deferred):
        return step
    if isinstance(step, RawImage):
        return _raw(step, origins, columns)
    if isinstance(step, Each):
        return Each(tuple(_step(inner, origins) for inner in step.template), step.separator)
    return _step(step, origins)


def _step(step: Text | Value | Var | Members, origins: tuple[Origin, ...]) -> Text | Value | Var | Members:
    if isinstance(step, Value):
        return _value(step, origins[step.column])
    return _members(step, origins) if isinstance(step, Members) else step


def _value(value: Value, origin: Origin) -> Value | Text:
    if origin.constant is not None:
        return Text(origin.constant)
    if origin.nothing:
        return Text(value.null)
    return _masked(value, origin)


def _members(members: Members, origins: tuple[Origin, ...]) -> Members:
    """Members hold values only. What is the same in every row is as a value whose text does not depend on it; it
    never changes."""
    kept = []
    for member in members.members:
        origin = origins[member.value.column]
        if origin.nothing:
            text = member.value.null
        elif origin.constant is not None:
            text = origin.constant
        else:
            kept.append(Member(member.name, _masked(member.value, origin)))
            continue
        if not members.changed:
            same = Value(origin.column, member.value.image, f"constant:{text}", null=text, absent=text)
            kept.append(Member(member.name, same))
    return msgspec.structs.replace(members, members=tuple(kept))


def _masked(value: Value, origin: Origin) -> Value:
    renderer = value.renderer
    if origin.mask is not None:
        renderer = origin.mask + renderer if origin.wraps else origin.mask
    return msgspec.structs.replace(value, column=origin.column, renderer=renderer)


def _raw(step: RawImage, origins: tuple[Origin, ...], columns: tuple[Column, ...]) -> RawImage:
    """A constant takes the place of the value of a column that is never NULL."""
    texts = []
    nullable = frozenset(
        origin.column
        for origin, column in zip(origins, columns, strict=True)
        if origin.constant is None and column.nullable
    )
    for place, index in enumerate(step.columns):
        origin, seen = origins[index], columns[index]
        if origin.constant is not None:
            _check_never_null(seen, origin, nullable)
            texts.append(RawText(place, f"constant:{origin.constant}", types.prefix_of(seen.type, seen.meta)))
        elif origin.nothing:
            texts.append(RawText(place, None))
        elif origin.mask is not None:
            renderer = f"{origin.mask}text" if origin.wraps else origin.mask
            _check_fixed(renderer, seen)
            texts.append(RawText(place, renderer, types.prefix_of(seen.type, seen.meta)))
    return msgspec.structs.replace(
        step, columns=tuple(origins[index].column for index in step.columns), texts=tuple(texts)
    )


def _check_never_null(added: Column, origin: Origin, nullable: frozenset[int]) -> None:
    if origin.column in nullable:
        raise DecodeError(
            "E2310",
            f"transforms.add can't add '{added.name}' to a table whose columns can all be NULL, for this sink",
            wanted="a column of the table that is NOT NULL, and not generated",
        )


def _check_fixed(renderer: str, column: Column) -> None:
    """`column`: a VARCHAR."""
    size = len(renderer.removeprefix("mask:fixed:").encode())
    if renderer.startswith("mask:fixed:") and size > column.meta:
        raise DecodeError(
            "E2310",
            f"transforms.mask has a text that is too long for '{column.name}' of a sink that is a database",
            found=f"fixed, {size} bytes",
            wanted=f"at most {column.meta} bytes",
        )
