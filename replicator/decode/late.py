"""What is only known when a transaction ends, put into its records: `plan.Late`.

The generated functions leave a NUL byte in its place, which JSON text can't have. Whoever collects a transaction holds
its records back and hands them to `fill` at the end, in as many pieces as it likes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from replicator.decode.lowering import MARK
from replicator.decode.variables import Context
from replicator.model.batch import Record
from replicator.model.plan import Each, Late, Members, RecordPlan, Step, TablePlan, Template, Text, Value, Var

_MARK: Final = MARK.encode()
_BY_ROW: Final = ("offset", "order")
_OF_TRANSACTION: Final = ("gtid", "executed", "tsid", "file", "server_id", "thread")


def late_template(plan: TablePlan) -> Late | None:
    """The plan's `Late`; None: its records are complete as they are.

    Raises:
        ValueError: the plan has more than one, has one where it can't be, has a NUL in its literals, or is not of text.
    """
    found: Late | None = None
    for record in (*plan.insert, *plan.update, *plan.delete, *(plan.rekey or ())):
        for template in (record.key, record.value):
            late = [step for step in template or () if isinstance(step, Late)]
            if len(late) > 1 or (late and found not in (None, late[0])):
                raise ValueError(f"the plan of {plan.topic} has more than one `Late`")
            found = late[0] if late else found
        if any(isinstance(step, Late) for template in _others(plan, record) for step in template):
            raise ValueError(f"the plan of {plan.topic} has `Late` in a header or a route")
    if found is not None and plan.encode is not None:
        raise ValueError(f"the plan of {plan.topic} has `Late`, and its records are no text")
    if found is not None and any(MARK in text for text in _literals(plan)):
        raise ValueError(f"the plan of {plan.topic} has `Late`, and a NUL in a literal")
    return found


def fill(
    records: Sequence[Record], late: Late, *, xid: int | None, end_pos: int, context: Context, last: bool
) -> list[Record]:
    """The records with the transaction's end in them; those without a place for it stay as they are.

    Args:
        records: of one transaction, in order, or a piece of them.
        context: as it was at the transaction's last event.
        last: the piece has the transaction's last row.
    """
    row = _writer(late.row, xid, end_pos, context)
    end = last_row(records) if last else -1
    final = _writer(late.last, xid, end_pos, context)
    filled: list[Record] = []
    for record in records:
        key, value = record[1], record[2]
        in_key = key is not None and _MARK in key
        if in_key or (value is not None and _MARK in value):
            text = (final if record[4] == end else row)(record[4])
            key = key.replace(_MARK, text) if in_key and key is not None else key
            value = None if value is None else value.replace(_MARK, text)
            filled.append((record[0], key, value, *record[3:]))
        else:
            filled.append(record)
    return filled


def last_row(records: Sequence[Record]) -> int:
    """Number of the last row that waits for the end."""
    for record in reversed(records):
        if _MARK in (record[1] or b"") or _MARK in (record[2] or b""):
            return record[4]
    return -1


def _writer(steps: Sequence[Text | Var], xid: int | None, end_pos: int, context: Context) -> Callable[[int], bytes]:
    """row number -> text. Only its number differs from row to row."""
    names: dict[str, int | str] = {"xid": "null" if xid is None else xid, "end_pos": end_pos}
    pieces = [""]
    numbers: list[int] = []  # what is added to the row's number, behind each piece but the last
    for step in steps:
        if isinstance(step, Text):
            pieces[-1] += step.text.encode().decode("latin-1")
        elif step.name in _BY_ROW:
            numbers.append(int(step.name == "order"))
            pieces.append("")
        elif step.name in names:
            pieces[-1] += _text(step, names[step.name])
        elif step.name in _OF_TRANSACTION:
            pieces[-1] += _text(step, getattr(context, step.name))
        else:
            raise ValueError(f"`Late` can't print '{step.name}'")
    raw = [piece.encode("latin-1") for piece in pieces]
    if not numbers:
        return lambda row: raw[0]
    if len(numbers) == 1:
        (before, after), add = raw, numbers[0]
        return lambda row: b"%b%d%b" % (before, row + add, after)
    return lambda row: b"".join(
        part
        for piece, add in zip(raw, (*numbers, None), strict=True)
        for part in (piece, b"" if add is None else b"%d" % (row + add))
    )


def _text(step: Var, value: int | str) -> str:
    if step.before is None:
        return str(value)
    return "" if value == "null" else f"{step.before.encode().decode('latin-1')}{value}"


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
