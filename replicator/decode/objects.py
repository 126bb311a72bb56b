"""Source text for JSON objects of which some members can be missing."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from replicator.decode.images import Image
from replicator.decode.lowering import Entry, Object
from replicator.decode.needs import Needs
from replicator.decode.source_text import Part, SourceText, joined
from replicator.model.plan import Image as ImageName


def object_text(out: SourceText, step: Object, images: Mapping[ImageName, Image], needs: Needs) -> str:
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
        parts: list[Part] = [f",{entry.name.encode().decode('latin-1')}", *_value(entry, images, needs)]
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
    before, empty = (text.encode().decode("latin-1") for text in (step.before, step.empty))
    rest = ast.parse(f"{name}[1:]", mode="eval").body
    whole = joined([f"{before}{{", rest, "}"])
    out.line(f"{name} = {out.tree(whole)} if {name} else {out.tree(joined([empty]))}")
    return name


def _test(entry: Entry, images: Mapping[ImageName, Image]) -> str:
    column, tests = entry.value.column, []
    if entry.changed:
        tests.append(f"{images['before'].values[column]} != {images['after'].values[column]}")
    if entry.not_null:
        tests.append(f"{images[entry.value.image].values[column]} is not None")
    return " and ".join(tests)


def _value(entry: Entry, images: Mapping[ImageName, Image], needs: Needs) -> list[Part]:
    value = entry.value
    null = None if entry.not_null else value.null.encode().decode("latin-1")
    return images[value.image].text(needs.slot(value), null)
