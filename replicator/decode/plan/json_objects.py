"""Generates the source of JSON objects whose members can be absent."""

from __future__ import annotations

from collections.abc import Mapping

from replicator.decode.plan.column_usage import ColumnUsage
from replicator.decode.plan.image_reader import Image
from replicator.decode.plan.lowering import Entry, Object
from replicator.decode.plan.source_text import Part, SourceText, expression, joined, latin1
from replicator.model.plan import Image as ImageName


def object_text(out: SourceText, step: Object, images: Mapping[ImageName, Image], needs: ColumnUsage) -> str:
    """Emits what puts the object together; the name of the variable that has it.

    Every member begins with a comma, the first of which is cut off at the end. Conditions look at raw values: what is
    not printed is not rendered.
    """
    name = out.fresh("object")
    always: list[Part] = []  # of members that are there whatever the row says
    begun = False

    def write(parts: list[Part]) -> None:
        nonlocal begun
        out.line(f"{name} {'+=' if begun else '='} {out.tree(joined(parts))}")
        begun = True

    for entry in step.entries:
        test = _test(entry, images)
        parts: list[Part] = [f",{latin1(entry.name)}", *_value(entry, images, needs)]
        if not test:
            always += parts
            continue
        if always or not begun:
            write(always)
            always = []
        out.line(f"if {test}:")
        out.indent += 1
        write(parts)
        out.indent -= 1
    if always:
        write(always)
    whole = joined([f"{latin1(step.before)}{{", expression(f"{name}[1:]"), "}"])
    out.line(f"{name} = {out.tree(whole)} if {name} else {out.tree(joined([latin1(step.empty)]))}")
    return name


def _test(entry: Entry, images: Mapping[ImageName, Image]) -> str:
    column, tests = entry.value.column, []
    if entry.changed:
        tests.append(f"{images['before'].values[column]} != {images['after'].values[column]}")
    if entry.not_null:
        tests.append(f"{images[entry.value.image].values[column]} is not None")
    return " and ".join(tests)


def _value(entry: Entry, images: Mapping[ImageName, Image], needs: ColumnUsage) -> list[Part]:
    value = entry.value
    null = None if entry.not_null else latin1(value.null)
    return images[value.image].text(needs.slot(value), null)
