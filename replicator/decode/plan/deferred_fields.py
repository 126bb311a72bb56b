"""Fills in fields that are known only when a transaction ends (`plan.Deferred`).

The generated functions leave a NUL byte in its place, which JSON text can't have. Whoever collects a transaction holds
its records back and hands them to `fill` at the end, in as many pieces as it likes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from replicator.decode.plan.lowering import MARK
from replicator.decode.plan.source_text import Part, SourceText, joined, latin1, printed
from replicator.decode.plan.variable_values import Context
from replicator.model.batch import Record
from replicator.model.plan import Deferred, Each, Members, RecordPlan, Step, TablePlan, Template, Text, Value, Var

_MARK: Final = MARK.encode()
_PRINTED: Final = {
    "xid": "_xid",
    "end_pos": "_end",
    "offset": "_row",
    "order": "_row + 1",
    **{name: f"_c.{name}_json" for name in ("gtid", "executed", "tsid", "file")},
    **{name: f"_c.{name}" for name in ("server_id", "thread")},
}


Writer: TypeAlias = Callable[[int, int | str, int, Context], str]


class DeferredText:
    """A `Deferred`, ready to be filled in. `row`, `last`: (number of the row, xid, end_pos, context) -> its text."""

    __slots__ = ("field", "last", "row")

    def __init__(self, field: Deferred) -> None:
        self.field = field
        self.row, self.last = _writer(field.row), _writer(field.last)


def deferred_text(plan: TablePlan) -> DeferredText | None:
    """What the plan's records wait for; None: they are complete as they are.

    Raises:
        ValueError: the plan has more than one, has one where it can't be, has a NUL in its literals, or is not of text.
    """
    found: Deferred | None = None
    for record in (*plan.insert, *plan.update, *plan.delete, *(plan.rekey or ())):
        for template in (record.key, record.value):
            deferred = [step for step in template or () if isinstance(step, Deferred)]
            if len(deferred) > 1 or (deferred and found not in (None, deferred[0])):
                raise ValueError(f"the plan of {plan.topic} has more than one `Deferred`")
            found = deferred[0] if deferred else found
        if any(isinstance(step, Deferred) for template in _others(plan, record) for step in template):
            raise ValueError(f"the plan of {plan.topic} has `Deferred` in a header or a route")
    if found is not None and plan.encode is not None:
        raise ValueError(f"the plan of {plan.topic} has `Deferred`, and its records are no text")
    if found is not None and any(MARK in text for text in _literals(plan)):
        raise ValueError(f"the plan of {plan.topic} has `Deferred`, and a NUL in a literal")
    return None if found is None else DeferredText(found)


def fill(
    records: Sequence[Record], deferred: DeferredText, *, xid: int | None, end_pos: int, context: Context, last: bool
) -> list[Record]:
    """The records with the transaction's end in them; those without a place for it stay as they are.

    Args:
        records: of one transaction, in order, or a piece of them.
        context: as it was at the transaction's last event.
        last: the piece has the transaction's last row.
    """
    known = "null" if xid is None else xid
    end = last_row(records) if last else -1
    filled: list[Record] = []
    for record in records:
        key, value, row = record[1], record[2], record[4]
        text = b""
        if value is not None and _MARK in value:
            text = (deferred.last if row == end else deferred.row)(row, known, end_pos, context).encode("latin-1")
            value = value.replace(_MARK, text)
        if key is not None and _MARK in key:
            writer = deferred.last if row == end else deferred.row
            text = text or writer(row, known, end_pos, context).encode("latin-1")
            key = key.replace(_MARK, text)
        if len(record) == 6:
            filled.append((record[0], key, value, record[3], row, record[5]))
        else:
            filled.append((record[0], key, value, record[3], row, record[5], record[6]))
    return filled


def last_row(records: Sequence[Record]) -> int:
    """Number of the last row that waits for the end."""
    for record in reversed(records):
        if _MARK in (record[1] or b"") or _MARK in (record[2] or b""):
            return record[4]
    return -1


def _writer(steps: Sequence[Text | Var]) -> Writer:
    out, parts = SourceText(), list[Part]()
    for step in steps:
        if isinstance(step, Text):
            parts.append(latin1(step.text))
        elif step.name in _PRINTED:
            parts.append(printed(step, _PRINTED[step.name]))
        else:
            raise ValueError(f"`Deferred` can't print '{step.name}'")
    out.line(f"def text(_row, _xid, _end, _c): return {out.tree(joined(parts))}")
    return out.function("text")


def _others(plan: TablePlan, record: RecordPlan) -> Iterator[Template]:
    yield from (template for _, template in record.headers)
    yield from (route for route in (plan.route, record.route) if route is not None)


def _literals(plan: TablePlan) -> Iterator[str]:
    for record in (*plan.insert, *plan.update, *plan.delete, *(plan.rekey or ())):
        for template in (record.key, record.value):
            for step in template or ():
                yield from _texts(step)


def _texts(step: Step) -> Iterator[str]:
    if isinstance(step, Text):
        yield step.text
    elif isinstance(step, Value):
        yield from (step.null, step.absent)
    elif isinstance(step, Members):
        yield from (step.before, step.empty)
        for member in step.members:
            yield from _texts(member.value)
    elif isinstance(step, Each):
        yield step.separator
        for part in step.template:
            yield from _texts(part)
