"""Translates a lowered plan to the arrays that `compiled.program.Program` runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec

from replicator.decode.binlog.column_presence import IMAGES, Operation, Presence
from replicator.decode.native import avro, protobuf, writers
from replicator.decode.native.avro import Leaf, Unfit
from replicator.decode.native.filters import FilterPlanner
from replicator.decode.native.filters import Program as Filtering
from replicator.decode.plan.lowering import Entry, Lines, Lowered, Lowering, Object, Repeated, Simple
from replicator.decode.plan.raw_images import copied, text_rendering
from replicator.decode.plan.variable_values import PER_EVENT, PER_ROW, Context
from replicator.decode.renderers.contract import Rendering
from replicator.model.column_sizes import fixed_size, prefix_size
from replicator.model.encoding import AvroRecords, CanalColumn, CanalEntries, Count, RecordSchema
from replicator.model.plan import Image, RawImage, TablePlan, Text, Value, Var
from replicator.model.table import Column, Table

Renderer: TypeAlias = Callable[[str, Column, Table], Rendering]
Piece: TypeAlias = "bytes | tuple[str, bytes | None, Leaf | None]"
"""A literal, or the name of a variable, the text in front of it where it is not null, and its schema in Avro."""
Written: TypeAlias = "tuple[str, int, int, bytes, Callable[[bytes], str], Leaf | None]"
Steps: TypeAlias = "tuple[int, int] | None"
"""(first step of a template, behind its last one)"""

_ROW_NUMBERS: Final = ("row", "offset", "order", "table_order")
_ALWAYS_CHANGED, _NEVER_CHANGED = -1, -2
_MOST_HEADERS: Final = 8
_MOST_REPEATED: Final = 4


class Form(msgspec.Struct, frozen=True):
    """A record. headers: (name as it is in a Kafka record, steps)."""

    key: Steps
    value: Steps
    route: Steps
    headers: tuple[tuple[bytes, Steps], ...]


class Spec(msgspec.Struct):
    """
    Attributes:
        header: of the events that the program is for, and `mask`: which of its bits count.
        images: (fixed size or -1, bytes of the length in front, nullable) of every column, by image.
        values: (writer's name, a, b, text, the twin's renderer, schema in Avro).
        cells: columns of protobuf.
        same: texts that are the same for all rows of an event: literals and variables.
        steps: see `Program._steps`.
        moved: records of a row whose key has changed; None: those of any row. `compared`: where its columns stand in
            both images. `always_moved`: the image before lacks one of them.
        filter: None: every row has records. entering, leaving: those of rows that an update moves in or out.
    """

    topic: str
    header: bytes
    mask: bytes
    grouped: bool
    images: list[list[tuple[int, int, bool]]]
    values: list[Written]
    cells: list[CanalColumn]
    same: list[list[Piece]]
    steps: list[tuple[Any, ...]]
    records: list[Form]
    moved: list[Form] | None
    compared: list[tuple[int, int]]
    always_moved: bool
    filter: Filtering | None
    entering: list[Form]
    leaving: list[Form]


class Assembler:
    """Makes the `Spec` of one plan, operation and set of columns.

    Raises:
        Unfit: from `spec`.
        Exception: what the twin's own compilation would raise.
    """

    def __init__(
        self, plan: TablePlan, table: Table, operation: Operation, rendering: Renderer, presence: Presence
    ) -> None:
        self._plan = plan
        self._table = table
        self._images = IMAGES[operation]
        self._operation: Operation = operation
        self._rendering = rendering
        self._presence = presence
        self._present: dict[Image, list[Column]] = {
            image: [column for column in table.columns if presence.has(image, column.index)] for image in self._images
        }
        self._values: dict[tuple[int, str, Leaf | None], int] = {}
        self._writers: list[Written] = []
        self._cells: dict[CanalColumn, int] = {}
        self._same: dict[tuple[Piece, ...], int] = {}
        self._steps: list[tuple[Any, ...]] = []
        self._repeated: dict[Repeated, int] = {}

    def spec(self, header: bytes) -> Spec:
        plan, presence = self._plan, self._presence
        if plan.encode is not None and not isinstance(plan.encode, AvroRecords | CanalEntries):
            raise Unfit("an encoding")
        lowering = Lowering(plan, self._table, self._operation, presence)
        records = self._forms(lowering.records(getattr(plan, self._operation)))
        moved, compared, always = None, [], False
        if self._operation == "update" and plan.rekey is not None and not plan.grouped:
            keys = [index for index in plan.keys if presence.has("after", index)]
            if keys:
                always = not all(presence.has("before", index) for index in keys)
                compared = [] if always else [self._pair(index) for index in keys]
                moved = self._forms(lowering.records(plan.rekey))
        filtering, entering, leaving = None, list[Form](), list[Form]()
        if plan.filter is not None:
            if plan.grouped:
                raise Unfit("a filter of rows in one record")
            planner = FilterPlanner(self._table, self._operation, presence, plan.filter, self._place)
            filtering = planner.program()
            if planner.moves:
                entering = self._forms(lowering.records(plan.insert))
                leaving = self._forms(lowering.records(plan.delete))
        return Spec(
            plan.topic,
            header,
            self._mask(header),
            plan.grouped,
            [[_field(column) for column in self._present[image]] for image in self._images],
            self._writers,
            list(self._cells),
            [list(text) for text in self._same],
            self._steps,
            records,
            moved,
            compared,
            always,
            filtering,
            entering,
            leaving,
        )

    def _mask(self, header: bytes) -> bytes:
        """The servers fill the last byte of a bitmap up with ones or with zeros."""
        columns = len(self._table.columns)
        size = (columns + 7) // 8
        bitmap = ((1 << columns) - 1).to_bytes(size, "little")
        return b"\xff" * (len(header) - size * len(self._images)) + bitmap * len(self._images)

    def prepare(self) -> Callable[[Context], list[bytes]]:
        """Makes the texts that are the same for all rows of an event."""
        texts = list(self._same)
        return lambda context: [b"".join([_printed(piece, context) for piece in text]) for text in texts]

    def _forms(self, records: Sequence[Lines]) -> list[Form]:
        if any(len(record.headers) > _MOST_HEADERS for record in records):
            raise Unfit("many headers")
        return [
            Form(
                self._encoded(record.key, "key"),
                self._encoded(record.value, "value"),
                self._template(record.route),
                tuple((_named(name), self._template(template)) for name, template in record.headers),
            )
            for record in records
        ]

    def _encoded(self, template: Lowered | None, part: Literal["key", "value"]) -> Steps:
        encode = self._plan.encode
        if template is not None and isinstance(encode, CanalEntries) and part == "value":
            return self._laid(self._entry(protobuf.items(template, encode)))
        if template is None or not isinstance(encode, AvroRecords):
            return self._template(template)
        schema: RecordSchema | None = getattr(encode, part)
        return None if schema is None else self._laid([("head", schema), *self._avro(avro.items(template, schema))])

    def _avro(self, items: Sequence[avro.Item]) -> list[tuple[Any, ...]]:
        steps: list[tuple[Any, ...]] = []
        same: list[Piece] = []
        for item in items:
            if isinstance(item, bytes):
                same.append(item)
            elif isinstance(item.step, Var) and item.step.name in PER_EVENT:
                same.append((item.step.name, None, item.leaf))
            else:
                steps += self._flushed(same)
                steps.append(self._varying(item.step, item.leaf))
        return steps + self._flushed(same)

    def _entry(self, items: Iterable[protobuf.Item]) -> list[tuple[Any, ...]]:
        steps: list[tuple[Any, ...]] = []
        same: list[Piece] = []
        for item in items:
            if isinstance(item, bytes):
                same.append(item)
            elif isinstance(item, protobuf.Printed):
                if item.var.name not in PER_EVENT:
                    raise Unfit("a variable of a row")
                same.append((item.var.name, item.tag, item.leaf))
            else:
                steps += self._flushed(same)
                steps.append(self._entry_part(item))
        return steps + self._flushed(same)

    def _entry_part(self, item: protobuf.Nested | protobuf.Each | protobuf.Cell | Count) -> tuple[Any, ...]:
        if isinstance(item, Count):
            return ("count", -1 if item.known is None else item.known)
        if isinstance(item, protobuf.Cell):
            return self._cell(item)
        inner = self._entry(item.items)
        first = len(self._steps)
        self._steps.extend(inner)
        if isinstance(item, protobuf.Nested):
            return ("message", item.tag, first, len(self._steps), item.optional)
        number = self._repeated.setdefault(item.step, len(self._repeated))
        if number:
            raise Unfit("many repetitions")
        return ("repeated", number, first, len(self._steps), b"", False)

    def _cell(self, item: protobuf.Cell) -> tuple[Any, ...]:
        place, value, null = self._value(item.value)
        if null != b"null" or (item.column.limit is not None and self._writers[value][0] != writers.UNSIGNED_STRING):
            raise Unfit("a column with another value")
        column = self._cells.setdefault(item.column, len(self._cells))
        before = _ALWAYS_CHANGED if item.updated else _NEVER_CHANGED
        if item.before is not None:
            before = self._place(item.before.image, item.before.column)
        return ("cell", item.tag, place, value, column, before)

    def _template(self, template: Lowered | None) -> Steps:
        return None if template is None else self._laid(self._made(template))

    def _laid(self, steps: Sequence[tuple[Any, ...]]) -> Steps:
        first = len(self._steps)
        self._steps.extend(steps)
        return first, len(self._steps)

    def _made(self, template: Sequence[Simple | Repeated]) -> list[tuple[Any, ...]]:
        """Steps; those inside of objects and of what is repeated are laid down before."""
        steps: list[tuple[Any, ...]] = []
        same: list[Piece] = []
        for step in template:
            if isinstance(step, Text):
                same.append(step.text.encode())
            elif isinstance(step, Var) and step.name in PER_EVENT:
                same.append((step.name, None if step.before is None else step.before.encode(), None))
            else:
                steps += self._flushed(same)
                steps.append(self._varying(step))
        return steps + self._flushed(same)

    def _flushed(self, same: list[Piece]) -> list[tuple[Any, ...]]:
        """What has come of texts and variables of the event, as one step."""
        pieces: list[Piece] = []
        for piece in same:
            if isinstance(piece, bytes) and pieces and isinstance(pieces[-1], bytes):
                pieces[-1] += piece
            else:
                pieces.append(piece)
        same.clear()
        if not pieces:
            return []
        if len(pieces) == 1 and isinstance(pieces[0], bytes):
            return [("text", pieces[0])]
        return [("same", self._same.setdefault(tuple(pieces), len(self._same)))]

    def _varying(self, step: Simple | Repeated, leaf: Leaf | None = None) -> tuple[Any, ...]:
        if isinstance(step, Value):
            return ("value", *self._value(step, leaf))
        if isinstance(step, Object):
            members = [self._member(entry) for entry in step.entries]
            first = len(self._steps)
            self._steps.extend(members)
            return ("object", first, len(self._steps), step.before.encode(), step.empty.encode())
        if isinstance(step, Repeated):
            return self._repetition(step)
        if isinstance(step, RawImage):
            return self._image(step)
        assert isinstance(step, Var), "text does not vary"  # noqa: S101
        if step != Var(step.name):
            raise Unfit("a text in front of a number")
        if step.name not in _ROW_NUMBERS:
            if leaf is not None:
                raise Unfit("a text of a row")
            return ("asked", eval(f"lambda _c, _row: {PER_ROW[step.name].format(row='_row')}"))  # noqa: S307
        return (step.name, leaf)

    def _image(self, step: RawImage) -> tuple[Any, ...]:
        """A copy of an image, or the columns that it is made of."""
        present = self._present[step.image]
        if copied(step, self._table, len(present)):
            return ("image", self._images.index(step.image), step.sized)
        texts = {text.place: text for text in step.texts}
        columns: list[tuple[Any, ...]] = []
        for place, index in enumerate(step.columns):
            column, text, cut = self._table.columns[index], texts.get(place), self._place(step.image, index)
            if text is None:
                columns.append(("column", cut, _field(column)[1]))
            elif text.renderer is None:
                columns.append(("no_column",))
            else:
                made = text_rendering(text.renderer, column, self._table, self._rendering)
                columns.append(("column_text", cut, self._writer(text.renderer, column, made), text.prefix))
        first = len(self._steps)
        self._steps.extend(columns)
        return ("columns", first, len(self._steps), step.sized)

    def _writer(self, name: str, column: Column, rendering: Rendering) -> int:
        """Number of the writer of a text that becomes a value."""
        key = (column.index, name, None)
        if key not in self._values:
            chosen = writers.writer(name, column, rendering)
            self._values[key] = len(self._writers)
            self._writers.append((*chosen, writers.asked(chosen, rendering), None))
        return self._values[key]

    def _repetition(self, step: Repeated) -> tuple[Any, ...]:
        number, again = self._repeated.get(step), step in self._repeated
        if number is None:
            number = self._repeated[step] = len(self._repeated)
        if number >= _MOST_REPEATED:
            raise Unfit("many repetitions")
        inner = self._made(step.template)
        first = len(self._steps)
        self._steps.extend(inner)
        return ("repeated", number, first, len(self._steps), step.separator.encode(), again)

    def _member(self, entry: Entry) -> tuple[Any, ...]:
        before, after = self._pair(entry.value.column) if entry.changed else (-1, -1)
        return ("member", entry.name.encode(), *self._value(entry.value), before, after, entry.not_null)

    def _value(self, step: Value, leaf: Leaf | None = None) -> tuple[int, int, bytes]:
        """(place among the values of a row, number of its writer, text for NULL)"""
        key = (step.column, step.renderer, leaf)
        column = self._table.columns[step.column]
        if key not in self._values:
            rendering = self._rendering(step.renderer, column, self._table)
            rendering.check(column)
            chosen = writers.writer(step.renderer, column, rendering)
            made = writers.asked(chosen, rendering)
            self._values[key] = len(self._writers)
            self._writers.append((*chosen, made, None) if leaf is None else avro.writer(chosen, made, leaf))
        null = step.null.encode()
        if leaf is not None:
            null = leaf.write(null) if column.nullable else b""
        return self._place(step.image, step.column), self._values[key], null

    def _place(self, image: Image, index: int) -> int:
        start = 0 if image == self._images[0] else len(self._present[self._images[0]])
        return start + [column.index for column in self._present[image]].index(index)

    def _pair(self, index: int) -> tuple[int, int]:
        """Places of a column whose raw values are compared between the images."""
        return self._place("before", index), self._place("after", index)


def _field(column: Column) -> tuple[int, int, bool]:
    size = fixed_size(column)
    if size is not None:
        return size, 0, column.nullable
    return -1, prefix_size(column), column.nullable


def _named(name: str) -> bytes:
    """A header's name behind its length, a zigzag varint."""
    raw = name.encode()
    rest, length = len(raw) << 1, bytearray()
    while rest > 0x7F:
        length.append(rest & 0x7F | 0x80)
        rest >>= 7
    length.append(rest)
    return bytes(length) + raw


def _printed(piece: Piece, context: Context) -> bytes:
    if isinstance(piece, bytes):
        return piece
    name, before, leaf = piece
    value = str(EVALUATORS[name](context)).encode("latin-1")
    if leaf is not None:
        return leaf.write(value)
    if before is None:
        return value
    return b"" if value == b"null" else before + value


EVALUATORS: Final[dict[str, Callable[[Context], object]]] = {
    name: eval(f"lambda _c: {expression}")  # noqa: S307 constants of this package
    for name, expression in PER_EVENT.items()
}
