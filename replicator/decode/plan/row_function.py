"""Generates the function that loops over the rows of an event and emits their records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from replicator.decode.binlog.column_presence import IMAGES, Operation, Presence, damaged
from replicator.decode.plan.column_usage import ColumnUsage, Renderer
from replicator.decode.plan.lowering import Lines, Lowering
from replicator.decode.plan.predicates import Predicate
from replicator.decode.plan.record_source import RecordText
from replicator.decode.plan.source_text import SourceText
from replicator.decode.plan.variable_values import Context
from replicator.model.batch import Record
from replicator.model.plan import TablePlan
from replicator.model.table import Table

Rows: TypeAlias = Callable[[bytes, str, int, int, int, Callable[[Record], None], Context], tuple[int, int]]
"""See `decode/plan/compiler.py`."""


class Function:
    """Of one plan, operation and set of columns."""

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
        self._needs = ColumnUsage(self._out, table, presence, rendering)

    def compile(self, header: bytes, others: Rows | None) -> Rows:
        """`header`: of the events that the function is for. `others`: for other headers; None: there can't be any."""
        for records in (self._records, self._rekeyed or (), self._entering, self._leaving):
            self._needs.count(records)
        self._needs.compare(self._moved)
        self._read = {name: self._needs.image(name) for name in self._images}
        self._text = RecordText(self._out, self._read, self._needs, self._plan.encode)
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
            self._text.collect(self._records)
        else:
            self._prepared(self._cases(moved))
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

    def _prepared(self, cases: Sequence[tuple[str, Sequence[Lines]]]) -> None:
        out = self._out
        word = "if"
        for test, records in cases:
            if len(cases) > 1:
                out.line("else:" if test == "True" and word == "elif" else f"{word} {test}:")
            out.indent = 3 if len(cases) > 1 else 2
            self._text.emit(records)
            out.indent, word = 2, "elif"
            if test == "True":
                break

    def _grouped(self) -> list[str]:
        """What follows the loop: the one record, unless there was no row."""
        if not self._plan.grouped:
            return []
        out = self._out
        self._text.row, out.indent = "_first", 1
        out.line("if _row != _first:")
        out.indent = 2
        self._text.emit(self._records)
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
        prelude += [f" {name} = []" for name in self._text.lists.values()]
        # An event of rows without columns has no bytes for them and is one row.
        each = " for _ in (0,):" if self._bodiless else " while _p < _end:"
        loop = [each, *body, "  _row += 1", " if _p != _end: _damaged('a row beyond the end of the event')"]
        source = "\n".join([*prelude, *self._text.event_lines, *loop, *last, " return _row, _size"])
        out.lines = [f"_damaged = {out.bind('damaged', damaged)}"]
        out.lines += [f"_from_bytes = {out.bind('int', int.from_bytes)}", source]
        return out.function("rows")
