"""A plan and a table version -> one Python function that decodes the rows of an event and appends their records.

    rows(b, s, p, end, row, append, context) -> (row after the last one, bytes of keys and values)

    b, s     the stream's bytes, and the same as latin-1 text
    p, end   where the event's column count stands, and where its rows end
    row      index in the transaction of the event's first row
    append   of a list of `model.batch.Record`
    context  `Context`: what a plan's variables print

What is the same for all rows of an event (literals with the variables between them) is put together once per event.
The function raises struct.error, IndexError and the like for damaged
rows, after having appended some: the caller undoes that and gives the position.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Final, Literal, NoReturn, TypeAlias

from replicator.decode.extents import fixed_size
from replicator.decode.images import Image, Slot
from replicator.decode.rendering import Rendering
from replicator.decode.source_text import Part, SourceText, joined, variable
from replicator.errors import DecodeError
from replicator.model.batch import Record
from replicator.model.plan import Image as ImageName
from replicator.model.plan import RecordPlan, TablePlan, Template, Text, Value, Var
from replicator.model.table import Column, Table

Operation: TypeAlias = Literal["insert", "update", "delete"]
Renderer: TypeAlias = Callable[[str, Column, Table], Rendering]
IMAGES: Final[dict[Operation, tuple[ImageName, ...]]] = {
    "insert": ("after",),
    "update": ("before", "after"),
    "delete": ("before",),
}

_PER_EVENT: Final = {
    "ts_ms": "_c.ts_us // 1000",
    "ts_us": "_c.ts_us",
    "ts_ns": "_c.ts_us * 1000",
    "now_ms": "_c.now_ns // 1000000",
    "now_us": "_c.now_ns // 1000",
    "now_ns": "_c.now_ns",
    "gtid": "_c.gtid",
    "file": "_c.file",
    "pos": "_c.pos",
    "server_id": "_c.server_id",
    "thread": "_c.thread",
}


class Context:
    """What the variables of plans print, for the event at hand. `gtid` and `file` are JSON text (latin-1 of UTF-8)."""

    __slots__ = ("file", "gtid", "now_ns", "pos", "position", "server_id", "thread", "ts_us")

    def __init__(self) -> None:
        self.ts_us = 0
        self.now_ns = 0
        self.gtid = "null"
        self.file = "null"
        self.pos = 0
        self.server_id = 0
        self.thread: int | str = "null"
        self.position = b""


Rows: TypeAlias = Callable[[bytes, str, int, int, int, Callable[[Record], None], Context], tuple[int, int]]


@lru_cache(maxsize=500)
def compile_rows(plan: TablePlan, table: Table, operation: Operation, rendering: Renderer) -> Rows:
    """Kept over decoders: a stream that is opened again needs the same functions.

    Raises:
        DecodeError: E2301, E2306, E2307: a column that can't be read or written as planned.
    """
    return _Function(plan, table, operation, rendering).compile()


class _Function:
    def __init__(self, plan: TablePlan, table: Table, operation: Operation, rendering: Renderer) -> None:
        self._out = SourceText()
        self._plan = plan
        self._table = table
        self._images = IMAGES[operation]
        self._rendering = rendering
        self._rekeyed = plan.rekey if operation == "update" and plan.keys else None
        self._records: Sequence[RecordPlan] = getattr(plan, operation)
        self._slots: dict[tuple[int, ImageName, str], Slot] = {}
        self._per_event: dict[tuple[Text | Var, ...], str] = {}
        self._event_lines: list[str] = []
        self._numbered = False

    def compile(self) -> Rows:
        for records in (self._records, self._rekeyed or ()):
            self._count(records)
        compared = self._compared()
        self._read = {name: self._image(name, compared) for name in self._images}
        body = self._rows(compared)
        return self._assemble(body)

    def _count(self, records: Iterable[RecordPlan]) -> None:
        """Finds the slots of a group of records, of which a row takes one or the other."""
        uses: dict[tuple[int, ImageName, str], int] = {}
        for template in dict.fromkeys(_templates(records)):
            for step in template:
                if isinstance(step, Value):
                    slot = self._slot(step)
                    uses[slot] = uses.get(slot, 0) + 1
                    texts = self._slots[slot].texts
                    texts.setdefault(step.null.encode().decode("latin-1"), self._out.fresh("x"))
        for key, count in uses.items():
            self._slots[key].uses = max(self._slots[key].uses, count)

    def _slot(self, step: Value) -> tuple[int, ImageName, str]:
        if step.image not in self._images:
            raise ValueError(f"the plan of {self._table.qualified} prints the image '{step.image}', which is not there")
        key = (step.column, step.image, step.renderer)
        if key not in self._slots:
            column = self._table.columns[step.column]
            self._slots[key] = Slot(column, self._rendering(step.renderer, column, self._table))
        return key

    def _compared(self) -> dict[int, str]:
        """Key columns to compare between the images, each with a cut that both can use."""
        if self._rekeyed is None:
            return {}
        cuts = {}
        for index in self._plan.keys:
            used = [slot.rendering.cut for key, slot in self._slots.items() if key[0] == index]
            size = fixed_size(self._table.columns[index])
            cuts[index] = used[0] if used else "bytes" if size is None else f"{size}s"
        return cuts

    def _image(self, name: ImageName, compared: dict[int, str]) -> Image:
        slots: dict[int, list[Slot]] = {}
        for (column, image, _), slot in self._slots.items():
            if image == name:
                slots.setdefault(column, []).append(slot)
        return Image(self._out, self._table.columns, slots, compared)

    def _rows(self, compared: dict[int, str]) -> list[str]:
        """The body of the loop over rows."""
        out = self._out
        out.indent = 2
        for image in self._read.values():
            image.emit()
        if self._rekeyed is None:
            self._emit(self._records)
        else:
            before, after = self._read["before"].values, self._read["after"].values
            test = " or ".join(f"{before[index]} != {after[index]}" for index in compared)
            out.line(f"if {test}:")
            out.indent = 3
            self._emit(self._rekeyed)
            out.indent = 2
            out.line("else:")
            out.indent = 3
            self._emit(self._records)
        body, out.lines = out.lines, []
        return body

    def _emit(self, records: Sequence[RecordPlan]) -> None:
        texts: dict[Template, str] = {}
        for record in records:
            key, value = self._bytes(record.key, texts), self._bytes(record.value, texts)
            headers = "".join(f"({name!r}, {self._bytes(template, texts)}), " for name, template in record.headers)
            self._out.line(f"_append(({self._plan.topic!r}, {key}, {value}, _position, _row, ({headers})))")
            lengths = " + ".join(f"len({text})" for text in (key, value) if text != "None")
            if lengths:
                self._out.line(f"_size += {lengths}")
        if not records:
            self._out.line("pass")

    def _bytes(self, template: Template | None, texts: dict[Template, str]) -> str:
        """The name of a variable with the template's bytes; the same template is put together once."""
        if template is None:
            return "None"
        if template not in texts:
            name = texts[template] = self._out.fresh("text")
            self._out.line(f"{name} = {self._out.tree(joined(self._parts(template)))}.encode('latin-1')")
        return texts[template]

    def _parts(self, template: Template) -> list[Part]:
        parts: list[Part] = []
        same: list[Text | Var] = []  # the steps that are the same for all rows of the event
        for step in template:
            if isinstance(step, Text) or (isinstance(step, Var) and step.name != "row"):
                same.append(step)
                continue
            parts.extend(self._same(tuple(same)))
            same.clear()
            if isinstance(step, Var):
                self._numbered = True
                parts.append(variable("_index"))
            elif isinstance(step, Value):
                slot = self._slots[self._slot(step)]
                parts.extend(self._read[step.image].text(slot, step.null.encode().decode("latin-1")))
        return [*parts, *self._same(tuple(same))]

    def _same(self, steps: tuple[Text | Var, ...]) -> list[Part]:
        if all(isinstance(step, Text) for step in steps):
            return [step.text.encode().decode("latin-1") for step in steps if isinstance(step, Text)]
        if steps not in self._per_event:
            parts: list[Part] = [
                step.text.encode().decode("latin-1")
                if isinstance(step, Text)
                else ast.parse(_PER_EVENT[step.name], mode="eval").body
                for step in steps
            ]
            name = self._per_event[steps] = self._out.fresh("event")
            self._event_lines.append(f" {name} = {self._out.tree(joined(parts))}")
        return [variable(self._per_event[steps])]

    def _assemble(self, body: list[str]) -> Rows:
        out = self._out
        header = _header(len(self._table.columns), len(self._images))
        expected = out.bind("header", header)
        check = out.bind("check", lambda found: check_columns(self._table, header, found))
        prelude = [
            "def rows(_b, _s, _p, _end, _row, _append, _c):",
            f" if _b[_p:_p + {len(header)}] != {expected}: {check}(_b[_p:_p + {len(header)}])",
            f" _p += {len(header)}",
            " _position = _c.position",
            " _size = _index = 0",
            *self._event_lines,
            " while _p < _end:",
        ]
        numbered = ["  _index += 1"] if self._numbered else []
        out.lines = [*prelude, *body, "  _row += 1", *numbered, " if _p != _end: _damaged('a row over the end')"]
        out.lines.append(" return _row, _size")
        source = "\n".join(out.lines)
        out.lines = [f"_damaged = {out.bind('damaged', damaged)}", f"_from_bytes = {out.bind('int', int.from_bytes)}"]
        out.lines.append(source)
        return out.function("rows")


def _templates(records: Iterable[RecordPlan]) -> Iterable[Template]:
    for record in records:
        yield from (template for template in (record.key, record.value) if template is not None)
        yield from (template for _, template in record.headers)


def packed(number: int) -> bytes:
    """A length-encoded integer."""
    return bytes((number,)) if number < 251 else b"\xfc" + number.to_bytes(2, "little")


def _header(columns: int, images: int) -> bytes:
    """What stands in front of the rows when every column is present; the servers set the bits left over, too."""
    return packed(columns) + b"\xff" * ((columns + 7) // 8 * images)


def damaged(what: str) -> NoReturn:
    raise DecodeError("E2302", f"a row event can't be read: {what}", wanted="whole rows")


def check_columns(table: Table, expected: bytes, found: bytes) -> None:
    """The slow look at a row event's header that is not the expected one.

    Raises:
        DecodeError: E2302 for another number of columns, E2304 for columns that are absent.
    """
    count = packed(len(table.columns))
    if len(found) != len(expected) or not found.startswith(count):
        damaged(f"it does not have the {len(table.columns)} columns of its table map")
    size = (len(table.columns) + 7) // 8
    every = (1 << len(table.columns)) - 1
    for start in range(len(count), len(found), size):
        present = int.from_bytes(found[start : start + size], "little") & every
        if present != every:
            absent = next(column.name for column in table.columns if not present >> column.index & 1)
            raise DecodeError(
                "E2304",
                f"a row of {table.qualified} comes without all of its columns",
                found=f"no '{absent}' (binlog_row_image MINIMAL or NOBLOB in that session)",
                wanted="binlog_row_image = FULL",
                fix="SET GLOBAL binlog_row_image = 'FULL'; and in the sessions that are open, or let them reconnect; "
                "then make a new task, as these rows are not complete in the binlog.",
            )
