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
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

from replicator.decode import presence as presences
from replicator.decode.lowering import Lines, Lowered, Lowering, Object, Repeated, Simple
from replicator.decode.needs import Needs, Renderer
from replicator.decode.objects import object_text
from replicator.decode.predicates import Predicate
from replicator.decode.presence import IMAGES, Operation, Presence
from replicator.decode.source_text import Part, SourceText, joined, variable
from replicator.decode.variables import PER_EVENT, PER_ROW, Context
from replicator.model.batch import Record
from replicator.model.plan import TablePlan, Text, Value, Var
from replicator.model.table import Table

__all__ = ["Context", "Operation", "Renderer", "Rows", "compile_rows"]

_MOST_VARIANTS: Final = 100

Rows: TypeAlias = Callable[[bytes, str, int, int, int, Callable[[Record], None], Context], tuple[int, int]]


@lru_cache(maxsize=500)
def compile_rows(
    plan: TablePlan, table: Table, operation: Operation, rendering: Renderer, accept_partial: bool = False
) -> Rows:
    """Kept over decoders: a stream that is opened again needs the same functions.

    Args:
        accept_partial: also decode rows that come without some of their columns; else they raise E2304.

    Raises:
        DecodeError: E2301, E2306, E2307: a column that can't be read or written as planned.
    """
    variants = _Variants(plan, table, operation, rendering, accept_partial)
    every = presences.every_column(table, operation)
    usual = presences.usual_header(table, operation)
    return _Function(plan, table, operation, rendering, every).compile(usual, variants)


class _Variants:
    """Functions for the events whose headers are not the usual one: images without some columns, or with other bits
    left over. By header, the least recently used are dropped."""

    def __init__(
        self, plan: TablePlan, table: Table, operation: Operation, rendering: Renderer, accept_partial: bool
    ) -> None:
        self._made_of = plan, table, operation, rendering
        self._table = table
        self._operation: Operation = operation
        self._accept_partial = accept_partial
        self._size = len(presences.usual_header(table, operation))
        self._functions: OrderedDict[bytes, Rows] = OrderedDict()

    def __call__(
        self, b: bytes, s: str, p: int, end: int, row: int, append: Callable[[Record], None], context: Context
    ) -> tuple[int, int]:
        header = b[p : p + self._size]
        function = self._functions.get(header)
        if function is None:
            function = self._functions[header] = self._compile(header)
            if len(self._functions) > _MOST_VARIANTS:
                self._functions.popitem(last=False)
        else:
            self._functions.move_to_end(header)
        return function(b, s, p, end, row, append, context)

    def _compile(self, header: bytes) -> Rows:
        found = presences.parse(self._table, self._operation, header, accept_partial=self._accept_partial)
        return _Function(*self._made_of, found).compile(header, None)


class _Function:
    def __init__(
        self, plan: TablePlan, table: Table, operation: Operation, rendering: Renderer, presence: Presence
    ) -> None:
        self._out = SourceText()
        self._plan = plan
        self._table = table
        self._images = IMAGES[operation]
        self._bodiless = presence.none
        lowering = Lowering(plan, table, operation, presence)
        self._records = lowering.records(getattr(plan, operation))
        self._rekeyed: list[Lines] | None = None
        self._moved: list[int] = []
        if operation == "update" and plan.rekey is not None:
            self._moved = [index for index in plan.keys if presence.has("after", index)]
            self._rekeyed = lowering.records(plan.rekey) if self._moved else None
        self._filter: Predicate | None = None
        self._entering: list[Lines] = []
        self._leaving: list[Lines] = []
        if plan.filter is not None:
            self._filter = Predicate(self._out, table, operation, presence, plan.filter)
            if plan.grouped:
                raise ValueError(f"the plan of {table.qualified} filters rows and makes one record of them")
            if self._filter.moves:
                self._entering, self._leaving = lowering.records(plan.insert), lowering.records(plan.delete)
        self._needs = Needs(self._out, table, presence, rendering)
        self._per_event: dict[tuple[Text | Var, ...], str] = {}
        self._event_lines: list[str] = []
        self._lists: dict[Repeated, str] = {}
        self._row = "_row"

    def compile(self, header: bytes, others: Rows | None) -> Rows:
        """`header`: of the events that the function is for. `others`: for other headers; None: there can't be any."""
        for records in (self._records, self._rekeyed or (), self._entering, self._leaving):
            self._needs.count(records)
        self._needs.compare(self._moved)
        self._read = {name: self._needs.image(name) for name in self._images}
        body = self._rows()
        return self._assemble(header, others, body)

    def _rows(self) -> list[str]:
        """The body of the loop over rows."""
        out = self._out
        out.indent = 2
        moved = self._filter.emit() if self._filter is not None else None
        for image in self._read.values():
            image.emit()
        if self._plan.grouped:
            self._collect()
        else:
            self._branches(self._cases(moved))
        body, out.lines = out.lines, []
        return body

    def _cases(self, moved: tuple[str, str] | None) -> list[tuple[str, Sequence[Lines]]]:
        """(condition, records): the first that is true counts; the last one's is "True"."""
        cases: list[tuple[str, Sequence[Lines]]] = []
        if moved is not None:
            was, now = moved
            cases += [(f"not {was}", self._entering), (f"not {now}", self._leaving)]
        if self._rekeyed is not None:
            before, after = self._read["before"].values, self._read["after"].values
            known = all(index in before for index in self._moved)  # else the key was changed
            test = " or ".join(f"{before[index]} != {after[index]}" for index in self._moved) if known else "True"
            cases.append((test, self._rekeyed))
        return [*cases, ("True", self._records)]

    def _branches(self, cases: Sequence[tuple[str, Sequence[Lines]]]) -> None:
        out = self._out
        word = "if"
        for test, records in cases:
            if len(cases) > 1:
                out.line("else:" if test == "True" and word == "elif" else f"{word} {test}:")
            out.indent = 3 if len(cases) > 1 else 2
            self._emit(records)
            out.indent, word = 2, "elif"
            if test == "True":
                break

    def _collect(self) -> None:
        """The parts of a grouped plan that every row adds to."""
        for record in self._records:
            for template in record.templates():
                for step in template:
                    if isinstance(step, Repeated) and step not in self._lists:
                        name = self._lists[step] = self._out.fresh("list")
                        self._out.line(f"{name}.append({self._out.tree(joined(self._parts(step.template)))})")
        if not self._lists:
            self._out.line("pass")

    def _emit(self, records: Sequence[Lines]) -> None:
        texts: dict[Lowered, str] = {}
        for record in records:
            key, value = self._bytes(record.key, texts), self._bytes(record.value, texts)
            headers = self._headers(record, texts)
            route = "" if record.route is None else f", {self._bytes(record.route, texts)}"
            self._out.line(f"_append(({record.topic!r}, {key}, {value}, _position, {self._row}, {headers}{route}))")
            lengths = " + ".join(f"len({text})" for text in (key, value) if text != "None")
            if lengths:
                self._out.line(f"_size += {lengths}")
        if not records:
            self._out.line("pass")

    def _headers(self, record: Lines, texts: dict[Lowered, str]) -> str:
        constants = [(name, _constant(template)) for name, template in record.headers]
        if all(value is not None for _, value in constants):
            return self._out.bind("headers", tuple(constants)) if constants else "()"
        pairs = ((name, self._bytes(template, texts)) for name, template in record.headers)
        return f"({''.join(f'({name!r}, {text}), ' for name, text in pairs)})"

    def _bytes(self, template: Lowered | None, texts: dict[Lowered, str]) -> str:
        """The name of a variable with the template's bytes; the same template is put together once."""
        if template is None:
            return "None"
        if template not in texts and (constant := _constant(template)) is not None:
            texts[template] = self._out.bind("constant", constant)
        elif template not in texts:
            name = texts[template] = self._out.fresh("text")
            self._out.line(f"{name} = {self._out.tree(joined(self._parts(template)))}.encode('latin-1')")
        return texts[template]

    def _parts(self, template: Sequence[Simple | Repeated]) -> list[Part]:
        parts: list[Part] = []
        same: list[Text | Var] = []  # the steps that are the same for all rows of the event
        for step in template:
            if isinstance(step, Text) or (isinstance(step, Var) and step.name in PER_EVENT):
                same.append(step)
                continue
            parts.extend(self._same(tuple(same)))
            same.clear()
            parts.extend(self._varying(step))
        return [*parts, *self._same(tuple(same))]

    def _varying(self, step: Simple | Repeated) -> list[Part]:
        if isinstance(step, Value):
            return self._read[step.image].text(self._needs.slot(step), _latin1(step.null))
        if isinstance(step, Object):
            return [variable(object_text(self._out, step, self._read, self._needs))]
        if isinstance(step, Repeated):
            return [_expression(f"{_latin1(step.separator)!r}.join({self._lists[step]})")]
        assert isinstance(step, Var), "text does not vary"  # noqa: S101
        return [_expression(PER_ROW[step.name].format(row=self._row))]

    def _same(self, steps: tuple[Text | Var, ...]) -> list[Part]:
        if all(isinstance(step, Text) for step in steps):
            return [_latin1(step.text) for step in steps if isinstance(step, Text)]
        if steps not in self._per_event:
            parts: list[Part] = [
                _latin1(step.text) if isinstance(step, Text) else _same_variable(step) for step in steps
            ]
            name = self._per_event[steps] = self._out.fresh("event")
            self._event_lines.append(f" {name} = {self._out.tree(joined(parts))}")
        return [variable(self._per_event[steps])]

    def _grouped(self) -> list[str]:
        """What follows the loop: the one record, unless there was no row."""
        if not self._plan.grouped:
            return []
        out = self._out
        self._row, out.indent = "_first", 1
        out.line("if _row != _first:")
        out.indent = 2
        self._emit(self._records)
        lines, out.lines = out.lines, []
        return lines

    def _assemble(self, header: bytes, others: Rows | None, body: list[str]) -> Rows:
        out = self._out
        last = self._grouped()
        prelude = ["def rows(_b, _s, _p, _end, _row, _append, _c):"]
        if others is not None:
            test = f"_b[_p:_p + {len(header)}] != {out.bind('header', header)}"
            prelude.append(f" if {test}: return {out.bind('others', others)}(_b, _s, _p, _end, _row, _append, _c)")
        prelude += [f" _p += {len(header)}", " _position = _c.position", " _size = 0", " _first = _row"]
        prelude += [f" {name} = []" for name in self._lists.values()]
        # An event of rows without columns has no bytes for them and is one row.
        each = " for _ in (0,):" if self._bodiless else " while _p < _end:"
        loop = [each, *body, "  _row += 1", " if _p != _end: _damaged('a row over the end')"]
        source = "\n".join([*prelude, *self._event_lines, *loop, *last, " return _row, _size"])
        out.lines = [f"_damaged = {out.bind('damaged', presences.damaged)}"]
        out.lines += [f"_from_bytes = {out.bind('int', int.from_bytes)}", source]
        return out.function("rows")


def _same_variable(step: Var) -> ast.expr:
    value = PER_EVENT[step.name]
    if step.before is None:
        return _expression(value)
    return _expression(f"'' if {value} == 'null' else {_latin1(step.before)!r} + str({value})")


def _constant(template: Lowered) -> bytes | None:
    """The bytes of a template that prints nothing but literals."""
    if all(isinstance(step, Text) for step in template):
        return "".join(step.text for step in template if isinstance(step, Text)).encode()
    return None


def _latin1(text: str) -> str:
    return text.encode().decode("latin-1")


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body
