"""Generates the source that reads one row image: it cuts out needed values and skips the others.

Neighbouring columns of fixed size, and the length prefix of a text that follows them, become one struct unpack. A row
without NULLs, told by one test of the null bitmap, takes a path without branches.
"""

from __future__ import annotations

import ast
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgspec

from replicator.decode.plan.source_text import Part, SourceText, joined, variable
from replicator.decode.renderers.contract import Rendering
from replicator.model.column_sizes import fixed_size, prefix_size
from replicator.model.table import Column

_PREFIX = {1: "B", 2: "<H", 3: "<3s", 4: "<I"}
_BITMAP = {1: "B", 2: "<H", 4: "<I", 8: "<Q"}
_WIDEST_TWICE = 256
"""Tables of more columns get no second path for rows without NULLs: the code would only grow."""


class Slot(msgspec.Struct):
    """A (column, image, renderer) that templates ask for.

    Attributes:
        uses: how often a row prints it whatever is in it; over one it is kept in a variable. 0: only when the row's
            values ask for it, and only there it is rendered.
        texts: text for NULL -> variable that holds it or the rendered value.
    """

    column: Column
    rendering: Rendering
    uses: int = 0
    texts: dict[str, str] = {}
    raw: str = ""


class Image:
    """One image of the generated function.

    Args:
        columns: those that are present.
        slots: what is printed, by column index.
        kept: column index -> cut of columns whose raw values the function looks at; their variables, None for NULL, are
            in `values`.
        spanned: variables `start` and `end` are wanted, which have the image's first byte and the one behind it.
    """

    def __init__(
        self,
        out: SourceText,
        columns: Sequence[Column],
        slots: Mapping[int, list[Slot]],
        kept: Mapping[int, str],
        *,
        spanned: bool = False,
    ) -> None:
        self._out = out
        self._columns = columns
        self._slots = slots
        self._kept = kept
        self._nulls = out.fresh("nulls")
        self._spanned = spanned
        self.start, self.end = out.fresh("start"), out.fresh("end")
        self._fields: list[tuple[str, str, int]] = []  # struct code, target or "", bytes
        self._later: list[Slot] = []  # rendered once the fields gathered so far are unpacked
        self.values: dict[int, str] = {}
        self._cuts: dict[int, dict[str, str]] = {}
        for column in columns:
            self._name_cuts(column)

    def _name_cuts(self, column: Column) -> None:
        cuts: dict[str, str] = {}
        for slot in self._slots.get(column.index, ()):
            slot.rendering.check(column)
            slot.raw = cuts.setdefault(slot.rendering.cut, self._out.fresh("v"))
        if column.index in self._kept:
            cut = self._kept[column.index]
            self.values[column.index] = cuts.setdefault(cut, self._out.fresh("v"))
        self._cuts[column.index] = cuts

    def text(self, slot: Slot, null: str | None) -> list[Part]:
        """What stands for the slot in an output text, once the image has been read. `null`: the text for NULL; None
        where the value is not NULL."""
        nullable = slot.column.nullable
        if slot.uses > 1 or (slot.uses and nullable):
            return [variable(next(iter(slot.texts.values())) if null is None else slot.texts[null])]
        rendered = self._out.rendered(slot.rendering, slot.raw)
        if null is None or not nullable:
            return rendered
        is_null = ast.Compare(variable(self.values[slot.column.index]), [ast.Is()], [ast.Constant(None)])
        return [ast.IfExp(is_null, ast.Constant(null), joined(rendered))]

    def emit(self) -> None:
        if self._spanned:
            self._out.line(f"{self.start} = _p")
        if self._columns:
            self._emit()
        if self._spanned:
            self._out.line(f"{self.end} = _p")

    def _emit(self) -> None:
        every = (1 << len(self._columns)) - 1
        nullable = sum(1 << place for place, column in enumerate(self._columns) if column.nullable)
        self._bitmap((len(self._columns) + 7) // 8)
        if not nullable:
            self._flush()
            self._out.line(f"if {self._nulls} & {every}: _damaged('NULL in a NOT NULL column')")
            self._walk(present=True)
        elif len(self._columns) > _WIDEST_TWICE:
            self._flush()
            self._walk(present=False)
        else:
            self._flush()
            with self._block(f"if not {self._nulls} & {every}:"):
                self._walk(present=True)
            with self._block("else:"):
                if nullable != every:
                    self._out.line(f"if {self._nulls} & {every ^ nullable}: _damaged('NULL in a NOT NULL column')")
                self._walk(present=False)

    def _bitmap(self, size: int) -> None:
        if size in _BITMAP:
            self._field(_BITMAP[size], size, self._nulls)
        else:
            self._out.line(f"{self._nulls} = _from_bytes(_b[_p:_p + {size}], 'little')")
            self._out.line(f"_p += {size}")

    def _walk(self, *, present: bool) -> None:
        for place, column in enumerate(self._columns):
            if present or not column.nullable:
                self._column(column)
                continue
            self._flush()
            cuts, test = self._cuts[column.index], f"{self._nulls} & {1 << place}"
            if not cuts:
                with self._block(f"if not {test}:"):
                    self._column(column)
                    self._flush()
                continue
            with self._block(f"if {test}:"):
                self._null(column)
            with self._block("else:"):
                self._column(column)
                self._flush()
        self._flush()

    def _null(self, column: Column) -> None:
        for slot in self._slots.get(column.index, ()):
            for null, name in slot.texts.items() if slot.uses else ():
                self._out.line(f"{name} = {self._out.tree(joined([null]))}")
        if column.index in self.values:
            self._out.line(f"{self.values[column.index]} = None")

    def _column(self, column: Column) -> None:
        """The value is there: cuts it, and renders what is kept in variables."""
        cuts = self._cuts[column.index]
        size = fixed_size(column)
        if size is None:
            self._behind_prefix(column, cuts)
        elif len(cuts) <= 1:
            code, target = next(iter(cuts.items()), (f"{size}x", ""))
            self._field(code, size, target)
        else:
            whole = self._out.fresh("raw")
            self._field(f"{size}s", size, whole)
            self._flush()
            for cut, target in cuts.items():
                self._out.line(f"{target}, = {self._out.bind('unpack', struct.Struct(cut).unpack)}({whole})")
        slots = self._slots.get(column.index, ())
        self._later += [slot for slot in slots if slot.uses > 1 or (slot.uses and column.nullable)]

    def _render(self, slot: Slot) -> None:
        first, *others = slot.texts.values()
        self._out.line(f"{first} = {self._out.tree(joined(self._out.rendered(slot.rendering, slot.raw)))}")
        for other in others:
            self._out.line(f"{other} = {first}")

    def _behind_prefix(self, column: Column, cuts: Mapping[str, str]) -> None:
        size = prefix_size(column)
        length = self._out.fresh("length")
        self._field(_PREFIX[size], size, length)
        self._flush()
        if size == 3:
            self._out.line(f"{length} = _from_bytes({length}, 'little')")
        if not cuts:
            self._out.line(f"_p += {length}")
            return
        self._out.line(f"_q = _p + {length}")
        for cut, target in cuts.items():
            self._out.line(f"{target} = {'_s' if cut == 'text' else '_b'}[_p:_q]")
        self._out.line("_p = _q")

    def _field(self, code: str, size: int, target: str) -> None:
        """One more field of fixed size; `target` "" steps over it."""
        if code[-1] in "bBsx?c":  # these have no byte order
            code = code.lstrip("<>")
        elif any(order[0] in "<>" and order[0] != code[0] for order, _, _ in self._fields):
            self._flush()
        self._fields.append((code, target, size))

    def _flush(self) -> None:
        """Emits one unpack for the fields gathered so far, and what is to be rendered of them."""
        fields, self._fields = self._fields, []
        total = sum(size for _, _, size in fields)
        start = 0
        while fields and not fields[0][1]:
            start += fields.pop(0)[2]
        while fields and not fields[-1][1]:
            fields.pop()
        at = f"_p + {start}" if start else "_p"
        if len(fields) == 1 and fields[0][0] == "B":
            self._out.line(f"{fields[0][1]} = _b[{at}]")
        elif len(fields) == 1 and fields[0][0].endswith("s"):
            self._out.line(f"{fields[0][1]} = _b[{at}:_p + {start + fields[0][2]}]")
        elif fields:
            order = next((code[0] for code, _, _ in fields if code[0] in "<>"), "<")
            layout = struct.Struct(order + "".join(code.lstrip("<>") for code, _, _ in fields))
            targets = ", ".join(target for _, target, _ in fields if target)
            self._out.line(f"{targets}, = {self._out.bind('unpack', layout.unpack_from)}(_b, {at})")
        if total:
            self._out.line(f"_p += {total}")
        later, self._later = self._later, []
        for slot in later:
            self._render(slot)

    @contextmanager
    def _block(self, head: str) -> Iterator[None]:
        self._out.line(head)
        self._out.indent += 1
        before = len(self._out.lines)
        yield
        if len(self._out.lines) == before:
            self._out.line("pass")
        self._out.indent -= 1
